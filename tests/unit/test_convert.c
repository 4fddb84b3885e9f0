/* The converter against known answers: a plain reference in double for the native size and for scaling one plane, and,
 * for everything that must not matter (packing, alignment, SIMD level, what came before), equality of bytes. The whole
 * reference is tests/readers/reference_convert.py. */
#include "kind/media/module.h"
#include "kind/video/convert.h"

#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <math.h>

#include "picture.h"

static struct bl_convert_options best(void)
{
    return (struct bl_convert_options){.simd = bl_simd_best()};
}

/* A frame whose bytes are noise, but no component above its depth. */
static AVFrame *noise(enum AVPixelFormat format, int width, int height, uint32_t seed)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    AVFrame *frame = frame_of(format, width, height);
    int words = desc->comp[0].depth > 8 && !(desc->flags & AV_PIX_FMT_FLAG_BE) && desc->comp[0].shift == 0;
    for (int b = 0; b < AV_NUM_DATA_POINTERS && frame->buf[b]; b++) {
        for (size_t i = 0; i < frame->buf[b]->size; i++) {
            seed = seed * 1664525 + 1013904223;
            int high = words && (i & 1);
            frame->buf[b]->data[i] = (uint8_t)(seed >> 24) & (high ? (1 << (desc->comp[0].depth - 8)) - 1 : 255);
        }
    }
    return frame;
}

/* Converts by a converter of its own, with a guard behind the picture. */
static uint8_t *convert(const AVFrame *frame, const struct bl_geometry *g, struct bl_convert_options options)
{
    struct bl_convert *c;
    struct bl_error e = {0};
    size_t size = (size_t)g->width * (size_t)g->height * (size_t)bl_channels_bytes(options.channels);
    uint8_t *rgb = malloc(size + 64);
    memset(rgb, 0x5a, size + 64);
    ck_assert_int_eq(bl_convert_open(&c, &options, &e), 0);
    int rc = bl_convert_frame(c, frame, g, rgb, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    for (int i = 0; i < 64; i++)
        ck_assert_uint_eq(rgb[size + (size_t)i], 0x5a);
    bl_convert_close(c);
    return rgb;
}

static uint8_t *convert_native(const AVFrame *frame)
{
    struct bl_geometry g = geometry(frame, 0, 0, BL_FIT_STRETCH, NULL);
    return convert(frame, &g, best());
}

static void same(const uint8_t *a, const uint8_t *b, size_t size, const char *what)
{
    for (size_t i = 0; i < size; i++)
        ck_assert_msg(a[i] == b[i], "%s: byte %zu is %d and %d", what, i, a[i], b[i]);
}

/* --- the reference ------------------------------------------------------------------------------------------------ */

static double sample(const AVFrame *f, int c, int x, int y)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get((enum AVPixelFormat)f->format);
    const AVComponentDescriptor *comp = &desc->comp[c];
    const uint8_t *at = f->data[comp->plane] + y * f->linesize[comp->plane] + x * comp->step + comp->offset;
    return comp->depth > 8 ? at[0] + 256 * at[1] : at[0];
}

/* Chroma component c at a place of luma, `sited_*` being chroma's own place in its block. */
static double chroma(const AVFrame *f, int c, int x, int y, double sited_x, double sited_y)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get((enum AVPixelFormat)f->format);
    int w = AV_CEIL_RSHIFT(f->width, desc->log2_chroma_w), h = AV_CEIL_RSHIFT(f->height, desc->log2_chroma_h);
    double px = fmin(fmax((x - sited_x) / (1 << desc->log2_chroma_w), 0), w - 1);
    double py = fmin(fmax((y - sited_y) / (1 << desc->log2_chroma_h), 0), h - 1);
    int x0 = (int)px, y0 = (int)py, x1 = x0 + 1 < w ? x0 + 1 : x0, y1 = y0 + 1 < h ? y0 + 1 : y0;
    double top = sample(f, c, x0, y0) * (x0 + 1 - px) + sample(f, c, x1, y0) * (px - x0);
    double low = sample(f, c, x0, y1) * (x0 + 1 - px) + sample(f, c, x1, y1) * (px - x0);
    return top * (y0 + 1 - py) + low * (py - y0);
}

struct rule {
    double kr, kb;
    int full;
    double sited_x, sited_y; /* in a block of 2x2 */
};

