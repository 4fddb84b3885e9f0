/* .tiktoken: a line for each token, its bytes in base64 and its rank, which is its id. The pattern is not in it, nor
 * are special tokens: both go by the name of the encoding. */
#include <string.h>

#include "base/text.h"
#include "kind/text/tokenizer_readers.h"

struct special {
    const char *text;
    int32_t id;
};

/* The encodings by name; special tokens are those of the encoding with just so many ranks. */
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

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Replaces out by what base64 stands for. False: it is none. */
static bool base64_decode(const char *text, size_t size, struct bl_buffer *out)
{
    size_t padding = size && text[size - 1] == '=' ? 1 + (size > 1 && text[size - 2] == '=') : 0;
    unsigned bits = 0, value = 0;
    bl_buffer_clear(out);
    if (size % 4)
        return false;
    for (size_t i = 0; i < size - padding; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return false;
        value = (value << 6 | (unsigned)digit) & 0xffff;
        bits += 6;
        if (bits < 8)
            continue;
        bits -= 8;
        bl_buffer_byte(out, (char)(value >> bits));
    }
    return !(value & ((1u << bits) - 1)); /* bits that are left over are zeros */
}

static int tiktoken_read_line(struct bl_tokenizer *tokenizer, const char *line, size_t size, struct bl_buffer *bytes,
                              struct bl_error *e)
{
    const char *space = memchr(line, ' ', size);
    size_t digits = space ? (size_t)(space - line) : size;
    int64_t rank, known, next = (int64_t)tokenizer->vocabulary.count;
    if (!digits || !base64_decode(line, digits, bytes))
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is no token in base64", (int)(digits < 80 ? digits : 80), line);
    if (!space || !bl_text_to_int(space + 1, size - digits - 1, 0, BL_ID_MAX, &rank))
        return bl_error_set(e, BL_EFAIL, "a token without a rank from 0 to %d", BL_ID_MAX);
    if (rank != next)
        return bl_error_set(e, BL_EFAIL, "the rank is %lld where %lld should follow", (long long)rank, (long long)next);
    int code = bl_buffer_check(bytes, e);
    if (code)
        return code;
    code = bl_vocabulary_add(&tokenizer->vocabulary, bytes->data, bytes->size, (int32_t)rank, &known, e);
    if (code)
        return code;
    if (known >= 0)
        return bl_error_set(e, BL_EFAIL, "the token is that of rank %lld, too", (long long)known);
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
        return code;
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
                            pattern ? "'%s' is no pattern of a .tiktoken: r50k, cl100k or o200k"
                                    : "%s does not say its pattern: --pattern r50k, cl100k or o200k",
                            pattern ? pattern : path);
    int code = tiktoken_read_lines(tokenizer, text, path, e);
    if (code)
        return code;
    tokenizer->model = BL_MODEL_BPE;
    tokenizer->size = (int64_t)tokenizer->vocabulary.count;
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.grammar = encoding->grammar};
    code = bl_bpe_from_ranks(&tokenizer->bpe, &tokenizer->vocabulary, e);
    if (code)
        bl_error_prefix(e, "%s", path);
    return code ? code : tiktoken_add_special(tokenizer, encoding, e);
}
