/* The tokens of a model: from bytes to a token, and from a token to its id.
 *
 * Tokens are numbered as they are added, from 0; ids are whatever the file says, each once. */
#ifndef BL_VOCABULARY_H
#define BL_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xxhash.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"

#define BL_VOCABULARY_MAX ((1 << 21) - 256) /* tokens: symbols of merging have 21 bits (bpe.h) */
#define BL_ID_MAX ((1 << 24) - 1)           /* largest id: a damaged file must not cause large allocations */

struct bl_token {
    uint32_t offset, size; /* of its bytes */
    int32_t id;
};

struct bl_vocabulary {
    struct bl_buffer bytes;
    struct bl_token *token;
    size_t count, capacity;
    struct bl_hash table; /* of the tokens, by their bytes */
};

/* Adds a token. *known: the token with these bytes that was added before and stays as it is, or -1. */
int bl_vocabulary_add(struct bl_vocabulary *v, const void *bytes, size_t size, int32_t id, int64_t *known,
                      struct bl_error *e);

/* The token with these bytes, or -1. */
int64_t bl_vocabulary_find(const struct bl_vocabulary *v, const void *bytes, size_t size);

/* For many tokens at once, which is faster: appends one that bl_vocabulary_find finds by looking at all of them, and
 * others find only after bl_vocabulary_index. */
int bl_vocabulary_append(struct bl_vocabulary *v, const void *bytes, size_t size, int32_t id, struct bl_error *e);
/* Makes room for so many tokens and bytes in all. */
int bl_vocabulary_reserve(struct bl_vocabulary *v, size_t count, size_t bytes, struct bl_error *e);
/* *twice: the first token whose bytes an earlier one has, or -1. */
int bl_vocabulary_index(struct bl_vocabulary *v, int64_t *twice, struct bl_error *e);

/* Many look-ups are faster where all tokens are prefetched by their hashes before the first one is looked up. */
static inline uint64_t bl_vocabulary_hash(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

int64_t bl_vocabulary_find_hash(const struct bl_vocabulary *v, const void *bytes, size_t size, uint64_t hash);

static inline const uint8_t *bl_vocabulary_bytes(const struct bl_vocabulary *v, size_t token)
{
    return (const uint8_t *)v->bytes.data + v->token[token].offset;
}

void bl_vocabulary_free(struct bl_vocabulary *v);

#endif
