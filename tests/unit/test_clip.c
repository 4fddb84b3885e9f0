/* Clips: times, lines of lists, seek points, and the frames nearest to a time. */
#include "kind/list.h"
#include "kind/video/clips.h"
#include "kind/video/piece.h"
#include "unit.h"

UNIT_TEST(times_of_lists)
{
    static const struct {
        const char *text;
        double seconds;
    } good[] = {{"0", 0},        {"83", 83},          {"83.25", 83.25},      {"1:23.5", 83.5}, {"0:01:23.5", 83.5},
                {"90:00", 5400}, {"27:46:39", 99999}, {"100:00:00", 360000}, {".5", 0.5},      {"1e1", 10}};
    static const char *const bad[] = {
        "",        "x",       "-1",
        "1:",      ":1",      "1:60",
        "1:60:00", "0:0:0:1", "1:-1",
        "1.5:2",   "nan",     "inf",
        "0x10",    "1 ",      " 1",
        "1e10",    "+1",      "1,5",
        "1e400",   "1:2e400", "99999999999999999999999999999999999999999999999999999999999999999"};
    double seconds;
    for (size_t i = 0; i < COUNT(good); i++) {
        ck_assert_msg(bl_clip_parse_time(good[i].text, &seconds), "%s", good[i].text);
        ck_assert_double_eq(seconds, good[i].seconds);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!bl_clip_parse_time(bad[i], &seconds), "%s", bad[i]);
}

static int parse(struct bl_clip *clip, const char *line, struct bl_error *e)
{
    *e = (struct bl_error){0};
    return bl_clip_parse(clip, line, strlen(line), e);
}

UNIT_TEST(lines_of_lists)
{
    OWNED(bl_clip_free) struct bl_clip clip = {0};
    ck_assert_int_eq(parse(&clip, "a\\tb.mp4\t1\t1:02.5\t\t\t\tx\\\\\t\ty", &e), BL_OK);
    ck_assert_str_eq(clip.path, "a\tb.mp4");
    ck_assert_str_eq(clip.id.data, "a\tb.mp4#1-1:02.5");
    ck_assert_str_eq(clip.further.data, "\tx\\\\\t\ty");
    ck_assert(clip.by_time && clip.start == 1 && clip.end == 62.5 && clip.first == -1 && clip.behind == -1);
    ck_assert_int_eq(parse(&clip, "p\t\t\t\t7\tname", &e), BL_OK);
    ck_assert_str_eq(clip.id.data, "name");
    ck_assert_str_eq(clip.further.data, "");
    ck_assert(!clip.by_time && clip.start == -1 && clip.first == -1 && clip.behind == 7 && !bl_clip_is_whole(&clip));
    ck_assert_int_eq(parse(&clip, "p\t\t\t4.0\t50.00\t", &e), BL_OK);
    ck_assert(clip.first == 4 && clip.behind == 50);
    ck_assert_str_eq(clip.id.data, "p#4.0-50.00");
    ck_assert(!clip.by_number);
    ck_assert_int_eq(parse(&clip, "p\t\t\t4\t#50.0\t", &e), BL_OK);
    ck_assert(clip.by_number && clip.first == 4 && clip.behind == 50);
    ck_assert_str_eq(clip.id.data, "p#4-50.0");
    ck_assert_int_eq(parse(&clip, "p\t\t\t4\t#\t", &e), BL_OK);
    ck_assert(clip.by_number && clip.first == 4 && clip.behind == -1);
    ck_assert_str_eq(clip.id.data, "p#4-");
    ck_assert_int_eq(parse(&clip, "p\t\t\t\t\t", &e), BL_OK);
    ck_assert(bl_clip_is_whole(&clip));
    ck_assert_str_eq(clip.id.data, "p");
    ck_assert_str_eq(clip.channel, "");
    /* A choice of channels. */
    ck_assert_int_eq(parse(&clip, "p\t1\t2\t\t\t\tx\t4,0\n4,0", &e), BL_OK);
    ck_assert_str_eq(clip.id.data, "p#1-2#ch4,0");
    ck_assert_str_eq(clip.channel, "4,0");
    ck_assert_str_eq(clip.further.data, "\tx\t4,0");
    ck_assert_int_eq(parse(&clip, "p\t\t\t\t\tname\n1", &e), BL_OK);
    ck_assert_str_eq(clip.id.data, "name");
    ck_assert_str_eq(clip.channel, "1");
    static const char *const bad[] = {"",
                                      "p",
                                      "p\t\t\t\t",
                                      "\t1\t2\t\t\t",
                                      "p\t2\t1\t\t\t",
                                      "p\t\t\t5\t4\t",
                                      "p\t1\t\t2\t\t",
                                      "p\tx\t\t\t\t",
                                      "p\t\t\t-1\t\t",
                                      "p\t\t\t\t1.5\t",
                                      "p\t\t\t\t1.\t",
                                      "p\t\t\t\t.0\t",
                                      "p\t\t\t\t1.0.0\t",
                                      "p\t\t\t5\t#4\t",
                                      "p\t\t\t\t##4\t",
                                      "p\t1\t\t\t#4\t",
                                      "p\\q\t\t\t\t\t",
                                      "p\\x00\t\t\t\t\t"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        ck_assert_msg(parse(&clip, bad[i], &e) == BL_EDATA, "%zu", i);
        ck_assert(*e.text);
    }
}

