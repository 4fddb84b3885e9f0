/* Decoding on a GPU without one: pictures on their way, and whole pieces of videos, over a GPU made of the processor
 * (fake_gpu.h) that can be made to fail at every call; and who is to decode what. */
#include "kind/video/gpu.h"

#include <pthread.h>

#include <limits.h>
#include <sys/stat.h>

#include "clips.h"
#include "fake_gpu.h"
#include "kind/media/module.h"
#include "kind/video/decode.h"
#include "kind/video/gpu_pool.h"
#include "kind/video/options.h"
#include "kind/video/video.h"
#include "picture.h"

#define SOURCE "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=128x96:r=25:d=2 "

static void make_clips(void)
{
    if (!clips_enter())
        return;
    shell(SOURCE "-c:v rawvideo -pix_fmt nv12 nv12.nut");
    shell(SOURCE "-vf scale=97:75 -c:v rawvideo -pix_fmt nv12 odd.nut");
    shell(SOURCE "-c:v rawvideo -pix_fmt yuv444p planes.nut");
    shell(SOURCE "-vf scale=97:75 -c:v rawvideo -pix_fmt yuv444p16le words.nut");
    shell(SOURCE "-c:v libx264 -pix_fmt yuv420p h264.mp4");
    shell(SOURCE "-c:v libx264 -pix_fmt yuv422p10le h264-422.mp4");
    shell(SOURCE "-c:v libx265 -x265-params log-level=none -pix_fmt yuv420p10le hevc10.mkv");
    shell(SOURCE "-c:v libx265 -x265-params log-level=none -pix_fmt yuv444p12le hevc444.mkv");
    shell(SOURCE "-c:v libx265 -x265-params log-level=none -pix_fmt gbrp hevcrgb.mkv");
    shell(SOURCE "-c:v libvpx-vp9 -cpu-used 8 -deadline realtime vp9.webm");
    shell(SOURCE "-c:v libaom-av1 -cpu-used 8 -usage realtime av1.mkv");
    shell(SOURCE "-c:v mpeg2video mpeg2.ts");
    shell(SOURCE "-c:v ffv1 ffv1.mkv");
}

/* --- pictures ----------------------------------------------------------------------------------------------------- */

static AVFrame *plain_surface(int width, int height, uint8_t luma)
{
    AVFrame *f = frame_of(AV_PIX_FMT_NV12, width, height);
    memset(f->data[0], luma, (size_t)f->linesize[0] * (size_t)height);
    memset(f->data[1], 128, (size_t)f->linesize[1] * (size_t)((height + 1) / 2));
    f->color_range = AVCOL_RANGE_JPEG;
    return f;
}

/* More pictures than all lots hold, some of them in several places; every one is where it goes, and none was there
 * before it was waited for. */
UNIT_TEST(pictures_arrive_in_their_places)
{
    enum { SIDE = 8, BYTES = SIDE * SIDE * 3, MOST = 3 * BL_READBACK_BATCH_MAX + 5 };
    struct bl_gpu gpu;
    struct bl_readback p;
    struct bl_gpu_queue *queue;
    struct bl_geometry g;
    const struct bl_geometry_input in = {
        .coded_width = 20, .coded_height = 14, .target_width = SIDE, .target_height = SIDE};
    ck_assert_int_eq(bl_geometry_make(&g, &in, NULL), 0);
    fake_begin(&gpu);
    ck_assert_int_eq(fake_functions.open(&gpu, &queue, NULL), 0);
    ck_assert_int_eq(bl_readback_open(&p, &fake_functions, queue, BYTES, NULL), 0);
    for (int count = 0; count <= MOST; count += count < 3 ? 1 : 31) {
        FREED uint8_t *out = calloc((size_t)(2 * MOST + 1), BYTES);
        for (int i = 0; i < count; i++) {
            OWNED(av_frame_free) AVFrame *f = plain_surface(20, 14, (uint8_t)(i + 1));
            ck_assert_int_eq(bl_readback_add(&p, f, &g, out + (size_t)2 * (size_t)i * BYTES, 1 + i % 2, NULL), 0);
        }
        ck_assert(count == 0 || out[(size_t)2 * (size_t)(count - 1) * BYTES] == 0);
        ck_assert_int_eq(bl_readback_finish(&p, NULL), 0);
        for (int i = 0; i < 2 * MOST; i++) {
            int expected = i / 2 < count && (i % 2 == 0 || i / 2 % 2) ? i / 2 + 1 : 0;
            for (int b = 0; b < BYTES; b++)
                ck_assert_int_eq(out[(size_t)i * BYTES + (size_t)b], expected);
        }
    }
    bl_readback_close(&p);
    fake_functions.close(queue);
    fake_end(&gpu);
}

