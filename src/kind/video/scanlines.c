/* Reads and upsamples scanlines; scanlines.h has the contract.
 *
 * Everything follows from FFmpeg's pixel format descriptors; there is no list of formats here. A line of a component is
 * unpacked in one of three ways: bytes or little-endian words at a stride (nearly all formats), FFmpeg's own reader for
 * the rest (bit streams, big-endian), and the palette.
 *
 * Upsampling uses averages: chroma is sited at eighths of a chroma sample, and any eighth between two samples takes at
 * most three averages, each a single instruction for eight or sixteen words. */
#include "kind/video/scanlines.h"

#include <libavutil/bswap.h>
#include <libavutil/mem.h>
#include <string.h>

#include "base/vector.h"

#define GROUP 16 /* words that are processed at a time */
#define AHEAD 4  /* lines to prefetch, which is up to 10 % faster: the near caches have lost the decoder's output */
#define INLINE inline __attribute__((always_inline))

int bl_pixels_make(struct bl_pixels *pixels, enum AVPixelFormat format, struct bl_error *e)
{
    const uint64_t unsupported = AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_HWACCEL;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    memset(pixels, 0, sizeof(*pixels));
    if (!desc)
        return bl_error_set(e, BL_EDATA, "pixel format %d is unknown", (int)format);
    /* Their descriptors mislead: XYZ is not RGB, UYYVYY411 spaces luma unevenly, RGB8 has other bits than declared. */
    int misleading = format == AV_PIX_FMT_XYZ12LE || format == AV_PIX_FMT_XYZ12BE || format == AV_PIX_FMT_UYYVYY411 ||
                     format == AV_PIX_FMT_RGB8;
    if (desc->flags & unsupported || misleading || !desc->nb_components)
        return bl_error_set(e, BL_EDATA, "pixel format %s cannot be converted to RGB", desc->name);
    for (int c = 0; c < desc->nb_components; c++) {
        if (desc->comp[c].depth < 1 || desc->comp[c].depth > 16)
            return bl_error_set(e, BL_EDATA, "pixel format %s has components of %d bits", desc->name,
                                desc->comp[c].depth);
    }
    int colours = desc->nb_components - (desc->flags & AV_PIX_FMT_FLAG_ALPHA ? 1 : 0);
    if (desc->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL))
        pixels->family = BL_FAMILY_RGB;
    else
        pixels->family = colours < 3 ? BL_FAMILY_GREY : BL_FAMILY_YUV;
    pixels->format = format;
    pixels->planes = pixels->family == BL_FAMILY_GREY ? 1 : 3;
    pixels->alpha = desc->flags & AV_PIX_FMT_FLAG_PAL     ? 8
                    : desc->flags & AV_PIX_FMT_FLAG_ALPHA ? desc->comp[desc->nb_components - 1].depth
                                                          : 0;
    pixels->depth = desc->comp[0].depth < 8 ? 8 : desc->comp[0].depth;
    pixels->sub_w = pixels->family == BL_FAMILY_YUV ? desc->log2_chroma_w : 0;
    pixels->sub_h = pixels->family == BL_FAMILY_YUV ? desc->log2_chroma_h : 0;
    pixels->full_range = format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUVJ422P ||
                         format == AV_PIX_FMT_YUVJ444P || format == AV_PIX_FMT_YUVJ440P ||
                         format == AV_PIX_FMT_YUVJ411P;
    return BL_OK;
}

/* --- inner loops, for each level of SIMD -------------------------------------------------------------------------- */

/* Unpacks bytes that are `step` bytes apart. Neighbouring bytes go in groups, which compilers turn into vectors. */
static INLINE void bytes_unpack(const uint8_t *restrict in, int step, int count, uint16_t *restrict out)
{
    int whole = step == 1 ? count / (2 * GROUP) * (2 * GROUP) : 0;
    for (int x = 0; x < whole; x += 2 * GROUP, in += 2 * GROUP, out += 2 * GROUP) {
        for (int i = 0; i < 2 * GROUP; i++)
            out[i] = (uint16_t)(in[i] << 8);
    }
    for (int x = whole; x < count; x++, in += step)
        *out++ = (uint16_t)(*in << 8);
}

