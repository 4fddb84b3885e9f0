/* Videos as the kind's table of functions gives them: lengths against the ffmpeg command's, pieces against the whole,
 * damage and uselessness named. Clips are made by the ffmpeg command, once; the shared media are used when they are
 * there. */
#include "kind/video/video.h"

#include <limits.h>
#include <sys/stat.h>

#include "kind/kinds.h"
#include "kind/media/module.h"
#include "clips.h"

#define SECONDS "2"
#define FRAMES 50 /* of every clip, unless it says otherwise */

/* Options of ffmpeg after the picture, and the name. Keyframes every 12 frames. */
static const char *const recipes[][2] = {
    {"-c:v libx264 -g 12 -bf 3 -pix_fmt yuv420p", "b.mp4"},
    {"-c:v libx264 -g 12 -bf 3 -pix_fmt yuv420p", "b.mkv"},
    {"-c:v libx264 -g 12 -bf 3 -pix_fmt yuv420p -movflags +faststart", "front.mp4"},
    {"-c:v libx264 -g 12 -bf 3 -pix_fmt yuv420p -movflags frag_keyframe+empty_moov", "fragments.mp4"},
    {"-c:v libx264 -g 12 -bf 3 -x264-params open-gop=1 -pix_fmt yuv420p", "opengop.mp4"},
    {"-c:v libx264 -x264-params intra-refresh=1:keyint=12 -pix_fmt yuv420p", "refresh.mkv"},
    {"-c:v libx264 -g 12 -qp 0 -pix_fmt yuv444p", "lossless.mkv"},
    {"-c:v libx264 -g 12 -flags +ildct+ilme -pix_fmt yuv420p", "interlaced.ts"},
    {"-c:v libx265 -x265-params log-level=none:keyint=12:bframes=3:open-gop=0", "closed265.mkv"},
    {"-c:v libx265 -x265-params log-level=none:keyint=12:bframes=3:open-gop=1", "open265.mp4"},
    {"-c:v libvpx -g 12 -auto-alt-ref 1 -lag-in-frames 16 -b:v 300k", "vp8.webm"},
    {"-c:v libvpx-vp9 -g 12 -auto-alt-ref 1 -lag-in-frames 16 -b:v 300k", "vp9.webm"},
    {"-c:v libvpx-vp9 -g 12 -auto-alt-ref 1 -lag-in-frames 16 -b:v 300k", "vp9.mp4"},
    {"-c:v libaom-av1 -cpu-used 8 -g 12 -b:v 200k -lag-in-frames 16", "av1.mkv"},
    {"-c:v mpeg4 -bf 2 -g 12", "mpeg4.avi"},
    {"-c:v mpeg2video -bf 2 -g 12", "mpeg2.mpg"},
    {"-c:v mpeg2video -bf 2 -g 12", "mpeg2.ts"},
    {"-c:v mpeg2video -bf 2 -g 12", "mpeg2.mkv"},
    {"-c:v mjpeg", "jpeg.mov"},
    {"-c:v prores -pix_fmt yuv422p10", "prores.mov"},
    {"-c:v ffv1", "ffv1.mkv"},
    {"-c:v libtheora", "theora.ogv"},
    {"-c:v flv1", "flv1.flv"},
    {"-c:v gif", "anim.gif"},
    {"-c:v libx264 -bf 3 -pix_fmt yuv420p", "raw.h264"},
};

#define RECIPES COUNT(recipes)

