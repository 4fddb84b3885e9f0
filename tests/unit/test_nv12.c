/* What the GPU makes of a decoder's surface, compiled for the processor: against the reference in double and against
 * the converter, whose picture it has to be. The whole reference is tests/readers/reference_convert.py. */
#include "kind/video/readback.h"

#include <libavutil/pixdesc.h>
#include <math.h>

#include "kind/video/convert.h"
#include "picture.h"

/* A surface of noise; of 10 bits only the upper ones of each word. */
static AVFrame *surface(enum AVPixelFormat format, int width, int height, uint32_t seed)
{
    AVFrame *frame = frame_of(format, width, height);
    for (int b = 0; b < AV_NUM_DATA_POINTERS && frame->buf[b]; b++) {
        for (size_t i = 0; i < frame->buf[b]->size; i++) {
            seed = seed * 1664525 + 1013904223;
            bool low = format == AV_PIX_FMT_P010LE && !(i & 1);
            frame->buf[b]->data[i] = (uint8_t)(seed >> 24) & (low ? 0xc0 : 255);
        }
    }
    return frame;
}

/* The picture, with a guard behind it. */
static uint8_t *make(const AVFrame *frame, const struct bl_geometry *g)
{
    struct bl_error e = {0};
    struct bl_nv12 filters = {0};
    struct bl_nv12_rgb picture = {0};
    enum AVPixelFormat format = (enum AVPixelFormat)frame->format;
    bool made;
    ptrdiff_t origin;
    size_t size = (size_t)g->width * (size_t)g->height * 3;
    uint8_t *rgb = calloc(size + 64, 1);
    memset(rgb + size, 0x5a, 64);
    ck_assert_int_eq(bl_nv12_prepare(&filters, g, format, frame->chroma_location, &made, &e), 0);
    ck_assert(made);
    ck_assert_int_eq(bl_nv12_prepare(&filters, g, format, frame->chroma_location, &made, &e), 0);
    ck_assert(!made);
    ck_assert_int_eq(bl_nv12_describe(&picture, g, format, frame, &origin, &e), 0);
    for (int i = 0; i < 2; i++) {
        picture.across[i] = bl_nv12_axis(&filters.across[i]);
        picture.down[i] = bl_nv12_axis(&filters.down[i]);
    }
    bl_nv12_set_surface(&picture, frame);
    picture.rgb = rgb + origin;
    bl_nv12_rgb_host(&picture);
    for (size_t i = size; i < size + 64; i++)
        ck_assert_uint_eq(rgb[i], 0x5a);
    bl_nv12_free(&filters);
    return rgb;
}

static uint8_t *convert(const AVFrame *frame, const struct bl_geometry *g)
{
    struct bl_convert *c;
    struct bl_error e = {0};
    const struct bl_convert_options options = {.simd = bl_simd_best()};
    uint8_t *rgb = malloc((size_t)g->width * (size_t)g->height * 3);
    ck_assert_int_eq(bl_convert_open(&c, &options, &e), 0);
    ck_assert_int_eq(bl_convert_frame(c, frame, g, rgb, &e), 0);
    bl_convert_close(c);
    return rgb;
}

/* The surface's picture and the converted frame, both within `most` of each other everywhere, and within `mean` on
 * average. */
static void agree_both(const AVFrame *on_gpu, const AVFrame *frame, const struct bl_geometry *g, int most, double mean,
                       const char *what)
{
    FREED uint8_t *a = make(on_gpu, g), *b = convert(frame, g);
    size_t size = (size_t)g->width * (size_t)g->height * 3;
    double sum = 0;
    for (size_t i = 0; i < size; i++) {
        int apart = abs(a[i] - b[i]);
        sum += apart;
        ck_assert_msg(apart <= most, "%s %dx%d to %dx%d: byte %zu is %d, converted %d", what, frame->width,
                      frame->height, g->width, g->height, i, a[i], b[i]);
    }
    ck_assert_msg(sum <= mean * (double)size, "%s: %.4f on average", what, sum / (double)size);
}

static void agree(const AVFrame *frame, const struct bl_geometry *g, int most, double mean, const char *what)
{
    agree_both(frame, frame, g, most, mean, what);
}

static const enum AVPixelFormat formats[] = {AV_PIX_FMT_NV12, AV_PIX_FMT_P010LE, AV_PIX_FMT_P016LE, AV_PIX_FMT_YUV444P,
                                             AV_PIX_FMT_YUV444P16LE};

#define FORMATS COUNT(formats)

/* --- the reference in double -------------------------------------------------------------------------------------- */