/* A word at any address. */
typedef uint16_t loose_word __attribute__((aligned(1), may_alias));

/* Unpacks little-endian words. The right shift drops the bits below the component, the left shift those above. */
static INLINE void words_unpack(const uint8_t *restrict in, const AVComponentDescriptor *comp, int count,
                                uint16_t *restrict out)
{
    int down = comp->shift, up = 16 - comp->depth, whole = comp->step == 2 ? count / GROUP * GROUP : 0;
    for (int x = 0; x < whole; x += GROUP, in += 2 * GROUP, out += GROUP) {
        const loose_word *words = (const loose_word *)in;
        for (int i = 0; i < GROUP; i++)
            out[i] = (uint16_t)((uint16_t)(av_le2ne16(words[i]) >> down) << up);
    }
    for (int x = whole; x < count; x++, in += comp->step)
        *out++ = (uint16_t)((unsigned)(in[0] | in[1] << 8) >> down << up);
}

/* Averages n words, rounded up. Compilers find the averaging instruction and keep intermediate results in registers
 * only if it is written like this: one loop per average, no aliasing, n a constant. */
static INLINE void group_average(const uint16_t *restrict a, const uint16_t *restrict b, int n, uint16_t *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] = (uint16_t)((a[i] + b[i] + 1) >> 1);
}

/* Interpolates n words, at most GROUP, at eighths (1 to 7) of the way from a to b. Eighths are constants in each call,
 * for speed: callgrind counts 3 to 10 % more for the conversion as a unit with variable eighths. */
static INLINE void group_interpolate(const uint16_t *restrict a, const uint16_t *restrict b, int eighths, int n,
                                     uint16_t *restrict out)
{
    uint16_t middle[GROUP], quarter[GROUP];
    const uint16_t *near = eighths > 4 ? b : a;
    if (eighths == 4) {
        group_average(a, b, n, out);
        return;
    }
    group_average(a, b, n, middle);
    if (eighths == 2 || eighths == 6) {
        group_average(near, middle, n, out);
        return;
    }
    group_average(near, middle, n, quarter);
    group_average(eighths == 3 || eighths == 5 ? middle : near, quarter, n, out);
}

/* Interpolates a line at eighths (1 to 7) of the way from a to b. It writes whole groups, into the slack. */
static INLINE void line_interpolate(const uint16_t *restrict a, const uint16_t *restrict b, int eighths, int count,
                                    uint16_t *restrict out)
{
#define ROW(n)                                                                                                         \
    case n:                                                                                                            \
        for (int x = 0; x < count; x += GROUP)                                                                         \
            group_interpolate(a + x, b + x, n, GROUP, out + x);                                                        \
        break
    switch (eighths) {
        ROW(1);
        ROW(2);
        ROW(3);
        ROW(4);
        ROW(5);
        ROW(6);
        ROW(7);
    }
#undef ROW
}

typedef uint16_t words8 __attribute__((vector_size(16)));

/* Upsamples eight words to sixteen: from each sample and the point halfway to the next (phase 0), or from the points a
 * quarter before and after each sample. */
static INLINE void eight_upsample(const uint16_t *restrict in, int phase, uint16_t *restrict out)
{
    uint16_t even[8], odd[8];
    words8 a, b, low, high;
    if (phase == 0) {
        memcpy(even, in, sizeof(even));
        group_interpolate(in, in + 1, 4, 8, odd);
    } else {
        group_interpolate(in - 1, in, 6, 8, even);
        group_interpolate(in, in + 1, 2, 8, odd);
    }
    memcpy(&a, even, sizeof(a));
    memcpy(&b, odd, sizeof(b));
    low = BL_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    high = BL_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    memcpy(out, &low, sizeof(low));
    memcpy(out + 8, &high, sizeof(high));
}

/* Upsamples a line by 2. It writes whole groups, into the slack. */
static INLINE void chroma_upsample_line(const uint16_t *restrict in, int phase, int count, uint16_t *restrict out)
{
    for (int x = 0; x < count; x += GROUP, in += GROUP, out += 2 * GROUP) {
        eight_upsample(in, phase, out);
        eight_upsample(in + 8, phase, out + GROUP);
    }
}

