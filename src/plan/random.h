/* Random numbers of a plan: the same on every machine, for ever, because plans are named by their seed.
 *
 * xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64. Each kind of decision has a stream of its own,
 * so that a change in how one is drawn leaves the others as they were. */
#ifndef BL_RANDOM_H
#define BL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

enum bl_stream {
    BL_STREAM_IDENTITY = 1, /* who of the equally long goes where */
    BL_STREAM_BLOCK = 2,    /* the order of the blocks */
    BL_STREAM_INSIDE = 3,   /* the order inside each block */
    BL_STREAM_CLIP = 4,     /* where a clip starts */
    BL_STREAM_FILL = 5,     /* what goes into the block next */
    BL_STREAM_STEP = 6,     /* the order of the steps */
};

struct bl_random {
    uint64_t state[4];
};

void bl_random_seed(struct bl_random *r, uint64_t seed, enum bl_stream stream);
uint64_t bl_random_next(struct bl_random *r);

/* Uniform over 0 .. n-1, without bias; n > 0. */
uint64_t bl_random_below(struct bl_random *r, uint64_t n);

/* Every order equally likely (Fisher-Yates). */
void bl_random_shuffle_u32(struct bl_random *r, uint32_t *a, size_t n);
void bl_random_shuffle_i64(struct bl_random *r, int64_t *a, size_t n);

#endif
