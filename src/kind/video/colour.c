/* Converts words to levels and pixels; colour.h has the arithmetic.
 *
 * The loops are plain C for the compiler to vectorise, compiled once for every x86-64 and once for AVX2: baseline
 * x86-64 has no shuffle of bytes, which packing three planes into one needs. All loops have fixed trips of GROUP
 * pixels, so that compilers turn them into vectors at -O2, too; a rest is converted in a group of its own. */
#include "kind/video/colour.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/vector.h"
#include "kind/video/options.h"

#define GROUP 32                                     /* pixels converted at a time */
#define INLINE inline __attribute__((always_inline)) /* into each of the compilations */

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/* Finds Kr and Kb of H.273 table 4; false if the matrix has none. As in FFmpeg's scale filter, unspecified and reserved
 * matrices are BT.601; so is RGB, which contradicts a YUV frame. */
static bool matrix_find_weights(enum AVColorSpace matrix, double *kr, double *kb)
{
    static const struct {
        enum AVColorSpace matrix;
        double kr, kb;
    } known[] = {{AVCOL_SPC_RGB, 0.299, 0.114},       {AVCOL_SPC_UNSPECIFIED, 0.299, 0.114},
                 {AVCOL_SPC_RESERVED, 0.299, 0.114},  {AVCOL_SPC_BT470BG, 0.299, 0.114},
                 {AVCOL_SPC_SMPTE170M, 0.299, 0.114}, {AVCOL_SPC_YCGCO, 0.299, 0.114},
                 {AVCOL_SPC_BT709, 0.2126, 0.0722},   {AVCOL_SPC_FCC, 0.30, 0.11},
                 {AVCOL_SPC_SMPTE240M, 0.212, 0.087}, {AVCOL_SPC_BT2020_NCL, 0.2627, 0.0593}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].matrix != matrix)
            continue;
        *kr = known[i].kr;
        *kb = known[i].kb;
        return true;
    }
    return false;
}

int bl_colour_check(enum AVColorSpace matrix, struct bl_error *e)
{
    double kr, kb;
    if (matrix_find_weights(matrix, &kr, &kb))
        return BL_OK;
    const char *name = matrix == AVCOL_SPC_BT2020_CL           ? "BT.2020 with constant luminance"
                       : matrix == AVCOL_SPC_ICTCP             ? "ICtCp"
                       : matrix == AVCOL_SPC_CHROMA_DERIVED_CL ? "derived from its primaries with constant luminance"
                                                               : NULL;
    if (name)
        return bl_error_set(e, BL_EDATA, "its colours are %s, which no matrix turns into RGB", name);
    return bl_error_set(e, BL_EDATA, "its colour matrix (number %d of H.273) is not supported", (int)matrix);
}

/* Returns a factor from words to levels as word_scale takes it. */
static int16_t colour_factor(double levels_per_word)
{
    return (int16_t)lrint(levels_per_word * (1 << (15 + BL_COLOUR_SHIFT)));
}

/* Limited range has black at 16 and white at 235 of 256 (chroma: 224 wide); full range goes from 0 to the largest value
 * of the depth. */
int bl_colour_make(struct bl_colour *colour, const struct bl_pixels *pixels, enum AVColorSpace matrix,
                   enum AVColorRange range, struct bl_error *e)
{
    memset(colour, 0, sizeof(*colour));
    colour->family = pixels->family;
    int full = pixels->full_range || range == AVCOL_RANGE_JPEG || pixels->family == BL_FAMILY_RGB ||
               (pixels->family == BL_FAMILY_GREY && range != AVCOL_RANGE_MPEG);
    double largest = (double)(((1 << pixels->depth) - 1) << (16 - pixels->depth));
    double black = full ? 0 : 16 * 256, luma = full ? largest : 219 * 256, chroma = full ? largest : 224 * 256;
    colour->black = (uint16_t)black;
    double middle = (32768 - black) * (255 / luma) - 128, kr = 0, kb = 0;
    colour->gain = colour_factor(255 / luma);
    colour->base = (int16_t)lrint((middle + 0.5) * (1 << BL_COLOUR_SHIFT)); /* 0.5: level_to_byte truncates */
    if (pixels->family != BL_FAMILY_YUV)
        return BL_OK;
    BL_TRY(bl_colour_check(matrix, e));
    (void)matrix_find_weights(matrix, &kr, &kb); /* bl_colour_check has found it */
    double kg = 1 - kr - kb, u = 2 * (1 - kb), v = 2 * (1 - kr);
    double rows[3][2] = {{0, v}, {-u * kb / kg, -v * kr / kg}, {u, 0}}; /* of R, G, B: the factors of U and V */
    if (matrix == AVCOL_SPC_YCGCO) {                                    /* U is Cg, V is Co */
        const double ycgco[3][2] = {{-1, 1}, {1, 0}, {-1, -1}};
        memcpy(rows, ycgco, sizeof(rows));
    }
    int16_t *const to[3] = {colour->red, colour->green, colour->blue};
    for (int i = 0; i < 3; i++) {
        to[i][0] = colour_factor(rows[i][0] * (255 / chroma));
        to[i][1] = colour_factor(rows[i][1] * (255 / chroma));
    }
    return BL_OK;
}

