#include "kind/text/merges.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SHOWN 80 /* bytes of a token in a message */

static int shown_size(size_t size)
{
    return (int)(size < SHOWN ? size : SHOWN);
}

int bl_merges_vocabulary(struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names, uint32_t *token,
                         struct bl_error *e)
{
    if (!names->count)
        return bl_error_set(e, BL_EFAIL, "is not an object of tokens and their ids");
    struct bl_vocabulary *v = &tokenizer->vocabulary;
    struct bl_buffer bytes = {0};
    int code = BL_OK;
    for (size_t i = 0; i < names->count && !code; i++) {
        const struct bl_token *name = &names->token[i];
        const char *text = (const char *)bl_vocabulary_bytes(names, i);
        int64_t known = BL_NO_TOKEN;
        bl_tokenizer_count(tokenizer, name->id);
        /* A token with characters outside the alphabet, most often an added one, never occurs in text. */
        if (name->size && bl_alphabet_decode(&tokenizer->alphabet, text, name->size, &bytes)) {
            code = bl_vocabulary_add(v, bytes.data, bytes.size, name->id, &known, e);
            known = known < 0 ? (int64_t)v->count - 1 : known;
        }
        if (token)
            token[i] = (uint32_t)known;
    }
    if (!code)
        code = bl_buffer_check(&bytes, e);
    bl_buffer_free(&bytes);
    return code;
}

int bl_merges_open(struct bl_merges *merges, struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names,
                   struct bl_error *e)
{
    *merges = (struct bl_merges){
        .names = names, .v = &tokenizer->vocabulary, .suffixed = *tokenizer->alphabet.suffix != '\0'};
    merges->token = malloc((names->count + 1) * sizeof *merges->token);
    return merges->token ? bl_merges_vocabulary(tokenizer, names, merges->token, e) : bl_error_memory(e);
}

/* Finds the token of a name; BL_NO_TOKEN: one that never occurs in text. BL_EFAIL: it is not in the vocabulary. */
static int merge_find_token(const struct bl_merges *merges, const char *text, size_t size, uint32_t *token,
                            struct bl_error *e)
{
    int64_t name = bl_vocabulary_find(merges->names, text, size);
    if (name < 0)
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is not in the vocabulary", shown_size(size), text);
    *token = merges->token[name];
    return BL_OK;
}

/* Whether the bytes of a token are those of the two: they are not if the first one's name ends with the suffix. */
static bool merge_is_both(const struct bl_merges *merges, uint32_t left, uint32_t right, uint32_t token)
{
    const struct bl_token *t = merges->v->token;
    if (!merges->suffixed)
        return true;
    return token != BL_NO_TOKEN && t[token].size == t[left].size + t[right].size &&
           !memcmp(bl_vocabulary_bytes(merges->v, token), bl_vocabulary_bytes(merges->v, left), t[left].size);
}

int bl_merges_add_tokens(struct bl_merges *merges, uint32_t left, uint32_t right, uint32_t token, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(merges->merge, merges->capacity, merges->count + 1, e);
    if (code)
        return code;
    merges->merge[merges->count++] = (struct bl_merge){left, right, token};
    return BL_OK;
}

int bl_merges_add(struct bl_merges *merges, const char *left, size_t left_size, const char *right, size_t right_size,
                  struct bl_error *e)
{
    uint32_t left_token = BL_NO_TOKEN, right_token = BL_NO_TOKEN, token = BL_NO_TOKEN;
    int code = merge_find_token(merges, left, left_size, &left_token, e);
    if (code)
        return code;
    code = merge_find_token(merges, right, right_size, &right_token, e);
    if (code)
        return code;
    if (left_token == BL_NO_TOKEN || right_token == BL_NO_TOKEN)
        return BL_OK;
    struct bl_buffer *both = &merges->both;
    bl_buffer_clear(both);
    bl_buffer_append(both, left, left_size);
    bl_buffer_append(both, right, right_size);
    if (both->failed)
        return bl_error_memory(e);
    code = merge_find_token(merges, both->data, both->size, &token, e);
    if (code)
        return code;
    if (!merge_is_both(merges, left_token, right_token, token))
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" ends a word, and nothing can follow it", shown_size(left_size),
                            left);
    return bl_merges_add_tokens(merges, left_token, right_token, token, e);
}

int bl_merges_add_line(struct bl_merges *merges, const char *line, size_t size, struct bl_error *e)
{
    const char *space = memchr(line, ' ', size);
    size_t left = space ? (size_t)(space - line) : 0;
    if (!space || !left || left + 1 == size || memchr(space + 1, ' ', size - left - 1))
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is not a merge (two tokens with a space between them)",
                            shown_size(size), line);
    return bl_merges_add(merges, line, left, space + 1, size - left - 1, e);
}

void bl_merges_free(struct bl_merges *merges)
{
    free(merges->merge);
    free(merges->token);
    bl_buffer_free(&merges->both);
    *merges = (struct bl_merges){0};
}
