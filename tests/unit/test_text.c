#include "base/text.h"

#include <stdint.h>

#include "unit.h"

static bool to_int(const char *text, int64_t *value)
{
    return bl_text_to_int(text, strlen(text), INT64_MIN, INT64_MAX, value);
}

UNIT_TEST(integers_are_read_strictly)
{
    int64_t value = -1;
    ck_assert(to_int("0", &value) && value == 0);
    ck_assert(to_int("-12", &value) && value == -12);
    ck_assert(to_int("0007", &value) && value == 7);
    ck_assert(to_int("9223372036854775807", &value) && value == INT64_MAX);
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.",
                                      "0x1",
                                      "1e3",
                                      "--1",
                                      "1-",
                                      "\n1",
                                      "1\n",
                                      "9223372036854775808",
                                      "99999999999999999999",
                                      "18446744073709551617"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        value = 42;
        ck_assert_msg(!to_int(bad[i], &value), "took \"%s\"", bad[i]);
        ck_assert_int_eq(value, 42);
    }
    ck_assert(bl_text_to_int("123", 2, 0, 99, &value) && value == 12);
    ck_assert(!bl_text_to_int("100", 3, 0, 99, &value));
    ck_assert(!bl_text_to_int("-1", 2, 0, 99, &value));
}

UNIT_TEST(numbers_in_names_are_as_they_would_be_written)
{
    static const struct {
        const char *text;
        int64_t number; /* -1: none */
    } sample[] = {
        {"shard-00000012.record", 12},
        {"shard-00000000.record", 0},
        {"shard-123456789.record", 123456789},
        {"shard-012345678.record", -1},
        {"shard-0000012.record", -1},
        {"shard--0000012.record", -1},
        {"shard-0000001x.record", -1},
        {"shard-00000012.record.part-node-1-0", -1},
        {"shard-00000012.safetensors", -1},
        {"chard-00000012.record", -1},
        {"shard-.record", -1},
        {"shard-99999999999999999999.record", -1},
        {"", -1},
    };
    for (size_t i = 0; i < COUNT(sample); i++) {
        int64_t number = -1;
        bool is = bl_text_numbered(sample[i].text, "shard-", 8, ".record", &number);
        ck_assert_msg(is == (sample[i].number >= 0) && number == sample[i].number, "%s", sample[i].text);
    }
}

UNIT_TEST(bytes_take_a_unit)
{
    int64_t value;
    ck_assert(bl_text_to_bytes("17", &value) && value == 17);
    ck_assert(bl_text_to_bytes("256M", &value) && value == 256 << 20);
    ck_assert(bl_text_to_bytes("3k", &value) && value == 3072);
    ck_assert(bl_text_to_bytes("4GiB", &value) && value == (int64_t)4 << 30);
    ck_assert(bl_text_to_bytes("8388607T", &value) && value == (int64_t)8388607 << 40);
    static const char *const bad[] = {"", "M", "-1", "1X", "1KB", "1KiBx", "1 K", "8388608T", "1.5G"};
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!bl_text_to_bytes(bad[i], &value), "took \"%s\"", bad[i]);
}

UNIT_TEST(natural_order)
{
    static const char *const ordered[] = {"",      "1",  "2",       "10",   "010a", "99999999999999999999999",
                                          "A2",    "a",  "a/1",     "a/02", "a/2",  "a/2b",
                                          "a/10",  "a0", "a01",     "a1",   "a1b",  "a1b2",
                                          "a1b10", "b",  "\xc3\xa9"};
    size_t count = COUNT(ordered);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            int order = bl_text_natural(ordered[i], ordered[j]);
            ck_assert_msg((order < 0) == (i < j) && (order > 0) == (i > j), "\"%s\" and \"%s\": %d", ordered[i],
                          ordered[j], order);
        }
    }
}

static void check_escape(const char *text, size_t size, const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer b = {0};
    bl_text_escape(&b, text, size);
    ck_assert_int_eq(bl_buffer_check(&b, NULL), BL_OK);
    ck_assert_str_eq(b.data, expected);
    int64_t back = bl_text_unescape(b.data, b.size);
    ck_assert_int_eq(back, (int64_t)size);
    ck_assert_int_eq(memcmp(b.data, text, size), 0);
}

UNIT_TEST(values_in_tables)
{
    check_escape("plain", 5, "plain");
    check_escape("", 0, "");
    check_escape("a\tb\nc\rd\\e", 9, "a\\tb\\nc\\rd\\\\e");
    check_escape("\xc3\xa9\xff\xe2\x82\xac\xe2\x82", 8, "\xc3\xa9\\xFF\xe2\x82\xac\\xE2\\x82");
    check_escape("\xc3", 1, "\\xC3");
}

UNIT_TEST(every_byte_and_pair_of_bytes_survives)
{
    for (int high = 0; high < 256; high++) {
        OWNED(bl_buffer_free) struct bl_buffer b = {0};
        char all[512];
        for (int low = 0; low < 256; low++) {
            all[2 * low] = (char)high;
            all[2 * low + 1] = (char)low;
        }
        bl_text_escape(&b, all, sizeof all);
        ck_assert_ptr_null(memchr(b.data, '\t', b.size));
        ck_assert_ptr_null(memchr(b.data, '\n', b.size));
        ck_assert_int_eq(bl_text_unescape(b.data, b.size), sizeof all);
        ck_assert_int_eq(memcmp(b.data, all, sizeof all), 0);
    }
}

