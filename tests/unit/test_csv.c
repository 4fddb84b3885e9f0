#include "base/records.h"
#include "base/output.h"
#include "unit.h"

UNIT_SCRATCH

static int open_text(struct bl_csv *r, const char *name, const char *text, size_t size, struct bl_error *e)
{
    unit_write(name, text, size);
    return bl_csv_open(r, name, NULL, e);
}

/* All records as "LINE:value|value;", or what was refused. */
static void read_all(const char *name, const char *text, size_t size, char out[512])
{
    struct bl_csv r;
    struct bl_error e = {0};
    size_t at = 0;
    bool found;
    int opened = open_text(&r, name, text, size, &e), code = opened;
    out[0] = '\0';
    while (!code && !(code = bl_csv_next(&r, &found, &e)) && found) {
        at += (size_t)snprintf(out + at, 512 - at, "%d:", (int)r.line);
        for (size_t v = 0; v < r.values; v++)
            at += (size_t)snprintf(out + at, 512 - at, "%s%s", v ? "|" : "", r.value[v]);
        at += (size_t)snprintf(out + at, 512 - at, ";");
    }
    if (code) {
        ck_assert_int_eq(code, BL_EDATA);
        snprintf(out, 512, "%.500s", e.text);
    }
    if (!opened)
        bl_csv_close(&r);
}

#define WHOLE SIZE_MAX /* up to the NUL */

static const struct {
    const char *name, *text, *expected;
    size_t size;
} known[] = {
    {"a.csv", "id,b\nx,1\n", "1:id|b;2:x|1;", WHOLE},
    {"a.csv", "id,b\r\nx,1", "1:id|b;2:x|1;", WHOLE},
    {"a.csv", "\xef\xbb\xbfid,b\n", "1:id|b;", WHOLE},
    {"a.csv", "\xef\xbb\xbf\"id\",b\n", "1:id|b;", WHOLE},
    {"a.csv", "\"a,b\",\"c \"\"d\"\"\",\"\"\n,,\n", "1:a,b|c \"d\"|;2:||;", WHOLE},
    {"a.csv", "\"a\nb\r\nc\",d\ne,f\n", "1:a\nb\r\nc|d;4:e|f;", WHOLE},
    {"a.csv", "\"\"\"\"", "1:\";", WHOLE},
    {"a.csv", "\n\na\r\n\r\n\nb", "3:a;6:b;", WHOLE},
    {"a.csv", " a , b\\t\n", "1: a | b\\t;", WHOLE},
    {"a.csv", "a\tb,c\n", "1:a\tb|c;", WHOLE},
    {"a.csv", "", "", WHOLE},
    {"a.csv", "\xef\xbb\xbf", "", WHOLE},
    {"a.txt", "\xc3\xa9,\xf0\x9f\x98\x80", "1:\xc3\xa9|\xf0\x9f\x98\x80;", WHOLE},
    {"a.tsv", "id\tb\nC:\\tmp\\new\ta\\\n", "1:id|b;2:C:\\tmp\\new|a\\;", WHOLE},
    {"a.tsv", "id\tlength\tkind\tpath\tb\nx\t1\ttext\ta\\tb\\\\\\xFF\t\n",
     "1:id|length|kind|path|b;2:x|1|text|a\tb\\\xff|;", WHOLE},
    {"a.csv", "a;b\n1,5;\"x;\"\"y\"\n\"z\";\n", "1:a|b;2:1,5|x;\"y;3:z|;", WHOLE},
    {"a.csv", "\"a,b\";\"c\"\n1;2\n", "1:a,b|c;2:1|2;", WHOLE},
    {"a.csv", "a\tb\n1;2\t3,4\n", "1:a|b;2:1;2|3,4;", WHOLE},
    {"a.csv", "a;b,c\n1;2,3\n", "1:a;b|c;2:1;2|3;", WHOLE},
    {"a.csv", "a\n1;2\n", "1:a;2:1;2;", WHOLE},
    {"a.TSV", "id\t\r\n\"x\t,\n", "1:id|;2:\"x|,;", WHOLE},
    {"a.tsv", "a\n\nb", "1:a;3:b;", WHOLE},
    {"a.csv", "a,b\nc,\"d", "line 2: a value in quotes that does not end within 1048576 bytes", WHOLE},
    {"a.csv", "a\n\"b\n\n", "line 2: a value in quotes that does not end within 1048576 bytes", WHOLE},
    {"a.csv", "\"a\nb\"c\n", "line 2: text after the quote that ends a value: double the quotes inside a value", WHOLE},
    {"a.csv", "\"a\"\rb\n", "line 1: text after the quote that ends a value: double the quotes inside a value", WHOLE},
    {"a.csv", "a\nb\"c\",d\n", "line 2: a quote inside a value: put the value in quotes, and double its own", WHOLE},
    {"a.csv", "a\rb\n", "line 1: a carriage return inside a line: put the value in quotes", WHOLE},
    {"a.csv", "a\nb\r", "line 2: a carriage return inside a line: put the value in quotes", WHOLE},
    {"a.csv", "a,b\nc\0,d\n", "line 2: a zero byte: this is not text", 9},
    {"a.csv", "a\nb\nc\xff\n", "line 3: not UTF-8 (byte 5 of the text): save it as UTF-8", WHOLE},
    {"a.csv", "a\n\xc3", "line 2: not UTF-8 (byte 2 of the text): save it as UTF-8", WHOLE},
    {"a.tsv", "id\tlength\tkind\tpath\tb\nb\\q\n",
     "line 2: an escape other than \\t \\n \\r \\\\ \\xHH, or a zero byte", WHOLE},
    {"a.tsv", "id\tlength\tkind\tpath\tb\nb\\x00b\n",
     "line 2: an escape other than \\t \\n \\r \\\\ \\xHH, or a zero byte", WHOLE},
};