static void reference_pixel(const AVFrame *f, const struct rule *r, int x, int y, double rgb[3])
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get((enum AVPixelFormat)f->format);
    double unit = 1 << (desc->comp[0].depth - 8), top = (1 << desc->comp[0].depth) - 1;
    double sited_x = desc->log2_chroma_w ? r->sited_x : 0, sited_y = desc->log2_chroma_h ? r->sited_y : 0;
    double luma = r->full ? sample(f, 0, x, y) / top : (sample(f, 0, x, y) - 16 * unit) / (219 * unit);
    double u = (chroma(f, 1, x, y, sited_x, sited_y) - 128 * unit) / (r->full ? top : 224 * unit);
    double v = (chroma(f, 2, x, y, sited_x, sited_y) - 128 * unit) / (r->full ? top : 224 * unit);
    rgb[0] = luma + 2 * (1 - r->kr) * v;
    rgb[2] = luma + 2 * (1 - r->kb) * u;
    rgb[1] = (luma - r->kr * rgb[0] - r->kb * rgb[2]) / (1 - r->kr - r->kb);
    for (int c = 0; c < 3; c++)
        rgb[c] = fmin(fmax(255 * rgb[c], 0), 255);
}

/* Every value is the rounded reference, or its neighbour when the reference lies all but between them. */
static void near_reference(const AVFrame *f, const struct rule *r, const char *what)
{
    FREED uint8_t *rgb = convert_native(f);
    for (int y = 0; y < f->height; y++) {
        for (int x = 0; x < f->width; x++) {
            double want[3];
            reference_pixel(f, r, x, y, want);
            for (int c = 0; c < 3; c++) {
                int got = rgb[(y * f->width + x) * 3 + c];
                ck_assert_msg(fabs(got - want[c]) < 0.55, "%s: (%d, %d)[%d] is %d, not %.3f", what, x, y, c, got,
                              want[c]);
            }
        }
    }
}

UNIT_TEST(formats_at_native_size)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV422P,     AV_PIX_FMT_YUV444P,     AV_PIX_FMT_YUV440P,
        AV_PIX_FMT_YUVA420P,  AV_PIX_FMT_YUV420P9LE,  AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV422P12LE,
        AV_PIX_FMT_YUV444P14, AV_PIX_FMT_YUV420P16LE, AV_PIX_FMT_NV12,        AV_PIX_FMT_NV16,
    };
    static const int sizes[][2] = {{64, 32}, {65, 33}, {1, 1}, {2, 1}, {1, 3}, {37, 5}};
    const struct rule rule = {0.299, 0.114, 0, 0, 0.5};
    for (size_t i = 0; i < COUNT(formats); i++) {
        for (size_t k = 0; k < COUNT(sizes); k++) {
            OWNED(av_frame_free) AVFrame *f = noise(formats[i], sizes[k][0], sizes[k][1], (uint32_t)(i * 10 + k));
            near_reference(f, &rule, av_get_pix_fmt_name(formats[i]));
        }
    }
}

UNIT_TEST(matrices_and_ranges)
{
    static const struct {
        enum AVColorSpace matrix;
        double kr, kb;
    } cases[] = {
        {AVCOL_SPC_UNSPECIFIED, 0.299, 0.114},  {AVCOL_SPC_BT709, 0.2126, 0.0722}, {AVCOL_SPC_BT470BG, 0.299, 0.114},
        {AVCOL_SPC_SMPTE170M, 0.299, 0.114},    {AVCOL_SPC_FCC, 0.30, 0.11},       {AVCOL_SPC_SMPTE240M, 0.212, 0.087},
        {AVCOL_SPC_BT2020_NCL, 0.2627, 0.0593}, {AVCOL_SPC_RGB, 0.299, 0.114},
    };
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10LE};
    for (size_t i = 0; i < COUNT(cases) * 4; i++) {
        OWNED(av_frame_free) AVFrame *f = noise(formats[i & 1], 48, 32, (uint32_t)i);
        int full = i & 2 ? 1 : 0;
        f->colorspace = cases[i / 4].matrix;
        f->color_range = full ? AVCOL_RANGE_JPEG : i & 1 ? AVCOL_RANGE_MPEG : AVCOL_RANGE_UNSPECIFIED;
        const struct rule rule = {cases[i / 4].kr, cases[i / 4].kb, full, 0, 0.5};
        near_reference(f, &rule, av_color_space_name(cases[i / 4].matrix));
    }
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_YUVJ420P, 48, 32, 5);
    const struct rule full = {0.299, 0.114, 1, 0, 0.5};
    near_reference(f, &full, "yuvj420p, range unsaid");
}

