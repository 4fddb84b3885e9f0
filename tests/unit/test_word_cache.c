#include "kind/text/encoder.h"
#include "unit.h"

static struct bl_word_key number_key(int number)
{
    uint8_t text[16] = {0};
    return bl_word_key(text, (size_t)snprintf((char *)text, sizeof text, "w%d", number));
}

static const struct bl_word *number_find(const struct bl_word_cache *words, int number)
{
    const struct bl_word *line = bl_word_cache_line(words, number_key(number));
    for (int i = 0; i < 2; i++) {
        if (bl_word_is(&line[i], number_key(number)))
            return &line[i];
    }
    return NULL;
}

static void number_put(struct bl_word_cache *words, int number)
{
    char text[40];
    int size = snprintf(text, sizeof text, "the long word of number %d", number);
    bl_word_cache_put(words, bl_word_cache_line(words, number_key(number)), number_key(number), &number, 1);
    bl_long_word_put(bl_word_cache_long(words, (uint8_t *)text, (size_t)size), (uint8_t *)text, (size_t)size, &number,
                     1);
}

/* How many of the numbers below count are in the cache, with their id. */
static int numbers_count(const struct bl_word_cache *words, int count)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        char text[40];
        int size = snprintf(text, sizeof text, "the long word of number %d", i);
        const struct bl_word *word = number_find(words, i);
        const struct bl_long_word *far = bl_word_cache_long(words, (uint8_t *)text, (size_t)size);
        if (word)
            ck_assert(word->id[0] == i && word->id[1] == -1);
        found += word != NULL;
        if (!bl_long_word_is(far, (uint8_t *)text, (size_t)size))
            continue;
        ck_assert(far->count == 1 && far->id[0] == i);
        found++;
    }
    return found;
}

/* The bytes that it has, or would have. */
static size_t bytes_of(const struct bl_word_cache *words)
{
    return (2 * sizeof *words->word + sizeof *words->long_word / 4) << words->lines_log2;
}

/* It grows where many words are replaced, up to its limit, and keeps what it has. */
UNIT_TEST(growth)
{
    OWNED(bl_word_cache_close) struct bl_word_cache words = {0};
    ck_assert_int_eq(bl_word_cache_open(&words, &e), BL_OK);
    unsigned log2 = words.lines_log2;
    int n = 0;
    for (; !(words.replaced >> (log2 - 3)); n++) {
        ck_assert_int_eq(bl_word_cache_make_room(&words, &e), BL_OK);
        ck_assert_uint_eq(words.lines_log2, log2);
        number_put(&words, n);
    }
    int kept = numbers_count(&words, n);
    ck_assert_int_gt(kept, n);
    while (log2 < words.max_log2) {
        log2 += 2;
        ck_assert_int_eq(bl_word_cache_make_room(&words, &e), BL_OK);
        ck_assert_uint_eq(words.lines_log2, log2);
        ck_assert_int_eq(numbers_count(&words, n), kept);
        words.replaced = (size_t)1 << words.lines_log2;
    }
    ck_assert_int_eq(bl_word_cache_make_room(&words, &e), BL_OK);
    ck_assert_uint_eq(words.lines_log2, log2);
    ck_assert_uint_eq(bytes_of(&words), BL_WORD_CACHE_MAX);
}

/* Of two words in a line the older one is replaced first, also after growth. */
UNIT_TEST(order)
{
    OWNED(bl_word_cache_close) struct bl_word_cache words = {0};
    ck_assert_int_eq(bl_word_cache_open(&words, &e), BL_OK);
    int first = 0, second = 1;
    ck_assert_int_eq(bl_word_cache_enlarge(&words, &e), BL_OK);
    while (bl_word_cache_line(&words, number_key(first)) != bl_word_cache_line(&words, number_key(second)))
        second++;
    bl_word_cache_close(&words);
    ck_assert_int_eq(bl_word_cache_open(&words, &e), BL_OK);
    number_put(&words, first);
    number_put(&words, second);
    ck_assert_int_eq(bl_word_cache_enlarge(&words, &e), BL_OK);
    const struct bl_word *line = bl_word_cache_line(&words, number_key(first));
    ck_assert(bl_word_is(&line[0], number_key(second)) && bl_word_is(&line[1], number_key(first)));
}

UNIT_TEST(limits)
{
    static const struct {
        int64_t bytes;
        unsigned growth; /* beyond BL_WORD_CACHE_MIN */
    } limit[] = {{-1, 0}, {(12 << 20) - 1, 0}, {12 << 20, 2}, {(48 << 20) - 1, 2}, {48 << 20, 4}, {INT64_MAX, 4}};
    OWNED(bl_word_cache_close) struct bl_word_cache words = {0};
    ck_assert_int_eq(bl_word_cache_open(&words, &e), BL_OK);
    for (size_t i = 0; i < COUNT(limit); i++) {
        bl_word_cache_limit(&words, limit[i].bytes);
        words.lines_log2 = words.max_log2;
        ck_assert_uint_eq(bytes_of(&words), BL_WORD_CACHE_MIN << limit[i].growth);
    }
}
