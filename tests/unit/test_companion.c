#include "kind/composite/composite.h"
#include "kind/audio/audio.h"
#include "kind/audio/options.h"
#include "kind/video/video.h"
#include "unit.h"

UNIT_TEST(paths_have_a_place_for_the_sequence)
{
    static const struct {
        const char *path, *id, *expected;
    } known[] = {
        {"labels/{id}.npy", "a.mp4", "labels/a.npy"},
        {"labels/{id}.npy", "sub.d/a.b.mp4", "labels/sub.d/a.b.npy"},
        {"labels/{id}.npy", "sub.d/a", "labels/sub.d/a.npy"},
        {"{id}", ".hidden", ".hidden"},
        {"l/{stem}.npy", "../v/sub/a.mp4", "l/a.npy"},
        {"l/{name}/{stem}", "001YG.mp4", "l/001YG.mp4/001YG"},
        {"{id}{id}", "a.b", "aa"},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        OWNED(bl_buffer_free) struct bl_buffer out = {0};
        ck_assert_int_eq(bl_companion_check(known[i].path, &e), BL_OK);
        bl_companion_append_path(known[i].path, known[i].id, &out);
        ck_assert_str_eq(out.data, known[i].expected);
    }
    static const char *const bad[] = {"labels/a.npy", "{", "{id", "id}", "{id}}", "{ID}.npy", "{}{id}", "{id}{x}"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        bl_error_clear(&e);
        ck_assert_msg(bl_companion_check(bad[i], &e) == BL_EUSAGE, "took \"%s\"", bad[i]);
    }
}

UNIT_TEST(what_the_scan_found_comes_back)
{
    struct bl_composite joined = {.parts = 3, .base = "conf"};
    struct bl_video_config plain = {0}, by_gpu = {.decoder = BL_DECODER_AUTO};
    joined.part[0] = (struct bl_composite_part){.kind = &bl_kind_video, .config = &plain};
    joined.part[1] =
        (struct bl_composite_part){.kind = &bl_kind_video, .config = &by_gpu, .name = "again", .path = "{id}"};
    struct bl_audio_config sound = {0};
    joined.part[2] =
        (struct bl_composite_part){.kind = &bl_kind_audio, .config = &sound, .name = "sound", .path = "{id}"};
    OWNED(bl_buffer_free) struct bl_buffer columns = {0}, extra = {0};
    struct bl_companion_row back = {0};
    const struct bl_row found = {.path = "a\tb.wav",
                                 .bytes = 812,
                                 .length = 30,
                                 .stream = 1,
                                 .reason = "damaged: a \\ in it",
                                 .content = 77,
                                 .offset = -1};
    bl_companion_append_columns(&joined.part[1], &columns);
    bl_companion_append_columns(&joined.part[2], &columns);
    const struct bl_row decoded = {.path = "a.mp4", .length = 30, .reason = "", .stream = -1, .extra = "\tnvdec"};
    bl_companion_append_values(&joined.part[1], &decoded, &extra);
    bl_companion_append_values(&joined.part[2], &found, &extra);
    struct bl_row row = {.id = "a", .length = 31, .extra = extra.data, .columns = columns.data};
    ck_assert_int_eq(bl_companion_row_read(&joined, 2, &row, &back, &e), BL_OK);
    ck_assert_str_eq(back.path, "a\tb.wav");
    ck_assert_str_eq(back.row.path, "conf/a\tb.wav");
    ck_assert_str_eq(back.row.reason, found.reason);
    ck_assert_int_eq(back.row.bytes, 812);
    ck_assert_int_eq(back.row.length, 30);
    ck_assert_int_eq(back.row.stream, 1);
    ck_assert_uint_eq(back.row.content, 77);
    ck_assert(bl_row_is_adjusted(&row));
    row.length = 30;
    ck_assert(!bl_row_is_adjusted(&row));
    ck_assert_int_eq(bl_companion_row_read(&joined, 1, &row, &back, &e), BL_OK);
    ck_assert_str_eq(back.path, "a.mp4");
    ck_assert_str_eq(back.row.columns, "\tdecoder");
    ck_assert_str_eq(back.row.extra, "\tnvdec");
    ck_assert_int_eq(back.row.stream, -1);
    ck_assert_uint_eq(back.row.content, 0);
    /* A table of somebody else's need not have contents, and must not have wrong ones. */
    row = (struct bl_row){.id = "a",
                          .columns = "\tsound.path\tsound.bytes\tsound.length\tsound.stream\tsound.reason",
                          .extra = "\ta.wav\t812\t30\t1\t"};
    ck_assert_int_eq(bl_companion_row_read(&joined, 2, &row, &back, &e), BL_OK);
    ck_assert_uint_eq(back.row.content, 0);
    row.columns = "\tsound.path\tsound.bytes\tsound.length\tsound.stream\tsound.reason\tsound.content";
    row.extra = "\ta.wav\t812\t30\t1\t\tx";
    ck_assert_int_eq(bl_companion_row_read(&joined, 2, &row, &back, &e), BL_EFAIL);
    row.columns = "\tother";
    ck_assert_int_eq(bl_companion_row_read(&joined, 1, &row, &back, &e), BL_EUSAGE);
    bl_companion_row_free(&back);
}

/* Columns that a user named so are no lengths of fields. */
UNIT_TEST(other_columns_adjust_nothing)
{
    struct bl_row row = {.length = 5, .columns = "\tmeta.length\tx.path\tx.length", .extra = "\t4\ta\t3"};
    ck_assert(!bl_row_is_adjusted(&row));
    row.columns = "\tx.path\ty.bytes\tx.length";
    ck_assert(!bl_row_is_adjusted(&row));
    row.columns = "\tx.path\tx.bytes\tx.length";
    ck_assert(bl_row_is_adjusted(&row));
    row.extra = NULL;
    ck_assert(!bl_row_is_adjusted(&row));
}