/* Sample x, y of a component, as FFmpeg's descriptor of the format places it, in parts of 256. */
static double sample_at(const AVFrame *f, int component, int x, int y)
{
    const AVComponentDescriptor *c = &av_pix_fmt_desc_get((enum AVPixelFormat)f->format)->comp[component];
    const uint8_t *at = f->data[c->plane] + y * f->linesize[c->plane] + x * c->step + c->offset;
    return c->depth > 8 ? at[0] / 256.0 + at[1] : at[0];
}

/* Chroma at a place of luma: of 4:2:0 sited left, in the middle of two rows. */
static double chroma(const AVFrame *f, int c, int x, int y)
{
    if (!av_pix_fmt_desc_get((enum AVPixelFormat)f->format)->log2_chroma_w)
        return sample_at(f, c, x, y);
    int w = (f->width + 1) / 2, h = (f->height + 1) / 2;
    double px = fmin(x / 2.0, w - 1), py = fmin(fmax((y - 0.5) / 2, 0), h - 1);
    int x0 = (int)px, y0 = (int)py, x1 = x0 + 1 < w ? x0 + 1 : x0, y1 = y0 + 1 < h ? y0 + 1 : y0;
    double top = sample_at(f, c, x0, y0) * (x0 + 1 - px) + sample_at(f, c, x1, y0) * (px - x0);
    double low = sample_at(f, c, x0, y1) * (x0 + 1 - px) + sample_at(f, c, x1, y1) * (px - x0);
    return top * (y0 + 1 - py) + low * (py - y0);
}

/* Of BT.709 in limited range, rounded nowhere. */
static void rgb_at(const AVFrame *f, int x, int y, double rgb[3])
{
    const double kr = 0.2126, kb = 0.0722;
    double y1 = (sample_at(f, 0, x, y) - 16) / 219;
    double u = (chroma(f, 1, x, y) - 128) / 224, v = (chroma(f, 2, x, y) - 128) / 224;
    rgb[0] = 255 * (y1 + 2 * (1 - kr) * v);
    rgb[2] = 255 * (y1 + 2 * (1 - kb) * u);
    rgb[1] = (255 * y1 - kr * rgb[0] - kb * rgb[2]) / (1 - kr - kb);
}

/* Pixel x, y of the frame scaled to w x h: the triangle, widened when shrinking. */
static void scaled_at(const AVFrame *f, int w, int h, int x, int y, double rgb[3])
{
    double across = (double)f->width / w, down = (double)f->height / h, weights = 0;
    rgb[0] = rgb[1] = rgb[2] = 0;
    for (int j = 0; j < f->height; j++) {
        double wy = fmax(0, 1 - fabs(j + 0.5 - (y + 0.5) * down) / fmax(down, 1));
        for (int i = 0; wy > 0 && i < f->width; i++) {
            double wx = fmax(0, 1 - fabs(i + 0.5 - (x + 0.5) * across) / fmax(across, 1)), one[3];
            if (wx <= 0)
                continue;
            rgb_at(f, i, j, one);
            weights += wx * wy;
            for (int c = 0; c < 3; c++)
                rgb[c] += wx * wy * one[c];
        }
    }
    for (int c = 0; c < 3; c++)
        rgb[c] = fmin(fmax(rgb[c] / weights, 0), 255);
}

/* Every value is the reference, rounded, or its neighbour where that lies all but between them. Where the triangle
 * leans over the edge the scaler mirrors the picture, and the reference does not: those pixels are left out. */
static void near_reference(const AVFrame *f, int w, int h)
{
    struct bl_geometry g = geometry(f, w, h, BL_FIT_STRETCH, NULL);
    FREED uint8_t *rgb = make(f, &g);
    int edge_x = w == f->width ? 0 : w / f->width + 2, edge_y = h == f->height ? 0 : h / f->height + 2, seen = 0;
    for (int y = edge_y; y < h - edge_y; y++) {
        for (int x = edge_x; x < w - edge_x; x++, seen++) {
            double want[3];
            scaled_at(f, w, h, x, y, want);
            for (int c = 0; c < 3; c++)
                ck_assert_msg(fabs(rgb[(y * w + x) * 3 + c] - want[c]) < 0.53,
                              "%s %dx%d to %dx%d: (%d, %d)[%d] is %d, not %.3f",
                              av_get_pix_fmt_name((enum AVPixelFormat)f->format), f->width, f->height, w, h, x, y, c,
                              rgb[(y * w + x) * 3 + c], want[c]);
        }
    }
    ck_assert_int_gt(seen, 0);
}

/* All of a table's cases, or where tests are brief every fifth: formats and fits still take turns. */
static int step(void)
{
    return unit_times(8) < 8 ? 5 : 1;
}