UNIT_TEST(abandoned_pictures_are_written_nowhere)
{
    struct bl_gpu gpu;
    struct bl_readback p;
    struct bl_gpu_queue *queue;
    struct bl_geometry g;
    uint8_t out[40 * 192] = {0};
    const struct bl_geometry_input in = {.coded_width = 8, .coded_height = 8};
    ck_assert_int_eq(bl_geometry_make(&g, &in, NULL), 0);
    fake_begin(&gpu);
    ck_assert_int_eq(fake_functions.open(&gpu, &queue, NULL), 0);
    ck_assert_int_eq(bl_readback_open(&p, &fake_functions, queue, 192, NULL), 0);
    AVFrame *f = plain_surface(8, 8, 200);
    for (int i = 0; i < 40; i++)
        ck_assert_int_eq(bl_readback_add(&p, f, &g, out + (size_t)i * 192, 1, NULL), 0);
    bl_readback_abandon(&p);
    memset(out, 0, sizeof out);
    ck_assert_int_eq(bl_readback_finish(&p, NULL), 0);
    for (size_t i = 0; i < sizeof out; i++)
        ck_assert_int_eq(out[i], 0);
    av_frame_free(&f);
    bl_readback_close(&p);
    fake_functions.close(queue);
    fake_end(&gpu);
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

struct setting {
    struct bl_video_config config;
    struct bl_cancel cancel;
    struct bl_kind_env env;
    struct bl_gpu gpu;
};

static void set_up(struct setting *s, const char *const *options)
{
    struct bl_options o = {0};
    struct bl_error e = {0};
    *s = (struct setting){.env = {.cancel = &s->cancel, .simd = bl_simd_best()}};
    ck_assert_int_eq(bl_options_add(&o, "Video", bl_kind_video.options.table, &s->config, &e), 0);
    for (; *options; options += 2)
        ck_assert_msg(bl_options_set(&o, options[0], options[1], BL_ORIGIN_FLAG, &e) == 0, "%s", e.text);
    bl_options_free(&o);
    bl_video_prepare_pixels(&s->config);
    fake_begin(&s->gpu);
    s->config.gpu = &s->gpu;
    s->config.gpu_functions = &fake_functions;
    ck_assert_int_eq(bl_gpu_pool_open(&s->config.gpu_pool, &fake_functions, &s->gpu, &e), 0);
    ck_assert_int_eq(bl_simd_apply(s->env.simd, &e), 0);
}

static void set_down(struct setting *s)
{
    bl_gpu_pool_close(s->config.gpu_pool);
    fake_end(&s->gpu);
}

#define SET_UP(s, ...) set_up(s, (const char *const[]){__VA_ARGS__, NULL})

static struct bl_row row_of(const char *path, int64_t length, bool on_gpu)
{
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    return (struct bl_row){.id = path,
                           .path = path,
                           .length = length,
                           .bytes = status.st_size,
                           .reason = "",
                           .columns = "\tdecoder",
                           .extra = on_gpu ? "\tnvdec" : "\tcpu"};
}

static struct bl_reader *open_reader(struct setting *s)
{
    struct bl_error e = {0};
    static struct bl_fields fields;
    struct bl_reader *reader;
    ck_assert_int_eq(bl_kind_video.read->fields(&s->config, &s->env, NULL, &fields, &e), 0);
    ck_assert_int_eq(bl_kind_video.read->open(&s->config, &s->env, &fields, &reader, &e), 0);
    return reader;
}

static int read_piece(struct bl_reader *reader, const struct bl_row *row, int64_t start, int64_t steps, uint8_t *out,
                      struct bl_error *e)
{
    struct bl_note note;
    struct bl_request request = {.row = *row, .source_start = start, .steps = steps, .out = (uint8_t *const[]){out}};
    return reader->piece(reader, &request, &note, e);
}

#define BYTES ((size_t)40 * 30 * 3)

/* Pieces of the file on the GPU that is none, and by the converter. */
static void compare(struct setting *s, const char *path, int64_t length)
{
    struct bl_row gpu = row_of(path, length, true), cpu = row_of(path, length, false);
    uint8_t *a = malloc((size_t)length * BYTES), *b = malloc((size_t)length * BYTES);
    struct bl_reader *reader = open_reader(s);
    struct bl_error e = {0};
    const int64_t pieces[][2] = {{0, length}, {0, 1}, {7, 9}, {length - 3, 3}, {length - 1, 1}};
    for (size_t i = 0; i < COUNT(pieces); i++) {
        size_t bytes = (size_t)pieces[i][1] * BYTES;
        ck_assert_msg(read_piece(reader, &cpu, pieces[i][0], pieces[i][1], b, &e) == 0, "%s", e.text);
        ck_assert_msg(read_piece(reader, &gpu, pieces[i][0], pieces[i][1], a, &e) == 0, "%s", e.text);
        for (size_t k = 0; k < bytes; k++)
            ck_assert_msg(abs(a[k] - b[k]) <= 1, "%s, from %d: byte %zu", path, (int)pieces[i][0], k);
    }
    reader->close(reader);
    free(a);
    free(b);
    ck_assert_int_gt(s->gpu.drawn, 0);
    set_down(s);
}

CLIPS_TEST(pieces_are_the_converters)
{
    struct setting s;
    SET_UP(&s, "size", "40x30");
    compare(&s, "nv12.nut", 50);
    SET_UP(&s, "size", "40x30", "fit", "pad");
    compare(&s, "odd.nut", 50);
    SET_UP(&s, "size", "40x30");
    compare(&s, "planes.nut", 50);
    SET_UP(&s, "size", "40x30", "fit", "crop");
    compare(&s, "words.nut", 50);
    SET_UP(&s, "size", "40x30", "fps", "60");
    compare(&s, "nv12.nut", 120);
    SET_UP(&s, "size", "40x30", "stride", "3");
    compare(&s, "nv12.nut", 17);
}

/* Whatever call fails, the piece does with it, nothing is left over, and the next piece can be read. */
CLIPS_TEST(every_failure_is_the_runs)
{
    struct setting s;
    FREED uint8_t *out = malloc(50 * BYTES);
    struct bl_row row = row_of("nv12.nut", 50, true);
    int calls = 1;
    for (int fail = 1; fail <= calls; fail += unit_times(8) < 8 ? 7 : 1) {
        SET_UP(&s, "size", "40x30");
        bl_error_clear(&e);
        struct bl_reader *reader = open_reader(&s);
        s.gpu.fail = fail;
        int code = read_piece(reader, &row, 0, 50, out, &e);
        ck_assert_msg(code == BL_EFAIL, "call %d of %d: %d", fail, calls, code);
        ck_assert_str_eq(e.text, "GPU 0 is lost");
        s.gpu.calls = s.gpu.fail = 0;
        struct bl_error again = {0};
        ck_assert_msg(read_piece(reader, &row, 0, 50, out, &again) == 0, "after call %d: %s", fail, again.text);
        calls = fail == 1 ? s.gpu.calls : calls;
        reader->close(reader);
        set_down(&s);
    }
    ck_assert_int_gt(calls, 100);
}

CLIPS_TEST(a_decoder_without_room_gets_that_of_idle_ones)
{
    struct setting s;
    FREED uint8_t *out = malloc(50 * BYTES);
    struct bl_row nv12 = row_of("nv12.nut", 50, true), odd = row_of("odd.nut", 50, true);
    SET_UP(&s, "size", "40x30");
    struct bl_reader *reader = open_reader(&s);
    ck_assert_int_eq(read_piece(reader, &nv12, 0, 50, out, &e), 0);
    s.gpu.full = 1; /* while the other one is idle */
    int code = read_piece(reader, &odd, 0, 50, out, &e);
    ck_assert_msg(code == 0, "%s", e.text);
    s.gpu.idle = 0;
    s.gpu.full = 2; /* and when there is nothing else */
    FAILS_WITH(read_piece(reader, &nv12, 0, 50, out, &e), BL_EFAIL, "memory is not enough");
    reader->close(reader);
    set_down(&s);
}

/* A thread that takes a worker, of which there is none until one is given back. */
static void *take_one(void *data)
{
    struct bl_gpu_worker *worker = NULL;
    struct bl_error e = {0};
    return bl_gpu_pool_take(data, BYTES, &worker, &e) ? NULL : worker;
}

UNIT_TEST(workers_are_as_many_as_keep_the_engines_busy)
{
    struct bl_gpu gpu;
    struct bl_gpu_pool *pool;
    struct bl_gpu_worker *worker[BL_GPU_WORKERS_PER_ENGINE], *other;
    pthread_t thread;
    void *got;
    fake_begin(&gpu);
    ck_assert_int_eq(bl_gpu_pool_open(&pool, &fake_functions, &gpu, &e), 0);
    ck_assert_int_eq(gpu.calls, 0); /* nothing before it is needed */
    for (int i = 0; i < 4; i++)
        bl_gpu_pool_enter(pool);
    /* One reader at a time: the same worker again and again. */
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(bl_gpu_pool_take(pool, BYTES, &worker[0], &e), 0);
        bl_gpu_pool_give(pool, worker[0]);
    }
    ck_assert_int_eq(gpu.queues, 1);
    for (int i = 0; i < BL_GPU_WORKERS_PER_ENGINE; i++)
        ck_assert_int_eq(bl_gpu_pool_take(pool, BYTES, &worker[i], &e), 0);
    ck_assert_int_eq(gpu.queues, BL_GPU_WORKERS_PER_ENGINE);
    ck_assert_int_eq(pthread_create(&thread, NULL, take_one, pool), 0);
    bl_gpu_pool_give(pool, worker[1]);
    pthread_join(thread, &got);
    ck_assert_ptr_eq(got, worker[1]);
    ck_assert_int_eq(gpu.queues, BL_GPU_WORKERS_PER_ENGINE);
    /* One that cannot be made leaves its place to another. */
    bl_gpu_pool_give(pool, worker[1]);
    gpu.fail = gpu.calls + 1;
    ck_assert_int_eq(bl_gpu_pool_take(pool, 2 * BYTES, &other, &e), BL_EFAIL);
    ck_assert_int_eq(gpu.queues, BL_GPU_WORKERS_PER_ENGINE - 1);
    ck_assert_int_eq(bl_gpu_pool_take(pool, 2 * BYTES, &other, &e), 0);
    ck_assert_uint_eq(other->readback.bytes, 2 * BYTES);
    bl_gpu_pool_give(pool, other);
    bl_gpu_pool_give(pool, worker[0]);
    struct bl_gpu_times times = {.workers = 100};
    bl_gpu_pool_add_times(pool, &times);
    ck_assert_int_eq(times.workers, 100 + BL_GPU_WORKERS_PER_ENGINE + 1);
    ck_assert(times.workers_seconds > 0);
    /* Readers close those that the remaining ones do not need. */
    bl_gpu_pool_leave(pool);
    bl_gpu_pool_leave(pool);
    ck_assert_int_eq(gpu.queues, 2);
    bl_gpu_pool_leave(pool);
    ck_assert_int_eq(gpu.queues, 1);
    bl_gpu_pool_leave(pool);
    ck_assert_int_eq(gpu.queues, 0);
    bl_gpu_pool_close(pool);
    fake_end(&gpu);
}

