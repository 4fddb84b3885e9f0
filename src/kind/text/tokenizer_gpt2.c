/* The two files of GPT-2: vocab.json with the tokens and their ids, and merges.txt with a merge a line, in order. */
#include <string.h>

#include "base/text.h"
#include "kind/text/merges.h"
#include "kind/text/tokenizer_readers.h"
#include "kind/text/tokenizer_warning.h"

#define END_OF_TEXT "<|endoftext|>"

static int gpt2_read_merges(struct bl_tokenizer *tokenizer, const json_t *vocab, const struct bl_buffer *text,
                            const char *path, struct bl_error *e)
{
    struct bl_merges merges = {.alphabet = tokenizer->alphabet};
    const char *line;
    int code = BL_OK;
    size_t number = 1, at = 0, size;
    for (; !code && bl_text_next_line(text->data, text->size, &at, &line, &size); number++) {
        if (number == 1 && size >= 8 && !memcmp(line, "#version", 8))
            continue;
        code = bl_merges_add_line(&merges, &tokenizer->vocabulary, vocab, line, size, e);
        if (code)
            bl_error_prefix(e, "%s:%zu", path, number);
    }
    if (code)
        goto out;
    code = bl_bpe_from_merges(&tokenizer->bpe, &tokenizer->vocabulary, merges.merge, merges.count, 0, false, e);
    if (code)
        bl_error_prefix(e, "%s", path);
out:
    bl_merges_free(&merges);
    return code;
}

int bl_tokenizer_read_gpt2(struct bl_tokenizer *tokenizer, const json_t *vocab, const char *vocab_path,
                           const struct bl_buffer *merges, const char *merges_path, struct bl_error *e)
{
    tokenizer->alphabet.kind = BL_ALPHABET_BYTES;
    int code = bl_merges_vocabulary(tokenizer, vocab, &tokenizer->alphabet, e);
    if (code) {
        bl_error_prefix(e, "%s", vocab_path);
        return code;
    }
    tokenizer->model = BL_MODEL_BPE;
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.grammar = BL_GRAMMAR_GPT2};
    code = gpt2_read_merges(tokenizer, vocab, merges, merges_path, e);
    if (code)
        return code;
    code = bl_tokenizer_warn_missing_tokens(tokenizer, vocab, NULL, e);
    if (code)
        return code;
    const json_t *end = json_object_get(vocab, END_OF_TEXT);
    if (!end)
        return BL_OK;
    struct bl_added_token token = {.id = (int32_t)json_integer_value(end), .plain = !tokenizer->special};
    return bl_added_add(&tokenizer->raw, END_OF_TEXT, strlen(END_OF_TEXT), &token, e);
}
