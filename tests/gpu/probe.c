/* What of a GPU the tool's own answers do not show. One of:
 *
 *     probe kernel [SEED]     the kernel against the same source as a loop, byte for byte, over many surfaces
 *     probe times             microseconds of the kernel, and of copies back, for the usual sizes
 *     probe sessions FILE     milliseconds to the first frame: with a decoder that has to be made, and with a kept one
 *     probe hog MIB           takes the GPU's memory but for that much, says so, and holds it until its input ends
 *     probe lost FILE         what a GPU that faults looks like to whoever reads a video
 *
 * Lines are "ok NAME", "not ok NAME" or figures; status 0 when nothing was not ok. */
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kind/video/decode.h"
#include "kind/video/gpu.h"
#include "kind/video/gpu_pool.h"
#include "kind/video/readback.h"

static struct bl_gpu *gpu;
static struct bl_gpu_queue *queue;
static const struct bl_gpu_functions *const gpu_do = &bl_nvdec_functions;
static struct bl_error error;

static void must(int code, const char *what)
{
    if (!code)
        return;
    printf("not ok %s: %s\n", what, code == BL_GPU_FULL ? "no memory" : error.text);
    exit(1);
}

static void open_queue(void)
{
    must(bl_nvdec_open(&gpu, "all", &error), "open");
    must(gpu_do->open(gpu, &queue, &error), "open");
}

static void close_queue(void)
{
    gpu_do->close(queue);
    bl_nvdec_close(gpu);
}

/* Until all that was asked for is done. */
static void finish(void)
{
    must(gpu_do->record(queue, 0, &error), "mark");
    must(gpu_do->wait(queue, 0, &error), "wait");
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- the kernel --------------------------------------------------------------------------------------------------- */

/* A surface and its picture, in the machine's memory and in the GPU's. */
struct scene {
    AVFrame *frame;
    struct bl_geometry geometry;
    struct bl_nv12 filters;
    struct bl_nv12_rgb host, gpu;
    uint8_t *plane[3], *rgb, *expected, *got;
    int32_t *first[4];
    float *weight[4];
    ptrdiff_t origin;
    size_t bytes;
};

static void *memory_of(size_t bytes)
{
    void *memory = NULL;
    must(gpu_do->alloc(queue, BL_GPU_OWN, bytes, &memory, &error), "memory");
    return memory;
}

static void *on_gpu(const void *from, size_t bytes)
{
    void *to = memory_of(bytes);
    must(gpu_do->upload(queue, to, from, bytes, &error), "copy");
    return to;
}

static AVFrame *surface(enum AVPixelFormat format, int width, int height, uint32_t seed)
{
    AVFrame *f = av_frame_alloc();
    f->format = format;
    f->width = width;
    f->height = height;
    if (av_frame_get_buffer(f, 64) < 0)
        exit(1);
    for (int b = 0; f->buf[b]; b++) {
        for (size_t i = 0; i < f->buf[b]->size; i++, seed = seed * 1664525 + 1013904223)
            f->buf[b]->data[i] = (uint8_t)(seed >> 24);
    }
    f->color_range = seed & 1 ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    f->colorspace = seed & 2 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    f->chroma_location = (enum AVChromaLocation)(seed / 4 % AVCHROMA_LOC_NB);
    return f;
}

static void scene_make(struct scene *s, enum AVPixelFormat format, const int size[4], enum bl_fit fit, uint32_t seed)
{
    static const int32_t matrices[2][9] = {{65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30},
                                           {0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30}};
    bool made;
    *s = (struct scene){.frame = surface(format, size[0], size[1], seed)};
    const struct bl_geometry_input in = {.coded_width = size[0],
                                         .coded_height = size[1],
                                         .target_width = size[2],
                                         .target_height = size[3],
                                         .matrix = matrices[seed & 1],
                                         .fit = fit};
    struct bl_error e = {0};
    if (bl_geometry_make(&s->geometry, &in, &e) ||
        bl_nv12_prepare(&s->filters, &s->geometry, format, s->frame->chroma_location, &made, &e) ||
        bl_nv12_describe(&s->host, &s->geometry, format, s->frame, &s->origin, &e)) {
        printf("not ok scene: %s\n", e.text);
        exit(1);
    }
    bl_nv12_set_surface(&s->host, s->frame);
    s->gpu = s->host;
    const struct bl_filter *filters[4] = {&s->filters.across[0], &s->filters.across[1], &s->filters.down[0],
                                          &s->filters.down[1]};
    for (int i = 0; i < 4; i++) {
        const struct bl_filter *f = filters[i];
        s->first[i] = on_gpu(f->first, (size_t)f->count * sizeof *f->first);
        s->weight[i] = on_gpu(f->weight, (size_t)f->count * (size_t)f->taps * sizeof *f->weight);
        struct bl_nv12_axis axis = bl_nv12_axis(f);
        *(i < 2 ? &s->host.across[i] : &s->host.down[i - 2]) = axis;
        axis.first = s->first[i];
        axis.weight = s->weight[i];
        *(i < 2 ? &s->gpu.across[i] : &s->gpu.down[i - 2]) = axis;
    }
    AVFrame in_gpu = *s->frame;
    for (int p = 0; p < av_pix_fmt_count_planes(format); p++) {
        int rows = p ? AV_CEIL_RSHIFT(size[1], av_pix_fmt_desc_get(format)->log2_chroma_h) : size[1];
        in_gpu.data[p] = s->plane[p] = on_gpu(s->frame->data[p], (size_t)s->frame->linesize[p] * (size_t)rows);
    }
    bl_nv12_set_surface(&s->gpu, &in_gpu);
    s->bytes = (size_t)s->geometry.width * (size_t)s->geometry.height * 3;
    s->expected = calloc(s->bytes, 1);
    s->got = calloc(s->bytes, 1);
    s->rgb = memory_of(s->bytes);
    must(gpu_do->clear(queue, s->rgb, s->bytes, &error), "clear");
    s->host.rgb = s->expected + s->origin;
    s->gpu.rgb = s->rgb + s->origin;
}

static void scene_free(struct scene *s)
{
    for (int i = 0; i < 4; i++) {
        gpu_do->free(queue, BL_GPU_OWN, s->first[i]);
        gpu_do->free(queue, BL_GPU_OWN, s->weight[i]);
    }
    for (int p = 0; p < 3; p++)
        gpu_do->free(queue, BL_GPU_OWN, s->plane[p]);
    gpu_do->free(queue, BL_GPU_OWN, s->rgb);
    free(s->expected);
    free(s->got);
    bl_nv12_free(&s->filters);
    av_frame_free(&s->frame);
}

static int kernel(uint32_t seed)
{
    open_queue();
    static const int sizes[][4] = {{640, 360, 224, 224}, {1920, 1080, 224, 224}, {65, 33, 0, 0},      {1, 1, 0, 0},
                                   {37, 5, 100, 90},     {720, 576, 720, 576},   {100, 99, 7, 3},     {640, 16, 16, 16},
                                   {33, 21, 200, 5},     {353, 289, 352, 288},   {3840, 2160, 64, 36}};
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_NV12, AV_PIX_FMT_P010LE, AV_PIX_FMT_P016LE,
                                                 AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P16LE};
    enum { FORMATS = sizeof formats / sizeof *formats };
    int failed = 0, done = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes * FORMATS * 3; i++, seed = seed * 69069 + 1) {
        struct scene s;
        scene_make(&s, formats[i % FORMATS], sizes[i / FORMATS / 3], (enum bl_fit)(i / FORMATS % 3), seed >> 8);
        bl_nv12_rgb_host(&s.host);
        must(gpu_do->draw(queue, &s.gpu, &error), "launch");
        must(gpu_do->download(queue, s.got, s.rgb, s.bytes, &error), "copy back");
        finish();
        size_t differing = 0;
        for (size_t b = 0; b < s.bytes; b++)
            differing += s.got[b] != s.expected[b];
        if (differing)
            printf("not ok kernel: surface %zu: %zu of %zu bytes differ from the loop's\n", i, differing, s.bytes);
        failed += differing != 0;
        done++;
        scene_free(&s);
    }
    close_queue();
    if (!failed)
        printf("ok kernel: the same bytes as the loop, %d surfaces\n", done);
    return failed != 0;
}

