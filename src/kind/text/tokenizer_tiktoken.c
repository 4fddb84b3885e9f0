/* .tiktoken: a line for each token, with its bytes in base64 and its rank, which is its id. The file has neither the
 * pattern nor the special tokens: both follow from the ranks where they are of a known encoding (encodings.h). */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/text.h"
#include "kind/text/encodings.h"
#include "kind/text/pattern.h"
#include "kind/text/tokenizer_readers.h"

bool bl_tiktoken_detect(const struct bl_buffer *text)
{
    const char *line;
    size_t at = 0, size;
    int64_t rank;
    if (!bl_text_next_line(text->data, text->size, &at, &line, &size))
        return false;
    const char *space = memchr(line, ' ', size);
    return space && space > line && bl_text_to_int(space + 1, size - (size_t)(space + 1 - line), 0, BL_ID_MAX, &rank);
}

static int tiktoken_read_line(struct bl_tokenizer *tokenizer, const char *line, size_t size, struct bl_buffer *bytes,
                              struct bl_error *e)
{
    const char *space = memchr(line, ' ', size);
    size_t digits = space ? (size_t)(space - line) : size;
    int64_t rank, known;
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
    int code = bl_vocabulary_add(&tokenizer->vocabulary, bytes->data, (size_t)decoded, (int32_t)rank, &known, e);
    if (code)
        return code;
    if (known >= 0)
        return bl_error_set(e, BL_EFAIL, "the same token as rank %d", tokenizer->vocabulary.token[known].id);
    bl_tokenizer_count(tokenizer, (int32_t)rank);
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

/* Ranks may have gaps, but each is that of one token. */
static int tiktoken_check_ranks(const struct bl_tokenizer *tokenizer, const char *path, struct bl_error *e)
{
    const struct bl_vocabulary *v = &tokenizer->vocabulary;
    uint8_t *taken = calloc((size_t)tokenizer->size + 1, 1);
    int code = taken ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < v->count && !code; i++) {
        int32_t rank = v->token[i].id;
        if (taken[rank]++)
            code = bl_error_set(e, BL_EFAIL, "%s: two tokens have the rank %d", path, rank);
    }
    free(taken);
    return code;
}

static int tiktoken_refuse_pattern(const char *path, const char *pattern, struct bl_error *e)
{
    struct bl_buffer names = {0};
    bl_encoding_list_names(&names);
    int code = bl_buffer_check(&names, e);
    if (!code && pattern)
        code = bl_error_set(e, BL_EUSAGE, "--pattern '%s' is unknown: use %s, or a regular expression", pattern,
                            names.data);
    else if (!code)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s does not contain its pattern, and its ranks are of no known encoding: use --pattern "
                            "%s, or a regular expression",
                            path, names.data);
    bl_buffer_free(&names);
    return code;
}

/* Whether it can be the name of an encoding, and is no expression that anyone would use. */
static bool pattern_is_name(const char *pattern)
{
    return strspn(pattern, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(pattern);
}

static int specials_add(struct bl_tokenizer *tokenizer, const struct bl_specials *specials, struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = BL_OK;
    for (int32_t i = 0; i < specials->count && !code; i++) {
        struct bl_added_token token = {.id = specials->id + i, .plain = !tokenizer->special};
        bl_buffer_clear(&text);
        bl_buffer_text(&text, specials->begin);
        if (specials->end)
            bl_buffer_printf(&text, "%d%s", specials->first + i, specials->end);
        code = bl_buffer_check(&text, e);
        if (!code)
            code = bl_added_add(&tokenizer->raw, text.data, text.size, &token, e);
        bl_tokenizer_count(tokenizer, token.id);
    }
    bl_buffer_free(&text);
    return code;
}

/* Applies what is known of the encoding; its special tokens only where it has its own ranks. */
static int tiktoken_apply(struct bl_tokenizer *tokenizer, const struct bl_encoding *encoding, uint64_t digest,
                          struct bl_error *e)
{
    int code = BL_OK;
    tokenizer->split[tokenizer->splits++] = (struct bl_split){.grammar = encoding->grammar};
    if (encoding->nfc)
        tokenizer->normalizer[tokenizer->normalizers++].form = BL_NFC_16;
    if (encoding->digest != digest)
        return BL_OK;
    for (const struct bl_specials *s = encoding->specials; s->begin && !code; s++)
        code = specials_add(tokenizer, s, e);
    return code;
}

int bl_tokenizer_read_tiktoken(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                               const char *pattern, struct bl_error *e)
{
    uint64_t digest;
    int code = tiktoken_read_lines(tokenizer, text, path, e);
    if (!code)
        code = tiktoken_check_ranks(tokenizer, path, e);
    if (!code)
        code = bl_encoding_digest(&tokenizer->vocabulary, &digest, e);
    if (code)
        return code;
    const struct bl_encoding *encoding = pattern ? bl_encoding_by_name(pattern) : bl_encoding_by_digest(digest);
    if (!encoding && (!pattern || pattern_is_name(pattern)))
        return tiktoken_refuse_pattern(path, pattern, e);
    tokenizer->model = BL_MODEL_BPE;
    code = bl_bpe_from_ranks(&tokenizer->bpe, &tokenizer->vocabulary, e);
    if (code) {
        bl_error_prefix(e, "%s", path);
        return code;
    }
    if (encoding)
        return tiktoken_apply(tokenizer, encoding, digest, e);
    code = bl_tokenizer_set_pattern(tokenizer, pattern, strlen(pattern), e);
    if (code != BL_EDATA)
        return code;
    bl_error_prefix(e, "--pattern");
    return BL_EUSAGE;
}