/* The loops of one level of SIMD. They use integers only: the same bytes come from every compilation. */
struct bl_scanlines_kernels {
    void (*bytes)(const uint8_t *in, int step, int count, uint16_t *out);
    void (*words)(const uint8_t *in, const AVComponentDescriptor *comp, int count, uint16_t *out);
    void (*between)(const uint16_t *a, const uint16_t *b, int eighths, int count, uint16_t *out);
    void (*twice)(const uint16_t *in, int phase, int count, uint16_t *out);
};

#define KERNELS(level, target)                                                                                         \
    target static void bytes_##level(const uint8_t *in, int step, int count, uint16_t *out)                            \
    {                                                                                                                  \
        bytes_unpack(in, step, count, out);                                                                            \
    }                                                                                                                  \
    target static void words_##level(const uint8_t *in, const AVComponentDescriptor *comp, int count, uint16_t *out)   \
    {                                                                                                                  \
        words_unpack(in, comp, count, out);                                                                            \
    }                                                                                                                  \
    target static void between_##level(const uint16_t *a, const uint16_t *b, int eighths, int count, uint16_t *out)    \
    {                                                                                                                  \
        line_interpolate(a, b, eighths, count, out);                                                                   \
    }                                                                                                                  \
    target static void twice_##level(const uint16_t *in, int phase, int count, uint16_t *out)                          \
    {                                                                                                                  \
        chroma_upsample_line(in, phase, count, out);                                                                   \
    }                                                                                                                  \
    static const struct bl_scanlines_kernels kernels_##level = {bytes_##level, words_##level, between_##level,         \
                                                                twice_##level}

KERNELS(plain, );
#if defined(__x86_64__)
KERNELS(avx2, __attribute__((target("avx2"))));
#endif

/* --- one component ----------------------------------------------------------------------------------------------- */

/* Reads formats of palettes, whose entries are native words 0xAARRGGBB with c being 0 for red and 3 for alpha, and by
 * FFmpeg's reader all other formats without words or bytes of their own. Components of less than 8 bits are widened to
 * the full range of 8. */
static void component_unpack(struct bl_scanlines *lines, int c, int y, int from, int count, uint16_t *out)
{
    const AVFrame *frame = lines->frame;
    const uint8_t *data[4] = {frame->data[0], frame->data[1], frame->data[2], frame->data[3]};
    int depth = lines->desc->comp[c].depth;
    if (lines->desc->flags & AV_PIX_FMT_FLAG_PAL) {
        const uint8_t *row = data[0] + (ptrdiff_t)y * frame->linesize[0] + from;
        int shift = c == 3 ? 24 : 16 - 8 * c;
        for (int i = 0; i < count; i++) {
            uint32_t colour;
            memcpy(&colour, data[1] + 4 * (size_t)row[i], sizeof(colour));
            out[i] = (uint16_t)(colour >> shift << 8);
        }
        return;
    }
    av_read_image_line2(lines->words, data, frame->linesize, lines->desc, from, y, c, count, 0, sizeof(uint16_t));
    if (depth >= 8) {
        for (int i = 0; i < count; i++)
            out[i] = (uint16_t)(lines->words[i] << (16 - depth));
        return;
    }
    unsigned max = (1u << depth) - 1, flip = lines->pixels.format == AV_PIX_FMT_MONOWHITE ? max : 0;
    for (int i = 0; i < count; i++)
        out[i] = (uint16_t)(((lines->words[i] ^ flip) * 255 + max / 2) / max << 8);
}

/* Prefetches a row. That is only a hint, so the row need not exist. */
BL_PREFETCHES void line_prefetch(const uint8_t *row, size_t bytes)
{
    for (size_t x = 0; x < bytes; x += 64)
        __builtin_prefetch(row + x);
}

