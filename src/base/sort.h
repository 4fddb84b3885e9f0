/* Sorts integers in place in linear time: radix sort by bytes, the leading byte first ("American flag", McIlroy,
 * Bostic, McIlroy 1993). Sorting through a copy would need the same memory again. */
#ifndef BL_SORT_H
#define BL_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Ascending. */
void bl_sort_u32(uint32_t *key, size_t n);

/* Ascending by the bits from `lowest` up, a multiple of 8 below 64; the bits below it move along. The order of equal
 * keys depends only on the input and must never change, on any machine: plans depend on it. */
void bl_sort_u64(uint64_t *key, size_t n, int lowest);

#endif