UNIT_TEST(chroma_locations)
{
    static const double sited[AVCHROMA_LOC_NB][2] = {
        [AVCHROMA_LOC_UNSPECIFIED] = {0, 0.5}, [AVCHROMA_LOC_LEFT] = {0, 0.5}, [AVCHROMA_LOC_CENTER] = {0.5, 0.5},
        [AVCHROMA_LOC_TOPLEFT] = {0, 0},       [AVCHROMA_LOC_TOP] = {0.5, 0},  [AVCHROMA_LOC_BOTTOMLEFT] = {0, 1},
        [AVCHROMA_LOC_BOTTOM] = {0.5, 1},
    };
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV440P,
                                                 AV_PIX_FMT_YUV420P10LE};
    for (int i = 0; i < AVCHROMA_LOC_NB * 4; i++) {
        OWNED(av_frame_free) AVFrame *f = noise(formats[i % 4], 49, 35, (uint32_t)i);
        f->chroma_location = (enum AVChromaLocation)(i / 4);
        const struct rule rule = {0.299, 0.114, 0, sited[i / 4][0], sited[i / 4][1]};
        near_reference(f, &rule, av_chroma_location_name(f->chroma_location));
    }
}

UNIT_TEST(ycgco)
{
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_YUV444P, 16, 16, 3);
    f->colorspace = AVCOL_SPC_YCGCO;
    f->color_range = AVCOL_RANGE_JPEG;
    FREED uint8_t *rgb = convert_native(f);
    for (int i = 0; i < 256; i++) {
        double y = sample(f, 0, i % 16, i / 16), cg = sample(f, 1, i % 16, i / 16) - 128;
        double co = sample(f, 2, i % 16, i / 16) - 128, want[3] = {y - cg + co, y + cg, y - cg - co};
        for (int c = 0; c < 3; c++)
            ck_assert_double_le(fabs(rgb[3 * i + c] - fmin(fmax(want[c], 0), 255)), 0.55);
    }
}

/* One plane along one axis: the triangle, widened when shrinking, its weights normalised. */
static double stretched(const AVFrame *f, double start, double length, int out, int size, int i, int fixed, int down)
{
    double step = length / out, width = fmax(step, 1), centre = start + (i + 0.5) * step, sum = 0, weights = 0;
    for (int k = 0; k < size; k++) {
        double weight = fmax(0, 1 - fabs(k + 0.5 - centre) / width);
        sum += weight * (down ? sample(f, 0, fixed, k) : sample(f, 0, k, fixed));
        weights += weight;
    }
    return sum / weights;
}

UNIT_TEST(scaling_is_the_widened_triangle)
{
    static const int outs[] = {1, 7, 50, 99, 101, 150, 333};
    OWNED(av_frame_free)
    AVFrame *row = noise(AV_PIX_FMT_GRAY8, 100, 1, 9), *column = noise(AV_PIX_FMT_GRAY8, 1, 100, 9);
    for (size_t k = 0; k < COUNT(outs); k++) {
        struct bl_geometry across = geometry(row, outs[k], 1, BL_FIT_STRETCH, NULL);
        struct bl_geometry down = geometry(column, 1, outs[k], BL_FIT_STRETCH, NULL);
        FREED uint8_t *a = convert(row, &across, best()), *d = convert(column, &down, best());
        int reach = outs[k] / 100 + 2; /* where the triangle may lean over the edge the scaler mirrors instead */
        for (int i = 0; i < outs[k]; i++) {
            double bound = i < reach || i >= outs[k] - reach ? 64 : 0.6;
            ck_assert_double_le(fabs(a[3 * i] - stretched(row, 0, 100, outs[k], 100, i, 0, 0)), bound);
            ck_assert_double_le(fabs(d[3 * i] - stretched(column, 0, 100, outs[k], 100, i, 0, 1)), bound);
        }
    }
}

UNIT_TEST(crop_takes_the_middle)
{
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_GRAY8, 101, 40, 4);
    struct bl_geometry g = geometry(f, 20, 40, BL_FIT_CROP, NULL);
    FREED uint8_t *rgb = convert(f, &g, best());
    for (int y = 0; y < 40; y++) {
        for (int x = 0; x < 20; x++) {
            double want = stretched(f, 40.5, 20, 20, 101, x, y, 0);
            ck_assert_double_le(fabs(rgb[(y * 20 + x) * 3] - want), 0.6);
        }
    }
}

/* The same picture with rows for columns. */
static AVFrame *transposed(const AVFrame *f)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get((enum AVPixelFormat)f->format);
    AVFrame *t = noise((enum AVPixelFormat)f->format, f->height, f->width, 0);
    t->chroma_location = f->chroma_location;
    for (int c = 0; c < 3; c++) {
        int w = c ? AV_CEIL_RSHIFT(f->width, desc->log2_chroma_w) : f->width;
        int h = c ? AV_CEIL_RSHIFT(f->height, desc->log2_chroma_h) : f->height;
        for (int i = 0; i < w * h; i++)
            t->data[c][i % w * t->linesize[c] + i / w] = f->data[c][i / w * f->linesize[c] + i % w];
    }
    return t;
}

