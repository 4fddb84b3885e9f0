#include "scan/subset.h"

#include <sys/stat.h>

#include "scan/compare.h"
#include "store/row_reader.h"
#include "unit.h"

UNIT_SCRATCH

UNIT_TEST(conditions_compare_numbers_or_texts)
{
    static const struct {
        const char *condition, *value;
        bool holds, no_number;
    } all[] = {
        {"a = 5", "5", true, false},
        {"a=5", "5.0", true, false},
        {"a=5", "+5e0", true, false},
        {"a=5", "05", true, false},
        {"a=5", "5 ", false, false},
        {"a=5", "", false, false},
        {"a=", "", true, false},
        {"a != 5", "5.00", false, false},
        {"a != 5", "x", true, false},
        {"a=0x10", "16", false, false},
        {"a=nan", "nan", true, false},
        {"a=9223372036854775807", "9223372036854775806", false, false},
        {"a=a b ", "a b", true, false},
        {"a <  5", "4.99", true, false},
        {"a<5", "5", false, false},
        {"a<=5", "5", true, false},
        {"a>-1.5e1", "-14", true, false},
        {"a>=5", "4", false, false},
        {"a>=5", "x", false, true},
        {"a>=5", "", false, true},
        {"a>=5", "inf", false, true},
        {"a~x*", "xyz", true, false},
        {"a ~ x*", "ax", false, false},
        {"a~x/*", "x/y/z", true, false},
        {"a~[ab]?", "b1", true, false},
        {"a= <unk>", "<unk>", true, false},
        {"my column = 3", "3", true, false},
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        OWNED(bl_condition_free) struct bl_condition c;
        bool no_number;
        ck_assert_msg(bl_condition_parse(&c, all[i].condition, &e) == BL_OK, "%s: %s", all[i].condition, e.text);
        ck_assert_str_eq(c.column, i + 1 < COUNT(all) ? "a" : "my column");
        ck_assert_msg(bl_condition_holds(&c, all[i].value, &no_number) == all[i].holds, "%s of \"%s\"",
                      all[i].condition, all[i].value);
        ck_assert_int_eq(no_number, all[i].no_number);
    }
}

UNIT_TEST(malformed_conditions_are_refused)
{
    static const char *const bad[] = {"",     "a",  "=5",  " = 5",  "a==5", "a=<5",    "a<>5",
                                      "a~=x", "a<", "a<x", "a>=1e", "a!5",  "a=5\nb=6"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        OWNED(bl_condition_free) struct bl_condition c;
        FAILS_WITH(bl_condition_parse(&c, bad[i], &e), BL_EUSAGE, "--where");
    }
}

/* The option table's types, by name. */
static bool set_option(struct bl_subset_options *o, const char *name, const char *text)
{
    OWNED(bl_options_free) struct bl_options options = {0};
    struct bl_error e = {0};
    ck_assert_int_eq(bl_options_add(&options, "Subset", bl_subset_option_table, o, &e), BL_OK);
    int code = bl_options_set(&options, name, text, BL_ORIGIN_FLAG, &e);
    return code == BL_OK;
}

/* XXH3 of these texts, by which the manual page defines shares and parts: e6c632b61e964e1f, 95cdc591149c96bb; with the
 * seed 1 d2f6d0996f37a720, 542cff5da82aa9b6. */
