/* The hash table of numbers, arrays that grow, and the nearest word: known answers, and a model beside it. */

#include "base/buffer.h"
#include "base/text.h"
#include "unit.h"

/* Numbers under a hash that the table has. */
static size_t count_of(const struct bl_hash *h, uint64_t hash, size_t wanted)
{
    size_t number, found = 0;
    for (struct bl_hash_probe probe = bl_hash_begin(h, hash); bl_hash_next(h, &probe, &number);)
        found += number == wanted;
    return found;
}

UNIT_TEST(each_number_is_found_once)
{
    OWNED(bl_hash_free) struct bl_hash h = {0};
    uint64_t state = 1;
    FREED uint64_t *hash = calloc(100000, sizeof *hash);
    ck_assert_uint_eq(count_of(&h, 5, 0), 0);
    for (size_t i = 0; i < 100000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        hash[i] = i % 7 ? state : i % 14 ? UINT64_MAX : state << 40; /* some are alike, some have no upper bits */
        if (i % 1000 == 7)
            hash[i] = hash[i - 7];
        ck_assert_int_eq(bl_hash_add(&h, hash[i], i, &e), BL_OK);
    }
    for (size_t i = 0; i < 100000; i += 97)
        ck_assert_uint_eq(count_of(&h, hash[i], i), 1);
    ck_assert_uint_eq(count_of(&h, 12345, 100000), 0);
    ck_assert_int_eq(bl_hash_add(&h, 1, UINT32_MAX, &e), BL_EFAIL);
}

UNIT_TEST(arrays_grow_and_keep_what_is_in_them)
{
    FREED int32_t *array = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 30000; i++) {
        ck_assert_int_eq(BL_ARRAY_RESERVE(array, capacity, i + 1, &e), BL_OK);
        ck_assert_uint_gt(capacity, i);
        array[i] = (int32_t)i;
    }
    for (size_t i = 0; i < 30000; i++)
        ck_assert_int_eq(array[i], (int32_t)i);
    ck_assert_uint_lt(capacity, 40000);
    FAILS(BL_ARRAY_RESERVE(array, capacity, SIZE_MAX / 2, &e), BL_EFAIL, "out of memory");
    ck_assert_int_eq(array[29999], 29999);
}

static const char *nearest(const char *word)
{
    static const char *const words[] = {"strategy", "seed", "T", "world-size", "size", NULL};
    struct bl_nearest n = {.word = word, .size = strlen(word)};
    for (const char *const *w = words; *w; w++)
        bl_nearest_offer(&n, *w);
    return n.best ? n.best : "";
}

UNIT_TEST(the_nearest_word)
{
    ck_assert_str_eq(nearest("stategy"), "strategy");
    ck_assert_str_eq(nearest("startegy"), "strategy");
    ck_assert_str_eq(nearest("strategies"), "");
    ck_assert_str_eq(nearest("world_size"), "world-size");
    ck_assert_str_eq(nearest("world"), "world-size");
    ck_assert_str_eq(nearest("sise"), "size");
    ck_assert_str_eq(nearest("x"), "");
    ck_assert_str_eq(nearest(""), "");
    ck_assert_str_eq(nearest("a-word-that-is-longer-than-all-that-anybody-would-ever-type"), "");
}