UNIT_TEST(seek_points)
{
    static const char *const good[] = {"0 0 -1 0 -", "12 -5 4096 7 9", "9223372036854775807 1 2 3 -"};
    static const char *const bad[] = {" ",          "1",          "1 2 3 4",    "1 2 3 4 5 6",
                                      "1 2 3 - 5",  "-1 0 0 0 0", "1 2 -2 0 0", "1 2 3 4 5 ",
                                      "1  2 3 4 5", "a 2 3 4 5",  "1 2 3 4 --"};
    struct bl_seek_point point;
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    ck_assert(bl_seek_point_parse(&point, "") && !point.known);
    ck_assert(bl_seek_point_parse(&point, NULL) && !point.known);
    bl_seek_point_format(&point, &text);
    ck_assert_uint_eq(text.size, 0);
    for (size_t i = 0; i < COUNT(good); i++) {
        bl_buffer_clear(&text);
        ck_assert(bl_seek_point_parse(&point, good[i]) && point.known);
        bl_seek_point_format(&point, &text);
        ck_assert_str_eq(text.data, good[i]);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!bl_seek_point_parse(&point, bad[i]), "%s", bad[i]);
}

/* Frames at 0, .1, .2 and 1 s; the last one ends at 1.1 s. */
UNIT_TEST(the_nearest_frame)
{
    double times[] = {0, 0.1, 0.2, 1};
    struct bl_cached_source f = {.ordered = true, .found = {.length = 4, .times = times, .tick = {1, 10}, .end = 11}};
    static const struct {
        double seconds;
        int64_t frame;
    } known[] = {{0, 0},   {0.04, 0}, {0.05, 1}, {0.1, 1}, {0.15, 2}, {0.59, 2},
                 {0.6, 3}, {1.04, 3}, {1.05, 4}, {1.1, 4}, {50, 4}};
    ck_assert_double_eq_tol(bl_cached_source_end(&f), 1.1, 1e-12);
    for (int ordered = 1; ordered >= 0; ordered--) {
        f.ordered = ordered;
        for (size_t i = 0; i < COUNT(known); i++)
            ck_assert_int_eq(bl_cached_source_nearest(&f, known[i].seconds), known[i].frame);
    }
    f.found.end = AV_NOPTS_VALUE;
    ck_assert_double_eq(bl_cached_source_end(&f), 1);
}

/* With a grid of 10 frames a second that begins at the clip's first frame. */
UNIT_TEST(steps_of_clips)
{
    double times[] = {0, 0.1, 0.2, 1};
    struct bl_cached_source f = {.ordered = true, .found = {.length = 4, .times = times, .tick = {1, 10}, .end = 11}};
    struct bl_video_config config = {.stride = 1};
    int64_t steps;
    struct bl_frame_list list;
    ck_assert_int_eq(bl_cached_source_steps(&f, &config, 1, 4, &steps, &list, &e), BL_OK);
    ck_assert_int_eq(steps, 3);
    config.stride = 2;
    ck_assert_int_eq(bl_cached_source_steps(&f, &config, 1, 4, &steps, &list, &e), BL_OK);
    ck_assert_int_eq(steps, 2);
    config = (struct bl_video_config){.stride = 1, .fps = {10, 1}};
    ck_assert_int_eq(bl_cached_source_steps(&f, &config, 1, 4, &steps, &list, &e), BL_OK);
    ck_assert_int_eq(steps, 10); /* of 1 s */
    ck_assert_int_eq(bl_cached_source_steps(&f, &config, 1, 3, &steps, &list, &e), BL_OK);
    ck_assert_int_eq(steps, 9);
    config.fps = (struct bl_rational){1, 10};
    ck_assert_int_eq(bl_cached_source_steps(&f, &config, 1, 2, &steps, &list, &e), BL_EDATA);
    f.found.times = NULL;
    ck_assert_int_eq(bl_cached_source_steps(&f, &config, 1, 2, &steps, &list, &e), BL_EDATA);
}