UNIT_TEST(hashes_are_those_of_the_manual)
{
    struct bl_subset_options o = {0};
    const double a = (double)0xe6c632b61e964e1f / 0x1p64, b = (double)0x95cdc591149c96bb / 0x1p64;
    const double a1 = (double)0xd2f6d0996f37a720 / 0x1p64, b1 = (double)0x542cff5da82aa9b6 / 0x1p64;
    char text[64];
    for (int i = 1; i <= 1000; i++) {
        snprintf(text, sizeof text, "%d.%d%%", i / 10, i % 10);
        ck_assert(set_option(&o, "share", text));
        ck_assert_int_eq(bl_share_takes(o.share, "a"), a < i / 1000.0);
        ck_assert_int_eq(bl_share_takes(o.share, "s/\xc3\xa9.wav"), b < i / 1000.0);
        if (i == 1000)
            continue;
        snprintf(text, sizeof text, "train=%d.%d%%,val=%d.%d%%", i / 10, i % 10, (1000 - i) / 10, (1000 - i) % 10);
        ck_assert(set_option(&o, "split", text));
        ck_assert_int_eq(bl_split_part(&o.split, "a"), a1 >= i / 1000.0);
        ck_assert_int_eq(bl_split_part(&o.split, "s/\xc3\xa9.wav"), b1 >= i / 1000.0);
    }
    ck_assert(bl_share_has(BL_SHARE_ALL, UINT64_MAX));
    ck_assert(bl_share_has(BL_SHARE_ALL / 2, UINT64_MAX / 2));
    ck_assert(!bl_share_has(BL_SHARE_ALL / 2, UINT64_MAX / 2 + 1));
}

UNIT_TEST(shares_have_a_canonical_form)
{
    static const struct {
        int64_t share;
        const char *text;
    } all[] = {{BL_SHARE_ALL, "100%"}, {1, "0.000001%"}, {12500000, "12.5%"}, {1050000, "1.05%"}, {10000000, "10%"}};
    for (size_t i = 0; i < COUNT(all); i++) {
        OWNED(bl_buffer_free) struct bl_buffer text = {0};
        struct bl_subset_options o = {0};
        bl_share_format(all[i].share, &text);
        ck_assert_str_eq(text.data, all[i].text);
        ck_assert(set_option(&o, "share", text.data));
        ck_assert_int_eq(o.share, all[i].share);
    }
}

UNIT_TEST(reasons_are_counted_by_option)
{
    struct bl_left_out_counts counts = {0};
    static const char *const reasons[] = {"left out by --exclude",
                                          "left out by --extend old",
                                          "left out by --where a>5",
                                          "left out by --where x",
                                          "left out by --dedup: the content of a",
                                          "left out by --dedup-by text:lower: the text of a",
                                          "left out by --dedup-by a b: the text of a",
                                          "left out by --min-trained 1",
                                          "left out by --first 3",
                                          "left out by --firsts",
                                          "left out by",
                                          "",
                                          "shorter than --min-length, 4 steps"};
    static const int64_t expected[BL_LEFT_OUT_OPTIONS] = {
        [BL_LEFT_OUT_EXCLUDE] = 1, [BL_LEFT_OUT_EXTEND] = 1,   [BL_LEFT_OUT_WHERE] = 2, [BL_LEFT_OUT_MIN_TRAINED] = 1,
        [BL_LEFT_OUT_DEDUP] = 1,   [BL_LEFT_OUT_DEDUP_BY] = 2, [BL_LEFT_OUT_FIRST] = 1};
    for (size_t i = 0; i < COUNT(reasons); i++)
        bl_left_out_count(&counts, reasons[i]);
    ck_assert_mem_eq(counts.by, expected, sizeof expected);
}

static bool is_same(const struct bl_row *a, const struct bl_row *b)
{
    struct bl_error e = {0};
    bool same;
    ck_assert_msg(bl_same_content(a, b, NULL, NULL, &same, &e) == BL_OK, "%s", e.text);
    return same;
}

