/* One way of scaling and colouring, timed: raw yuv420p frames on stdin, packed RGB on stdout, microseconds of
 * processor time per frame (the least of several rounds) on stderr. bench/convert.sh runs them side by side and
 * measures their errors.
 *
 *     convert METHOD WxH WxH [rounds] < yuv420p > rgb24
 *
 * METHOD: bload[:avx2|sse2|none], zimg[:avx2|avx512|none] (zimg doing the colours too, in floating point), words[:avx2|
 * avx512] (only what bload asks of zimg: three planes of words; writes nothing), yuv-bilinear, yuv-box (libyuv),
 * sws-bilinear, sws-area, sws-exact (swscale). All take the frames as BT.601, limited range, chroma sited left. */
#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zimg.h>
#if __has_include(<libyuv.h>)
#include <libyuv.h>
#define HAVE_LIBYUV 1
#endif

#include "kind/media/module.h"
#include "kind/video/convert.h"

#define FRAMES_MAX 64

struct bench {
    const char *method, *level;
    int width, height, out_width, out_height;
    AVFrame *frames[FRAMES_MAX];
    int count;
    uint8_t *rgb;       /* [out_height, out_width, 3] */
    uint8_t *planes[4]; /* what the others need in between */
    int strides[4];
    struct bl_convert *convert;
    struct bl_geometry geometry;
    struct SwsContext *sws;
    zimg_filter_graph *graph;
    void *temporary;
};

static void die(const char *what)
{
    fprintf(stderr, "convert: %s\n", what);
    exit(1);
}

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static AVFrame *frame_read(const struct bench *b)
{
    AVFrame *f = av_frame_alloc();
    f->format = AV_PIX_FMT_YUV420P;
    f->width = b->width;
    f->height = b->height;
    if (av_frame_get_buffer(f, 64) < 0)
        die("out of memory");
    for (int p = 0; p < 3; p++) {
        size_t w = (size_t)(p ? (b->width + 1) / 2 : b->width);
        for (int y = 0; y < (p ? (b->height + 1) / 2 : b->height); y++) {
            if (fread(f->data[p] + y * f->linesize[p], 1, w, stdin) != w) {
                av_frame_free(&f);
                return NULL;
            }
        }
    }
    return f;
}

static int is(const struct bench *b, const char *method)
{
    return !strcmp(b->method, method);
}

/* --- the methods: make what they keep, then one frame at a time ------------------------------------------------------
 */

static void bload_make(struct bench *b)
{
    struct bl_error e = {0};
    struct bl_convert_options options = {.simd = bl_simd_best()};
    const struct bl_geometry_input in = {.coded_width = b->width,
                                         .coded_height = b->height,
                                         .target_width = b->out_width,
                                         .target_height = b->out_height};
    if ((*b->level && bl_simd_parse(b->level, &options.simd, &e)) || bl_simd_apply(options.simd, &e) ||
        bl_geometry_make(&b->geometry, &in, &e) || bl_convert_open(&b->convert, &options, &e))
        die(e.text);
}

static void bload_run(struct bench *b, const AVFrame *f)
{
    struct bl_error e = {0};
    if (bl_convert_frame(b->convert, f, &b->geometry, b->rgb, &e))
        die(e.text);
}

static void graph_make(struct bench *b, int words)
{
    zimg_image_format in, out;
    zimg_graph_builder_params params;
    size_t bytes;
    zimg_image_format_default(&in, ZIMG_API_VERSION);
    in.width = (unsigned)b->width;
    in.height = (unsigned)b->height;
    in.color_family = ZIMG_COLOR_YUV;
    in.pixel_type = words ? ZIMG_PIXEL_WORD : ZIMG_PIXEL_BYTE;
    in.depth = words ? 16 : 8;
    out = in;
    out.width = (unsigned)b->out_width;
    out.height = (unsigned)b->out_height;
    if (!words) {
        in.subsample_w = in.subsample_h = 1;
        in.matrix_coefficients = ZIMG_MATRIX_ST170_M;
        out.color_family = ZIMG_COLOR_RGB;
        out.matrix_coefficients = ZIMG_MATRIX_RGB;
        out.pixel_range = ZIMG_RANGE_FULL;
    }
    zimg_graph_builder_params_default(&params, ZIMG_API_VERSION);
    params.resample_filter = params.resample_filter_uv = ZIMG_RESIZE_BILINEAR;
    params.cpu_type = ZIMG_CPU_NONE;
#if defined(__x86_64__)
    params.cpu_type = !strcmp(b->level, "none")     ? ZIMG_CPU_NONE
                      : !strcmp(b->level, "avx512") ? ZIMG_CPU_X86_AVX512_CLX
                                                    : ZIMG_CPU_X86_AVX2;
#endif
    b->graph = zimg_filter_graph_build(&in, &out, &params);
    if (!b->graph || zimg_filter_graph_get_tmp_size(b->graph, &bytes) || !(b->temporary = av_malloc(bytes)))
        die("no graph");
    int sample = words ? 2 : 1;
    b->strides[0] = FFALIGN(b->out_width * sample, 64);
    for (int p = 0; p < 3; p++)
        b->planes[p] = av_malloc((size_t)b->strides[0] * (size_t)b->out_height);
    b->strides[3] = FFALIGN(b->width * 2, 64);
    b->planes[3] = words ? av_mallocz((size_t)b->strides[3] * (size_t)b->height) : NULL;
}

