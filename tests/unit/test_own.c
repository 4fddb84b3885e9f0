#include <math.h>

#include "base/option.h"
#include "kind/array/array.h"
#include "kind/own/own.h"
#include "kind/own/own_files.h"
#include "kind/own/own_list.h"
#include "kind/text/config.h"
#include "kind/text/text.h"
#include "unit.h"

UNIT_SCRATCH

/* --- lists -------------------------------------------------------------------------------------------------------- */

#define LISTS_SHAPE_MAX 2

UNIT_TEST(a_list_is_an_array)
{
    static const struct {
        const char *text;
        enum bl_dtype dtype;
        int64_t steps;
        int rank;
        int64_t shape[LISTS_SHAPE_MAX];
        double first, last;
    } known[] = {
        {"[1, 2, 3]", BL_I64, 3, 0, {0}, 1, 3},
        {" [[1,2],[3,4]]\n", BL_U8, 2, 1, {2}, 1, 4},
        {"[[[0.5],[-1e3]]]", BL_F32, 1, 2, {2, 1}, 0.5, -1000},
        {"[-128, 127.0, 1e2]", BL_I8, 3, 0, {0}, -128, 100},
        {"[0, 65535]", BL_U16, 2, 0, {0}, 0, 65535},
        {"[-9223372036854775808, 9223372036854775807]", BL_I64, 2, 0, {0}, -0x1p63, 0x1p63},
        {"[0, 18446744073709551615]", BL_U64, 2, 0, {0}, 0, 0x1p64},
        {"[true, false, 1]", BL_BOOL, 3, 0, {0}, 1, 1},
        {"[true, 2.5]", BL_F64, 2, 0, {0}, 1, 2.5},
        {"[0.1, Infinity, -Infinity]", BL_F32, 3, 0, {0}, 0.1F, -INFINITY},
        {"[65504, 0.333251953125]", BL_F16, 2, 0, {0}, 65504, 0.333251953125},
        {"[5.9604644775390625e-8, 65519]", BL_F16, 2, 0, {0}, 0x1p-24, 65504},
        {"[1.00048828125, 1.001464843750]", BL_F16, 2, 0, {0}, 1, 1.001953125},
        {"[3.0e-8, -0.00006103515625]", BL_F16, 2, 0, {0}, 0x1p-24, -0x1p-14},
        {"[1.00390625, 1.01171875]", BL_BF16, 2, 0, {0}, 1, 1.015625},
        {"[-3.3895313892515355e38, 9.183549615799121e-41]", BL_BF16, 2, 0, {0}, -0x1.fep127, 0x1p-133},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        struct bl_own_list list;
        uint8_t out[64];
        size_t size = bl_dtype_size(known[i].dtype), count = 1;
        ck_assert_msg(!bl_own_list_read(&list, known[i].text, strlen(known[i].text), known[i].dtype, NULL, &e), "%s",
                      e.text);
        ck_assert_int_eq(list.steps, known[i].steps);
        ck_assert_int_eq(list.rank, known[i].rank);
        for (int a = 0; a < list.rank; a++) {
            ck_assert_int_eq(list.shape[a], known[i].shape[a]);
            count *= (size_t)list.shape[a];
        }
        ck_assert(!bl_own_list_read(&list, known[i].text, strlen(known[i].text), known[i].dtype, out, &e));
        count *= (size_t)list.steps;
        ck_assert_double_eq(bl_element_number(known[i].dtype, out), known[i].first);
        double last = bl_element_number(known[i].dtype, out + (count - 1) * size);
        ck_assert_msg(last == known[i].last, "%s: %.17g", known[i].text, last);
    }
}

UNIT_TEST(an_empty_list_has_no_steps)
{
    struct bl_own_list list;
    ck_assert_int_eq(bl_own_list_read(&list, " [ ] ", 5, BL_F32, NULL, &e), BL_OK);
    ck_assert_int_eq(list.steps, 0);
}

