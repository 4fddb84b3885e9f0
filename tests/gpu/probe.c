/* What of a GPU the tool's own answers do not show. One of:
 *
 *     probe kernel [SEED]     the kernel against the same source as a loop, byte for byte, over many surfaces
 *     probe times             microseconds of the kernel, and of copies back, for the usual sizes
 *     probe sessions FILE     milliseconds to the first frame: with a decoder that has to be made, and with a kept one
 *     probe hog MIB           takes the GPU's memory but for that much, says so, and holds it until its input ends
 *     probe lost FILE         what a GPU that faults looks like to whoever reads a video
 *
 * Lines are "ok NAME", "not ok NAME" or figures; status 0 when nothing was not ok. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kind/video/frames.h"
#include "kind/video/gpu_worker.h"
#include "kind/video/nv12.h"
#include "kind/video/nvdec.h"

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    printf("not ok %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
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
    uint8_t *luma, *chroma, *rgb, *expected, *got;
    int32_t *first[4];
    float *weight[4];
    ptrdiff_t origin;
    size_t bytes;
};

static void *on_gpu(const void *from, size_t bytes)
{
    void *to = NULL;
    must(cudaMalloc(&to, bytes), "memory");
    must(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy");
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
        bl_nv12_prepare(&s->filters, &s->geometry, s->frame->chroma_location, &made, &e) ||
        bl_nv12_describe(&s->host, &s->geometry, format, s->frame, &s->origin, &e)) {
        printf("not ok scene: %s\n", e.text);
        exit(1);
    }
    bl_nv12_point(&s->host, s->frame);
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
    s->luma = on_gpu(s->frame->data[0], (size_t)s->frame->linesize[0] * (size_t)size[1]);
    s->chroma = on_gpu(s->frame->data[1], (size_t)s->frame->linesize[1] * (size_t)((size[1] + 1) / 2));
    s->gpu.luma = s->luma;
    s->gpu.chroma = s->chroma;
    s->bytes = (size_t)s->geometry.width * (size_t)s->geometry.height * 3;
    s->expected = calloc(s->bytes, 1);
    s->got = calloc(s->bytes, 1);
    must(cudaMalloc((void **)&s->rgb, s->bytes), "memory");
    must(cudaMemset(s->rgb, 0, s->bytes), "clear");
    s->host.rgb = s->expected + s->origin;
    s->gpu.rgb = s->rgb + s->origin;
}

static void scene_free(struct scene *s)
{
    for (int i = 0; i < 4; i++) {
        cudaFree(s->first[i]);
        cudaFree(s->weight[i]);
    }
    cudaFree(s->luma);
    cudaFree(s->chroma);
    cudaFree(s->rgb);
    free(s->expected);
    free(s->got);
    bl_nv12_free(&s->filters);
    av_frame_free(&s->frame);
}

static int kernel(uint32_t seed)
{
    static const int sizes[][4] = {{640, 360, 224, 224}, {1920, 1080, 224, 224}, {65, 33, 0, 0},      {1, 1, 0, 0},
                                   {37, 5, 100, 90},     {720, 576, 720, 576},   {100, 99, 7, 3},     {640, 16, 16, 16},
                                   {33, 21, 200, 5},     {353, 289, 352, 288},   {3840, 2160, 64, 36}};
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_NV12, AV_PIX_FMT_P010LE, AV_PIX_FMT_P016LE};
    int failed = 0, done = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes * 9; i++, seed = seed * 69069 + 1) {
        struct scene s;
        scene_make(&s, formats[i % 3], sizes[i / 9], (enum bl_fit)(i / 3 % 3), seed >> 8);
        bl_nv12_rgb_host(&s.host);
        must((cudaError_t)bl_nv12_rgb_launch(&s.gpu, NULL), "launch");
        must(cudaMemcpy(s.got, s.rgb, s.bytes, cudaMemcpyDeviceToHost), "copy back");
        size_t differing = 0;
        for (size_t b = 0; b < s.bytes; b++)
            differing += s.got[b] != s.expected[b];
        if (differing)
            printf("not ok kernel: surface %zu: %zu of %zu bytes differ from the loop's\n", i, differing, s.bytes);
        failed += differing != 0;
        done++;
        scene_free(&s);
    }
    if (!failed)
        printf("ok kernel: the same bytes as the loop, %d surfaces\n", done);
    return failed != 0;
}

/* --- times -------------------------------------------------------------------------------------------------------- */