static void make_clips(void)
{
    if (!clips_enter())
        return;
    for (size_t i = 0; i < RECIPES; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "ffmpeg -v quiet -nostdin -y -f lavfi -i testsrc2=s=128x96:r=25:d=" SECONDS " %s %s 2>&1",
                 recipes[i][0], recipes[i][1]);
        shell(command);
    }
    shell("ffmpeg -v error -nostdin -f lavfi -i testsrc2=s=128x96:r=25:d=4 "
          "-vf \"select='not(mod(n*n,7))+lt(mod(n,11),5)'\" -fps_mode vfr -c:v libx264 -g 12 -pix_fmt yuv420p vfr.mp4");
    shell("ffmpeg -v error -nostdin -f lavfi -i testsrc2=s=64x96:r=25:d=1 -c:v libx264 -pix_fmt yuv420p small.ts");
    shell("cat interlaced.ts small.ts > joined.ts");
    shell("ffmpeg -v error -nostdin -f lavfi -i sine=d=1 -c:a aac audio.m4a");
    shell("ffmpeg -v error -nostdin -f lavfi -i color=s=32x32:d=0.04 -frames:v 1 cover.jpg");
    shell("ffmpeg -v error -nostdin -f lavfi -i sine=d=1 -i cover.jpg -map 0 -map 1 -c:v copy -disposition:v "
          "attached_pic "
          "-c:a aac cover.m4a");
    shell("ffmpeg -v error -nostdin -f lavfi -i testsrc2=s=64x48:d=1 -pix_fmt yuv420p10 -c:v libx265 -x265-params "
          "log-level=none:transfer=smpte2084:colormatrix=bt2020nc:colorprim=bt2020 pq.mkv");
}

/* The kind, as a command would set it up. */
struct setting {
    struct bl_video_config config;
    struct bl_cancel cancel;
    struct bl_kind_env env;
};

static void set_up(struct setting *s, const char *const *options)
{
    *s = (struct setting){.env = {.cancel = &s->cancel, .simd = BL_SIMD_NONE}};
    struct bl_options o = {0};
    struct bl_error e = {0};
    ck_assert_int_eq(bl_options_add(&o, "Video", bl_kind_video.options.table, &s->config, &e), 0);
    for (; options && *options; options += 2)
        ck_assert_msg(bl_options_set(&o, options[0], options[1], BL_ORIGIN_FLAG, &e) == 0, "%s", e.text);
    bl_options_free(&o);
    ck_assert_msg(bl_kind_video.options.check(&s->config, &e) == 0, "%s", e.text);
    struct bl_buffer warning = {0};
    ck_assert_msg(bl_kind_video.options.prepare(&s->config, &warning, &e) == 0, "%s", e.text);
    s->env.simd = bl_simd_best();
    ck_assert_int_eq(bl_simd_apply(s->env.simd, &e), 0);
}

#define SET_UP(s, ...) set_up(s, (const char *const[]){__VA_ARGS__, NULL})

struct counted {
    struct bl_row row;
    char path[PATH_MAX + 256], reason[512];
    int rows;
};

static int keep(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    (void)input, (void)e;
    struct counted *c = sink;
    c->row = *row;
    snprintf(c->reason, sizeof c->reason, "%s", row->reason);
    c->rows++;
    return 0;
}

static int64_t file_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : 0;
}

static int count_with(const struct setting *s, const char *path, struct counted *c, struct bl_error *e)
{
    *c = (struct counted){0};
    snprintf(c->path, sizeof c->path, "%s", path);
    struct bl_input input = {.path = c->path, .bytes = file_size(path)};
    struct bl_chunk stretch = {.input = &input, .inputs = 1, .end = INT64_MAX};
    int rc = bl_kind_video.scan->count(&s->config, &s->env, NULL, &stretch, keep, c, e);
    c->row.path = c->path;
    c->row.reason = c->reason;
    c->row.bytes = input.bytes;
    return rc;
}

/* One row, as every readable file gives. */
static void count(const struct setting *s, const char *path, struct counted *c)
{
    struct bl_error e = {0};
    ck_assert_msg(count_with(s, path, c, &e) == 0, "%s: %s", path, e.text);
    ck_assert_int_eq(c->rows, 1);
}

