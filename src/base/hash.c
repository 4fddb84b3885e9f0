#include "base/hash.h"

#include <stdlib.h>

#define SLOTS_MIN 64
#define SHIFT_MIN 32 /* a slot holds only the upper half of the hash */

static void hash_put(struct bl_hash *h, uint64_t slot)
{
    size_t at = (size_t)(slot >> h->shift);
    while (h->slot[at])
        at = (at + 1) & h->mask;
    h->slot[at] = slot;
    h->count++;
}

static bool hash_has_room(const struct bl_hash *h, size_t count)
{
    return h->slot && count <= h->mask / 4 * 3;
}

int bl_hash_reserve(struct bl_hash *h, size_t count, struct bl_error *e)
{
    if (hash_has_room(h, count))
        return BL_OK;
    size_t slots = h->slot ? 2 * (h->mask + 1) : SLOTS_MIN;
    while (slots < (size_t)1 << SHIFT_MIN && (slots - 1) / 4 * 3 < count)
        slots *= 2;
    struct bl_hash larger = {.mask = slots - 1, .shift = 64 - __builtin_ctzll(slots)};
    if (larger.shift >= SHIFT_MIN)
        larger.slot = calloc(slots, sizeof *larger.slot);
    if (!larger.slot)
        return bl_error_memory(e);
    for (size_t i = 0; h->slot && i <= h->mask; i++) {
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
    int code = bl_hash_reserve(h, h->count + 1, e);
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
