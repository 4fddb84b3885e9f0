/* Marks of recordings, and points: frames of ten samples at 100 Hz, each from a packet of its own. */

#include "kind/audio/marks.h"
#include "kind/media/compat.h"
#include "unit.h"

/* Adds frames [first, behind); each sample is its number. */
static void add_frames(struct bl_marks *marks, int first, int behind, float wrong)
{
    struct bl_error e = {0};
    float samples[10];
    OWNED(av_frame_free) AVFrame *frame = av_frame_alloc();
    for (int f = first; f < behind; f++) {
        for (int i = 0; i < 10; i++)
            samples[i] = (float)(10 * f + i) == wrong ? 0.5F : (float)(10 * f + i);
        frame->format = AV_SAMPLE_FMT_FLT;
        frame->sample_rate = 100;
        frame->nb_samples = 10;
        frame->pts = 10 * f;
        bl_compat_set_position(frame, 1000 + f / 2); /* two packets of a page */
        av_channel_layout_default(&frame->ch_layout, 1);
        frame->data[0] = (uint8_t *)samples;
        frame->extended_data = frame->data;
        ck_assert_int_eq(bl_marks_add(marks, frame, &e), BL_OK);
    }
    bl_marks_end(marks);
}

UNIT_TEST(marks_at_half_seconds)
{
    OWNED(bl_marks_free) struct bl_marks marks = {0};
    add_frames(&marks, 0, 105, -1);
    ck_assert_uint_eq(marks.count, 18);
    ck_assert_int_eq(marks.mark[1].sample, 60);
    ck_assert_int_eq(marks.mark[1].position, 1003);
    ck_assert_int_eq(marks.end, 1050);
}

UNIT_TEST(points_are_met_by_the_same_samples_alone)
{
    struct bl_marks marks = {0};
    struct bl_sound_point point;
    add_frames(&marks, 0, 105, -1);
    bl_sound_point_make(&point, &marks, 150, 160);
    ck_assert_int_eq(point.end, 0); /* too near to the beginning */
    bl_sound_point_make(&point, &marks, 450, 601);
    ck_assert_int_eq(point.sample, 420);
    ck_assert_int_eq(point.end, 660);
    ck_assert_int_eq(point.position, 1015);
    ck_assert_int_eq(point.mark, 1021);
    static const struct {
        int first, behind;
        float wrong;
        bool met;
    } known[] = {
        {42, 66, -1, true}, {42, 66, 659, false}, {42, 65, -1, false}, {42, 67, -1, false}, {43, 67, -1, false}};
    for (size_t i = 0; i < COUNT(known); i++) {
        OWNED(bl_marks_free) struct bl_marks check = {.end = point.sample};
        add_frames(&check, known[i].first, known[i].behind, known[i].wrong);
        ck_assert_int_eq(bl_sound_point_matches(&point, &check), known[i].met);
    }
    bl_sound_point_make(&point, &marks, 1045, 1050);
    ck_assert_int_eq(point.end, 1050);
    bl_marks_free(&marks);
    ck_assert(!bl_sound_point_matches(&point, &marks));
    bl_sound_point_make(&point, &marks, 5, 10);
    ck_assert_int_eq(point.end, 0);
}

UNIT_TEST(points_as_text)
{
    static const char good[] = "1 -2 3 4 5 0123456789abcdef";
    static const char *const bad[] = {"1",
                                      "1 2 3 4 5",
                                      "1 2 3 4 5 ",
                                      "1 2 3 4 5 xyz",
                                      "-1 2 3 4 5 0123456789abcdef",
                                      "4 2 3 4 5 0123456789abcdef",
                                      "1 2 3 5 5 0123456789abcdef",
                                      "1 2 3 -4 5 0123456789abcdef",
                                      "1 2 3 4 5 0123456789abcdef 6"};
    struct bl_sound_point point;
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    ck_assert(bl_sound_point_parse(&point, "") && bl_sound_point_parse(&point, NULL) && !point.end);
    bl_sound_point_format(&point, &text);
    ck_assert_uint_eq(text.size, 0);
    ck_assert(bl_sound_point_parse(&point, good));
    bl_sound_point_format(&point, &text);
    ck_assert_str_eq(text.data, good);
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!bl_sound_point_parse(&point, bad[i]), "%s", bad[i]);
}