/* --- times -------------------------------------------------------------------------------------------------------- */

static void time_kernel(const int size[4], enum AVPixelFormat format)
{
    enum { ROUNDS = 200 };
    struct scene s;
    double began = 0;
    scene_make(&s, format, size, BL_FIT_STRETCH, 2);
    for (int i = 0; i < ROUNDS + 10; i++) {
        if (i == 10) {
            finish();
            began = now();
        }
        must(gpu_do->draw(queue, &s.gpu, &error), "launch");
    }
    finish();
    printf("kernel %-7s %4dx%-4d to %4dx%-4d  %8.1f us\n", av_get_pix_fmt_name(format), size[0], size[1],
           s.geometry.width, s.geometry.height, (now() - began) * 1e6 / ROUNDS);
    scene_free(&s);
}

static int times(void)
{
    open_queue();
    static const int sizes[][4] = {
        {640, 360, 224, 224}, {1920, 1080, 224, 224}, {3840, 2160, 224, 224}, {640, 360, 640, 360}, {1920, 1080, 0, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        time_kernel(sizes[i], AV_PIX_FMT_NV12);
        time_kernel(sizes[i], AV_PIX_FMT_P010LE);
        time_kernel(sizes[i], AV_PIX_FMT_YUV444P);
    }
    for (size_t mib = 1; mib <= 8; mib *= 2) {
        void *own = memory_of(mib << 20), *pinned = NULL;
        must(gpu_do->alloc(queue, BL_GPU_PINNED, mib << 20, &pinned, &error), "pinned memory");
        finish();
        double began = now();
        for (int i = 0; i < 100; i++)
            must(gpu_do->download(queue, pinned, own, mib << 20, &error), "copy");
        finish();
        printf("copy back of %zu MiB at a time  %8.1f GB/s\n", mib, (double)(mib << 20) * 100 / (now() - began) / 1e9);
        gpu_do->free(queue, BL_GPU_OWN, own);
        gpu_do->free(queue, BL_GPU_PINNED, pinned);
    }
    close_queue();
    return 0;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

struct decoding {
    struct bl_gpu_worker *worker;
    struct bl_cancel cancel;
    struct bl_kind_env env;
    AVFrame *frame;
    struct bl_error e;
};

static void decoding_begin(struct decoding *d)
{
    *d = (struct decoding){.frame = av_frame_alloc()};
    d->env.cancel = &d->cancel;
    must(bl_nvdec_open(&gpu, "all", &error), "open");
    must(bl_gpu_worker_open(&d->worker, gpu_do, gpu, (size_t)224 * 224 * 3, &error), "open");
    queue = d->worker->queue;
}

static void decoding_end(struct decoding *d)
{
    av_frame_free(&d->frame);
    bl_gpu_worker_close(d->worker);
    bl_nvdec_close(gpu);
}

/* Frames of the file until the end or `most`; or the code. */
static int decode(struct decoding *d, const char *path, int most, double *first)
{
    struct bl_decode frames;
    double began = now();
    int rc = bl_decode_open_gpu(&frames, d->worker, path, -1, -1, BL_DEMUX_DECODE, &d->env, &d->e), count = 0;
    if (rc)
        return rc;
    bool got = true;
    while (count < most) {
        rc = bl_decode_next(&frames, d->frame, &got, &d->e);
        if (rc || !got)
            break;
        if (!count++)
            *first = now() - began;
        av_frame_unref(d->frame);
    }
    bl_decode_close(&frames);
    return rc < 0 ? rc : count;
}

static int sessions(const char *path)
{
    struct decoding d;
    decoding_begin(&d);
    int frames = 0;
    for (int i = 0; i < 6 && frames >= 0; i++) {
        double first = 0;
        frames = decode(&d, path, 30, &first);
        printf("first frame after %6.1f ms, of %d, with %s decoder\n", first * 1000, frames, i ? "a kept" : "a new");
    }
    printf("%s sessions%s%s\n", frames > 0 ? "ok" : "not ok", frames > 0 ? "" : ": ", frames > 0 ? "" : d.e.text);
    decoding_end(&d);
    return frames <= 0;
}

static int hog(size_t left)
{
    enum { PIECE = 32, MOST = 8192 };
    static void *piece[MOST];
    int pieces = 0, code = 0;
    open_queue();
    while (pieces < MOST && !(code = gpu_do->alloc(queue, BL_GPU_OWN, (size_t)PIECE << 20, &piece[pieces], &error)))
        pieces++;
    must(code == BL_GPU_FULL ? 0 : code, "memory");
    for (size_t mib = 0; pieces > 0 && mib < left; mib += PIECE)
        gpu_do->free(queue, BL_GPU_OWN, piece[--pieces]);
    printf("%d MiB are taken\n", pieces * PIECE);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    for (; pieces > 0; pieces--)
        gpu_do->free(queue, BL_GPU_OWN, piece[pieces - 1]);
    close_queue();
    return 0;
}

/* A kernel that reads where nothing is puts the GPU's context out of use for this process, as a lost card does. */
static int lost(const char *path)
{
    struct decoding d;
    double first;
    decoding_begin(&d);
    int frames = decode(&d, path, 5, &first);
    struct scene s;
    const int size[4] = {64, 64, 32, 32};
    scene_make(&s, AV_PIX_FMT_NV12, size, BL_FIT_STRETCH, 2);
    s.gpu.luma = (const uint8_t *)16;
    (void)gpu_do->draw(queue, &s.gpu, &error);
    (void)(gpu_do->record(queue, 0, &error) || gpu_do->wait(queue, 0, &error));
    int rc = decode(&d, path, 1000, &first);
    int good = frames > 0 && rc == BL_EFAIL;
    printf("%s lost: %d frames, then %d: %s\n", good ? "ok" : "not ok", frames, rc, d.e.text);
    return !good; /* nothing can be freed any more */
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "kernel"))
        return kernel(argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1);
    if (!strcmp(what, "times"))
        return times();
    if (!strcmp(what, "sessions") && argc > 2)
        return sessions(argv[2]);
    if (!strcmp(what, "hog") && argc > 2)
        return hog(strtoul(argv[2], NULL, 10));
    if (!strcmp(what, "lost") && argc > 2)
        return lost(argv[2]);
    fprintf(stderr, "usage: probe kernel|times|sessions FILE|hog MIB|lost FILE\n");
    return 2;
}
