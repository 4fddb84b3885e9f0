/* .tiktoken: a line for each token, with its bytes in base64 and its rank, which is its id. The file has neither the
 * pattern nor the special tokens: both follow from the name of the encoding. */
#include <string.h>

#include "base/base64.h"
#include "base/text.h"
#include "kind/text/tokenizer_readers.h"

struct special {
    const char *text;
    int32_t id;
};

/* The encodings by name. The special tokens are added if the file has exactly so many ranks. */
static const struct encoding {
    const char *name;
    enum bl_grammar grammar;
    size_t ranks;
    struct special special[6];
} encodings[] = {
    {"r50k", BL_GRAMMAR_GPT2, 50256, {{"<|endoftext|>", 50256}}},
    {"cl100k",
     BL_GRAMMAR_CL100K,
     100256,
     {{"<|endoftext|>", 100257},
      {"<|fim_prefix|>", 100258},
      {"<|fim_middle|>", 100259},
      {"<|fim_suffix|>", 100260},
      {"<|endofprompt|>", 100276}}},
    {"o200k", BL_GRAMMAR_O200K, 199998, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
};

static const struct encoding *encoding_find(const char *name)
{
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        if (!strcmp(encodings[i].name, name))
            return &encodings[i];
    }
    return NULL;
}

static int tiktoken_read_line(struct bl_tokenizer *tokenizer, const char *line, size_t size, struct bl_buffer *bytes,
                              struct bl_error *e)
{
    const char *space = memchr(line, ' ', size);
    size_t digits = space ? (size_t)(space - line) : size;
    int64_t rank, known, next = (int64_t)tokenizer->vocabulary.count;
    bl_buffer_clear(bytes);
    bl_buffer_append(bytes, line, digits);
    if (bl_buffer_check(bytes, e))
        return BL_EFAIL;
    /* "=" is an empty token, which no text has: Whisper's file ends with one. */
    bool empty = digits == 1 && *line == '=';
    int64_t decoded = empty ? 0 : digits ? bl_base64_decode(bytes->data, bytes->size) : -1;
    if (decoded < 0)
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is not a token in base64", (int)(digits < 80 ? digits : 80), line);
    if (!space || !bl_text_to_int(space + 1, size - digits - 1, 0, BL_ID_MAX, &rank))
        return bl_error_set(e, BL_EFAIL, "a token without a rank from 0 to %d", BL_ID_MAX);
    if (rank != next)
        return bl_error_set(e, BL_EFAIL, "the rank is %lld instead of %lld", (long long)rank, (long long)next);
    int code = bl_vocabulary_add(&tokenizer->vocabulary, bytes->data, (size_t)decoded, (int32_t)rank, &known, e);
    if (code)
        return code;
    if (known >= 0)
        return bl_error_set(e, BL_EFAIL, "the same token as rank %lld", (long long)known);
    return BL_OK;
}

static int tiktoken_read_lines(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                               struct bl_error *e)
{
    struct bl_buffer bytes = {0};
    const char *line;
    int code = BL_OK;
    size_t number = 1, at = 0, size;
    for (; !code && bl_text_next_line(text->data, text->size, &at, &line, &size); number++) {
        if (size)
            code = tiktoken_read_line(tokenizer, line, size, &bytes, e);
        if (code)
            bl_error_prefix(e, "%s:%zu", path, number);
    }
    bl_buffer_free(&bytes);
    return code;
}

static int tiktoken_add_special(struct bl_tokenizer *tokenizer, const struct encoding *encoding, struct bl_error *e)
{
    int code = BL_OK;
    if (tokenizer->vocabulary.count != encoding->ranks)
        return BL_OK;
    for (const struct special *s = encoding->special; s->text && !code; s++) {
        struct bl_added_token token = {.id = s->id, .plain = !tokenizer->special};
        code = bl_added_add(&tokenizer->raw, s->text, strlen(s->text), &token, e);
        bl_tokenizer_count(tokenizer, s->id);
    }
    return code;
}

int bl_tokenizer_read_tiktoken(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                               const char *pattern, struct bl_error *e)
{
    const struct encoding *encoding = pattern ? encoding_find(pattern) : NULL;
    if (!encoding)
        return bl_error_set(e, BL_EUSAGE,
                            pattern ? "--pattern '%s' is unknown: use r50k, cl100k or o200k"
                                    : "%s does not contain its pattern: use --pattern r50k, cl100k or o200k",
                            pattern ? pattern : path);
    int code = tiktoken_read_lines(tokenizer, text, path, e);
    if (code)
        return code;
    tokenizer->model = BL_MODEL_BPE;
    tokenizer->size = (int64_t)tokenizer->vocabulary.count;
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.grammar = encoding->grammar};
    code = bl_bpe_from_ranks(&tokenizer->bpe, &tokenizer->vocabulary, e);
    if (code) {
        bl_error_prefix(e, "%s", path);
        return code;
    }
    return tiktoken_add_special(tokenizer, encoding, e);
}