/* Chroma is scaled across or down first, as its size and the picture's have it; rows for columns make it the other. */
UNIT_TEST(chroma_is_scaled_alike_in_either_order)
{
    static const enum AVChromaLocation sited[] = {AVCHROMA_LOC_TOPLEFT, AVCHROMA_LOC_CENTER};
    static const int sizes[][4] = {{128, 48, 40, 60}, {131, 47, 57, 40}, {64, 64, 20, 90}, {250, 20, 100, 25}};
    for (size_t k = 0; k < COUNT(sizes) * 2; k++) {
        const int *size = sizes[k / 2], w = size[2], h = size[3];
        OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_YUV420P, size[0], size[1], (uint32_t)k);
        f->chroma_location = sited[k % 2];
        OWNED(av_frame_free) AVFrame *t = transposed(f);
        struct bl_geometry upright = geometry(f, w, h, BL_FIT_STRETCH, NULL);
        struct bl_geometry turned = geometry(t, h, w, BL_FIT_STRETCH, NULL);
        FREED uint8_t *a = convert(f, &upright, best()), *b = convert(t, &turned, best());
        for (int i = 0; i < 3 * w * h; i++) {
            int x = i / 3 % w, y = i / 3 / w, at_b = (x * h + y) * 3 + i % 3;
            ck_assert_msg(abs(a[i] - b[at_b]) <= 1, "case %zu: (%d, %d) is %d and %d", k, x, y, a[i], b[at_b]);
        }
    }
}

/* --- equal bytes -------------------------------------------------------------------------------------------------- */

/* Fills `to` with the components of `from`, by FFmpeg's own writer, which ors bits in. */
static void components_copy(AVFrame *to, const AVFrame *from)
{
    const AVPixFmtDescriptor *td = av_pix_fmt_desc_get((enum AVPixelFormat)to->format);
    const AVPixFmtDescriptor *fd = av_pix_fmt_desc_get((enum AVPixelFormat)from->format);
    uint16_t words[256];
    for (int b = 0; b < AV_NUM_DATA_POINTERS && to->buf[b]; b++)
        memset(to->buf[b]->data, 0, to->buf[b]->size);
    for (int c = 0; c < 3 && c < td->nb_components && c < fd->nb_components; c++) {
        int chroma_plane = c && !(td->flags & AV_PIX_FMT_FLAG_RGB);
        int w = chroma_plane ? AV_CEIL_RSHIFT(to->width, td->log2_chroma_w) : to->width;
        int h = chroma_plane ? AV_CEIL_RSHIFT(to->height, td->log2_chroma_h) : to->height;
        for (int y = 0; y < h; y++) {
            const uint8_t *data[4] = {from->data[0], from->data[1], from->data[2], from->data[3]};
            av_read_image_line2(words, data, from->linesize, fd, 0, y, c, w, 0, 2);
            uint8_t *out[4] = {to->data[0], to->data[1], to->data[2], to->data[3]};
            av_write_image_line2(words, out, to->linesize, td, 0, y, c, w, 2);
        }
    }
}

UNIT_TEST(packing_does_not_matter)
{
    static const enum AVPixelFormat pairs[][2] = {
        {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12},       {AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV21},
        {AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUYV422},    {AV_PIX_FMT_YUV422P, AV_PIX_FMT_UYVY422},
        {AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_P010LE}, {AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_YUV420P10BE},
        {AV_PIX_FMT_YUV422P10LE, AV_PIX_FMT_Y210LE}, {AV_PIX_FMT_GBRP, AV_PIX_FMT_RGB24},
        {AV_PIX_FMT_GBRP, AV_PIX_FMT_BGR24},         {AV_PIX_FMT_GBRP, AV_PIX_FMT_RGBA},
        {AV_PIX_FMT_GBRP, AV_PIX_FMT_BGRA},          {AV_PIX_FMT_GBRP, AV_PIX_FMT_ARGB},
        {AV_PIX_FMT_GBRP, AV_PIX_FMT_0BGR},          {AV_PIX_FMT_GBRP16LE, AV_PIX_FMT_RGB48LE},
        {AV_PIX_FMT_GBRP16LE, AV_PIX_FMT_RGB48BE},   {AV_PIX_FMT_GBRP10LE, AV_PIX_FMT_X2RGB10LE},
        {AV_PIX_FMT_GRAY8, AV_PIX_FMT_YA8},          {AV_PIX_FMT_GRAY16LE, AV_PIX_FMT_GRAY16BE},
    };
    for (size_t i = 0; i < COUNT(pairs) * 2; i++) {
        OWNED(av_frame_free)
        AVFrame *planar = noise(pairs[i / 2][0], 84, 35, (uint32_t)i), *packed = noise(pairs[i / 2][1], 84, 35, 77);
        components_copy(packed, planar);
        struct bl_geometry g = geometry(planar, i % 2 ? 31 : 0, i % 2 ? 19 : 0, BL_FIT_STRETCH, NULL);
        FREED uint8_t *a = convert(planar, &g, best()), *b = convert(packed, &g, best());
        same(a, b, (size_t)g.width * (size_t)g.height * 3, av_get_pix_fmt_name(pairs[i / 2][1]));
    }
}