UNIT_TEST(the_reference_in_double)
{
    static const int sizes[][4] = {{64, 32, 64, 32}, {65, 33, 65, 33},  {1, 1, 1, 1},     {37, 5, 37, 5},
                                   {90, 50, 20, 20}, {31, 47, 100, 90}, {80, 33, 81, 10}, {50, 60, 23, 131}};
    for (size_t i = 0; i < FORMATS * COUNT(sizes); i += (size_t)step()) {
        const int *size = sizes[i / FORMATS];
        OWNED(av_frame_free) AVFrame *f = surface(formats[i % FORMATS], size[0], size[1], (uint32_t)i);
        f->colorspace = AVCOL_SPC_BT709;
        near_reference(f, size[2], size[3]);
    }
}

/* --- the converter ------------------------------------------------------------------------------------------------ */

UNIT_TEST(matrices_ranges_and_chroma_locations)
{
    static const enum AVColorSpace matrices[] = {AVCOL_SPC_UNSPECIFIED, AVCOL_SPC_BT709,      AVCOL_SPC_FCC,
                                                 AVCOL_SPC_SMPTE240M,   AVCOL_SPC_BT2020_NCL, AVCOL_SPC_YCGCO};
    for (int i = 0; i < (int)FORMATS * 6 * AVCHROMA_LOC_NB; i += step()) {
        OWNED(av_frame_free) AVFrame *f = surface(formats[i % (int)FORMATS], 49, 35, (uint32_t)i);
        f->colorspace = matrices[i / (int)FORMATS % 6];
        f->color_range = i & 1 ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
        f->chroma_location = (enum AVChromaLocation)(i / (int)FORMATS / 6);
        struct bl_geometry native = geometry(f, 0, 0, BL_FIT_STRETCH, NULL);
        struct bl_geometry small = geometry(f, 20, 17, BL_FIT_STRETCH, NULL);
        agree(f, &native, 1, 0.1, av_color_space_name(f->colorspace));
        agree(f, &small, 1, 0.1, av_color_space_name(f->colorspace));
    }
}

/* Edges too: the filters are the scaler's own, mirrored where it mirrors. */
UNIT_TEST(sizes_and_fits)
{
    static const int sizes[][4] = {{128, 48, 40, 60},    {131, 47, 57, 40}, {64, 64, 20, 90}, {250, 20, 100, 25},
                                   {320, 180, 224, 224}, {100, 99, 7, 3},   {33, 21, 200, 5}, {640, 16, 16, 16}};
    for (size_t i = 0; i < FORMATS * 3 * COUNT(sizes); i += (size_t)step()) {
        const int *size = sizes[i / FORMATS / 3];
        enum bl_fit fit = (enum bl_fit)(i / FORMATS % 3);
        OWNED(av_frame_free) AVFrame *f = surface(formats[i % FORMATS], size[0], size[1], (uint32_t)i);
        struct bl_geometry g = geometry(f, size[2], size[3], fit, NULL);
        agree(f, &g, 1, 0.1, fit == BL_FIT_CROP ? "crop" : fit == BL_FIT_PAD ? "pad" : "stretch");
    }
}

/* Filters with negative weights overshoot. The scaler clips that between its two passes, the kernel at the end, which
 * differs where a value is near the end of the range. */
static void keep_to_the_middle(AVFrame *frame)
{
    bool bytes = frame->format == AV_PIX_FMT_NV12 || frame->format == AV_PIX_FMT_YUV444P;
    for (int b = 0; b < AV_NUM_DATA_POINTERS && frame->buf[b]; b++) {
        for (size_t i = 0; i < frame->buf[b]->size; i++)
            frame->buf[b]->data[i] = (uint8_t)(96 + frame->buf[b]->data[i] / 4) & (bytes ? 255 : 0xc0);
    }
}

UNIT_TEST(filters)
{
    static const int sizes[][4] = {
        {128, 48, 40, 60}, {131, 47, 57, 40}, {64, 64, 20, 90}, {320, 180, 224, 224}, {33, 21, 200, 5}};
    for (size_t i = 0; i < FORMATS * 3 * COUNT(sizes); i += (size_t)step()) {
        const int *size = sizes[i / FORMATS / 3];
        OWNED(av_frame_free) AVFrame *f = surface(formats[i % FORMATS], size[0], size[1], (uint32_t)i);
        struct bl_geometry g = geometry(f, size[2], size[3], BL_FIT_STRETCH, NULL);
        g.resize = (enum bl_resize)(BL_RESIZE_BICUBIC + i / FORMATS % 3);
        keep_to_the_middle(f);
        agree(f, &g, 1, 0.1, "filter");
    }
}

