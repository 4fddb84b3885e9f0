#include "store/sequences.h"
#include "store/row_reader.h"
#include "unit.h"

UNIT_SCRATCH

static int open_text(struct bl_sequences *t, const char *text, bool lengths, struct bl_error *e)
{
    unit_write_text("table", text);
    const char *path = "table";
    return bl_sequences_open(t, &path, 1, lengths, e);
}

UNIT_TEST(rows_survive_the_table)
{
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    const struct bl_row rows[] = {
        {"a\tb\nc\\d\xff.mp4", 12, "video", "dir/a\tb", 99, 0x1f, BL_ROW_OK, "", "all", .stream = 3, .offset = -1},
        {"gone.mp4", 0, "video", "gone.mp4", 0, 0, BL_ROW_SKIPPED, "empty file", "all", .stream = -1, .offset = -1},
        {"half.mp4", 5, "video", "half.mp4", 7, UINT64_MAX, BL_ROW_OK, "truncated", "all", .stream = 0, .offset = -1},
        {"\xc3\xa9.mp4", 6, "video", "x", 8, 0, BL_ROW_FAILED, "r", "all", .stream = 0, .offset = -1},
    };
    bl_buffer_text(&text, BL_SEQUENCES_HEADER);
    for (size_t i = 0; i < 4; i++)
        bl_row_format(&rows[i], &text);
    ck_assert_ptr_nonnull(strstr(text.data, "a\\tb\\nc\\\\d\\xFF.mp4"));
    OWNED(bl_sequences_close) struct bl_sequences t;
    ck_assert_msg(open_text(&t, text.data, false, &e) == BL_OK, "%s", e.text);
    ck_assert_uint_eq(t.count, 4);
    ck_assert_int_eq(t.steps, 17);
    ck_assert_int_eq(t.damaged, 1);
    ck_assert(!bl_sequences_is_clean(&t));
    OWNED(bl_row_reader_free) struct bl_row_reader back = {0};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(t.length[i], rows[i].status == BL_ROW_OK ? rows[i].length : 0);
        ck_assert_int_eq(bl_row_reader_read(&t, i, &back, &e), BL_OK);
        ck_assert_str_eq(back.row.id, rows[i].id);
        ck_assert_str_eq(back.row.path, rows[i].path);
        ck_assert_str_eq(back.row.reason, rows[i].reason);
        ck_assert_int_eq(back.row.length, rows[i].length);
        ck_assert_int_eq(back.row.bytes, rows[i].bytes);
        ck_assert_int_eq(back.row.stream, rows[i].stream);
        ck_assert_uint_eq(back.row.content, rows[i].content);
        ck_assert_int_eq(back.row.status, rows[i].status);
    }
}

/* Lines of every size up to three words, with tabs at random places, beside the plain way. */
UNIT_TEST(lines_are_split_at_every_tab)
{
    uint32_t random = 1;
    for (int size = 0; size <= 24 * 40; size++) {
        char line[25], plain[25], *field[BL_COLUMNS_MAX] = {NULL}, *at = plain;
        for (int i = 0; i < size % 25; i++) {
            random = random * 1664525u + 1013904223u;
            line[i] = "\t\ta\b\n\x89\xff~"[random >> 29];
        }
        line[size % 25] = '\0';
        strcpy(plain, line);
        int count = bl_columns_split(line, field);
        for (int f = 0; f < count; f++) {
            const char *expected = strsep(&at, "\t");
            ck_assert_ptr_nonnull(expected);
            ck_assert_str_eq(field[f], expected);
        }
        ck_assert_ptr_null(at);
    }
}

UNIT_TEST(fields_beyond_the_maximum_are_counted)
{
    char line[2 * BL_COLUMNS_MAX], *field[BL_COLUMNS_MAX];
    memset(line, '\t', sizeof line);
    line[sizeof line - 1] = '\0';
    ck_assert_int_eq(bl_columns_split(line, field), 2 * BL_COLUMNS_MAX);
    for (int f = 0; f < BL_COLUMNS_MAX; f++)
        ck_assert_ptr_eq(field[f], line + f);
}

UNIT_TEST(bad_tables_are_refused_by_line)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "table is empty"},
        {"name\tlength\n", "table:1: no column \"id\""},
        {"id\tlen\n", "table:1: no column \"length\""},
        {"id\tlength\na\t3\nb\n", "table:3: 1 columns where the header has 2"},
        {"id\tlength\na\t0\n", "table:2: invalid length \"0\""},
        {"id\tlength\na\t-3\n", "table:2: invalid length \"-3\""},
        {"id\tlength\na\t3.5\n", "table:2: invalid length \"3.5\""},
        {"id\tlength\na\t\n", "table:2: invalid length \"\""},
        {"id\tlength\na\t99999999999999999999\n", "table:2:"},
        {"id\tlength\na\t9223372036854775807\nb\t1\n", "table:3: the lengths add up"},
        {"id\tlength\tstatus\na\t3\tfine\n", "table:2: invalid status \"fine\""},
        {"id\tlength\na\t3\nb\t4", "table:3: truncated: the file ends in the middle of a line"},
        {"id\tlength\na\t3\nb\t4\na\t5\n", "two sequences have the id \"a\""},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bl_sequences t;
        FAILS_WITH(open_text(&t, bad[i].text, false, &e), BL_EFAIL, bad[i].message);
    }
}