static void time_kernel(const int size[4], enum AVPixelFormat format)
{
    enum { ROUNDS = 200 };
    struct scene s;
    cudaEvent_t begin, end;
    float milliseconds;
    scene_make(&s, format, size, BL_FIT_STRETCH, 2);
    must(cudaEventCreate(&begin), "event");
    must(cudaEventCreate(&end), "event");
    for (int i = 0; i < ROUNDS + 10; i++) {
        if (i == 10)
            must(cudaEventRecord(begin, NULL), "event");
        must((cudaError_t)bl_nv12_rgb_launch(&s.gpu, NULL), "launch");
    }
    must(cudaEventRecord(end, NULL), "event");
    must(cudaEventSynchronize(end), "event");
    must(cudaEventElapsedTime(&milliseconds, begin, end), "event");
    printf("kernel %-4s %4dx%-4d to %4dx%-4d  %8.1f us\n", format == AV_PIX_FMT_NV12 ? "nv12" : "p010", size[0],
           size[1], s.geometry.width, s.geometry.height, milliseconds * 1000 / ROUNDS);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    scene_free(&s);
}

static int times(void)
{
    static const int sizes[][4] = {
        {640, 360, 224, 224}, {1920, 1080, 224, 224}, {3840, 2160, 224, 224}, {640, 360, 640, 360}, {1920, 1080, 0, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        time_kernel(sizes[i], AV_PIX_FMT_NV12);
        time_kernel(sizes[i], AV_PIX_FMT_P010LE);
    }
    for (size_t mib = 1; mib <= 8; mib *= 2) {
        void *own, *pinned;
        must(cudaMalloc(&own, mib << 20), "memory");
        must(cudaHostAlloc(&pinned, mib << 20, cudaHostAllocDefault), "pinned memory");
        double began = now();
        for (int i = 0; i < 100; i++)
            must(cudaMemcpyAsync(pinned, own, mib << 20, cudaMemcpyDeviceToHost, NULL), "copy");
        must(cudaDeviceSynchronize(), "copies");
        printf("copy back of %zu MiB at a time  %8.1f GB/s\n", mib, (double)(mib << 20) * 100 / (now() - began) / 1e9);
        cudaFree(own);
        cudaFreeHost(pinned);
    }
    return 0;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

struct decoding {
    struct bl_gpu *gpu;
    struct bl_gpu_worker *worker;
    struct bl_cancel cancel;
    AVFrame *frame;
    struct bl_error e;
};

static void decoding_begin(struct decoding *d)
{
    *d = (struct decoding){.frame = av_frame_alloc()};
    if (bl_nvdec_open(&d->gpu, "all", &d->e) ||
        bl_gpu_worker_open(&d->worker, &bl_nvdec_functions, d->gpu, (size_t)224 * 224 * 3, &d->e)) {
        printf("not ok open: %s\n", d->e.text);
        exit(1);
    }
}

static void decoding_end(struct decoding *d)
{
    av_frame_free(&d->frame);
    bl_gpu_worker_close(d->worker);
    bl_nvdec_close(d->gpu);
}

/* Frames of the file until the end or `most`; or the code. */
static int decode(struct decoding *d, const char *path, int most, double *first)
{
    struct bl_frames f;
    double began = now();
    int rc = bl_frames_open_on(&f, &d->worker->sessions, path, -1, -1, BL_DEMUX_DECODE, &d->cancel, &d->e), frames = 0;
    if (rc)
        return rc;
    while (frames < most && (rc = bl_frames_next(&f, d->frame, &d->e)) > 0) {
        if (!frames++)
            *first = now() - began;
        av_frame_unref(d->frame);
    }
    bl_frames_close(&f);
    return rc < 0 ? rc : frames;
}

static int sessions(const char *path)
{
    struct decoding d;
    decoding_begin(&d);
    int frames = 0;
    for (int i = 0; i < 6 && frames >= 0; i++) {
        double first = 0;
        int64_t reused = d.worker->sessions.reused;
        frames = decode(&d, path, 30, &first);
        printf("first frame after %6.1f ms, of %d, a %s context\n", first * 1000, frames,
               d.worker->sessions.reused > reused ? "kept" : "new");
    }
    printf("%s sessions%s%s\n", frames > 0 ? "ok" : "not ok", frames > 0 ? "" : ": ", frames > 0 ? "" : d.e.text);
    decoding_end(&d);
    return frames <= 0;
}

static int hog(size_t left)
{
    enum { PIECE = 64 };
    size_t free_bytes, all;
    must(cudaMemGetInfo(&free_bytes, &all), "memory");
    for (void *p; free_bytes > (left + PIECE) << 20; must(cudaMemGetInfo(&free_bytes, &all), "memory"))
        must(cudaMalloc(&p, (size_t)PIECE << 20), "memory");
    printf("%zu MiB are left\n", free_bytes >> 20);
    fflush(stdout);
    while (getchar() != EOF)
        ;
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
    (void)bl_nv12_rgb_launch(&s.gpu, NULL);
    (void)cudaDeviceSynchronize();
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