/* Reads columns from...to - 1 of line y of component c, in the component's own width and height. */
static void scanline_read_component(struct bl_scanlines *lines, int c, int y, int from, int to, uint16_t *out)
{
    const AVPixFmtDescriptor *desc = lines->desc;
    const AVComponentDescriptor *comp = &desc->comp[c];
    bool plain = !(desc->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM));
    const uint8_t *in = lines->frame->data[comp->plane] + (ptrdiff_t)y * lines->frame->linesize[comp->plane];
    in += comp->offset + (ptrdiff_t)from * comp->step;
    line_prefetch(in + AHEAD * (ptrdiff_t)lines->frame->linesize[comp->plane],
                  (size_t)(to - from) * (size_t)comp->step);
    if (plain && comp->depth == 8 && comp->shift == 0)
        lines->kernels->bytes(in, comp->step, to - from, out);
    else if (plain && comp->depth > 8 && comp->depth + comp->shift <= 16 && !(desc->flags & AV_PIX_FMT_FLAG_BE))
        lines->kernels->words(in, comp, to - from, out);
    else
        component_unpack(lines, c, y, from, to - from, out);
}

/* --- chroma to the size of luma ---------------------------------------------------------------------------------- */

void bl_scanlines_upsample_width(const struct bl_scanlines *lines, uint16_t *in, int left, int right, uint16_t *out)
{
    int sub = lines->pixels.sub_w, phase = lines->phase_w;
    left &= -16;
    const uint16_t *from = in + (left >> sub);
    in[-1] = in[0];
    in[lines->chroma_width] = in[lines->chroma_width - 1];
    if (sub == 1) {
        lines->kernels->twice(from, phase, (right - left + 1) / 2, out + left);
        return;
    }
    /* The rare 4:1:1 and 4:1:0 have one column of chroma for four of luma. */
    for (int x = 0; x < right - left; x++) {
        int eighths = phase + 2 * (x & 3);
        const uint16_t *at = from + (x >> 2) + (eighths < 0 ? -1 : 0);
        eighths &= 7;
        out[left + x] = (uint16_t)((at[0] * (8 - eighths) + at[1] * eighths + 4) >> 3);
    }
}

bool bl_scanlines_is_narrow(const struct bl_scanlines *lines, int c)
{
    return c && lines->pixels.sub_w;
}

/* Returns the number of an existing line: beyond the picture, the first and the last line of chroma repeat. */
static int chroma_clamp(const struct bl_scanlines *lines, int row)
{
    return row < 0 ? 0 : row < lines->chroma_height ? row : lines->chroma_height - 1;
}

/* Returns the line of chroma at or above line y of luma; *eighths: how many eighths of a chroma line y is below it. */
static int chroma_above(const struct bl_scanlines *lines, int y, int *eighths)
{
    int sub = lines->pixels.sub_h;
    int down = lines->phase_h + (8 >> sub) * (y & ((1 << sub) - 1));
    *eighths = down & 7;
    return (y >> sub) + (down < 0 ? -1 : 0);
}

/* Makes a line between two lines of chroma, or copies the upper one. */
static void chroma_interpolate(const struct bl_scanlines *lines, const uint16_t *above, const uint16_t *below,
                               int eighths, int count, uint16_t *out)
{
    if (eighths)
        lines->kernels->between(above, below, eighths, count, out);
    else
        memcpy(out, above, (size_t)count * sizeof(uint16_t));
}

/* Returns columns from...to - 1 of a line of chroma component c, from the cache of the last two lines, or read. */
static const uint16_t *chroma_line(struct bl_scanlines *lines, int c, int row, int from, int to)
{
    row = chroma_clamp(lines, row);
    struct bl_scanlines_kept *kept = &lines->kept[c - 1][row & 1];
    if (kept->row != row || kept->from != from || kept->to != to) {
        scanline_read_component(lines, c, row, from, to, kept->words);
        kept->row = row;
        kept->from = from;
        kept->to = to;
    }
    return kept->words;
}

void bl_scanlines_read_chroma(struct bl_scanlines *lines, int c, int row, int from, int to, uint16_t *out)
{
    scanline_read_component(lines, c, row, from, to, out + from);
}