/* Reads steps from start on into new memory of *bytes bytes. */
static int read_piece(const struct setting *s, const struct bl_row *row, int64_t start, int64_t steps, uint8_t **out,
                      size_t *bytes, struct bl_note *note, struct bl_error *e)
{
    struct bl_fields fields;
    struct bl_reader *reader;
    *out = NULL;
    int rc = bl_kind_video.read->fields(&s->config, &s->env, s->config.size.width ? NULL : row, &fields, e);
    if (rc)
        return rc;
    ck_assert_int_eq(bl_kind_video.read->open(&s->config, &s->env, &fields, &reader, e), 0);
    *bytes = (size_t)steps * bl_field_step_bytes(&fields.field[0]);
    *out = malloc(*bytes + 1);
    ck_assert_ptr_nonnull(*out);
    (*out)[*bytes] = 0x5a;
    struct bl_request request = {.row = *row, .source_start = start, .steps = steps, .out = (uint8_t *const[]){*out}};
    rc = reader->piece(reader, &request, note, e);
    ck_assert_int_eq((*out)[*bytes], 0x5a);
    reader->close(reader);
    if (rc) {
        free(*out);
        *out = NULL;
    }
    return rc;
}

static uint8_t *read_whole(const struct setting *s, const struct counted *c, size_t *bytes)
{
    struct bl_error e = {0};
    struct bl_note note;
    uint8_t *out;
    int rc = read_piece(s, &c->row, 0, c->row.length, &out, bytes, &note, &e);
    ck_assert_msg(rc == 0, "%s: %s", c->path, e.text);
    return out;
}

/* The answer of a command: its lines' last words. */
static int command_words(const char *command, char (*word)[64], int most)
{
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    char line[256];
    int words = 0;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = 0;
        const char *last = strrchr(line, ',');
        if (*line == '#' || !*line)
            continue;
        ck_assert_int_lt(words, most);
        last = last ? last + 1 : line;
        snprintf(word[words++], sizeof *word, "%.63s", last + strspn(last, " "));
    }
    ck_assert_int_eq(pclose(f), 0);
    return words;
}

CLIPS_TEST(lengths_are_what_decoding_gives)
{
    struct setting packets, decode;
    set_up(&packets, NULL);
    SET_UP(&decode, "count", "decode");
    for (size_t i = 0; i < RECIPES; i++) {
        struct counted c;
        count(&packets, recipes[i][1], &c);
        ck_assert_msg(c.row.status == BL_ROW_OK && !*c.reason && c.row.length == FRAMES, "%s: %lld, %s", recipes[i][1],
                      (long long)c.row.length, c.reason);
        count(&decode, recipes[i][1], &c);
        ck_assert_msg(c.row.status == BL_ROW_OK && !*c.reason && c.row.length == FRAMES, "%s: %lld, %s", recipes[i][1],
                      (long long)c.row.length, c.reason);
    }
}

static void assert_pieces(const struct setting *s, const char *path)
{
    struct counted c;
    size_t bytes;
    count(s, path, &c);
    FREED uint8_t *whole = read_whole(s, &c, &bytes);
    size_t step = bytes / (size_t)c.row.length;
    int64_t length = c.row.length;
    const int64_t pieces[][2] = {{1, 4}, {12, 3}, {length / 2, 6}, {length - 7, 7}, {length - 1, 1}};
    for (size_t i = 0; i < COUNT(pieces); i++) {
        int64_t start = pieces[i][0], steps = pieces[i][1];
        if (start < 0 || start + steps > length)
            continue;
        struct bl_error e = {0};
        struct bl_note note;
        FREED uint8_t *piece;
        int rc = read_piece(s, &c.row, start, steps, &piece, &bytes, &note, &e);
        ck_assert_msg(rc == 0, "%s from %lld: %s", path, (long long)start, e.text);
        ck_assert_msg(memcmp(piece, whole + (size_t)start * step, bytes) == 0, "%s: the piece from %lld differs", path,
                      (long long)start);
        ck_assert_str_eq(note.text, "");
    }
}

CLIPS_TEST(pieces_are_slices_of_the_whole)
{
    struct setting all, rate, fast, stride;
    set_up(&all, NULL);
    SET_UP(&rate, "fps", "10", "size", "48x32");
    SET_UP(&fast, "fps", "60", "size", "48x32");
    SET_UP(&stride, "stride", "3", "size", "48x32");
    for (size_t i = 0; i < RECIPES; i++) {
        assert_pieces(&all, recipes[i][1]);
        assert_pieces(&stride, recipes[i][1]);
        if (strcmp(recipes[i][1], "raw.h264") == 0)
            continue; /* it has no times */
        assert_pieces(&rate, recipes[i][1]);
        assert_pieces(&fast, recipes[i][1]);
    }
}

