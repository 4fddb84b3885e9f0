/* BERT's vocab.txt: a token a line. The rest is by convention: BERT's normalizer, with lower case if no token has upper
 * case. */
#include <string.h>

#include "kind/text/tokenizer_readers.h"
#include "kind/text/tokenizer_warning.h"

int bl_tokenizer_read_wordpiece(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                                struct bl_error *e)
{
    static const char *const special[] = {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
    int code = bl_wordpiece_vocabulary(&tokenizer->vocabulary, text, path, e);
    if (code)
        return code;
    code = bl_wordpiece_init(&tokenizer->wordpiece, &tokenizer->vocabulary, "[UNK]", BL_WORDPIECE_PREFIX,
                             BL_WORDPIECE_CHARACTERS, e);
    if (code) {
        bl_error_prefix(e, "%s", path);
        return code;
    }
    bool uncased = bl_wordpiece_uncased(&tokenizer->vocabulary);
    tokenizer->model = BL_MODEL_WORDPIECE;
    tokenizer->normalizer[tokenizer->normalizers++] =
        (struct bl_normalizer){.is_bert = true, .bert = {true, true, uncased, uncased}};
    int64_t tokens = (int64_t)tokenizer->vocabulary.count, first = 0;
    for (int64_t i = 0; i < tokens; i++) {
        int32_t id = tokenizer->vocabulary.token[i].id; /* in order */
        first += id == first;
        bl_tokenizer_count(tokenizer, id);
    }
    code = bl_tokenizer_warn_missing_ids(tokenizer, tokenizer->size - tokens, first, e);
    for (size_t i = 0; i < sizeof special / sizeof *special && !code; i++) {
        int64_t known = bl_vocabulary_find(&tokenizer->vocabulary, special[i], strlen(special[i]));
        if (known < 0)
            continue;
        struct bl_added_token token = {.id = tokenizer->vocabulary.token[known].id, .plain = !tokenizer->special};
        code = bl_added_add(&tokenizer->raw, special[i], strlen(special[i]), &token, e);
    }
    return code;
}