UNIT_TEST(lists_of_lengths)
{
    struct bl_sequences t;
    ck_assert_int_eq(open_text(&t, "5\n7 3\n2\t2\r\n9\n", true, &e), BL_OK);
    static const int64_t expected[] = {5, 7, 7, 7, 2, 2, 9};
    ck_assert_uint_eq(t.count, 7);
    ck_assert_mem_eq(t.length, expected, sizeof expected);
    ck_assert_int_eq(t.steps, 39);
    bl_sequences_close(&t);
    static const char *const bad[] = {"0\n",    "-1\n",    "1.5\n", "x\n",      "\n",
                                      "3 -1\n", "3 2 1\n", "3 x\n", "1\n2\n\n", "1\n2"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bl_error refused = {0};
        ck_assert_msg(open_text(&t, bad[i], true, &refused) == BL_EFAIL, "took \"%s\"", bad[i]);
        ck_assert_ptr_nonnull(strstr(refused.text, "table:"));
    }
}

/* Rows of all sizes, in and out of their order, the last one twice: what was read ahead is neither lost nor taken for
 * another row. */
UNIT_TEST(rows_are_read_in_any_order)
{
    enum { ROWS = 3000 };
    char id[2200];
    OWNED(bl_buffer_free) struct bl_buffer table = {0};
    bl_buffer_text(&table, "id\tlength\n");
    for (int i = 0; i < ROWS; i++)
        bl_buffer_printf(&table, "%d%0*d\t%d\n", i, 1 + i * 7 % (i % 50 ? 60 : 2000), 0, i + 1);
    OWNED(bl_sequences_close) struct bl_sequences t;
    ck_assert_msg(open_text(&t, table.data, false, &e) == BL_OK, "%s", e.text);
    OWNED(bl_row_reader_free) struct bl_row_reader text = {0};
    for (int turn = 0; turn < 2 * ROWS + 1; turn++) {
        size_t i = turn < ROWS ? (size_t)turn : turn % 3 ? (size_t)turn * 31 % ROWS : ROWS - 1;
        snprintf(id, sizeof id, "%zu%0*d", i, 1 + (int)i * 7 % (i % 50 ? 60 : 2000), 0);
        ck_assert_msg(bl_row_reader_read(&t, i, &text, &e) == BL_OK, "%s", e.text);
        ck_assert_str_eq(text.row.id, id);
        ck_assert_int_eq(text.row.length, (int64_t)i + 1);
    }
}

UNIT_TEST(tables_are_merged)
{
    unit_write_text("a", "length\tid\textra\n4\tone\tx\n5\ttwo\ty\n");
    unit_write_text("b", "id\tlength\tkind\nthree\t6\taudio\n");
    const char *const paths[] = {"a", "b"};
    struct bl_sequences t;
    ck_assert_int_eq(bl_sequences_open(&t, paths, 2, false, &e), BL_OK);
    ck_assert_uint_eq(t.count, 3);
    ck_assert_uint_eq(t.mixed, 2);
    struct bl_row_reader text = {0};
    ck_assert_int_eq(bl_row_reader_read(&t, 2, &text, &e), BL_OK);
    ck_assert_str_eq(text.row.id, "three");
    ck_assert_int_eq(bl_row_reader_read(&t, 1, &text, &e), BL_OK);
    ck_assert_str_eq(text.row.id, "two");
    bl_row_reader_free(&text);
    bl_sequences_close(&t);
    unit_write_text("b", "id\tlength\none\t6\n");
    FAILS_WITH(bl_sequences_open(&t, paths, 2, false, &e), BL_EFAIL, "\"one\"");
}

/* Enough rows that the sort of the hashes goes through all its levels. */
UNIT_TEST(a_duplicate_among_many_is_found)
{
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    bl_buffer_text(&text, "id\tlength\n");
    for (int i = 0; i < 200000; i++)
        bl_buffer_printf(&text, "s%d\t1\n", i);
    struct bl_sequences t;
    ck_assert_int_eq(open_text(&t, text.data, false, &e), BL_OK);
    ck_assert_uint_eq(t.count, 200000);
    bl_sequences_close(&t);
    bl_buffer_text(&text, "s777\t1\n");
    ck_assert_int_eq(open_text(&t, text.data, false, &e), BL_EFAIL);
    ck_assert_ptr_nonnull(strstr(e.text, ":779 "));
    ck_assert_ptr_nonnull(strstr(e.text, ":200002"));
}

/* Numbers of every size, among those that are read at a glance; and the line of one that is none. */
UNIT_TEST(plain_lengths_of_every_size)
{
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    struct bl_sequences t;
    int64_t length = 0;
    for (int i = 1; i <= 17; i++) {
        length = length * 10 + i % 10;
        bl_buffer_printf(&text, "%lld\n7\n%lld 2\r\n", (long long)length, (long long)length);
    }
    ck_assert_msg(open_text(&t, text.data, true, &e) == BL_OK, "%s", e.text);
    ck_assert_uint_eq(t.count, 17 * 4);
    ck_assert_int_eq(t.by_status[BL_ROW_OK], 17 * 4);
    length = 0;
    for (size_t i = 0; i < 17; i++) {
        length = length * 10 + (int64_t)(i + 1) % 10;
        ck_assert_int_eq(t.length[4 * i], length);
        ck_assert_int_eq(t.length[4 * i + 1], 7);
        ck_assert_int_eq(t.length[4 * i + 2], length);
        ck_assert_int_eq(t.length[4 * i + 3], length);
    }
    bl_sequences_close(&t);
    static const char *const bad[] = {"1\n22\n333\n0\n", "1\n22\n333\n4x\n", "1\n22\n333\n\n", "1\n22\n333\n/:\n",
                                      "1\n22\n333\n44"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        ck_assert_int_ne(open_text(&t, bad[i], true, &e), BL_OK);
        ck_assert_msg(strncmp(e.text, "table:4:", 8) == 0, "%s", e.text);
    }
}