void bl_scanlines_read(struct bl_scanlines *lines, int c, int y, int from, int to, uint16_t *out)
{
    int eighths, row = chroma_above(lines, y, &eighths);
    if (!c || !lines->pixels.sub_h) {
        scanline_read_component(lines, c, y, from, to, out + from);
        return;
    }
    const uint16_t *above = chroma_line(lines, c, row, from, to);
    chroma_interpolate(lines, above, eighths ? chroma_line(lines, c, row + 1, from, to) : above, eighths, to - from,
                       out + from);
}

void bl_scanlines_read_alpha(struct bl_scanlines *lines, int y, int from, int to, uint16_t *out)
{
    int c = lines->desc->flags & AV_PIX_FMT_FLAG_PAL ? 3 : lines->desc->nb_components - 1;
    scanline_read_component(lines, c, y, from, to, out + from);
}

void bl_scanlines_upsample_height(const struct bl_scanlines *lines, const uint8_t *all, ptrdiff_t stride, int y,
                                  int left, int right, uint16_t *out)
{
    int eighths, row = chroma_above(lines, y, &eighths);
    const uint8_t *above = all + chroma_clamp(lines, row) * stride,
                  *below = all + chroma_clamp(lines, row + 1) * stride;
    left &= -16;
    chroma_interpolate(lines, (const uint16_t *)(const void *)above + left,
                       (const uint16_t *)(const void *)below + left, eighths, right - left, out + left);
}

/* --- one frame --------------------------------------------------------------------------------------------------- */

/* H.273, figure 1, generalised to any subsampling. */
void bl_scanlines_phases(const struct bl_pixels *pixels, enum AVChromaLocation location, int *phase_w, int *phase_h)
{
    int across = 1 << pixels->sub_w, down = 1 << pixels->sub_h;
    int left = location != AVCHROMA_LOC_CENTER && location != AVCHROMA_LOC_TOP && location != AVCHROMA_LOC_BOTTOM;
    int top = location == AVCHROMA_LOC_TOPLEFT || location == AVCHROMA_LOC_TOP;
    int bottom = location == AVCHROMA_LOC_BOTTOMLEFT || location == AVCHROMA_LOC_BOTTOM;
    *phase_w = left ? 0 : -4 * (across - 1) / across;
    *phase_h = top ? 0 : (bottom ? -8 : -4) * (down - 1) / down;
}

int bl_scanlines_begin(struct bl_scanlines *lines, const struct bl_pixels *pixels, const AVFrame *frame,
                       enum bl_simd simd, struct bl_error *e)
{
    enum AVPixelFormat format = pixels->format;
    lines->desc = av_pix_fmt_desc_get(format);
    int planes = lines->desc->flags & AV_PIX_FMT_FLAG_PAL ? 2 : av_pix_fmt_count_planes(format);
    for (int p = 0; p < planes; p++) {
        if (!frame->data[p])
            return bl_error_set(e, BL_EDATA, "a frame without data");
    }
    lines->kernels = &kernels_plain;
#if defined(__x86_64__)
    if (simd == BL_SIMD_AVX2)
        lines->kernels = &kernels_avx2;
#endif
    (void)simd;
    lines->pixels = *pixels;
    lines->frame = frame;
    lines->chroma_width = AV_CEIL_RSHIFT(frame->width, pixels->sub_w);
    lines->chroma_height = AV_CEIL_RSHIFT(frame->height, pixels->sub_h);
    bl_scanlines_phases(pixels, frame->chroma_location, &lines->phase_w, &lines->phase_h);
    /* Room for five lines: two of each chroma component, and one for FFmpeg's reader. */
    size_t row = (size_t)frame->width + 4 * GROUP, bytes = 5 * row * sizeof(uint16_t);
    if (bytes > lines->room_bytes) {
        bl_scanlines_free(lines);
        lines->room = av_mallocz(bytes);
        if (!lines->room)
            return bl_error_memory(e);
        lines->room_bytes = bytes;
    }
    uint16_t *at = lines->room;
    for (int i = 0; i < 4; i++, at += row)
        lines->kept[i / 2][i % 2] = (struct bl_scanlines_kept){.words = at, .row = -1};
    lines->words = at;
    return BL_OK;
}

void bl_scanlines_free(struct bl_scanlines *lines)
{
    av_freep(&lines->room);
    lines->room_bytes = 0;
}