/* The frames that ffmpeg's filter takes, known by the checksums of their pictures, against ours. */
static void assert_rate(const char *path, const char *rate)
{
    static char source[FRAMES * 4][64], sampled[FRAMES * 8][64];
    char command[512];
    snprintf(command, sizeof command, "ffmpeg -v error -nostdin -i %s -fps_mode passthrough -f framemd5 -", path);
    int frames = command_words(command, source, FRAMES * 4);
    snprintf(command, sizeof command,
             "ffmpeg -v error -nostdin -i %s -vf setpts=PTS-STARTPTS,fps=%s -fps_mode passthrough -f framemd5 -", path,
             rate);
    int outputs = command_words(command, sampled, FRAMES * 8);
    struct setting all, some;
    struct counted a, b;
    size_t bytes_a, bytes_b;
    SET_UP(&all, "size", "32x24");
    SET_UP(&some, "size", "32x24", "fps", rate);
    count(&all, path, &a);
    count(&some, path, &b);
    ck_assert_int_eq(a.row.length, frames);
    ck_assert_msg(b.row.length == outputs, "%s at %s: %lld, not %d", path, rate, (long long)b.row.length, outputs);
    FREED uint8_t *every = read_whole(&all, &a, &bytes_a), *taken = read_whole(&some, &b, &bytes_b);
    size_t step = bytes_a / (size_t)frames;
    for (int i = 0; i < outputs; i++) {
        int frame = 0;
        while (frame < frames && strcmp(source[frame], sampled[i]) != 0)
            frame++;
        ck_assert_int_lt(frame, frames);
        ck_assert_msg(memcmp(every + (size_t)frame * step, taken + (size_t)i * step, step) == 0,
                      "%s at %s: output %d is not frame %d", path, rate, i, frame);
    }
}

CLIPS_TEST(rates_take_the_frames_that_ffmpeg_takes)
{
    static const char *const files[] = {"b.mp4", "b.mkv", "vfr.mp4", "vp9.webm", "mpeg4.avi", "mpeg2.ts"};
    static const char *const rates[] = {"10", "25", "30000/1001", "60", "0.7"};
    for (size_t f = 0; f < COUNT(files); f++) {
        for (size_t r = 0; r < COUNT(rates); r++)
            assert_rate(files[f], rates[r]);
    }
}

static uint8_t *read_file(const char *path, size_t *size)
{
    *size = (size_t)file_size(path);
    uint8_t *data = malloc(*size);
    FILE *f = fopen(path, "rb");
    ck_assert(data && f);
    ck_assert_uint_eq(fread(data, 1, *size, f), *size);
    fclose(f);
    return data;
}

/* The part of a QuickTime file before the first box of a name. */
static void keep_until(const char *from, const char *box, const char *to)
{
    size_t size;
    uint8_t *data = read_file(from, &size), *name = memmem(data, size, box, 4);
    ck_assert_ptr_nonnull(name);
    unit_write(to, data, (size_t)(name - data) - 4);
    free(data);
}

static void assert_skipped(const struct setting *s, const char *path, const char *reason)
{
    struct counted c;
    count(s, path, &c);
    ck_assert_msg(c.row.status == BL_ROW_SKIPPED && c.row.length == 0, "%s is not skipped", path);
    ck_assert_msg(strstr(c.reason, reason), "%s: \"%s\", not \"%s\"", path, c.reason, reason);
}