UNIT_TEST(content_is_the_same_part_of_the_same_bytes)
{
    ck_assert_int_eq(mkdir("1", 0777) | mkdir("2", 0777) | mkdir("3", 0777) | mkdir("1/sub", 0777), 0);
    unit_write_text("a", "one");
    unit_write_text("b", "one");
    unit_write_text("c", "two");
    static const char *const images[] = {"1/x", "2/x", "3/x", "1/.hidden"};
    for (int i = 0; i < 4; i++)
        unit_write_text(images[i], i == 2 ? "another" : "image");
    const struct bl_row a = {.kind = "video", .path = "a", .content = 7},
                        b = {.kind = "video", .path = "b", .content = 7};
    struct bl_row other = b;
    ck_assert(is_same(&a, &b));
    ck_assert_uint_eq(bl_same_content_hash(&a), bl_same_content_hash(&b));
    other.path = "c";
    ck_assert(!is_same(&a, &other));
    other = b;
    other.stream = 1;
    ck_assert(!is_same(&a, &other));
    ck_assert_uint_ne(bl_same_content_hash(&a), bl_same_content_hash(&other));
    other = b;
    other.clip_end = 5;
    ck_assert(!is_same(&a, &other));
    other = b;
    other.start = "1.5";
    ck_assert(!is_same(&a, &other));
    /* Folders: hidden files do not count, further folders do. */
    const struct bl_row one = {.kind = "frames", .path = "1"}, two = {.kind = "frames", .path = "2"};
    const struct bl_row three = {.kind = "frames", .path = "3"};
    ck_assert(!is_same(&one, &two));
    ck_assert_int_eq(rmdir("1/sub"), 0);
    ck_assert(is_same(&one, &two));
    ck_assert(!is_same(&two, &three));
    /* Documents are their digests. */
    struct bl_row text = {.kind = "text", .path = "gone", .content = 7, .length = 3}, again = text;
    again.path = "elsewhere";
    ck_assert(is_same(&text, &again));
    again.length = 4;
    ck_assert(!is_same(&text, &again));
}

/* Opens a table; the numbers of its rows that are left, as text. */
static void open_subset(const struct bl_subset_options *o, const char *text, int expected, char left[256])
{
    const char *path = "table";
    const struct bl_sequences_columns columns = {.group_by = "speaker"};
    OWNED(bl_subset_free) struct bl_subset s = {.options = o};
    struct bl_sequences t;
    struct bl_error e = {0};
    unit_write_text(path, text);
    int code = bl_subset_open(&s, &t, &path, 1, &columns, &e);
    ck_assert_msg(code == expected, "%s", e.text);
    *left = '\0';
    for (size_t i = 0; !code && i < t.count; i++) {
        if (t.length[i])
            sprintf(left + strlen(left), "%zu ", i);
    }
    if (!code) {
        int64_t sum = 0;
        for (int by = 0; by < BL_LEFT_OUT_OPTIONS; by++)
            sum += s.left_out.by[by];
        ck_assert_int_eq(sum, t.excluded);
        ck_assert_int_eq(t.by_status[BL_ROW_DROPPED], t.excluded);
        ck_assert_ptr_nonnull(t.group);
        bl_sequences_close(&t);
    }
}

UNIT_TEST(steps_follow_each_other)
{
    static const char text[] =
        "id\tlength\tspeaker\tsplit\n0\t1\tx\tu\n1\t2\ty\tv\n2\t3\tx\tv\n3\t4\tx\tv\n4\t5\tx\tv\n";
    char left[256];
    struct bl_subset_options o = {0};
    open_subset(&o, text, BL_OK, left);
    ck_assert_str_eq(left, "0 1 2 3 4 ");
    o.first = 2; /* of what is left by the others, wherever it stands */
    ck_assert(set_option(&o, "take", "v"));
    ck_assert(set_option(&o, "where", "speaker=x"));
    open_subset(&o, text, BL_OK, left);
    ck_assert_str_eq(left, "2 3 ");
    ck_assert(set_option(&o, "where", "length>=5"));
    open_subset(&o, text, BL_OK, left);
    ck_assert_str_eq(left, "4 ");
    o.take = "w";
    open_subset(&o, text, BL_EFAIL, left);
    o.take = NULL;
    o.where.count = 0;
    ck_assert(set_option(&o, "split", "u=50%,v=50%"));
    open_subset(&o, text, BL_EUSAGE, left); /* the column says otherwise */
}
