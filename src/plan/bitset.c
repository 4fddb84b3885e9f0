#include "plan/bitset.h"

#include <stdlib.h>

static size_t bitset_words(size_t bits)
{
    return (bits + 63) / 64;
}

int bl_bitset_make(struct bl_bitset *m, size_t size, struct bl_error *e)
{
    *m = (struct bl_bitset){0};
    size_t total = 0, offset[BL_BITSET_LEVELS];
    for (size_t bits = size ? size : 1;; bits = bitset_words(bits)) {
        m->size[m->levels] = bits;
        offset[m->levels++] = total;
        total += bitset_words(bits);
        if (bits <= 64)
            break;
    }
    uint64_t *words = calloc(total, sizeof *words);
    if (!words) {
        *m = (struct bl_bitset){0};
        return bl_error_memory(e);
    }
    for (int l = 0; l < m->levels; l++)
        m->level[l] = words + offset[l];
    return BL_OK;
}

void bl_bitset_free(struct bl_bitset *m)
{
    free(m->level[0]);
    *m = (struct bl_bitset){0};
}

void bl_bitset_add(struct bl_bitset *m, size_t i)
{
    for (int l = 0; l < m->levels; l++, i /= 64)
        m->level[l][i / 64] |= UINT64_C(1) << i % 64;
}

void bl_bitset_remove(struct bl_bitset *m, size_t i)
{
    for (int l = 0; l < m->levels; l++, i /= 64) {
        m->level[l][i / 64] &= ~(UINT64_C(1) << i % 64);
        if (m->level[l][i / 64])
            return;
    }
}

size_t bl_bitset_next(const struct bl_bitset *m, size_t i)
{
    for (int l = 0; l < m->levels && i < m->size[l]; l++) {
        uint64_t word = m->level[l][i / 64] & ~UINT64_C(0) << i % 64;
        if (word) {
            size_t found = i / 64 * 64 + (size_t)__builtin_ctzll(word);
            for (; l > 0; l--)
                found = found * 64 + (size_t)__builtin_ctzll(m->level[l - 1][found]);
            return found;
        }
        i = i / 64 + 1;
    }
    return BL_BITSET_NONE;
}

size_t bl_bitset_previous(const struct bl_bitset *m, size_t i)
{
    if (i >= m->size[0])
        i = m->size[0] - 1;
    for (int l = 0; l < m->levels; l++) {
        uint64_t word = m->level[l][i / 64] & ~UINT64_C(0) >> (63 - i % 64);
        if (word) {
            size_t found = i / 64 * 64 + 63 - (size_t)__builtin_clzll(word);
            for (; l > 0; l--)
                found = found * 64 + 63 - (size_t)__builtin_clzll(m->level[l - 1][found]);
            return found;
        }
        if (i / 64 == 0)
            return BL_BITSET_NONE;
        i = i / 64 - 1;
    }
    return BL_BITSET_NONE;
}
