#include "plan/random.h"

__extension__ typedef unsigned __int128 u128;

static uint64_t rotate(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void bl_random_seed(struct bl_random *r, uint64_t seed, enum bl_stream stream)
{
    /* The seed is mixed before the stream is added: neighbouring seeds must not share a stream. */
    uint64_t state = splitmix(&seed) + (uint64_t)stream * UINT64_C(0xd1342543de82ef95);
    for (int i = 0; i < 4; i++)
        r->state[i] = splitmix(&state);
}

uint64_t bl_random_next(struct bl_random *r)
{
    uint64_t *s = r->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

/* Lemire, "Fast random integer generation in an interval", 2019: the division is needed only when the low half of the
 * product falls into the sliver that would be biased. */
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

void bl_random_shuffle_u32(struct bl_random *r, uint32_t *a, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = bl_random_below(r, i);
        uint32_t x = a[i - 1];
        a[i - 1] = a[j];
        a[j] = x;
    }
}

void bl_random_shuffle_i64(struct bl_random *r, int64_t *a, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t j = bl_random_below(r, i);
        int64_t x = a[i - 1];
        a[i - 1] = a[j];
        a[j] = x;
    }
}