CLIPS_TEST(what_is_of_no_use_is_named)
{
    struct setting s;
    set_up(&s, NULL);
    static const char hls[] = "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nb.mp4\n#EXT-X-ENDLIST\n";
    static const char concat[] = "ffconcat version 1.0\nfile b.mp4\n";
    char garbage[5000];
    unsigned seed = 3;
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)rand_r(&seed);
    unit_write("empty.mp4", "", 0);
    unit_write("garbage.mp4", garbage, sizeof garbage);
    unit_write("list.m3u8", hls, sizeof hls - 1);
    unit_write("list.mp4", concat, sizeof concat - 1);
    unit_write("list.ffconcat", concat, sizeof concat - 1);
    unit_write("text.mp4", "Hello, world.\n", 14);
    assert_skipped(&s, "empty.mp4", "empty file");
    assert_skipped(&s, "garbage.mp4", "not a media file that FFmpeg can read");
    assert_skipped(&s, "list.m3u8", "format hls is not read");
    assert_skipped(&s, "list.mp4", "format concat is not read");
    assert_skipped(&s, "list.ffconcat", "format concat is not read");
    assert_skipped(&s, "text.mp4", "not a media file that FFmpeg can read");
    assert_skipped(&s, "audio.m4a", "no video stream (audio only)");
    assert_skipped(&s, "cover.m4a", "cover art only");
    assert_skipped(&s, "cover.jpg", "a picture, no video");
    assert_skipped(&s, "pq.mkv", "HDR (PQ)");
    assert_skipped(&s, ".", "not a regular file");
    keep_until("fragments.mp4", "moof", "none.mp4");
    keep_until("b.mp4", "moov", "nohead.mp4");
    assert_skipped(&s, "none.mp4", "no frames in the video stream");
    assert_skipped(&s, "nohead.mp4", "damaged or truncated: the QuickTime / MOV header cannot be read");
    SET_UP(&s, "fps", "10");
    assert_skipped(&s, "raw.h264", "timestamps");
    SET_UP(&s, "fps", "0.1");
    assert_skipped(&s, "b.mp4", "too short");
    struct counted c;
    SET_UP(&s, "hdr", "clip");
    count(&s, "pq.mkv", &c);
    ck_assert_int_eq(c.row.length, 25);
}

CLIPS_TEST(odd_names_are_only_names)
{
    struct setting s;
    set_up(&s, NULL);
    static const char *const names[] = {"-b.mp4",   "a:b.mp4", "%03d.mp4", "concat:b.mp4",
                                        "a\nb.mp4", "http:x",  "*?[.mp4",  "\xff.mp4"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct counted c;
        size_t bytes;
        ck_assert_int_eq(symlink("b.mp4", names[i]), 0);
        count(&s, names[i], &c);
        ck_assert_msg(c.row.status == BL_ROW_OK && c.row.length == FRAMES, "%s: %s", names[i], c.reason);
        free(read_whole(&s, &c, &bytes));
    }
}

static void assert_damaged(const char *path, int64_t least, int64_t most, const char *reason)
{
    struct setting s;
    struct counted c;
    size_t bytes;
    set_up(&s, NULL);
    count(&s, path, &c);
    ck_assert_msg(c.row.status == BL_ROW_OK, "%s: %s", path, c.reason);
    ck_assert_msg(strstr(c.reason, reason), "%s: \"%s\", not \"%s\"", path, c.reason, reason);
    ck_assert_msg(c.row.length >= least && c.row.length <= most, "%s: %lld", path, (long long)c.row.length);
    free(read_whole(&s, &c, &bytes));
    assert_pieces(&s, path);
}

static void copy_part(const char *from, const char *to, double part)
{
    char command[256];
    snprintf(command, sizeof command, "head -c %lld %s > %s", (long long)(part * (double)file_size(from)), from, to);
    shell(command);
}

CLIPS_TEST(what_is_damaged_is_named)
{
    copy_part("front.mp4", "cut.mp4", 0.6);
    copy_part("b.mkv", "cut.mkv", 0.6);
    copy_part("mpeg4.avi", "cut.avi", 0.6);
    copy_part("mpeg2.ts", "cut.ts", 0.6);
    assert_damaged("cut.mp4", 10, FRAMES - 5, "truncated: header lists 50 frames, ");
    assert_damaged("cut.mkv", 10, FRAMES - 5, "truncated: header says 2.0 s, data ends at 1.");
    assert_damaged("cut.avi", 10, FRAMES - 5, "truncated: header lists 50 frames, ");
    assert_damaged("cut.ts", 10, FRAMES - 5, "damaged: ");
    /* Zeros over a stretch of pictures. */
    shell(
        "cp front.mp4 holes.mp4 && dd if=/dev/zero of=holes.mp4 bs=1 seek=$(($(stat -c %s holes.mp4) / 2)) count=3000 "
        "conv=notrunc status=none");
    assert_damaged("holes.mp4", 1, FRAMES, "damaged: ");
}

