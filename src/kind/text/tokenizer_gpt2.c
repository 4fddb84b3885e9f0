/* The two files of GPT-2: vocab.json with the tokens and their ids, and merges.txt with a merge a line, in order. */
#include <string.h>

#include "base/text.h"
#include "kind/text/merges.h"
#include "kind/text/tokenizer_readers.h"
#include "kind/text/tokenizer_warning.h"

#define END_OF_TEXT "<|endoftext|>"

static int gpt2_read_merges(struct bl_tokenizer *tokenizer, struct bl_merges *merges, const struct bl_buffer *text,
                            const char *path, struct bl_error *e)
{
    const char *line;
    int code = BL_OK;
    size_t at = 0, size;
    for (size_t number = 1; !code && bl_text_next_line(text->data, text->size, &at, &line, &size); number++) {
        merges->place = number;
        if (number == 1 && size >= 8 && !memcmp(line, "#version", 8))
            continue;
        code = bl_merges_add_line(merges, line, size, e);
    }
    if (!code)
        code = bl_merges_finish(merges, e);
    if (code) {
        bl_error_prefix(e, "%s:%zu", path, merges->place);
        return code;
    }
    code = bl_bpe_from_merges(&tokenizer->bpe, &tokenizer->vocabulary, merges->merge, merges->count, 0, false, e);
    if (code)
        bl_error_prefix(e, "%s", path);
    return code;
}

/* Reads the names and fills the vocabulary. */
static int gpt2_read_vocabulary(struct bl_tokenizer *tokenizer, struct bl_merges *merges, struct bl_vocabulary *names,
                                const struct bl_buffer *text, struct bl_error *e)
{
    struct bl_json_value object = {.type = BL_JSON_OBJECT, .text = memchr(text->data, '{', text->size)};
    object.size = (size_t)(text->data + text->size - object.text);
    int code = bl_names_read(names, &object, e);
    return code ? code : bl_merges_open(merges, tokenizer, names, e);
}

int bl_tokenizer_read_gpt2(struct bl_tokenizer *tokenizer, const struct bl_buffer *vocab, const char *vocab_path,
                           const struct bl_buffer *merges, const char *merges_path, struct bl_error *e)
{
    struct bl_vocabulary names = {0};
    struct bl_merges list = {0};
    tokenizer->alphabet.kind = BL_ALPHABET_BYTES;
    tokenizer->model = BL_MODEL_BPE;
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.grammar = BL_GRAMMAR_GPT2};
    int code = gpt2_read_vocabulary(tokenizer, &list, &names, vocab, e);
    if (code) {
        bl_error_prefix(e, "%s", vocab_path);
        goto out;
    }
    code = gpt2_read_merges(tokenizer, &list, merges, merges_path, e);
    if (code)
        goto out;
    code = bl_tokenizer_warn_missing_tokens(tokenizer, &names, NULL, e);
    int64_t end = bl_names_find(&names, END_OF_TEXT, strlen(END_OF_TEXT));
    if (code || end < 0)
        goto out;
    struct bl_added_token token = {.id = (int32_t)end, .plain = !tokenizer->special};
    code = bl_added_add(&tokenizer->raw, END_OF_TEXT, strlen(END_OF_TEXT), &token, e);
out:
    bl_merges_free(&list);
    bl_vocabulary_free(&names);
    return code;
}