UNIT_TEST(escapes_that_are_none)
{
    static const char *const bad[] = {"\\", "a\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x0g", "\\0", "\\T"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[8];
        strcpy(text, bad[i]);
        ck_assert_msg(bl_text_unescape(text, strlen(text)) == -1, "took \"%s\"", bad[i]);
    }
    char lower[] = "\\xfFz";
    ck_assert_int_eq(bl_text_unescape(lower, strlen(lower)), 2);
    ck_assert_int_eq(memcmp(lower, "\xffz", 2), 0);
}

UNIT_TEST(utf8)
{
    static const struct {
        const char *text;
        size_t size, length;
    } sample[] = {
        {"a", 1, 1},
        {"\xc3\xa9", 2, 2},
        {"\xc3\xa9", 1, 0},
        {"\xc0\x80", 2, 0},
        {"\xe0\x9f\xbf", 3, 0},
        {"\xe0\xa0\x80", 3, 3},
        {"\xed\x9f\xbf", 3, 3},
        {"\xed\xa0\x80", 3, 0},
        {"\xf0\x8f\xbf\xbf", 4, 0},
        {"\xf0\x90\x80\x80", 4, 4},
        {"\xf4\x8f\xbf\xbf", 4, 4},
        {"\xf4\x90\x80\x80", 4, 0},
        {"\xf5\x80\x80\x80", 4, 0},
        {"\x80", 1, 0},
        {"\xe2\x82\x41", 3, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < COUNT(sample); i++)
        ck_assert_msg(bl_utf8_length(sample[i].text, sample[i].size) == sample[i].length, "sample %zu", i);
}

static void shows(const char *text, const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_buffer_text(&out, "\n");
    bl_text_append_masked(&out, text);
    ck_assert_int_eq(out.data[0], '\n');
    ck_assert_str_eq(out.data + 1, expected);
    ck_assert_uint_eq(out.size, 1 + strlen(expected));
}

UNIT_TEST(what_plays_tricks_on_a_terminal_is_masked)
{
    shows("", "");
    shows("a \\ \xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\x9e", "a \\ \xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\x9e");
    shows("\x1b[2J\x07\r\n\t\x7f", "?[2J????"
                                   "?");
    shows("\xc2\x80-\xc2\x9b-\xc2\x9f-\xc2\xa0", "?-?-?-\xc2\xa0");
    /* What turns the direction of writing, and ends of lines and paragraphs. */
    shows("\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f.\xe2\x80\xa8\xe2\x80\xae.\xe2\x81\xa6\xe2\x81\xa9.\xef\xbb\xbf",
          "???.??.??.?");
    shows("\xe2\x80\x8d\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\x8d\xe2\x80\xa7\xe2\x80\xaf");
    /* No UTF-8: alone, cut, overlong, a surrogate. */
    shows("\xff\x80", "??");
    shows("a\xe2\x82", "a??");
    shows("\xc0\x9b\xed\xa0\x80", "?????");
    char lines[] = "a\nb\tc\n";
    ck_assert_uint_eq(bl_utf8_mask(lines, strlen(lines), "\n"), 6);
    ck_assert_str_eq(lines, "a\nb?c\n");
}

UNIT_TEST(quantities_for_people)
{
    char b[32];
    ck_assert_str_eq(bl_text_count(b, 0), "0");
    ck_assert_str_eq(bl_text_count(b, 999), "999");
    ck_assert_str_eq(bl_text_count(b, 1000), "1,000");
    ck_assert_str_eq(bl_text_count(b, -1234567), "-1,234,567");
    ck_assert_str_eq(bl_text_count(b, INT64_MIN), "-9,223,372,036,854,775,808");
    ck_assert_str_eq(bl_text_size(b, 0), "0 bytes");
    ck_assert_str_eq(bl_text_size(b, 1023), "1023 bytes");
    ck_assert_str_eq(bl_text_size(b, 1024), "1.0 KiB");
    ck_assert_str_eq(bl_text_size(b, 1536 << 10), "1.5 MiB");
    ck_assert_str_eq(bl_text_size(b, (1 << 20) - 1), "1.0 MiB");
    ck_assert_str_eq(bl_text_size(b, INT64_MAX), "8.0 EiB");
}

UNIT_TEST(counts_agree_with_their_nouns)
{
    char b[BL_PLURAL_SIZE];
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    ck_assert_str_eq(bl_text_plural(b, 1, "file"), "1 file");
    ck_assert_str_eq(bl_text_plural(b, 0, "file"), "0 files");
    ck_assert_str_eq(bl_text_plural(b, 1234, "file"), "1,234 files");
    ck_assert_str_eq(bl_text_plural(b, 2, "entry"), "2 entries");
    ck_assert_str_eq(bl_text_plural(b, 2, "key"), "2 keys");
    ck_assert_str_eq(bl_text_plural(b, 2, "batch"), "2 batches");
    ck_assert_str_eq(bl_text_plural(b, 2, "box"), "2 boxes");
    ck_assert_str_eq(bl_text_plural(b, 1, "row of|rows of"), "1 row of");
    ck_assert_str_eq(bl_text_plural(b, 3, "row of|rows of"), "3 rows of");
    bl_text_append_plural(&out, 1, "shard");
    bl_buffer_text(&out, ", ");
    bl_text_append_plural(&out, 2, "shard");
    ck_assert_str_eq(out.data, "1 shard, 2 shards");
}