UNIT_TEST(rgb_at_native_size_is_itself)
{
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_RGB24, 53, 11, 1);
    f->color_range = AVCOL_RANGE_MPEG; /* of RGB this is not believed */
    f->colorspace = AVCOL_SPC_BT709;
    FREED uint8_t *rgb = convert_native(f);
    for (int y = 0; y < 11; y++)
        same(rgb + (size_t)y * 159, f->data[0] + y * f->linesize[0], 159, "rgb24");
}

UNIT_TEST(grey_is_full_unless_tagged)
{
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_GRAY8, 256, 1, 0);
    for (int x = 0; x < 256; x++)
        f->data[0][x] = (uint8_t)x;
    FREED uint8_t *rgb = convert_native(f);
    for (int x = 0; x < 768; x++)
        ck_assert_int_eq(rgb[x], x / 3);
    free(rgb);
    f->color_range = AVCOL_RANGE_MPEG;
    rgb = convert_native(f);
    ck_assert_int_eq(rgb[3 * 16], 0);
    ck_assert_int_eq(rgb[3 * 235 + 1], 255);
    ck_assert_int_eq(rgb[3 * 126 + 2], 128);
}

UNIT_TEST(palettes_and_few_bits)
{
    AVFrame *f = noise(AV_PIX_FMT_PAL8, 8, 1, 2);
    const uint32_t palette[3] = {0xff102030, 0x00ffeedd, 0x80000001};
    memcpy(f->data[1], palette, sizeof palette);
    const uint8_t index[8] = {0, 1, 2, 2, 1, 0, 0, 1};
    memcpy(f->data[0], index, 8);
    uint8_t *rgb = convert_native(f);
    for (int x = 0; x < 8; x++) {
        const uint8_t want[3] = {(uint8_t)(palette[index[x]] >> 16), (uint8_t)(palette[index[x]] >> 8),
                                 (uint8_t)palette[index[x]]};
        same(rgb + 3 * x, want, 3, "pal8");
    }
    free(rgb);
    av_frame_free(&f);

    static const struct {
        enum AVPixelFormat format;
        uint8_t bytes[2];
        uint8_t rgb[3];
    } cases[] = {
        {AV_PIX_FMT_RGB565LE, {0x1f, 0xf8}, {255, 0, 255}}, {AV_PIX_FMT_RGB565LE, {0x00, 0x84}, {132, 130, 0}},
        {AV_PIX_FMT_RGB565BE, {0xf8, 0x1f}, {255, 0, 255}}, {AV_PIX_FMT_RGB555LE, {0x10, 0x7c}, {255, 0, 132}},
        {AV_PIX_FMT_BGR8, {0xc0, 0}, {0, 0, 255}},          {AV_PIX_FMT_MONOBLACK, {0x80, 0}, {255, 255, 255}},
        {AV_PIX_FMT_MONOWHITE, {0x80, 0}, {0, 0, 0}},       {AV_PIX_FMT_MONOWHITE, {0x00, 0}, {255, 255, 255}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        f = noise(cases[i].format, 1, 1, 0);
        memcpy(f->data[0], cases[i].bytes, 2);
        rgb = convert_native(f);
        same(rgb, cases[i].rgb, 3, av_get_pix_fmt_name(cases[i].format));
        free(rgb);
        av_frame_free(&f);
    }
}

UNIT_TEST(alignment_and_padding_do_not_matter)
{
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_YUV420P, 75, 43, 8), *g = av_frame_clone(f);
    uint8_t *room[3];
    for (int p = 0; p < 3; p++) {
        int w = p ? 38 : 75, h = p ? 22 : 43;
        room[p] = malloc((size_t)(w * h)); /* not a byte more: a sanitizer sees what reads beyond */
        for (int y = 0; y < h; y++)        /* upside down, as some decoders give it */
            memcpy(room[p] + (h - 1 - y) * w, f->data[p] + y * f->linesize[p], (size_t)w);
        g->data[p] = room[p] + (h - 1) * w;
        g->linesize[p] = -w;
    }
    static const int targets[][2] = {{0, 0}, {24, 24}, {200, 100}};
    for (size_t i = 0; i < 3; i++) {
        struct bl_geometry shape = geometry(f, targets[i][0], targets[i][1], BL_FIT_STRETCH, NULL);
        FREED uint8_t *a = convert(f, &shape, best()), *b = convert(g, &shape, best());
        same(a, b, (size_t)shape.width * (size_t)shape.height * 3, "alignment");
    }
    for (int p = 0; p < 3; p++)
        free(room[p]);
}

