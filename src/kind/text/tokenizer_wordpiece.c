/* BERT's vocab.txt: a token a line. The rest is by convention: BERT's normalizer, with lower case if no token has upper
 * case, or if the options say so. */
#include <stdlib.h>
#include <string.h>

#include "kind/text/tokenizer_readers.h"
#include "kind/text/tokenizer_warning.h"

/* Empty lines, and all but the last id of a token that occurs again, are ids without a token. */
static int wordpiece_warn_of_gaps(struct bl_tokenizer *tokenizer, struct bl_error *e)
{
    const struct bl_vocabulary *v = &tokenizer->vocabulary;
    int64_t first = 0;
    for (size_t i = 0; i < v->count; i++)
        bl_tokenizer_count(tokenizer, v->token[i].id);
    uint8_t *has = calloc((size_t)tokenizer->size + 1, 1);
    if (!has)
        return bl_error_memory(e);
    for (size_t i = 0; i < v->count; i++)
        has[v->token[i].id] = 1;
    while (has[first])
        first++;
    free(has);
    return bl_tokenizer_warn_missing_ids(tokenizer, tokenizer->size - (int64_t)v->count, first, e);
}

static int wordpiece_choose_case(struct bl_tokenizer *tokenizer, bool *uncased, struct bl_error *e)
{
    *uncased = tokenizer->lowercase == BL_LOWERCASE_YES;
    if (tokenizer->lowercase != BL_LOWERCASE_AUTO)
        return BL_OK;
    *uncased = bl_wordpiece_uncased(&tokenizer->vocabulary);
    return bl_tokenizer_warn(tokenizer, e, "text %s lower case, as %s upper case: --lowercase %s if it should%s",
                             *uncased ? "becomes" : "does not become", *uncased ? "no token has" : "tokens have",
                             *uncased ? "no" : "yes", *uncased ? " not" : "");
}

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
    bool uncased;
    code = wordpiece_choose_case(tokenizer, &uncased, e);
    if (code)
        return code;
    tokenizer->model = BL_MODEL_WORDPIECE;
    tokenizer->normalizer[tokenizer->normalizers++] =
        (struct bl_normalizer){.kind = BL_NORMALIZER_BERT, .bert = {true, true, uncased, uncased}};
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.kind = BL_SPLIT_BERT};
    code = wordpiece_warn_of_gaps(tokenizer, e);
    for (size_t i = 0; i < sizeof special / sizeof *special && !code; i++) {
        int64_t known = bl_vocabulary_find(&tokenizer->vocabulary, special[i], strlen(special[i]));
        if (known < 0)
            continue;
        struct bl_added_token token = {.id = tokenizer->vocabulary.token[known].id, .plain = !tokenizer->special};
        code = bl_added_add(&tokenizer->raw, special[i], strlen(special[i]), &token, e);
    }
    return code;
}
