#include "kind/text/merges.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/prefetch.h"

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
    int64_t twice = -1;
    int code = bl_vocabulary_reserve(v, names->count, names->bytes.size, e);
    for (size_t i = 0; i < names->count && !code; i++) {
        const struct bl_token *name = &names->token[i];
        const char *text = (const char *)bl_vocabulary_bytes(names, i);
        bl_tokenizer_count(tokenizer, name->id);
        /* A token with characters outside the alphabet, most often an added one, never occurs in text. */
        bool occurs = name->size && bl_alphabet_decode(&tokenizer->alphabet, text, name->size, &bytes);
        if (token)
            token[i] = occurs ? (uint32_t)v->count : BL_NO_TOKEN;
        if (occurs)
            code = bl_vocabulary_append(v, bytes.data, bytes.size, name->id, e);
    }
    if (!code)
        code = bl_buffer_check(&bytes, e);
    /* Where tokens are bytes, few are looked up, and none while words are merged. */
    if (!code && (tokenizer->alphabet.kind != BL_ALPHABET_BYTES || *tokenizer->alphabet.suffix))
        code = bl_vocabulary_index(v, &twice, e);
    if (!code && twice >= 0) /* no alphabet writes bytes in two ways */
        code = bl_error_set(e, BL_EFAIL, "two tokens have the same bytes");
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

/* BL_EFAIL: a name was not found. */
static int name_check(int64_t name, const char *text, size_t size, struct bl_error *e)
{
    if (name >= 0)
        return BL_OK;
    return bl_error_set(e, BL_EFAIL, "\"%.*s\" is not in the vocabulary", shown_size(size), text);
}

static bool name_is(const struct bl_vocabulary *names, size_t name, const char *text, size_t size)
{
    return name < names->count && names->token[name].size == size &&
           !memcmp(bl_vocabulary_bytes(names, name), text, size);
}

/* Finds the name that a merge makes. It is mostly that of the merge before, or the one after it. */
static int64_t both_find(struct bl_merges *merges, const char *text, size_t size)
{
    size_t last = merges->last;
    int64_t name = name_is(merges->names, last + 1, text, size) ? (int64_t)last + 1
                   : name_is(merges->names, last, text, size)   ? (int64_t)last
                                                                : bl_vocabulary_find(merges->names, text, size);
    merges->last = name < 0 ? last : (size_t)name;
    return name;
}

static int64_t side_find(const struct bl_merges *merges, const struct bl_merge_side *side, const char *text)
{
    if (name_is(merges->names, side->name, text, side->size))
        return (int64_t)side->name;
    return bl_vocabulary_find_hash(merges->names, text, side->size, side->hash);
}

static int waiting_add(struct bl_merges *merges, const struct bl_merge_names *w, struct bl_error *e)
{
    const char *left = merges->text.data + w->at, *right = left + w->left.size;
    size_t size = w->left.size + w->right.size;
    int64_t left_name = side_find(merges, &w->left, left);
    int code = name_check(left_name, left, w->left.size, e);
    if (code)
        return code;
    int64_t right_name = side_find(merges, &w->right, right);
    code = name_check(right_name, right, w->right.size, e);
    if (code)
        return code;
    uint32_t left_token = merges->token[left_name], right_token = merges->token[right_name];
    if (left_token == BL_NO_TOKEN || right_token == BL_NO_TOKEN)
        return BL_OK;
    int64_t name = both_find(merges, left, size);
    code = name_check(name, left, size, e);
    if (code)
        return code;
    if (!merge_is_both(merges, left_token, right_token, merges->token[name]))
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" ends a word, and nothing can follow it", shown_size(w->left.size),
                            left);
    return bl_merges_add_tokens(merges, left_token, right_token, merges->token[name], e);
}

/* Finds the name that is probably that of a side, and fetches where its text lies. */
static void side_guess(const struct bl_vocabulary *names, struct bl_merge_side *side)
{
    struct bl_hash_probe probe = bl_hash_begin(&names->table, side->hash);
    if (!bl_hash_next(&names->table, &probe, &side->name))
        side->name = SIZE_MAX;
    else
        __builtin_prefetch(&names->token[side->name]);
}

BL_PREFETCHES void side_prefetch(const struct bl_vocabulary *names, const struct bl_merge_side *side)
{
    if (side->name < names->count)
        __builtin_prefetch(bl_vocabulary_bytes(names, side->name));
}

int bl_merges_finish(struct bl_merges *merges, struct bl_error *e)
{
    int code = bl_buffer_check(&merges->text, e);
    for (size_t i = 0; i < merges->waiting; i++) {
        side_guess(merges->names, &merges->wait[i].left);
        side_guess(merges->names, &merges->wait[i].right);
    }
    for (size_t i = 0; i < merges->waiting; i++) {
        side_prefetch(merges->names, &merges->wait[i].left);
        side_prefetch(merges->names, &merges->wait[i].right);
    }
    for (size_t i = 0; i < merges->waiting && !code; i++) {
        code = waiting_add(merges, &merges->wait[i], e);
        if (code)
            merges->place = merges->wait[i].place;
    }
    merges->waiting = 0;
    bl_buffer_clear(&merges->text);
    return code;
}

int bl_merges_add(struct bl_merges *merges, const char *left, size_t left_size, const char *right, size_t right_size,
                  struct bl_error *e)
{
    struct bl_merge_names *w = &merges->wait[merges->waiting++];
    w->at = merges->text.size;
    w->left = (struct bl_merge_side){left_size, bl_vocabulary_hash(left, left_size), 0};
    w->right = (struct bl_merge_side){right_size, bl_vocabulary_hash(right, right_size), 0};
    w->place = merges->place;
    bl_hash_prefetch(&merges->names->table, w->left.hash);
    bl_hash_prefetch(&merges->names->table, w->right.hash);
    bl_buffer_append(&merges->text, left, left_size);
    bl_buffer_append(&merges->text, right, right_size);
    return merges->waiting < BL_MERGES_WAITING ? BL_OK : bl_merges_finish(merges, e);
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
    bl_buffer_free(&merges->text);
    *merges = (struct bl_merges){0};
}