/* Changes bytes in the middle of the first picture, where packets do not show it. */
static void break_first_picture(const char *from, const char *to)
{
    size_t size;
    uint8_t *data = read_file(from, &size), *mdat = memmem(data, size, "mdat", 4);
    ck_assert(mdat && mdat + 1700 < data + size);
    memset(mdat + 1600, 0xaa, 16);
    unit_write(to, data, size);
    free(data);
}

CLIPS_TEST(concealed_frames_are_noted_while_reading)
{
    break_first_picture("front.mp4", "flips.mp4");
    struct setting s;
    struct counted c;
    struct bl_note note;
    uint8_t *out;
    size_t bytes;
    SET_UP(&s, "count", "decode");
    count(&s, "flips.mp4", &c);
    ck_assert_msg(strstr(c.reason, "concealed by the decoder"), "%s", c.reason);
    set_up(&s, NULL);
    c.reason[0] = 0;
    ck_assert_int_eq(read_piece(&s, &c.row, 0, c.row.length, &out, &bytes, &note, &e), 0);
    free(out);
    ck_assert_msg(strstr(note.text, "of 50 frames concealed by the decoder"), "\"%s\"", note.text);
    ck_assert_int_eq(read_piece(&s, &c.row, 40, 2, &out, &bytes, &note, &e), 0);
    free(out);
    ck_assert_str_eq(note.text, "");
}

static void assert_read_fails(const struct setting *s, const struct bl_row *row, int code, const char *text)
{
    struct bl_error e = {0};
    struct bl_note note;
    uint8_t *out;
    size_t bytes;
    int rc = read_piece(s, row, 0, row->length, &out, &bytes, &note, &e);
    ck_assert_msg(rc == code && e.code == code, "%d: %s", rc, e.text);
    ck_assert_msg(strstr(e.text, text), "\"%s\", not \"%s\"", e.text, text);
}

CLIPS_TEST(a_count_that_decoding_contradicts_fails)
{
    struct setting s;
    struct counted c;
    SET_UP(&s, "size", "32x32");
    count(&s, "b.mp4", &c);
    c.row.length = FRAMES + 1;
    assert_read_fails(&s, &c.row, BL_EDATA, "the scan counted 51 frames, decoding gives 50");
    c.row.length = FRAMES - 1;
    assert_read_fails(&s, &c.row, BL_EDATA, "the scan counted 49 frames, decoding gives 50");
}

CLIPS_TEST(a_file_that_changed_or_vanished_is_a_failing_system)
{
    struct setting s;
    struct counted c;
    SET_UP(&s, "size", "32x32");
    shell("cp b.mp4 passing.mp4");
    count(&s, "passing.mp4", &c);
    shell("printf x >> passing.mp4");
    assert_read_fails(&s, &c.row, BL_EFAIL, "passing.mp4: changed since the scan");
    ck_assert_int_eq(unlink("passing.mp4"), 0);
    assert_read_fails(&s, &c.row, BL_EFAIL, "passing.mp4: cannot be opened: No such file");
}

CLIPS_TEST(everything_stops_when_cancelled)
{
    struct setting s;
    struct counted c;
    SET_UP(&s, "size", "32x32");
    count(&s, "b.mp4", &c);
    atomic_store(&s.cancel.requested, 1);
    assert_read_fails(&s, &c.row, BL_ECANCEL, "");
    ck_assert_int_eq(count_with(&s, "b.mp4", &c, &e), BL_ECANCEL);
    ck_assert_int_eq(c.rows, 0);
}