UNIT_TEST(records_are_as_they_were_written)
{
    char out[512];
    for (size_t i = 0; i < COUNT(known); i++) {
        size_t size = known[i].size == WHOLE ? strlen(known[i].text) : known[i].size;
        read_all(known[i].name, known[i].text, size, out);
        ck_assert_msg(strcmp(out, known[i].expected) == 0, "%zu: \"%s\", expected \"%s\"", i, out, known[i].expected);
    }
}

/* Compressed by the programs; a name that lies is refused. */
UNIT_TEST(compressed_tables_are_read)
{
    char out[512];
    struct bl_csv r;
    read_all("a.tsv", "id\tb\n", 5, out);
    ck_assert_int_eq(system("gzip -k a.tsv && zstd -q a.tsv"), 0);
    static const char *const names[] = {"a.tsv.gz", "a.tsv.zst"};
    for (size_t i = 0; i < 2; i++) {
        ck_assert_msg(bl_csv_open(&r, names[i], NULL, &e) == BL_OK, "%s", e.text);
        bool found = false;
        ck_assert_int_eq(bl_csv_next(&r, &found, &e), BL_OK);
        ck_assert(found);
        ck_assert_uint_eq(r.values, 2);
        ck_assert_str_eq(r.value[1], "b");
        bl_csv_close(&r);
    }
    read_all("a.csv.gz", "id,b\n", 5, out);
    ck_assert_str_eq(out, "not gzip data, as its name says");
}

UNIT_TEST(long_records_are_refused)
{
    char out[512];
    size_t size = BL_CSV_RECORD_MAX + 10;
    FREED char *text = malloc(size);
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', size);
    text[1] = text[3] = '\n';
    read_all("a.csv", text, size, out);
    ck_assert_str_eq(out, "line 3: a record of more than 1048576 bytes");
    read_all("a.tsv", text, size, out);
    ck_assert_str_eq(out, "line 3: a record of more than 1048576 bytes");
    text[4] = '"';
    read_all("a.csv", text, size, out);
    ck_assert_str_eq(out, "line 3: a value in quotes that does not end within 1048576 bytes");
}

#define ROWS 400000

/* Far more than is in memory at once, of characters of three bytes, so that some lie across the ends of what is read.
 */
UNIT_TEST(long_tables_are_read_in_pieces)
{
    char expected[64], place[64];
    OWNED(bl_csv_close) struct bl_csv r;
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    for (int i = 0; i < ROWS; i++)
        bl_buffer_printf(&text, "%d,\"\xe2\x82\xac\"\"\n%*s\xe2\x82\xac\"\n%s", i, i % 50, "", i % 9 ? "" : "\n\r\n");
    ck_assert_uint_gt(text.size, 3 * 4 * BL_CSV_RECORD_MAX / 2);
    ck_assert_msg(open_text(&r, "a.csv", text.data, text.size, &e) == BL_OK, "%s", e.text);
    bool found, good = true;
    int64_t line = 1;
    for (int i = 0; i < ROWS && good; i++) {
        snprintf(expected, sizeof expected, "\xe2\x82\xac\"\n%*s\xe2\x82\xac", i % 50, "");
        good = bl_csv_next(&r, &found, &e) == BL_OK && found && r.line == line && r.values == 2 &&
               atoi(r.value[0]) == i && strcmp(r.value[1], expected) == 0;
        line += i % 9 ? 2 : 4;
    }
    ck_assert_msg(good, "line %d, expected %d: %s", (int)r.line, (int)line, e.text);
    ck_assert_int_eq(bl_csv_next(&r, &found, &e), BL_OK);
    ck_assert(!found);
    ck_assert_int_eq(bl_csv_file_bytes(&r), text.size);
    bl_csv_close(&r);
    text.data[text.size - 5] = '\xff'; /* the byte and its line count from the start */
    ck_assert_msg(open_text(&r, "a.csv", text.data, text.size, &e) == BL_OK, "%s", e.text);
    int code;
    while (!(code = bl_csv_next(&r, &found, &e)) && found)
        ;
    ck_assert_int_eq(code, BL_EDATA);
    snprintf(place, sizeof place, "(byte %zu of the text)", text.size - 5);
    ck_assert_msg(strstr(e.text, "not UTF-8") && strstr(e.text, place), "%s", e.text);
}
