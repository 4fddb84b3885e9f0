#include "base/hash.h"

#include <stdlib.h>

#define HASH_BITS_MIN 6
#define HASH_BITS_MAX 32 /* a place has no more of the hash */

static void hash_put(struct bl_hash *h, uint64_t slot)
{
    size_t at = (size_t)(slot >> (64 - h->bits));
    while (h->slot[at])
        at = (at + 1) & (((size_t)1 << h->bits) - 1);
    h->slot[at] = slot;
    h->count++;
}

static int hash_grow(struct bl_hash *h, struct bl_error *e)
{
    struct bl_hash larger = {.bits = h->bits ? h->bits + 1 : HASH_BITS_MIN};
    if (larger.bits <= HASH_BITS_MAX)
        larger.slot = calloc((size_t)1 << larger.bits, sizeof *larger.slot);
    if (!larger.slot)
        return bl_error_memory(e);
    for (size_t i = 0; h->bits && i < (size_t)1 << h->bits; i++) {
        if (h->slot[i])
            hash_put(&larger, h->slot[i]);
    }
    free(h->slot);
    *h = larger;
    return BL_OK;
}

int bl_hash_add(struct bl_hash *h, uint64_t hash, size_t number, struct bl_error *e)
{
    if (number >= UINT32_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %u elements in a table", UINT32_MAX);
    size_t slots = h->bits ? (size_t)1 << h->bits : 0;
    int code = h->count >= slots / 4 * 3 ? hash_grow(h, e) : BL_OK;
    if (code)
        return code;
    hash_put(h, hash >> 32 << 32 | (number + 1));
    return BL_OK;
}

void bl_hash_free(struct bl_hash *h)
{
    free(h->slot);
    *h = (struct bl_hash){0};
}
