/* Computes with four floats at a time, as every supported processor can, so that results do not depend on the
 * processor.
 *
 * Plain loops give the same bytes, with 28 % (whisper80) to 39 % (fbank80) more instructions for features, and 5 % more
 * time for a scan of MP3 files. The functions load and store at any address. */
#ifndef BL_LANES_H
#define BL_LANES_H

#include <stdint.h>
#include <string.h>

#include "base/vector.h"

#define BL_LANES 4

typedef float bl_lanes __attribute__((vector_size(4 * BL_LANES)));
typedef int32_t bl_lanes_bits __attribute__((vector_size(4 * BL_LANES)));

static inline bl_lanes bl_lanes_load(const float *at)
{
    bl_lanes value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline void bl_lanes_store(float *at, bl_lanes value)
{
    memcpy(at, &value, sizeof value);
}

/* Returns the greater of each pair; b where either is NaN. */
static inline bl_lanes bl_lanes_max(bl_lanes a, bl_lanes b)
{
    bl_lanes_bits greater = a > b;
    return (bl_lanes)(((bl_lanes_bits)a & greater) | ((bl_lanes_bits)b & ~greater));
}

/* Returns the sums of the four floats in a, b, c and d, each added as (0 + 1) + (2 + 3). */
static inline bl_lanes bl_lanes_sum_each(bl_lanes a, bl_lanes b, bl_lanes c, bl_lanes d)
{
    bl_lanes ab = BL_SHUFFLE(a, b, 0, 4, 1, 5), cd = BL_SHUFFLE(c, d, 0, 4, 1, 5);
    bl_lanes AB = BL_SHUFFLE(a, b, 2, 6, 3, 7), CD = BL_SHUFFLE(c, d, 2, 6, 3, 7);
    bl_lanes low = BL_SHUFFLE(ab, cd, 0, 1, 4, 5) + BL_SHUFFLE(ab, cd, 2, 3, 6, 7);
    bl_lanes high = BL_SHUFFLE(AB, CD, 0, 1, 4, 5) + BL_SHUFFLE(AB, CD, 2, 3, 6, 7);
    return low + high;
}

#endif
