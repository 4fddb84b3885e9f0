/* Declares the random numbers of a plan. They must stay the same on every machine and in every version, since the seed
 * identifies a plan.
 *
 * The generator is xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64. Each kind of decision has its own
 * stream, so that a change in one of them does not affect the others: more draws for clips leave the order of the
 * blocks as it is. */
#ifndef BL_RANDOM_H
#define BL_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The numbers are part of every plan, so a stream never changes its number. */
enum bl_stream {
    BL_STREAM_IDS = 1,         /* which of several equal lengths goes where */
    BL_STREAM_BLOCK = 2,       /* the order of the blocks */
    BL_STREAM_INSIDE = 3,      /* the order inside each block */
    BL_STREAM_CLIP = 4,        /* where a clip starts */
    BL_STREAM_FILL = 5,        /* the next sequence of a block */
    BL_STREAM_STEP = 6,        /* the order of the steps */
    BL_STREAM_DRAW = 7,        /* which sequences share a block */
    BL_STREAM_SWAP = 8,        /* which sequences change places */
    BL_STREAM_ORDER = 9,       /* the order of the blocks, after their number was adapted to the ranks */
    BL_STREAM_POOL = 10,       /* seeds of the pools that blocks are drawn from */
    BL_STREAM_LOAD = 11,       /* the search under several maxima */
    BL_STREAM_TRADE = 12,      /* which sequences change places under several maxima */
    BL_STREAM_BLEND = 13,      /* the order of the batches of several sources, and of the blocks in them */
    BL_STREAM_MIXTURE = 14,    /* the order in which the sequences of a source are taken */
    BL_STREAM_OTHER = 15,      /* seeds of other plans, where one has the partition of an earlier one */
    BL_STREAM_STATISTICS = 16, /* which blocks statistics are made of */
    BL_STREAM_LEVEL = 20,      /* exchanges between blocks that level their costs */
    BL_STREAM_MIX = 21,        /* waits that a plan is compared with */
};

struct bl_random {
    uint64_t state[4]; /* never all 0 */
};

/* Returns the next number of splitmix64 (Steele, Lea, Flood, 2014), which counts in *state and mixes that. */
static inline uint64_t bl_random_splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Starts a stream of a seed. Streams of the same kind differ for any two seeds. */
void bl_random_seed(struct bl_random *r, uint64_t seed, enum bl_stream stream);
/* Returns the next 64 random bits. */
uint64_t bl_random_next(struct bl_random *r);

/* Returns a uniform number of 0 .. n-1, without bias; n > 0. */
uint64_t bl_random_below(struct bl_random *r, uint64_t n);

/* Shuffles n elements, with equal probability of every order (Fisher-Yates). */
void bl_random_shuffle_u32(struct bl_random *r, uint32_t *a, size_t n);
void bl_random_shuffle_i64(struct bl_random *r, int64_t *a, size_t n);

/* Writes the numbers 0 .. n-1 in random order. */
void bl_random_order(struct bl_random *r, uint32_t *a, size_t n);

#endif
