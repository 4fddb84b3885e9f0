/* Integers sorted in place, in linear time: radix sort by bytes, the leading one first ("American flag", McIlroy,
 * Bostic, McIlroy 1993). Sorting by copies would cost as much memory again. */
#ifndef BL_SORT_H
#define BL_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending. */
void bl_sort_u32(uint32_t *key, size_t n);

/* Ascending by the bits from `lowest` on, a multiple of 8 below 64; those under it are carried along. Which of the keys
 * that are alike so comes first follows from the input alone, on every machine and for ever: plans rest on it. */
void bl_sort_u64(uint64_t *key, size_t n, int lowest);

#endif
