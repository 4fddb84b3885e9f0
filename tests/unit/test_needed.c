/* Which packets are left out with --stride: of a made-up stream by hand, and of encoded ones by the types of pictures
 * that ffprobe tells. */
#include "kind/video/timeline.h"

#include <sys/stat.h>

#include "kind/media/demux.h"
#include "unit.h"

UNIT_SCRATCH

#define FRAMES_MAX 12

/* A frame's time is ten times its number; packets in decoding order. */
struct stream {
    size_t frames;
    struct bl_coded coded[FRAMES_MAX];
    size_t restart; /* the frame of the only one */
};

/* Two closed groups as an encoder sends them, I0 P3 b1 b2 P5 b4 and I6 P9 b7 b8 P11 b10; what is lower case nothing
 * refers to. */
static const struct stream closed = {
    12,
    {{0, 0, false, 0, 0},
     {3, 0, false, 1, 0},
     {1, 0, true, 2, 0},
     {2, 0, true, 3, 0},
     {5, 0, false, 4, 0},
     {4, 0, true, 5, 0},
     {6, 0, false, 6, 6},
     {9, 0, false, 7, 6},
     {7, 0, true, 8, 6},
     {8, 0, true, 9, 6},
     {11, 0, false, 10, 6},
     {10, 0, true, 11, 6}},
    6,
};

/* An open one behind a closed one: I0 P2 b1 and I5 b3 b4 P7 b6; b3 and b4 refer to P2. */
static const struct stream open_group = {
    8,
    {{0, 0, false, 0, 0},
     {2, 0, false, 1, 0},
     {1, 0, true, 2, 0},
     {5, 0, false, 3, 3},
     {3, 0, true, 4, 0},
     {4, 0, true, 5, 0},
     {7, 0, false, 6, 3},
     {6, 0, true, 7, 3}},
    5,
};

/* A stride of 0 takes `count` frames by a list of this form. */
static void assert_taken(const struct stream *stream, enum bl_frame_form form, int64_t count, int64_t stride,
                         int64_t first, int64_t steps, bool to_end, const char *expected, size_t last, int64_t final)
{
    struct bl_coded packets[FRAMES_MAX];
    int64_t times[FRAMES_MAX];
    memcpy(packets, stream->coded, sizeof packets);
    for (size_t i = 0; i < stream->frames; i++)
        times[i] = (int64_t)i * 10;
    struct bl_access_point restart = {.time = times[stream->restart], .position = 1, .frame = stream->restart};
    struct bl_timeline t = {.exact = true,
                            .shown = {.time = times, .count = stream->frames},
                            .access_point = &restart,
                            .access_points = 1,
                            .coded = packets,
                            .coded_count = stream->frames};
    struct bl_pick pick;
    struct bl_needed needed;
    struct bl_error e = {0};
    size_t left_out = 0;
    ck_assert(bl_pick_init(&pick, 0, 0, stride ? stride : 1, 1, 100));
    const struct bl_frame_list list = {.form = form, .frames = (int64_t)stream->frames, .count = count};
    if (stride == 0)
        bl_pick_set_list(&pick, &list);
    ck_assert_int_eq(bl_needed_make(&needed, &t, pick, first, steps, to_end, &e), 0);
    for (size_t i = 0; i < stream->frames; i++) {
        bool has = bl_needed_has(&needed, times[i]);
        ck_assert_msg(has == (expected[i] == 'x'), "stride %d from %d: frame %zu", (int)stride, (int)first, i);
        left_out += !has;
    }
    ck_assert(bl_needed_has(&needed, 5)); /* no frame of the timeline */
    ck_assert_uint_eq(needed.left_out, left_out);
    ck_assert_uint_eq(needed.last, last);
    ck_assert_int_eq(needed.final, final);
    bl_needed_free(&needed);
}

static void assert_needed(const struct stream *stream, int64_t stride, int64_t first, int64_t steps, bool to_end,
                          const char *expected, size_t last, int64_t final)
{
    assert_taken(stream, BL_FRAMES_LINSPACE, 0, stride, first, steps, to_end, expected, last, final);
}

/* The lists are 0 5 11, 0 4 8, 2 6 10 and 6, of 12 frames. A whole group is left out, and so is what follows the last
 * taken frame. */