/* Every format that FFmpeg knows, in memory without a byte to spare, is converted or refused: for sanitizers. */
UNIT_LOOP(every_format, BL_CHANNELS_FLOW + 1)
{
    const AVPixFmtDescriptor *desc = NULL;
    static const int least[] = {
        [BL_CHANNELS_RGB] = 150,  [BL_CHANNELS_GRAY] = 150, [BL_CHANNELS_GRAY16] = 8, [BL_CHANNELS_INDEX] = 4,
        [BL_CHANNELS_RGB16] = 15, [BL_CHANNELS_RGBA] = 150, [BL_CHANNELS_DEPTH] = 8,  [BL_CHANNELS_FLOW] = -1};
    const struct bl_convert_options options = {
        .simd = bl_simd_best(), .channels = (enum bl_channels)_i, .per_metre = 1000};
    int converted = 0;
    while ((desc = av_pix_fmt_desc_next(desc))) {
        enum AVPixelFormat format = av_pix_fmt_desc_get_id(desc);
        if (bl_convert_check(format, AVCOL_TRC_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, &options, NULL))
            continue;
        OWNED(av_frame_free) AVFrame *f = av_frame_alloc();
        f->format = format;
        f->width = 37;
        f->height = 11;
        int size = av_image_get_buffer_size(format, f->width, f->height, 1);
        FREED uint8_t *data = malloc((size_t)size);
        for (int i = 0; i < size; i++)
            data[i] = (uint8_t)(i * 37);
        ck_assert_int_eq(av_image_fill_arrays(f->data, f->linesize, data, format, f->width, f->height, 1), size);
        for (int k = 0; k < 2; k++) {
            struct bl_geometry g = geometry(f, k * 21, k * 9, BL_FIT_STRETCH, NULL);
            free(convert(f, &g, options));
        }
        converted++;
    }
    ck_assert_int_gt(converted, least[_i]);
}

/* The picture at each level that this machine has is that of portable code. */
static void levels_agree(const AVFrame *f, const struct bl_geometry *g)
{
    static const enum bl_simd levels[] = {BL_SIMD_SSE2, BL_SIMD_AVX2, BL_SIMD_NEON};
    FREED uint8_t *plain = convert(f, g, (struct bl_convert_options){.simd = BL_SIMD_NONE});
    for (size_t k = 0; k < 3; k++) {
        if (bl_simd_apply(levels[k], NULL))
            continue;
        FREED uint8_t *other = convert(f, g, (struct bl_convert_options){.simd = levels[k]});
        same(plain, other, (size_t)g->width * (size_t)g->height * 3, bl_simd_name(levels[k]));
    }
}

UNIT_TEST(simd_levels_agree)
{
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P,     AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV410P,
                                                 AV_PIX_FMT_YUV420P10LE, AV_PIX_FMT_GRAY8,   AV_PIX_FMT_RGB24};
    static const int targets[][2] = {{0, 0}, {64, 48}, {33, 91}, {301, 210}};
    for (size_t i = 0; i < COUNT(formats) * 4; i += unit_times(8) < 8 ? 5 : 1) {
        OWNED(av_frame_free) AVFrame *f = noise(formats[i / 4], 187, 93, (uint32_t)i);
        struct bl_geometry g = geometry(f, targets[i % 4][0], targets[i % 4][1], BL_FIT_CROP, NULL);
        levels_agree(f, &g);
    }
}