UNIT_TEST(orientations)
{
    static const int32_t turns[8][4] = {{1, 0, 0, 1}, {-1, 0, 0, 1}, {1, 0, 0, -1}, {-1, 0, 0, -1},
                                        {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, -1, 0}, {0, -1, -1, 0}};
    for (int i = 0; i < 8 * 8; i++) {
        const int32_t *t = turns[i / 8], one = 1 << 16;
        const int32_t matrix[9] = {t[0] * one, t[1] * one, 0, t[2] * one, t[3] * one, 0, 0, 0, 1 << 30};
        OWNED(av_frame_free) AVFrame *f = surface(i & 4 ? AV_PIX_FMT_YUV444P : AV_PIX_FMT_NV12, 61, 34, (uint32_t)i);
        int native = i % 4 == 0;
        struct bl_geometry g =
            geometry(f, native ? 0 : 24, native ? 0 : 30, native ? BL_FIT_STRETCH : (enum bl_fit)(i % 4 - 1), matrix);
        agree(f, &g, 1, 0.1, "turned");
    }
}

/* Decoders leave it to others to crop surfaces at the left and the top. */
UNIT_TEST(surfaces_are_cropped)
{
    for (size_t i = 0; i < FORMATS; i++) {
        const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(formats[i]);
        OWNED(av_frame_free) AVFrame *whole = surface(formats[i], 72, 50, 1);
        OWNED(av_frame_free) AVFrame *part = av_frame_clone(whole), *cropped = surface(formats[i], 62, 40, 2);
        part->crop_left = 8;
        part->crop_top = 6;
        part->width = cropped->width;
        part->height = cropped->height;
        for (int p = 0; p < av_pix_fmt_count_planes(formats[i]); p++) {
            int sub = p ? desc->log2_chroma_w : 0, step = desc->comp[p].step;
            for (int y = 0; y < 40 >> sub; y++)
                memcpy(cropped->data[p] + y * cropped->linesize[p],
                       whole->data[p] + (y + (6 >> sub)) * whole->linesize[p] + (8 >> sub) * step,
                       (size_t)((62 >> sub) * step));
        }
        struct bl_geometry g = geometry(cropped, 30, 30, BL_FIT_STRETCH, NULL);
        FREED uint8_t *a = make(part, &g), *b = make(cropped, &g);
        ck_assert_msg(memcmp(a, b, 2700) == 0, "%s", desc->name);
    }
}

/* Surfaces have components of 10 and 12 bits in the upper bits of words; frames of the processor in the lower ones. The
 * format of the surfaces does not tell 10 bits from 16, so that full range ends at 65535 instead of 65472. */
UNIT_TEST(words_of_444_are_the_frames)
{
    static const struct {
        enum AVPixelFormat format;
        int spare;
    } cases[] = {{AV_PIX_FMT_YUV444P10LE, 6}, {AV_PIX_FMT_YUV444P12LE, 4}};
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        OWNED(av_frame_free) AVFrame *on_gpu = surface(AV_PIX_FMT_YUV444P16LE, 97, 43, (uint32_t)i);
        OWNED(av_frame_free) AVFrame *frame = frame_of(cases[i / 2].format, 97, 43);
        on_gpu->color_range = frame->color_range = i % 2 ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
        for (int p = 0; p < 3; p++) {
            for (int y = 0; y < 43; y++) {
                uint16_t *high = (uint16_t *)(void *)(on_gpu->data[p] + y * on_gpu->linesize[p]);
                uint16_t *low = (uint16_t *)(void *)(frame->data[p] + y * frame->linesize[p]);
                for (int x = 0; x < 97; x++) {
                    low[x] = (uint16_t)(high[x] >> cases[i / 2].spare);
                    high[x] = (uint16_t)(low[x] << cases[i / 2].spare);
                }
            }
        }
        struct bl_geometry native = geometry(frame, 0, 0, BL_FIT_STRETCH, NULL);
        struct bl_geometry small = geometry(frame, 31, 29, BL_FIT_STRETCH, NULL);
        agree_both(on_gpu, frame, &native, 1, 0.2, "native");
        agree_both(on_gpu, frame, &small, 1, 0.2, "scaled");
    }
}

UNIT_TEST(colours_that_are_no_matrix)
{
    struct bl_nv12_rgb picture;
    ptrdiff_t origin;
    OWNED(av_frame_free) AVFrame *f = surface(AV_PIX_FMT_NV12, 16, 16, 1);
    struct bl_geometry g = geometry(f, 0, 0, BL_FIT_STRETCH, NULL);
    f->colorspace = AVCOL_SPC_ICTCP;
    FAILS_WITH(bl_nv12_describe(&picture, &g, AV_PIX_FMT_NV12, f, &origin, &e), BL_EDATA, "ICtCp");
    f->colorspace = AVCOL_SPC_RGB;
    FAILS_WITH(bl_nv12_describe(&picture, &g, AV_PIX_FMT_YUV444P, f, &origin, &e), BL_EDATA, "G, B and R");
}