CLIPS_TEST(a_size_that_changes_needs_a_size_to_scale_to)
{
    struct setting s;
    struct counted c;
    size_t bytes;
    set_up(&s, NULL);
    count(&s, "joined.ts", &c);
    ck_assert_int_eq(c.row.length, FRAMES + 25);
    assert_read_fails(&s, &c.row, BL_EDATA, "a frame of 64x96 among frames of 128x96");
    SET_UP(&s, "size", "32x24");
    free(read_whole(&s, &c, &bytes));
    ck_assert_uint_eq(bytes, (FRAMES + 25) * 32 * 24 * 3);
}

UNIT_TEST(fields_and_options)
{
    struct setting s;
    struct bl_fields fields;
    struct bl_buffer text = {0};
    SET_UP(&s, "size", "40x30", "fps", "30000/1001");
    ck_assert_int_eq(bl_kind_video.read->fields(&s.config, &s.env, NULL, &fields, &e), 0);
    ck_assert_int_eq(fields.count, 1);
    ck_assert_str_eq(fields.field[0].name, "frames");
    ck_assert_uint_eq(bl_field_step_bytes(&fields.field[0]), 40 * 30 * 3);
    ck_assert_int_eq(fields.field[0].shape[0], 30);
    bl_kind_video.scan->sampling(&s.config, &text);
    ck_assert_str_eq(text.data, "fps=30000/1001");
    bl_buffer_clear(&text);
    SET_UP(&s, "stride", "2");
    bl_kind_video.scan->sampling(&s.config, &text);
    ck_assert_str_eq(text.data, "stride=2");
    bl_buffer_clear(&text);
    set_up(&s, NULL);
    bl_kind_video.scan->sampling(&s.config, &text);
    ck_assert_str_eq(text.data, "all");
    bl_buffer_free(&text);
    ck_assert_int_eq(bl_kind_video.read->fields(&s.config, &s.env, NULL, &fields, &e), BL_EDATA);
    bl_error_clear(&e);
    s.config.fps = (struct bl_rational){5, 1};
    s.config.stride = 2;
    ck_assert_int_eq(bl_kind_video.options.check(&s.config, &e), BL_EUSAGE);
    ck_assert_ptr_eq(bl_kind_find_by_file("a/b.MP4"), &bl_kind_video);
    ck_assert_ptr_null(bl_kind_find_by_file("a.mp4/b"));
}

/* A line of MANIFEST.tsv: what is expected of one file. */
static void assert_manifest_line(const struct setting *s, char *line, int *files)
{
    char *field[17], path[PATH_MAX + 256];
    for (int i = 0; i < 17; i++) {
        field[i] = strsep(&line, "\t");
        ck_assert_ptr_nonnull(field[i]);
    }
    snprintf(path, sizeof path, "%s/%s", media_directory, field[0]);
    struct counted c;
    count(s, path, &c);
    long expected = strstr(field[16], "attached_pic") ? 0 : atol(field[9]);
    ck_assert_msg(c.row.length == expected, "%s: %lld, not %ld; %s", field[0], (long long)c.row.length, expected,
                  c.reason);
    ck_assert_msg((c.row.status == BL_ROW_OK) == (expected > 0), "%s", field[0]);
    ck_assert_msg(expected > 0 || *c.reason, "%s: no reason", field[0]);
    (*files)++;
}

UNIT_TEST(every_shared_file_has_the_length_that_ffprobe_counts)
{
    char path[PATH_MAX + 16], line[4096];
    snprintf(path, sizeof path, "%s/MANIFEST.tsv", media_directory);
    FILE *f = *media_directory ? fopen(path, "r") : NULL;
    if (!f) {
        unit_skip("no shared media");
        return;
    }
    struct setting s;
    SET_UP(&s, "hdr", "clip");
    int files = 0;
    ck_assert_ptr_nonnull(fgets(line, sizeof line, f));
    while (fgets(line, sizeof line, f))
        assert_manifest_line(&s, line, &files);
    fclose(f);
    ck_assert_int_ge(files, 100);
}

UNIT_ONCE(make_clips, clips_leave)