static void graph_run(struct bench *b, const AVFrame *f, int words)
{
    zimg_image_buffer_const from = {.version = ZIMG_API_VERSION};
    zimg_image_buffer to = {.version = ZIMG_API_VERSION};
    for (int p = 0; p < 3; p++) {
        from.plane[p].data = words ? b->planes[3] : f->data[p];
        from.plane[p].stride = words ? b->strides[3] : f->linesize[p];
        from.plane[p].mask = ZIMG_BUFFER_MAX;
        to.plane[p].data = b->planes[p];
        to.plane[p].stride = b->strides[0];
        to.plane[p].mask = ZIMG_BUFFER_MAX;
    }
    if (zimg_filter_graph_process(b->graph, &from, &to, b->temporary, NULL, NULL, NULL, NULL))
        die("zimg failed");
    if (words)
        return;
    for (int y = 0; y < b->out_height; y++) {
        const uint8_t *row[3] = {b->planes[0] + y * b->strides[0], b->planes[1] + y * b->strides[0],
                                 b->planes[2] + y * b->strides[0]};
        uint8_t *rgb = b->rgb + (ptrdiff_t)y * b->out_width * 3;
        for (int x = 0; x < b->out_width; x++)
            for (int c = 0; c < 3; c++)
                rgb[3 * x + c] = row[c][x];
    }
}

#ifdef HAVE_LIBYUV
static void yuv_make(struct bench *b)
{
    if (av_image_alloc(b->planes, b->strides, b->out_width, b->out_height, AV_PIX_FMT_YUV420P, 64) < 0)
        die("out of memory");
}

static void yuv_run(struct bench *b, const AVFrame *f)
{
    I420Scale(f->data[0], f->linesize[0], f->data[1], f->linesize[1], f->data[2], f->linesize[2], b->width, b->height,
              b->planes[0], b->strides[0], b->planes[1], b->strides[1], b->planes[2], b->strides[2], b->out_width,
              b->out_height, is(b, "yuv-box") ? kFilterBox : kFilterBilinear);
    I420ToRAW(b->planes[0], b->strides[0], b->planes[1], b->strides[1], b->planes[2], b->strides[2], b->rgb,
              b->out_width * 3, b->out_width, b->out_height);
}
#else
static void yuv_make(struct bench *b)
{
    (void)b;
    fprintf(stderr, "skipped: libyuv is not installed\n");
    exit(77);
}

static void yuv_run(struct bench *b, const AVFrame *f)
{
    (void)b;
    (void)f;
}
#endif

static void sws_make(struct bench *b)
{
    int flags = is(b, "sws-area") ? SWS_AREA : SWS_BILINEAR;
    if (is(b, "sws-exact"))
        flags |= SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;
    b->sws = sws_getContext(b->width, b->height, AV_PIX_FMT_YUV420P, b->out_width, b->out_height, AV_PIX_FMT_RGB24,
                            flags, NULL, NULL, NULL);
    if (!b->sws)
        die("no swscale context");
}

static void sws_run(struct bench *b, const AVFrame *f)
{
    uint8_t *out[4] = {b->rgb};
    const int stride[4] = {b->out_width * 3};
    sws_scale(b->sws, (const uint8_t *const *)f->data, f->linesize, 0, b->height, out, stride);
}

static void method_make(struct bench *b)
{
    if (is(b, "bload"))
        bload_make(b);
    else if (is(b, "zimg") || is(b, "words"))
        graph_make(b, is(b, "words"));
    else if (!strncmp(b->method, "yuv", 3))
        yuv_make(b);
    else if (!strncmp(b->method, "sws", 3))
        sws_make(b);
    else
        die("no such method");
}

static void method_run(struct bench *b, const AVFrame *f)
{
    if (is(b, "bload"))
        bload_run(b, f);
    else if (is(b, "zimg") || is(b, "words"))
        graph_run(b, f, is(b, "words"));
    else if (!strncmp(b->method, "yuv", 3))
        yuv_run(b, f);
    else
        sws_run(b, f);
}

static void bench_free(struct bench *b)
{
    bl_convert_close(b->convert);
    sws_freeContext(b->sws);
    zimg_filter_graph_free(b->graph);
    av_free(b->temporary);
    for (int p = 0; p < (b->graph ? 4 : 1); p++) /* otherwise one allocation holds them all */
        av_free(b->planes[p]);
    for (int i = 0; i < b->count; i++)
        av_frame_free(&b->frames[i]);
    free(b->rgb);
}

int main(int argc, char **argv)
{
    struct bench b = {.level = ""};
    if (argc < 4 || sscanf(argv[2], "%dx%d", &b.width, &b.height) != 2 ||
        sscanf(argv[3], "%dx%d", &b.out_width, &b.out_height) != 2)
        die("usage: convert METHOD[:LEVEL] WxH WxH [rounds] < yuv420p > rgb24");
    int rounds = argc > 4 ? atoi(argv[4]) : 20;
    char *colon = strchr(argv[1], ':');
    if (colon) {
        *colon = 0;
        b.level = colon + 1;
    }
    b.method = argv[1];
    while (b.count < FRAMES_MAX && (b.frames[b.count] = frame_read(&b)))
        b.count++;
    size_t size = (size_t)b.out_width * (size_t)b.out_height * 3;
    b.rgb = malloc(size);
    if (!b.count || !b.rgb)
        die("no frames");
    method_make(&b);
    double least = 1e30;
    for (int r = 0; r < rounds; r++) {
        double start = cpu_us();
        for (int i = 0; i < b.count; i++)
            method_run(&b, b.frames[i]);
        double took = (cpu_us() - start) / b.count;
        least = took < least ? took : least;
    }
    for (int i = 0; i < b.count && !is(&b, "words"); i++) {
        method_run(&b, b.frames[i]);
        if (fwrite(b.rgb, 1, size, stdout) != size)
            die("cannot write");
    }
    fprintf(stderr, "%.0f\n", least);
    bench_free(&b);
    return fflush(stdout) ? 1 : 0;
}