/* Returns a b / 2^15, rounded, in the form that compilers turn into one instruction of AVX2 and NEON. */
static INLINE int16_t word_scale(int16_t a, int16_t b)
{
    return (int16_t)((((a * b) >> 14) + 1) >> 1);
}

/* Clamps a sum of the map to a level, and adds the 128 that the map subtracts. */
static INLINE uint8_t level_to_byte(int16_t value)
{
    int16_t level = (int16_t)(value >> BL_COLOUR_SHIFT);
    level = (int16_t)(level < -128 ? -128 : level);
    level = (int16_t)(level > 127 ? 127 : level);
    return (uint8_t)(level + 128);
}

/* Weaves three times 16 bytes, from `at` on, into 16 pixels: first R with G where they go, then B between them (indices
 * from 16 on count in the second argument). No compiler finds these shuffles by itself at -O2. */
static INLINE void group_weave(uint8_t in[3][GROUP], int at, uint8_t *rgb)
{
    bytes16 r, g, b, rg[3], out[3];
    memcpy(&r, in[0] + at, sizeof(r));
    memcpy(&g, in[1] + at, sizeof(g));
    memcpy(&b, in[2] + at, sizeof(b));
    rg[0] = BL_SHUFFLE(r, g, 0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5);
    rg[1] = BL_SHUFFLE(r, g, 21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26);
    rg[2] = BL_SHUFFLE(r, g, 0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0);
    out[0] = BL_SHUFFLE(rg[0], b, 0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15);
    out[1] = BL_SHUFFLE(rg[1], b, 0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15);
    out[2] = BL_SHUFFLE(rg[2], b, 26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31);
    memcpy(rgb, out, sizeof(out));
}

/* Converts one word of a component that needs no other: grey, luma, or one of R, G and B. */
static INLINE uint8_t level_convert(const struct bl_colour *c, uint16_t word)
{
    return level_to_byte((int16_t)(c->base + word_scale((int16_t)(word ^ 0x8000), c->gain)));
}

/* Converts one group of pixels, first by component. */
static INLINE void group_convert(const struct bl_colour *c, const uint16_t *const plane[3], uint8_t *rgb)
{
    uint8_t parts[3][GROUP];
    if (c->family == BL_FAMILY_YUV) {
        const uint16_t *y = plane[0], *u = plane[1], *v = plane[2];
        for (int i = 0; i < GROUP; i++) {
            int16_t luma = (int16_t)(c->base + word_scale((int16_t)(y[i] ^ 0x8000), c->gain));
            int16_t cu = (int16_t)(u[i] ^ 0x8000), cv = (int16_t)(v[i] ^ 0x8000);
            parts[0][i] = level_to_byte((int16_t)(luma + word_scale(cu, c->red[0]) + word_scale(cv, c->red[1])));
            parts[1][i] = level_to_byte((int16_t)(luma + word_scale(cu, c->green[0]) + word_scale(cv, c->green[1])));
            parts[2][i] = level_to_byte((int16_t)(luma + word_scale(cu, c->blue[0]) + word_scale(cv, c->blue[1])));
        }
    } else {
        for (int k = 0; k < 3; k++) {
            for (int i = 0; i < GROUP; i++)
                parts[k][i] = level_convert(c, plane[k][i]);
        }
    }
    for (int at = 0; at < GROUP; at += 16)
        group_weave(parts, at, rgb + 3 * at);
}