CLIPS_TEST(a_row_for_a_gpu_needs_one)
{
    struct setting s;
    FREED uint8_t *out = malloc(50 * BYTES);
    struct bl_row row = row_of("nv12.nut", 50, true);
    SET_UP(&s, "size", "40x30", "decoder", "auto");
    s.config.gpu = NULL;
    struct bl_reader *reader = open_reader(&s);
    FAILS_WITH(read_piece(reader, &row, 0, 50, out, &e), BL_EFAIL, "no usable GPU");
    reader->close(reader);
    set_down(&s);
}

/* --- who decodes -------------------------------------------------------------------------------------------------- */

static enum bl_backend choose(struct setting *s, const char *path, bool damaged, int expected, struct bl_error *e)
{
    enum bl_backend backend = BL_BACKEND_CPU;
    int code = bl_backend_choose(&s->config, &s->env, path, -1, -1, damaged, &backend, e);
    ck_assert_msg(code == expected, "%s: %d, %s", path, code, e->text);
    return backend;
}

CLIPS_TEST(streams_are_asked_what_they_are)
{
    static const struct {
        const char *path;
        int asked; /* 0: no GPU decodes such a codec */
        enum AVCodecID codec;
        enum AVPixelFormat format;
    } cases[] = {
        {"h264.mp4", 1, AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P},
        {"h264-422.mp4", 1, AV_CODEC_ID_H264, AV_PIX_FMT_YUV422P10},
        {"hevc10.mkv", 1, AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV420P10},
        {"hevc444.mkv", 1, AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV444P12},
        {"hevcrgb.mkv", 1, AV_CODEC_ID_HEVC, AV_PIX_FMT_GBRP},
        {"vp9.webm", 1, AV_CODEC_ID_VP9, AV_PIX_FMT_YUV420P},
        {"av1.mkv", 1, AV_CODEC_ID_AV1, AV_PIX_FMT_YUV420P},
        {"mpeg2.ts", 1, AV_CODEC_ID_MPEG2VIDEO, AV_PIX_FMT_YUV420P},
        {"ffv1.mkv", 0, AV_CODEC_ID_NONE, AV_PIX_FMT_NONE},
    };
    struct setting s;
    SET_UP(&s, "decoder", "auto");
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bl_gpu_stream asked;
        ck_assert_msg(!bl_backend_probe(cases[i].path, -1, -1, &s.env, &asked, &e), "%s: %s", cases[i].path, e.text);
        ck_assert_msg((asked.codec != AV_CODEC_ID_NONE) == cases[i].asked, "%s", cases[i].path);
        if (!cases[i].asked)
            continue;
        ck_assert_int_eq(asked.codec, cases[i].codec);
        ck_assert_int_eq(asked.format, cases[i].format);
        ck_assert_int_eq(asked.width, 128);
        ck_assert_int_eq(asked.height, 96);
    }
    set_down(&s);
}

