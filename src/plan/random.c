/* Computes the random numbers of plans: the generator, numbers below a limit, and shuffles.
 *
 * A plan may shuffle 10^8 sequences, so one draw of 64 bits gives several places of a shuffle: the ranges of these
 * places are multiplied, for example 16 * 15 * ... * 2 for the last 16 elements. */
#include "plan/random.h"

#include <string.h>

__extension__ typedef unsigned __int128 u128;

enum { BATCH_MAX = 16 }; /* numbers per draw: 16! is 2^44.3, far below 2^64 */

/* Rotates x left by k bits, 0 < k < 64. */
static uint64_t random_rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

void bl_random_seed(struct bl_random *r, uint64_t seed, enum bl_stream stream)
{
    /* The seed is mixed before the stream is added, since neighbouring seeds must not share a stream. */
    uint64_t state = bl_random_splitmix(&seed) + (uint64_t)stream * UINT64_C(0xd1342543de82ef95);
    for (int i = 0; i < 4; i++)
        r->state[i] = bl_random_splitmix(&state);
}

uint64_t bl_random_next(struct bl_random *r)
{
    /* The reference code of xoshiro256**. */
    uint64_t *s = r->state;
    uint64_t result = random_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = random_rotate(s[3], 45);
    return result;
}

/* Lemire, "Fast random integer generation in an interval", 2019: the division is needed only if the low half of the
 * product falls into the small range that would be biased, which has a probability of n / 2^64. */
uint64_t bl_random_below(struct bl_random *r, uint64_t n)
{
    u128 product = (u128)bl_random_next(r) * n;
    if ((uint64_t)product < n) {
        uint64_t sliver = -n % n;
        while ((uint64_t)product < sliver)
            product = (u128)bl_random_next(r) * n;
    }
    return (uint64_t)(product >> 64);
}

/* Returns how many of the numbers below n, n - 1, ... one draw yields: the product of their ranges is at most 2^54. */
static size_t shuffle_batch_size(size_t n)
{
    if (n <= BATCH_MAX)
        return n - 1;
    return n <= 1 << 9 ? 6 : n <= 1 << 10 ? 5 : n <= 1 << 13 ? 4 : n <= 1 << 18 ? 3 : n <= 1 << 27 ? 2 : 1;
}

/* Sets at[i] to a uniform number of 0 .. n-1-i, for i < batch (Brackett-Rozinsky and Lemire, "Batched ranged random
 * integer generation", 2024): the low half of each product is the draw for the next number. A draw whose last low half
 * is biased is rejected. */
static void shuffle_draw_batch(struct bl_random *r, size_t n, size_t batch, size_t *at)
{
    /* The product of the ranges, 0 until it is needed. */
    uint64_t low, ranges = 0;
    do {
        low = bl_random_next(r);
        for (size_t i = 0; i < batch; i++) {
            u128 product = (u128)low * (n - i);
            at[i] = (size_t)(product >> 64);
            low = (uint64_t)product;
        }
        if (ranges == 0 && low < (UINT64_C(1) << 54)) { /* the product is needed in one of 1024 draws */
            ranges = 1;
            for (size_t i = 0; i < batch; i++)
                ranges *= n - i;
        }
    } while (low < ranges && low < -ranges % ranges);
}

/* Shuffles n elements of 4 or 8 bytes. It is inlined for each size, so that memcpy copies one word. */
static inline __attribute__((always_inline)) void shuffle_elements(struct bl_random *r, char *a, size_t n, size_t size)
{
    while (n > 1) {
        size_t at[BATCH_MAX], batch = shuffle_batch_size(n);
        shuffle_draw_batch(r, n, batch, at);
        for (size_t i = 0; i < batch; i++) {
            char last[8], other[8];
            n--;
            memcpy(last, a + n * size, size);
            memcpy(other, a + at[i] * size, size);
            memcpy(a + n * size, other, size);
            memcpy(a + at[i] * size, last, size);
        }
    }
}

void bl_random_shuffle_u32(struct bl_random *r, uint32_t *a, size_t n)
{
    shuffle_elements(r, (char *)a, n, sizeof *a);
}

void bl_random_shuffle_i64(struct bl_random *r, int64_t *a, size_t n)
{
    shuffle_elements(r, (char *)a, n, sizeof *a);
}

void bl_random_order(struct bl_random *r, uint32_t *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = (uint32_t)i;
    bl_random_shuffle_u32(r, a, n);
}
