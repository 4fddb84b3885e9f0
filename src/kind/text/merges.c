#include "kind/text/merges.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SHOWN 80 /* bytes of a token in a message */

static int shown_size(size_t size)
{
    return (int)(size < SHOWN ? size : SHOWN);
}

/* Reads the id of a token and marks it as taken. BL_EFAIL: it is invalid, or that of another token. */
static int id_claim(uint8_t *taken, const char *text, const json_t *value, int32_t *id, struct bl_error *e)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > BL_ID_MAX)
        return bl_error_set(e, BL_EFAIL, "the id of \"%.80s\" is not an integer from 0 to %d", text, BL_ID_MAX);
    *id = (int32_t)json_integer_value(value);
    if (taken[*id / 8] >> *id % 8 & 1)
        return bl_error_set(e, BL_EFAIL, "the id %d of \"%.80s\" is also that of another token", *id, text);
    taken[*id / 8] |= (uint8_t)(1 << *id % 8);
    return BL_OK;
}

int bl_merges_vocabulary(struct bl_tokenizer *tokenizer, const json_t *vocab, const struct bl_alphabet *alphabet,
                         struct bl_error *e)
{
    if (!json_is_object(vocab) || !json_object_size(vocab))
        return bl_error_set(e, BL_EFAIL, "is not an object of tokens and their ids");
    uint8_t *taken = calloc(BL_ID_MAX / 8 + 1, 1);
    if (!taken)
        return bl_error_memory(e);
    struct bl_buffer bytes = {0};
    const char *text;
    json_t *value;
    int code = BL_OK;
    json_object_foreach((json_t *)vocab, text, value)
    {
        int32_t id = -1;
        int64_t known;
        code = id_claim(taken, text, value, &id, e);
        if (code)
            goto out;
        bl_tokenizer_count(tokenizer, id);
        /* A token with characters outside the alphabet, most often an added one, never occurs in text. */
        if (*text && bl_alphabet_decode(alphabet, text, strlen(text), &bytes))
            code = bl_vocabulary_add(&tokenizer->vocabulary, bytes.data, bytes.size, id, &known, e);
        if (code)
            goto out;
    }
    code = bl_buffer_check(&bytes, e);
out:
    bl_buffer_free(&bytes);
    free(taken);
    return code;
}

/* Decodes one side of a merge to bytes and finds its token; -1: a token of vocab that never occurs in text. BL_EFAIL:
 * it is not in vocab. */
static int merge_find_side(const struct bl_alphabet *alphabet, const struct bl_vocabulary *v, const json_t *vocab,
                           const char *text, size_t size, struct bl_buffer *bytes, int64_t *token, struct bl_error *e)
{
    *token =
        size && bl_alphabet_decode(alphabet, text, size, bytes) ? bl_vocabulary_find(v, bytes->data, bytes->size) : -1;
    /* Where tokens are text, all bytes have a token that is not of the file. */
    if ((*token < 0 || alphabet->kind != BL_ALPHABET_BYTES) && !json_object_getn(vocab, text, size))
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is not in the vocabulary", shown_size(size), text);
    return bl_buffer_check(bytes, e);
}

int bl_merges_add_tokens(struct bl_merges *merges, uint32_t left, uint32_t right, uint32_t token, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(merges->merge, merges->capacity, merges->count + 1, e);
    if (code)
        return code;
    merges->merge[merges->count++] = (struct bl_merge){left, right, token};
    return BL_OK;
}

int bl_merges_add(struct bl_merges *merges, const struct bl_vocabulary *v, const json_t *vocab, const char *left,
                  size_t left_size, const char *right, size_t right_size, struct bl_error *e)
{
    int64_t left_token, right_token;
    int code = merge_find_side(&merges->alphabet, v, vocab, left, left_size, &merges->left, &left_token, e);
    if (code)
        return code;
    code = merge_find_side(&merges->alphabet, v, vocab, right, right_size, &merges->right, &right_token, e);
    if (code)
        return code;
    if (left_token < 0 || right_token < 0)
        return BL_OK;
    struct bl_buffer *both = &merges->both;
    bl_buffer_clear(both);
    bl_buffer_append(both, merges->left.data, merges->left.size);
    bl_buffer_append(both, merges->right.data, merges->right.size);
    if (both->failed)
        return bl_error_memory(e);
    int64_t token = bl_vocabulary_find(v, both->data, both->size);
    if (token < 0)
        return bl_error_set(e, BL_EFAIL, "\"%.*s%.*s\" is not in the vocabulary", shown_size(left_size), left,
                            shown_size(right_size), right);
    return bl_merges_add_tokens(merges, (uint32_t)left_token, (uint32_t)right_token, (uint32_t)token, e);
}

int bl_merges_add_line(struct bl_merges *merges, const struct bl_vocabulary *v, const json_t *vocab, const char *line,
                       size_t size, struct bl_error *e)
{
    const char *space = memchr(line, ' ', size);
    size_t left = space ? (size_t)(space - line) : 0;
    if (!space || !left || left + 1 == size || memchr(space + 1, ' ', size - left - 1))
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is not a merge (two tokens with a space between them)",
                            shown_size(size), line);
    return bl_merges_add(merges, v, vocab, line, left, space + 1, size - left - 1, e);
}

void bl_merges_free(struct bl_merges *merges)
{
    free(merges->merge);
    bl_buffer_free(&merges->left);
    bl_buffer_free(&merges->right);
    bl_buffer_free(&merges->both);
    *merges = (struct bl_merges){0};
}