/* Wide pictures cropped out of high ones: from less than a row up to some 20, wherever they begin. */
UNIT_TEST(simd_levels_agree_on_windows_of_few_rows)
{
    static const int targets[][2] = {{200, 4}, {301, 9}, {187, 10}, {217, 15}, {239, 14}, {100, 33}, {37, 21}};
    for (int i = 0; i < 7 * 6; i += unit_times(8) < 8 ? 5 : 1) {
        OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_YUV420P, 17 + i % 27, 60 + i * 3, (uint32_t)i);
        struct bl_geometry g = geometry(f, targets[i % 7][0], targets[i % 7][1], BL_FIT_CROP, NULL);
        levels_agree(f, &g);
    }
}

/* The eight orientations, as the display matrix says them, in a picture that keeps its size and in one that does not.
 */
UNIT_TEST(orientations_move_pixels)
{
    static const int turns[8][4] = {{1, 0, 0, 1},  {0, 1, -1, 0}, {-1, 0, 0, -1}, {0, -1, 1, 0},
                                    {-1, 0, 0, 1}, {1, 0, 0, -1}, {0, 1, 1, 0},   {0, -1, -1, 0}};
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_YUV420P, 36, 20, 6);
    for (int i = 0; i < 16; i++) {
        const int *t = turns[i / 2];
        const int32_t matrix[9] = {t[0] * 65536, t[1] * 65536, 0, t[2] * 65536, t[3] * 65536, 0, 0, 0, 1 << 30};
        int w = i % 2 ? 18 : 36, h = i % 2 ? 30 : 20, turned = t[0] == 0;
        struct bl_geometry plain = geometry(f, w, h, BL_FIT_STRETCH, NULL);
        struct bl_geometry shape = geometry(f, turned ? h : w, turned ? w : h, BL_FIT_STRETCH, matrix);
        FREED uint8_t *a = convert(f, &plain, best()), *b = convert(f, &shape, best());
        for (int y = 0; y < h; y++) {
            for (int x = 0; x < w; x++) {
                int ux = t[0] * x + t[2] * y, uy = t[1] * x + t[3] * y;
                ux += t[0] + t[2] < 0 ? shape.width - 1 : 0;
                uy += t[1] + t[3] < 0 ? shape.height - 1 : 0;
                same(a + (y * w + x) * 3, b + (uy * shape.width + ux) * 3, 3, "orientation");
            }
        }
    }
}

UNIT_TEST(pad_is_black_around_the_stretched)
{
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_YUV420P, 64, 32, 6);
    struct bl_geometry padded = geometry(f, 41, 50, BL_FIT_PAD, NULL);
    struct bl_geometry inner = geometry(f, padded.scaled_width, padded.scaled_height, BL_FIT_STRETCH, NULL);
    FREED uint8_t *a = convert(f, &padded, best()), *b = convert(f, &inner, best());
    static const uint8_t black[41 * 3];
    for (int y = 0; y < 50; y++) {
        int row = y - padded.place_y, within = row >= 0 && row < inner.height;
        same(a + y * 123, within ? b + row * inner.width * 3 : black, 123, "pad");
    }
    ck_assert_int_eq(inner.width, 41);
    ck_assert_int_eq(inner.height, 21);
}

/* One converter for frames of all sorts gives what a fresh one gives for each, also when its graphs do not last. */
UNIT_TEST(history_does_not_matter)
{
    struct bl_convert *c;
    const struct bl_convert_options options = best();
    ck_assert_int_eq(bl_convert_open(&c, &options, NULL), 0);
    static const enum AVPixelFormat formats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV444P10LE};
    for (int i = 0; i < unit_times(90); i++) {
        OWNED(av_frame_free) AVFrame *f = noise(formats[i % 3], 20 + i % 11 * 7, 30 + i % 7 * 5, (uint32_t)i);
        struct bl_geometry g = geometry(f, i % 4 ? 25 + i % 5 : 0, i % 4 ? 40 : 0, (enum bl_fit)(i % 3), NULL);
        size_t size = (size_t)g.width * (size_t)g.height * 3;
        FREED uint8_t *a = convert(f, &g, options), *b = malloc(size);
        ck_assert_int_eq(bl_convert_frame(c, f, &g, b, NULL), 0);
        same(a, b, size, "history");
    }
    bl_convert_close(c);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

