#include "scan/attributes.h"
#include "unit.h"

UNIT_SCRATCH

static int open_text(struct bl_attributes **a, const char *text, const char *id, const char *columns,
                     struct bl_error *e)
{
    *a = NULL;
    unit_write_text("l.csv", text);
    return bl_attributes_open(a, &(struct bl_attributes_source){"l.csv", id, columns}, NULL, e);
}

static void columns_are(const struct bl_attributes *a, const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_attributes_columns(a, &out);
    ck_assert_str_eq(out.data, expected);
}

UNIT_TEST(columns_are_chosen)
{
    static const struct {
        const char *id, *columns, *expected;
    } ways[] = {
        {NULL, NULL, "\ta\tb c\td"}, {"a", "d,b c", "\td\tb c"}, {NULL, "d,a", "\td\ta"}, {"d", "b c", "\tb c"}};
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct bl_attributes *a;
        ck_assert_msg(open_text(&a, "a,id,b c,d\n1,x,2,3\n", ways[i].id, ways[i].columns, &e) == BL_OK, "%s", e.text);
        columns_are(a, ways[i].expected);
        bl_attributes_close(a);
    }
    struct bl_attributes *a;
    ck_assert_int_eq(open_text(&a, "name,a\nx,1\n", NULL, NULL, &e), BL_OK); /* none is called id: the first */
    columns_are(a, "\ta");
    bl_attributes_close(a);
}

/* What a sequence takes, or "-" for nothing. */
static const char *take(struct bl_attributes *a, const char *id)
{
    struct bl_error e = {0};
    const char *values;
    int code = bl_attributes_claim(a, id, &values, NULL, &e);
    return code ? "two" : values ? values : "-";
}

UNIT_TEST(sequences_find_their_rows)
{
    struct bl_attributes *a;
    const char *id;
    int64_t line;
    ck_assert_msg(open_text(&a,
                            "id,v\na/b.mp4,whole\nb.mp4,file\na/c,id\nd,stem\n.e,hidden\nf.d/g,folder\n"
                            "docs.jsonl#12,\"t\t\\ \"\nrest,1\nof it,2\n",
                            NULL, NULL, &e) == BL_OK,
                  "%s", e.text);
    ck_assert_str_eq(take(a, "a/b.mp4"), "\twhole"); /* not b.mp4 */
    ck_assert_str_eq(take(a, "x/b.mp4"), "\tfile");
    ck_assert_str_eq(take(a, "a/c.mp4"), "\tid");
    ck_assert_str_eq(take(a, "a/x/d.mkv"), "\tstem");
    ck_assert_str_eq(take(a, "q/.e"), "\thidden"); /* its name has no extension */
    ck_assert_str_eq(take(a, "f.d/g"), "\tfolder");
    ck_assert_str_eq(take(a, "docs.jsonl#12"), "\tt\\t\\\\ ");
    ck_assert_str_eq(take(a, "docs.jsonl#13"), "-");
    ck_assert_str_eq(take(a, "a/bb.mp4"), "-");
    ck_assert_str_eq(take(a, ""), "-");
    ck_assert_int_eq(bl_attributes_unused(a, &id, &line), 2);
    ck_assert_str_eq(id, "rest");
    ck_assert_int_eq(line, 9);
    ck_assert_str_eq(take(a, "y/d.mp4"), "two"); /* d was a/x/d.mkv's */
    bl_attributes_close(a);
}

UNIT_TEST(many_rows_are_found_again)
{
    char name[32];
    struct bl_attributes *a;
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    const char *id;
    int64_t line;
    int count = unit_times(20000);
    bl_buffer_text(&text, "id,v\n");
    for (int i = 0; i < count; i++)
        bl_buffer_printf(&text, "s%d,%d\n", i, i * 7);
    ck_assert_int_eq(open_text(&a, text.data, NULL, NULL, &e), BL_OK);
    for (int i = 0; i < count; i++) {
        char expected[32];
        snprintf(name, sizeof name, "s%d", i);
        snprintf(expected, sizeof expected, "\t%d", i * 7);
        ck_assert_str_eq(take(a, name), expected);
    }
    ck_assert_int_eq(bl_attributes_unused(a, &id, &line), 0);
    bl_attributes_close(a);
}

UNIT_TEST(tables_that_are_none_are_refused)
{
    static const struct {
        const char *text, *id, *columns, *message;
        int code;
    } bad[] = {
        {"", NULL, NULL, "l.csv is empty: its first line must name the columns", BL_EFAIL},
        {"id\nx\n", NULL, NULL,
         "l.csv:1: no column except \"id\", the column of ids: separate columns by commas, or by tabs in a file whose "
         "name "
         "ends in .tsv",
         BL_EUSAGE},
        {"id,a\nx,1\n\ny\n", NULL, NULL, "l.csv:4: 1 value where the header has 2 columns", BL_EFAIL},
        {"id,a\nx,1,2\n", NULL, NULL, "l.csv:2: 3 values where the header has 2 columns", BL_EFAIL},
        {"id,a\nx,1\n\"y\n\",2\nx,3\n", NULL, NULL, "l.csv:5: duplicate id \"x\", first on line 2", BL_EFAIL},
        {"id,a\n,1\n", NULL, NULL, "l.csv:2: an empty id", BL_EFAIL},
        {"id,a\nx,\"1\n", NULL, NULL, "l.csv: line 2: a value in quotes that does not end within 1048576 bytes",
         BL_EFAIL},
        {"id,a\n", "name", NULL, "l.csv:1: no column \"name\"", BL_EUSAGE},
        {"id,a\n", NULL, "a,b", "l.csv:1: no column \"b\"", BL_EUSAGE},
        {"id,a\n", NULL, "a,a", "--attributes-columns: \"a\" is listed twice", BL_EUSAGE},
        {"id,a\n", NULL, "id", "l.csv:1: \"id\" is the column of ids", BL_EUSAGE},
        {"id,a,a\n", NULL, NULL, "l.csv:1: duplicate column \"a\"", BL_EUSAGE},
        {"id,a,id\n", NULL, NULL, "l.csv:1: duplicate column \"id\"", BL_EUSAGE},
        {"id,length\n", NULL, NULL,
         "l.csv:1: \"length\" is reserved in the table of sequences: rename the column, or leave it out with "
         "--attributes-columns",
         BL_EUSAGE},
        {"id,\n", NULL, NULL,
         "l.csv:1: a column's name is 1 to 47 bytes without backslash or control characters, not \"\": rename the "
         "column, or leave it out with --attributes-columns",
         BL_EUSAGE},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bl_attributes *a;
        FAILS(open_text(&a, bad[i].text, bad[i].id, bad[i].columns, &e), bad[i].code, bad[i].message);
        ck_assert_ptr_null(a);
    }
    static const char *const names[] = {"a\tb", "a\\b", "a\x7f", "012345678901234567890123456789012345678901234567"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct bl_attributes *a;
        bl_error_clear(&e);
        char text[96];
        snprintf(text, sizeof text, "id,%s,x\n", names[i]);
        ck_assert_int_eq(open_text(&a, text, NULL, NULL, &e), BL_EUSAGE);
        ck_assert_int_eq(open_text(&a, text, NULL, "x", &e),
                         BL_OK); /* unless it is wanted, it may be called anything */
        bl_attributes_close(a);
    }
}