UNIT_TEST(pictures_that_a_list_does_not_need_are_left_out)
{
    assert_taken(&closed, BL_FRAMES_LINSPACE, 3, 0, 0, 3, false, "x..x.xx..x.x", 11, 110);
    assert_taken(&closed, BL_FRAMES_LINSPACE, 3, 0, 1, 1, false, "x..x.x......", 5, 50);
    assert_taken(&closed, BL_FRAMES_LINSPACE, 3, 0, 2, 1, false, "x.....x..x.x", 11, 110);
    assert_taken(&closed, BL_FRAMES_START, 3, 0, 0, 3, false, "x..xxxx.xx..", 9, 80);
    assert_taken(&closed, BL_FRAMES_MIDDLE, 3, 0, 0, 3, false, "x.xx..x..xxx", 11, 100);
    assert_taken(&closed, BL_FRAMES_MIDDLE, 1, 0, 0, 1, false, "x.....x.....", 6, 60);
}

UNIT_TEST(pictures_that_nothing_needs_are_left_out)
{
    assert_needed(&closed, 1, 0, 12, true, "xxxxxxxxxxxx", 11, 100);
    assert_needed(&closed, 4, 0, 3, true, "x..xxxx.xx.x", 11, 110);
    assert_needed(&closed, 4, 0, 3, false, "x..xxxx.xx..", 9, 80);
    assert_needed(&closed, 4, 1, 1, false, "x..xxx......", 5, 40);
    assert_needed(&closed, 4, 2, 1, false, "x.....x.xx..", 9, 80);
    assert_needed(&closed, 6, 1, 1, false, "x.....x.....", 6, 60);
    assert_needed(&closed, 100, 0, 1, true, "x.....x..x.x", 11, 110);
    assert_needed(&open_group, 3, 0, 3, false, "x.xx.xxx", 7, 60);
    assert_needed(&open_group, 6, 1, 1, false, "x....xxx", 7, 60);
    assert_needed(&open_group, 4, 1, 1, false, "x.x.xx..", 5, 40);
}

/* The types of a video's pictures, in display order. */
static void picture_types(const char *path, char *types, size_t size)
{
    char command[256];
    snprintf(command, sizeof command,
             "ffprobe -v error -select_streams v -show_entries frame=pict_type -of csv=p=0 %s | tr -cd IPB", path);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    types[fread(types, 1, size - 1, f)] = '\0';
    ck_assert_int_eq(pclose(f), 0);
}

static void assert_disposable(const char *path)
{
    struct bl_cancel cancel = {0};
    struct bl_kind_env env = {.cancel = &cancel};
    struct bl_demux d;
    struct bl_timeline t;
    struct bl_error e = {0};
    char types[256];
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    picture_types(path, types, sizeof types);
    ck_assert_msg(bl_demux_open(&d, path, status.st_size, -1, BL_DEMUX_COUNT, &env, &e) == 0, "%s", e.text);
    ck_assert_msg(bl_timeline_make(&t, &d, true, &e) == 0, "%s", e.text);
    ck_assert_msg(t.exact && strchr(types, 'B'), "%s", path);
    ck_assert_uint_eq(t.coded_count, strlen(types));
    for (size_t i = 0; i < t.coded_count; i++)
        ck_assert_msg(t.coded[i].disposable == (types[t.coded[i].frame] == 'B'), "%s: frame %zu", path,
                      t.coded[i].frame);
    bl_timeline_free(&t);
    bl_demux_close(&d);
}

UNIT_TEST(b_pictures_of_encoders_are_known)
{
    static const char *const recipes[][2] = {
        {"libx264 -bf 3 -x264-params b-pyramid=none", "h264.mp4"},
        {"libx264 -bf 3 -x264-params b-pyramid=none:slices=3:aud=1 -flags +ildct+ilme", "fields.mkv"},
        {"libx265 -x265-params log-level=none:bframes=3:b-pyramid=0:open-gop=0", "hevc.mp4"},
        {"mpeg2video -bf 2", "mpeg2.mkv"},
        {"mpeg1video -bf 3", "mpeg1.mkv"},
    };
    if (system("command -v ffmpeg >/dev/null 2>&1") != 0) {
        unit_skip("no ffmpeg command");
        return;
    }
    for (size_t i = 0; i < COUNT(recipes); i++) {
        char command[256];
        snprintf(command, sizeof command,
                 "ffmpeg -v quiet -nostdin -f lavfi -i testsrc2=s=64x48:d=2 -pix_fmt yuv420p -c:v %s -g 20 %s",
                 recipes[i][0], recipes[i][1]);
        ck_assert_msg(system(command) == 0, "%s", command);
        assert_disposable(recipes[i][1]);
    }
}