UNIT_TEST(what_cannot_be_converted_is_named)
{
    static const struct {
        enum AVPixelFormat format;
        enum AVColorTransferCharacteristic transfer;
        enum AVColorSpace matrix;
        const char *word;
    } cases[] = {
        {AV_PIX_FMT_YUV420P10LE, AVCOL_TRC_SMPTE2084, AVCOL_SPC_BT2020_NCL, "PQ"},
        {AV_PIX_FMT_NONE, AVCOL_TRC_ARIB_STD_B67, AVCOL_SPC_BT2020_NCL, "HLG"},
        {AV_PIX_FMT_YUV420P10LE, AVCOL_TRC_BT709, AVCOL_SPC_BT2020_CL, "constant luminance"},
        {AV_PIX_FMT_NONE, AVCOL_TRC_BT709, AVCOL_SPC_ICTCP, "ICtCp"},
        {AV_PIX_FMT_YUV420P, AVCOL_TRC_BT709, AVCOL_SPC_CHROMA_DERIVED_CL, "constant luminance"},
        {AV_PIX_FMT_YUV420P, AVCOL_TRC_BT709, AVCOL_SPC_SMPTE2085, "number 11"},
        {AV_PIX_FMT_BAYER_RGGB8, AVCOL_TRC_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, "bayer_rggb8"},
        {AV_PIX_FMT_GBRPF32LE, AVCOL_TRC_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, "gbrpf32le"},
        {AV_PIX_FMT_UYYVYY411, AVCOL_TRC_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, "uyyvyy411"},
        {AV_PIX_FMT_RGB8, AVCOL_TRC_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, "rgb8"},
        {AV_PIX_FMT_XYZ12LE, AVCOL_TRC_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, "xyz12le"},
        {AV_PIX_FMT_CUDA, AVCOL_TRC_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, "cuda"},
    };
    const struct bl_convert_options strict = best();
    for (size_t i = 0; i < COUNT(cases); i++) {
        bl_error_clear(&e);
        int rc = bl_convert_check(cases[i].format, cases[i].transfer, cases[i].matrix, &strict, &e);
        ck_assert_int_eq(rc, BL_EDATA);
        ck_assert_msg(strstr(e.text, cases[i].word) != NULL, "'%s' lacks '%s'", e.text, cases[i].word);
    }
    struct bl_convert_options clip = strict;
    clip.hdr_clip = 1;
    ck_assert_int_eq(bl_convert_check(AV_PIX_FMT_YUV420P10LE, AVCOL_TRC_SMPTE2084, AVCOL_SPC_BT2020_NCL, &clip, NULL),
                     0);
    ck_assert_int_eq(bl_convert_check(AV_PIX_FMT_GBRP, AVCOL_TRC_BT709, AVCOL_SPC_ICTCP, &strict, NULL), 0);
    ck_assert_int_eq(bl_convert_check(AV_PIX_FMT_NONE, AVCOL_TRC_UNSPECIFIED, AVCOL_SPC_UNSPECIFIED, &strict, NULL), 0);
}

UNIT_TEST(frames_are_asked_the_same)
{
    struct bl_convert *c;
    const struct bl_convert_options options = best();
    ck_assert_int_eq(bl_convert_open(&c, &options, &e), 0);
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_YUV420P10LE, 32, 32, 1);
    struct bl_geometry g = geometry(f, 0, 0, BL_FIT_STRETCH, NULL);
    uint8_t rgb[32 * 32 * 3];
    f->color_trc = AVCOL_TRC_SMPTE2084;
    ck_assert_int_eq(bl_convert_frame(c, f, &g, rgb, &e), BL_EDATA);
    bl_error_clear(&e);
    f->color_trc = AVCOL_TRC_UNSPECIFIED;
    g.coded_width = 30;
    ck_assert_int_eq(bl_convert_frame(c, f, &g, rgb, &e), BL_EFAIL);
    ck_assert_msg(strstr(e.text, "32x32") && strstr(e.text, "30x32"), "%s", e.text);
    bl_error_clear(&e);
    g.coded_width = 32;
    uint8_t *data = f->data[2];
    f->data[2] = NULL;
    ck_assert_int_eq(bl_convert_frame(c, f, &g, rgb, &e), BL_EDATA);
    bl_error_clear(&e);
    f->data[2] = data;
    ck_assert_int_eq(bl_convert_frame(c, f, &g, rgb, &e), 0);
    bl_convert_close(c);
    bl_convert_close(NULL);
}

UNIT_TEST(clipped_hdr_is_its_matrix)
{
    OWNED(av_frame_free) AVFrame *f = noise(AV_PIX_FMT_YUV420P10LE, 32, 32, 1);
    struct bl_geometry g = geometry(f, 0, 0, BL_FIT_STRETCH, NULL);
    f->colorspace = AVCOL_SPC_BT2020_NCL;
    FREED uint8_t *plain = convert(f, &g, best());
    struct bl_convert_options clip = best();
    clip.hdr_clip = 1;
    f->color_trc = AVCOL_TRC_ARIB_STD_B67;
    FREED uint8_t *clipped = convert(f, &g, clip);
    same(plain, clipped, 32 * 32 * 3, "hdr clip");
}