static INLINE void levels_convert(const struct bl_colour *c, const uint16_t *restrict words, int count,
                                  uint8_t *restrict levels)
{
    const struct bl_colour colour = *c;
    int whole = count / GROUP * GROUP;
    for (int x = 0; x < whole; x += GROUP) {
        for (int i = 0; i < GROUP; i++)
            levels[x + i] = level_convert(&colour, words[x + i]);
    }
    for (int x = whole; x < count; x++)
        levels[x] = level_convert(&colour, words[x]);
}

/* Returns the luma of one pixel; spare: the bits of a word below those of the component. */
static INLINE uint16_t luma_mix(uint16_t red, uint16_t green, uint16_t blue, int spare)
{
    return (uint16_t)(bl_channels_luma(red >> spare, green >> spare, blue >> spare) << spare);
}

static INLINE void words_mix(const uint16_t *restrict red, const uint16_t *restrict green,
                             const uint16_t *restrict blue, int spare, int count, uint16_t *restrict luma)
{
    int whole = count / GROUP * GROUP;
    for (int x = 0; x < whole; x += GROUP) {
        for (int i = x; i < x + GROUP; i++)
            luma[i] = luma_mix(red[i], green[i], blue[i], spare);
    }
    for (int x = whole; x < count; x++)
        luma[x] = luma_mix(red[x], green[x], blue[x], spare);
}

/* Converts count pixels: whole groups in place, and the rest by way of a copy, as no plane has words behind its end. */
static INLINE void pixels_convert(const struct bl_colour *c, const uint16_t *const plane[3], int count, uint8_t *rgb)
{
    const uint16_t *at[3] = {plane[0], plane[1], plane[2]};
    if (c->family == BL_FAMILY_GREY)
        at[1] = at[2] = at[0];
    int whole = count / GROUP * GROUP;
    for (int x = 0; x < whole; x += GROUP) {
        group_convert(c, at, rgb + 3 * (size_t)x);
        for (int k = 0; k < 3; k++)
            at[k] += GROUP;
    }
    if (whole == count)
        return;
    uint16_t last[3][GROUP] = {0};
    uint8_t pixels[3 * GROUP];
    for (int k = 0; k < 3; k++)
        memcpy(last[k], at[k], (size_t)(count - whole) * sizeof(uint16_t));
    group_convert(c, (const uint16_t *const[3]){last[0], last[1], last[2]}, pixels);
    memcpy(rgb + 3 * (size_t)whole, pixels, (size_t)(count - whole) * 3);
}

/* The compilations for AVX2; those for every processor are in the functions below. */
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void levels_convert_avx2(const struct bl_colour *c, const uint16_t *words,
                                                                int count, uint8_t *levels)
{
    levels_convert(c, words, count, levels);
}

__attribute__((target("avx2"))) static void words_mix_avx2(const uint16_t *const plane[3], int spare, int count,
                                                           uint16_t *luma)
{
    words_mix(plane[0], plane[1], plane[2], spare, count, luma);
}

__attribute__((target("avx2"))) static void pixels_convert_avx2(const struct bl_colour *c,
                                                                const uint16_t *const plane[3], int count, uint8_t *rgb)
{
    pixels_convert(c, plane, count, rgb);
}
#endif

void bl_colour_row(const struct bl_colour *colour, enum bl_simd simd, const uint16_t *const plane[3], int count,
                   uint8_t *rgb)
{
#if defined(__x86_64__)
    if (simd == BL_SIMD_AVX2) {
        pixels_convert_avx2(colour, plane, count, rgb);
        return;
    }
#endif
    (void)simd;
    pixels_convert(colour, plane, count, rgb);
}

void bl_colour_grey_row(const struct bl_colour *colour, enum bl_simd simd, const uint16_t *words, int count,
                        uint8_t *levels)
{
#if defined(__x86_64__)
    if (simd == BL_SIMD_AVX2) {
        levels_convert_avx2(colour, words, count, levels);
        return;
    }
#endif
    (void)simd;
    levels_convert(colour, words, count, levels);
}

void bl_colour_mix_row(enum bl_simd simd, int depth, const uint16_t *const plane[3], int count, uint16_t *luma)
{
#if defined(__x86_64__)
    if (simd == BL_SIMD_AVX2) {
        words_mix_avx2(plane, 16 - depth, count, luma);
        return;
    }
#endif
    (void)simd;
    words_mix(plane[0], plane[1], plane[2], 16 - depth, count, luma);
}
