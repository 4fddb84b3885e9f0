#include "base/sort.h"
#include "unit.h"

enum { MOST = 20000 };

/* Kinds of input that sorts are known to stumble over: each draws key i of n from a random word. */
static uint64_t any(uint64_t random, size_t i, size_t n)
{
    (void)i, (void)n;
    return random;
}

static uint64_t few(uint64_t random, size_t i, size_t n)
{
    (void)i, (void)n;
    return (random & 3) * UINT64_C(0x4000000100000001);
}

/* All in one byte but the last, so that the upper levels move nothing. */
static uint64_t close_by(uint64_t random, size_t i, size_t n)
{
    (void)i, (void)n;
    return UINT64_C(0xfedcba9876543200) | (random & 255);
}

static uint64_t equal(uint64_t random, size_t i, size_t n)
{
    (void)random, (void)i, (void)n;
    return UINT64_MAX;
}

static uint64_t ascending(uint64_t random, size_t i, size_t n)
{
    (void)random;
    return i * (UINT64_MAX / n) | i; /* in its lower half, too */
}

static uint64_t descending(uint64_t random, size_t i, size_t n)
{
    return ascending(random, n - 1 - i, n);
}

static uint64_t (*const draw[])(uint64_t random, size_t i, size_t n) = {any,   few,       close_by,
                                                                        equal, ascending, descending};
enum { DRAWS = COUNT(draw) };

/* At both sides of where counting begins to pay. */
static const size_t size[] = {0, 1, 2, 3, 47, 48, 49, 50, 255, 1000, MOST};
enum { SIZES = COUNT(size) };

/* Knuth's linear congruential generator; its upper bits are the better ones. */
static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state ^ *state >> 32;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

UNIT_TEST(keys_of_32_bits_as_qsort_has_them)
{
    static uint32_t key[MOST], expected[MOST];
    uint64_t state = 1;
    for (int t = 0; t < DRAWS * SIZES; t++) {
        size_t n = size[t % SIZES];
        for (size_t i = 0; i < n; i++)
            key[i] = expected[i] = (uint32_t)draw[t / SIZES](next_random(&state), i, n);
        qsort(expected, n, sizeof *expected, compare_u32);
        bl_sort_u32(key, n);
        ck_assert_msg(memcmp(key, expected, n * sizeof *key) == 0, "input %d of %zu keys", t / SIZES, n);
    }
}

UNIT_TEST(keys_of_64_bits_as_qsort_has_them)
{
    static uint64_t key[MOST], expected[MOST];
    uint64_t state = 2;
    for (int t = 0; t < DRAWS * SIZES; t++) {
        size_t n = size[t % SIZES];
        for (size_t i = 0; i < n; i++)
            key[i] = expected[i] = draw[t / SIZES](next_random(&state), i, n);
        qsort(expected, n, sizeof *expected, compare_u64);
        bl_sort_u64(key, n, 0);
        ck_assert_msg(memcmp(key, expected, n * sizeof *key) == 0, "input %d of %zu keys", t / SIZES, n);
    }
}

/* By their upper halves alone, in whatever order else; and no key is lost. */
UNIT_TEST(bits_below_the_lowest_do_not_matter)
{
    static uint64_t key[MOST], expected[MOST];
    uint64_t state = 3;
    for (int t = 0; t < DRAWS * SIZES; t++) {
        size_t n = size[t % SIZES];
        for (size_t i = 0; i < n; i++)
            key[i] = expected[i] = draw[t / SIZES](next_random(&state), i, n);
        bl_sort_u64(key, n, 32);
        for (size_t i = 1; i < n; i++)
            ck_assert_msg(key[i - 1] >> 32 <= key[i] >> 32, "input %d of %zu keys: %zu", t / SIZES, n, i);
        qsort(expected, n, sizeof *expected, compare_u64);
        qsort(key, n, sizeof *key, compare_u64);
        ck_assert_msg(memcmp(key, expected, n * sizeof *key) == 0, "input %d of %zu keys", t / SIZES, n);
    }
}

/* Of keys that are alike, too, on which plans rest. Four upper halves among 300 keys: more of each than are sorted by
 * insertion. The sum is that of the same steps in Python. */
UNIT_TEST(the_order_is_the_same_for_ever)
{
    uint64_t key[300], sum = 0;
    for (uint64_t i = 0; i < 300; i++)
        key[i] = (i * 7 % 11 & 3) << 32 | i;
    bl_sort_u64(key, 300, 32);
    for (uint64_t i = 0; i < 300; i++)
        sum = sum * 31 + (uint32_t)key[i];
    ck_assert_uint_eq(sum, UINT64_C(2073395421773216258));
}