CLIPS_TEST(the_gpu_decides_what_it_decodes)
{
    struct setting s;
    SET_UP(&s, "decoder", "auto");
    ck_assert_int_eq(choose(&s, "h264.mp4", false, 0, &e), BL_BACKEND_NVDEC);
    ck_assert_int_eq(s.gpu.asked.codec, AV_CODEC_ID_H264);
    ck_assert_int_eq(choose(&s, "h264.mp4", true, 0, &e), BL_BACKEND_CPU);
    ck_assert_int_eq(choose(&s, "ffv1.mkv", false, 0, &e), BL_BACKEND_CPU);
    ck_assert_int_eq(choose(&s, "h264-422.mp4", false, 0, &e), BL_BACKEND_CPU);
    ck_assert_int_eq(choose(&s, "hevcrgb.mkv", false, 0, &e), BL_BACKEND_CPU);
    ck_assert_int_eq(choose(&s, "hevc444.mkv", false, 0, &e), BL_BACKEND_NVDEC);
    ck_assert_int_eq(s.gpu.asked.format, AV_PIX_FMT_YUV444P12);
    s.gpu.can_decode = 0;
    ck_assert_int_eq(choose(&s, "h264.mp4", false, 0, &e), BL_BACKEND_CPU);
    s.gpu.fail = s.gpu.calls + 1;
    choose(&s, "h264.mp4", false, BL_EFAIL, &e);
    s.config.gpu = NULL;
    ck_assert_int_eq(choose(&s, "h264.mp4", false, 0, &e), BL_BACKEND_CPU);
    set_down(&s);

    SET_UP(&s, "decoder", "nvdec");
    ck_assert_int_eq(choose(&s, "h264.mp4", true, 0, &e), BL_BACKEND_NVDEC);
    s.gpu.can_decode = 0;
    struct bl_error refused = {0}, none = {0};
    choose(&s, "hevc10.mkv", false, BL_EDATA, &refused);
    ck_assert_msg(strstr(refused.text, "yuv420p10le, 128x96"), "%s", refused.text);
    bl_error_clear(&refused);
    choose(&s, "hevcrgb.mkv", false, BL_EDATA, &refused);
    ck_assert_msg(strstr(refused.text, "hevc, gbrp, 128x96"), "%s", refused.text);
    choose(&s, "ffv1.mkv", false, BL_EDATA, &none);
    ck_assert_msg(strstr(none.text, "no GPU decodes such a stream"), "%s", none.text);
    set_down(&s);
}

UNIT_TEST(lists_of_gpus)
{
    struct bl_gpu_list list;
    ck_assert_int_eq(bl_gpu_list_parse(&list, "all", &e), 0);
    ck_assert_int_eq(list.count, 0);
    ck_assert_int_eq(bl_gpu_list_parse(&list, "2,0,11", &e), 0);
    ck_assert(list.count == 3 && list.number[0] == 2 && list.number[1] == 0 && list.number[2] == 11);
    static const char *const wrong[] = {"", ",", "0,", ",0", "0,0", "-1", "a", "0 1", "all,0", "99999"};
    for (size_t i = 0; i < COUNT(wrong); i++)
        ck_assert_msg(bl_gpu_list_parse(&list, wrong[i], &e) == BL_EUSAGE, "'%s'", wrong[i]);
}

/* Where there is a GPU this says so; tests/gpu has what needs one. */
UNIT_TEST(without_a_gpu_it_is_said_why)
{
    struct bl_gpu *gpu;
    int code = bl_nvdec_open(&gpu, "all", &e);
    ck_assert(code == BL_OK || (code == BL_EFAIL && *e.text && !gpu));
    bl_nvdec_close(gpu);
}

UNIT_ONCE(make_clips, clips_leave)