UNIT_TEST(other_values_are_no_arrays)
{
    static const struct {
        const char *text;
        enum bl_dtype dtype;
        const char *fault;
    } bad[] = {
        {"", BL_F32, "no JSON list at byte 0: the line ends where a value is expected"},
        {"[1, 2", BL_F32, "no JSON list at byte 5: expected , or ]"},
        {"[1] 2", BL_F32, "no JSON list at byte 4: expected the end of the value"},
        {"3", BL_F32, "a number, not a list"},
        {"{\"a\": [1]}", BL_F32, "an object, not a list"},
        {"[1, \"a\"]", BL_F32, "step 1: \"a\" is no number that fits F32"},
        {"[1, null]", BL_F64, "step 1: null is no number that fits F64"},
        {"[0, 1.5]", BL_I32, "step 1: 1.5 is no number that fits I32"},
        {"[256]", BL_U8, "step 0: 256 is no number that fits U8"},
        {"[-1]", BL_U64, "step 0: -1 is no number that fits U64"},
        {"[18446744073709551616]", BL_U64, "step 0: 18446744073709551616 is no number that fits U64"},
        {"[9223372036854775808]", BL_I64, "step 0: 9223372036854775808 is no number that fits I64"},
        {"[2]", BL_BOOL, "step 0: 2 is no number that fits BOOL"},
        {"[NaN]", BL_I8, "step 0: NaN is no number that fits I8"},
        {"[1e39]", BL_F32, "step 0: 1e39 is no number that fits F32"},
        {"[16777216, 16777217]", BL_F32, "step 1: 16777217 is no number that fits F32"},
        {"[-9007199254740993]", BL_F64, "step 0: -9007199254740993 is no number that fits F64"},
        {"[18446744073709551616]", BL_F64, "step 0: 18446744073709551616 is no number that fits F64"},
        {"[65520]", BL_F16, "step 0: 65520 is no number that fits F16"},
        {"[1e999]", BL_F64, "step 0: 1e999 is no number that fits F64"},
        {"[{}]", BL_F32, "step 0: {} is no number that fits F32"},
        {"[[1, 2], [3]]", BL_F32, "step 1: a list of 1, others have 2"},
        {"[[], []]", BL_F32, "step 0: an empty list"},
        {"[[1], 2]", BL_F32, "step 1: a number where others have a list"},
        {"[1, [2]]", BL_F32, "step 1: a list where others have a number"},
        {"[[1, [2]]]", BL_F32, "step 0: a list where others have a number"},
        {"[[[[[[1]]]]]]", BL_F32, "step 0: more than 4 axes"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bl_own_list list;
        FAILS(bl_own_list_read(&list, bad[i].text, strlen(bad[i].text), bad[i].dtype, NULL, &e), BL_EDATA,
              bad[i].fault);
    }
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Checks that a value names these files: the lines of a list of clips, a newline between two. */
UNIT_TEST(a_value_names_files)
{
    static const struct {
        const char *text, *lines;
    } known[] = {
        {"", ""},
        {" null ", ""},
        {" [ ] ", ""},
        {" a b.jpg\n", "a b.jpg\t\t\t\t\t"},
        {"[\"a.jpg\", \"b\\t\\u00e4.jpg\"]", "a.jpg\t\t\t\t\t\nb\\t\xc3\xa4.jpg\t\t\t\t\t"},
        {"{\"path\": \"a\"}", "a\t\t\t\t\t"},
        {"[{\"bytes\": null, \"path\": \"a\"}]", "a\t\t\t\t\t"},
        {"[{\"start\": 1.5, \"end\": \"0:02\", \"path\": \"a\"}, \"b\"]", "a\t1.5\t0:02\t\t\t\nb\t\t\t\t\t"},
        {"[{\"path\": \"a\", \"start_frame\": 2, \"end_frame\": null}]", "a\t\t\t2\t\t"},
    };
    struct bl_own_files files = {0};
    for (size_t i = 0; i < COUNT(known); i++) {
        struct bl_buffer lines = {0};
        ck_assert_msg(!bl_own_files_parse(&files, known[i].text, strlen(known[i].text), &e), "%s", e.text);
        bl_buffer_text(&lines, "");
        for (size_t l = 0; l < files.count; l++) {
            ck_assert_int_eq(files.line[l].number, (int64_t)l + 1);
            bl_buffer_text(&lines, l ? "\n" : "");
            bl_buffer_append(&lines, files.line[l].text, files.line[l].size);
        }
        ck_assert_str_eq(lines.data, known[i].lines);
        bl_buffer_free(&lines);
    }
    bl_own_files_free(&files);
}

UNIT_TEST(other_values_name_none)
{
    static const struct {
        const char *text, *fault;
    } bad[] = {
        {"[\"a\"", "not a list of paths: expected , or ] at byte 4"},
        {"[1]", "file 1: a number, not a path"},
        {"[\"a\", null]", "file 2: true, false or null, not a path"},
        {"[\"a\", \"\"]", "file 2: an empty path"},
        {"[\"a\\u0000b\"]", "file 1: an empty path"},
        {"[\"\\ud800\"]", "file 1: its path is no text"},
        {"[{}]", "file 1: an object without a path"},
        {"[{\"path\": null}]", "file 1: an object without a path"},
        {"[{\"path\": 3}]", "file 1: path is a number"},
        {"[{\"path\": \"a\", \"end\": [3]}]", "file 1: end is an array"},
        {"[{\"path\": \"a\", \"id\": \"b\"}]",
         "file 1: unknown key \"id\": path, start, end, start_frame and end_frame are known"},
    };
    struct bl_own_files files = {0};
    for (size_t i = 0; i < COUNT(bad); i++)
        FAILS(bl_own_files_parse(&files, bad[i].text, strlen(bad[i].text), &e), BL_EDATA, bad[i].fault);
    bl_own_files_free(&files);
}

/* A table that was edited is refused, and a missing column is told. */
UNIT_TEST(records_tell_of_files)
{
    static const char *const bad[] = {"a\\tx", "a\\t1\\t-2", "a\\t1\\t2\\t12", "a\\t1\\t2\\t\\t\\t\\t5\\t4",
                                      "a\\\\q\\t1"};
    const struct bl_composite_part part = {.kind = &bl_kind_array, .name = "f"};
    char extra[64];
    struct bl_row row = {.id = "i",
                         .columns = "\tf.files",
                         .extra = "\ta.mp4\\t3\\t99\\t0123456789abcdef\\t1\\tcut short\\t2\\t9\\t0 1\\nb"};
    struct bl_own_records records = {.source = {.part = &part, .base = "base"}, .row = &row};
    bool found;
    ck_assert_int_eq(bl_own_records_next(&records, &found, &e), BL_OK);
    ck_assert(found);
    ck_assert_str_eq(records.path, "a.mp4");
    ck_assert_str_eq(records.file.path, "base/a.mp4");
    ck_assert_int_eq(records.file.length, 3);
    ck_assert_int_eq(records.file.bytes, 99);
    ck_assert(records.file.content == 0x0123456789abcdef);
    ck_assert_int_eq(records.file.stream, 1);
    ck_assert_str_eq(records.file.reason, "cut short");
    ck_assert_int_eq(records.file.clip_begin, 2);
    ck_assert_int_eq(records.file.clip_end, 9);
    ck_assert_str_eq(records.file.clip_seek, "0 1");
    ck_assert_int_eq(bl_own_records_next(&records, &found, &e), BL_OK);
    ck_assert(found && records.file.length == 0 && records.file.bytes == -1 && records.file.stream == -1);
    ck_assert_int_eq(bl_own_records_next(&records, &found, &e), BL_OK);
    ck_assert(!found);
    bl_own_records_free(&records);
    for (size_t i = 0; i < COUNT(bad); i++) {
        snprintf(extra, sizeof extra, "\t%s", bad[i]);
        row.extra = extra;
        records = (struct bl_own_records){.source = {.part = &part}, .row = &row};
        ck_assert_int_eq(bl_own_records_next(&records, &found, &e), BL_EFAIL);
        bl_error_clear(&e);
        bl_own_records_free(&records);
    }
    row.columns = "\tg.files";
    records = (struct bl_own_records){.source = {.part = &part}, .row = &row};
    FAILS(bl_own_records_next(&records, &found, &e), BL_EUSAGE,
          "the table has no valid column f.files: scan with the same fields");
    bl_own_records_free(&records);
}

/* --- sequences ---------------------------------------------------------------------------------------------------- */

/* Arrays of numbers with three own fields: patches, in files; text and v, in columns. */
struct setup {
    struct bl_cancel cancel;
    struct bl_kind_env env;
    struct bl_options options[3];
    struct bl_array_config primary, patches;
    struct bl_text_config text;
    struct bl_own own;
    struct bl_counter *counter;
    struct bl_input input;
    struct bl_completion texts;
    struct bl_buffer columns;
    struct bl_row row;
};

static void write_npy(const char *path, const char *shape, const void *data, size_t size)
{
    char header[128];
    int used = snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fwrite("\x93NUMPY\1\0", 1, 8, file), 8);
    fputc(used, file);
    fputc(0, file);
    fputs(header, file);
    if (size)
        ck_assert_int_eq(fwrite(data, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static void prepare(struct bl_options *options, const struct bl_kind *kind, void *config)
{
    struct bl_error e = {0};
    struct bl_buffer warning = {0};
    ck_assert_int_eq(bl_options_add(options, NULL, kind->options.table, config, &e), BL_OK);
    if (kind == &bl_kind_text)
        ((struct bl_text_config *)config)->tokenizer = "bytes";
    ck_assert_msg(kind->options.prepare(config, &warning, &e) == BL_OK, "%s", e.text);
    bl_buffer_free(&warning);
}

/* Makes the kind, and a row of a.npy with 3 steps and these values of the columns text and v. */
static void begin(struct setup *s, bool may_miss, const char *values)
{
    const float numbers[6] = {0, 1, 2, 3, 4, 5};
    struct bl_error e = {0};
    *s = (struct setup){.env = {.cancel = &s->cancel}};
    write_npy("a.npy", "3,", numbers, 12);
    write_npy("a.own", "2, 3", numbers, 24);
    prepare(&s->options[0], &bl_kind_array, &s->primary);
    prepare(&s->options[1], &bl_kind_array, &s->patches);
    prepare(&s->options[2], &bl_kind_text, &s->text);
    s->own = (struct bl_own){.inner = &bl_kind_array, .inner_config = &s->primary, .fields = 3};
    s->own.field[0] = (struct bl_own_field){
        .name = "patches", .kind = &bl_kind_array, .config = &s->patches, .path = "{id}.own", .may_miss = may_miss};
    s->own.field[1] =
        (struct bl_own_field){.name = "text", .kind = &bl_kind_text, .config = &s->text, .column = "text"};
    s->own.field[2] = (struct bl_own_field){.name = "v",
                                            .kind = &bl_kind_array,
                                            .config = &s->patches,
                                            .column = "list",
                                            .dtype = BL_I16,
                                            .may_miss = may_miss,
                                            .capacity = 7,
                                            .storage = BL_OWN_FLAT};
    bl_own_make(&s->own, &s->env);
    bl_buffer_text(&s->columns, "\ttext\tlist");
    bl_own_columns(&s->own, &s->columns);
    ck_assert_int_eq(s->own.scan.open(&s->own, &s->env, &s->counter, &e), BL_OK);
    s->row = (struct bl_row){.id = "a.npy",
                             .path = "a.npy",
                             .length = 3,
                             .bytes = -1,
                             .reason = "",
                             .stream = -1,
                             .extra = values,
                             .columns = s->columns.data};
}

static void complete(struct setup *s)
{
    struct bl_error e = {0};
    ck_assert_msg(s->own.scan.complete(&s->own, &s->env, s->counter, &s->input, &s->row, &s->texts, &e) == BL_OK, "%s",
                  e.text);
}

static void end(struct setup *s)
{
    s->counter->close(s->counter);
    bl_buffer_free(&s->texts.extra);
    bl_buffer_free(&s->texts.reason);
    bl_buffer_free(&s->texts.form);
    bl_buffer_free(&s->columns);
    bl_kind_array.options.release(&s->primary);
    bl_kind_array.options.release(&s->patches);
    bl_kind_text.options.release(&s->text);
    for (int i = 0; i < 3; i++)
        bl_options_free(&s->options[i]);
}

UNIT_TEST(a_sequence_has_steps_of_own_fields)
{
    struct setup s;
    struct bl_fields fields;
    struct bl_reader *reader;
    struct bl_note note;
    begin(&s, false, "\tHi \xc3\xa4\t[[1, 2], [-3, 4], [5, 6], [7, 8]]");
    ck_assert_int_eq(bl_own_check_columns(&s.own, "\ttext\tlist", false, &e), BL_OK);
    ck_assert(bl_own_uses_column(&s.own, "text") && !bl_own_uses_column(&s.own, "texts"));
    complete(&s);
    ck_assert_int_eq(s.row.status, BL_ROW_OK);
    ck_assert_str_eq(s.row.reason, "");
    ck_assert_str_eq(s.row.form, "\tpatches F32 [3]\tv I16 [2]");
    ck_assert_int_eq(bl_row_get_number(&s.row, "patches.length"), 2);
    ck_assert_int_eq(bl_row_get_number(&s.row, "text.length"), 5);
    ck_assert_int_eq(bl_row_get_number(&s.row, "v.length"), 4);
    s.row.sampling = "axis=0; patches: own axis=0";
    ck_assert(!bl_row_is_adjusted(&s.row));
    ck_assert_int_eq(s.own.scan.verify(&s.own, &s.row, &e), BL_OK);
    ck_assert_int_eq(s.own.read.fields(&s.own, &s.env, NULL, &fields, &e), BL_EDATA);
    bl_error_clear(&e);
    ck_assert_int_eq(s.own.read.fields(&s.own, &s.env, &s.row, &fields, &e), BL_OK);
    ck_assert_int_eq(fields.count, 4);
    ck_assert(!fields.field[0].own && fields.field[1].own && !fields.field[1].flat && fields.field[3].flat);
    ck_assert_int_eq(fields.field[3].capacity, 7);
    ck_assert_str_eq(fields.field[2].name, "text");
    ck_assert_int_eq(s.own.read.open(&s.own, &s.env, &fields, &reader, &e), BL_OK);
    float primary[2] = {0}, patches[6] = {0};
    int32_t text[5];
    int16_t v[8];
    uint8_t *out[] = {(uint8_t *)primary, (uint8_t *)patches, (uint8_t *)text, (uint8_t *)v};
    int64_t own[] = {0, 2, 5, 4};
    struct bl_request request = {.row = s.row, .source_start = 1, .steps = 2, .out = out, .own = own};
    ck_assert_msg(reader->piece(reader, &request, &note, &e) == BL_OK, "%s", e.text);
    ck_assert(primary[0] == 1 && primary[1] == 2 && patches[5] == 5);
    ck_assert(text[0] == 'H' && text[3] == 0xc3 && text[4] == 0xa4);
    ck_assert(v[2] == -3 && v[7] == 8);
    /* A piece without own steps reads none. */
    patches[5] = 9;
    ck_assert_int_eq(reader->piece(reader, &(struct bl_request){.row = s.row, .steps = 2, .out = out}, &note, &e), 0);
    ck_assert(patches[5] == 9);
    own[2] = 4;
    FAILS(reader->piece(reader, &request, &note, &e), BL_EFAIL,
          "a.npy: the table has 5 steps of text, the plan 4: scan again");
    own[2] = 5;
    fields.field[3].shape[0] = 3;
    reader->close(reader);
    ck_assert_int_eq(s.own.read.open(&s.own, &s.env, &fields, &reader, &e), BL_OK);
    FAILS(reader->piece(reader, &request, &note, &e), BL_EDATA,
          "v: its steps have another shape than those of the first sequence");
    write_npy("a.own", "2, 3", "abcdefghijklmnopqrstuvwx", 24);
    FAILS_WITH(reader->piece(reader, &request, &note, &e), BL_EFAIL, "a.own: changed since the scan");
    FAILS(s.own.scan.verify(&s.own, &s.row, &e), BL_EDATA, "patches: a.own has different content");
    reader->close(reader);
    end(&s);
}

UNIT_TEST(a_field_that_is_missing_makes_a_sequence_unusable)
{
    struct setup s;
    begin(&s, false, "\t\t");
    complete(&s);
    ck_assert_int_eq(s.row.status, BL_ROW_SKIPPED);
    ck_assert_int_eq(s.row.length, 0);
    ck_assert_str_eq(s.row.reason, "v: the column \"list\" is empty");
    ck_assert_ptr_null(s.row.form);
    end(&s);
    begin(&s, false, "\ta\t[1]");
    ck_assert_int_eq(unlink("a.own"), 0);
    complete(&s);
    ck_assert_str_eq(s.row.reason, "patches: a.own: file not found");
    ck_assert_str_eq(s.row.extra, "\ta\t[1]\ta.own\t0\t0\t\tfile not found\t\t\t");
    end(&s);
    begin(&s, false, "\ta\t[1, [2]]");
    complete(&s);
    ck_assert_str_eq(s.row.reason, "v: step 1: a list where others have a number");
    end(&s);
}

UNIT_TEST(a_field_that_may_be_missing_has_no_steps)
{
    struct setup s;
    struct bl_fields fields;
    begin(&s, true, "\t\tnull");
    ck_assert_int_eq(unlink("a.own"), 0);
    complete(&s);
    ck_assert_int_eq(s.row.status, BL_ROW_OK);
    ck_assert_str_eq(s.row.extra, "\t\tnull\ta.own\t0\t0\t\tfile not found\t\t0\t0");
    ck_assert_ptr_null(s.row.form);
    ck_assert_int_eq(s.own.read.fields(&s.own, &s.env, &s.row, &fields, &e), BL_OK);
    ck_assert_int_eq(fields.field[1].rank, BL_RANK_UNKNOWN);
    ck_assert_int_eq(fields.field[2].rank, 0);
    ck_assert_int_eq(s.own.scan.verify(&s.own, &s.row, &e), BL_OK);
    end(&s);
    /* A file without steps is none that is missing. */
    begin(&s, false, "\tx\t[]");
    write_npy("a.own", "0, 3", NULL, 0);
    complete(&s);
    ck_assert_int_eq(s.row.status, BL_ROW_OK);
    ck_assert_int_eq(bl_row_get_number(&s.row, "patches.length"), 0);
    ck_assert_ptr_null(s.row.form);
    end(&s);
}

/* The kind of the sources sees the reason that it gave itself. */
UNIT_TEST(damage_of_an_own_file_is_not_that_of_the_sequence)
{
    struct setup s;
    const float numbers[7] = {0};
    begin(&s, false, "\tx\t[1]");
    write_npy("a.own", "2, 3", numbers, 28);
    s.row.reason = "damaged: a little";
    complete(&s);
    ck_assert_int_eq(s.row.status, BL_ROW_OK);
    ck_assert_str_eq(s.row.reason, "damaged: a little; patches: a.own: 4 bytes follow the array: left out");
    end(&s);
}

UNIT_TEST(columns_must_be_there)
{
    struct setup s;
    begin(&s, false, "\t\t");
    FAILS(bl_own_check_columns(&s.own, "\tlist\tother", false, &e), BL_EUSAGE,
          "field text: there is no column \"text\"; the columns are: list, other");
    FAILS(bl_own_check_columns(&s.own, "\ttext\tlist\ttext.length", false, &e), BL_EUSAGE,
          "the column text.length is that of the field's steps: rename the other one");
    FAILS(bl_own_check_columns(&s.own, "\ttext\tlist", true, &e), BL_EUSAGE,
          "the table has no column patches.length: scan with the same fields");
    end(&s);
}
