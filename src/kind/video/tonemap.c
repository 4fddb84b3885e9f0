/* Maps tones in three steps over the picture: zimg to linear light, the curve, zimg to BT.709; see tonemap.h.
 *
 * The curve costs several powers for each value: so a table has its factor for CURVE + 1 luminances between the knee
 * and the peak, and a pixel interpolates between two of them. Below the knee pixels do not change. */
#include "kind/video/tonemap.h"

#include <libavutil/mastering_display_metadata.h>
#include <libavutil/mem.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zimg.h>

#include "kind/media/module.h"

#define WHITE 203.0    /* cd/m2: BT.2408's reference white becomes 255 */
#define PEAK 1000.0    /* cd/m2: the peak of HLG, and of PQ that states none */
#define PQ_MAX 10000.0 /* cd/m2 */
#define CURVE 4096     /* entries */
#define ALIGN 64       /* bytes */

/* The values that determine the graphs. Compared as bytes, so that it has no padding. */
struct tonemap_key {
    int width, height, family, full, matrix, transfer;
};

struct bl_tonemap {
    enum bl_simd simd;
    struct tonemap_key key;
    zimg_filter_graph *to_light, *to_rgb; /* NULL: none yet */
    void *temporary;
    uint16_t *words; /* [3, height] rows, word_stride bytes apart */
    float *light;    /* the same, light_stride */
    uint8_t *rgb;    /* the same, rgb_stride */
    size_t word_stride, light_stride, rgb_stride;

    /* The factor for a pixel whose greatest component is knee + i / scale, where white is 1. */
    double peak; /* of the curve, cd/m2 */
    float knee, scale, curve[CURVE + 1];
};

bool bl_tonemap_is_hdr(enum AVColorTransferCharacteristic transfer)
{
    return transfer == AVCOL_TRC_SMPTE2084 || transfer == AVCOL_TRC_ARIB_STD_B67;
}

double bl_tonemap_peak(const AVFrame *frame)
{
    const AVFrameSideData *level = av_frame_get_side_data(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL);
    const AVFrameSideData *display = av_frame_get_side_data(frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA);
    double peak = 0;
    if (frame->color_trc != AVCOL_TRC_SMPTE2084)
        return PEAK;
    if (level && level->size >= sizeof(AVContentLightMetadata))
        peak = ((const AVContentLightMetadata *)(const void *)level->data)->MaxCLL;
    if (peak <= 0 && display && display->size >= sizeof(AVMasteringDisplayMetadata)) {
        const AVMasteringDisplayMetadata *m = (const void *)display->data;
        peak = m->has_luminance && m->max_luminance.den > 0 ? av_q2d(m->max_luminance) : 0;
    }
    return peak <= 0 ? PEAK : fmin(peak, PQ_MAX);
}

/* --- curve -------------------------------------------------------------------------------------------------------- */

/* SMPTE ST 2084 maps cd/m2 to a signal of 0 to 1, and pq_decode maps it back. */
static double pq_encode(double luminance)
{
    double y = pow(luminance / PQ_MAX, 2610.0 / 16384);
    return pow((3424.0 / 4096 + 2413.0 / 128 * y) / (1 + 2392.0 / 128 * y), 2523.0 / 32);
}

static double pq_decode(double signal)
{
    double x = pow(signal, 32 / 2523.0);
    return PQ_MAX * pow(fmax(x - 3424.0 / 4096, 0) / (2413.0 / 128 - 2392.0 / 128 * x), 16384 / 2610.0);
}

/* Maps cd/m2 to cd/m2: BT.2390-10, 5.4.1, steps 1 to 5 with both blacks at 0. */
static double eetf(double luminance, double peak)
{
    double whole = pq_encode(peak), most = pq_encode(WHITE) / whole, knee = 1.5 * most - 0.5;
    double at = fmin(pq_encode(luminance) / whole, 1);
    if (at < knee)
        return luminance;
    double t = (at - knee) / (1 - knee), t2 = t * t, t3 = t2 * t;
    double to = (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (-2 * t3 + 3 * t2) * most;
    return pq_decode(to * whole);
}

/* Makes the table for a stream of this peak, in cd/m2. */
static void curve_make(struct bl_tonemap *t, double peak)
{
    t->peak = peak;
    t->knee = INFINITY; /* all of it can be shown */
    if (peak <= WHITE)
        return;
    double whole = pq_encode(peak), knee = pq_decode((1.5 * pq_encode(WHITE) / whole - 0.5) * whole);
    t->knee = (float)(knee / WHITE);
    t->scale = (float)(CURVE / ((peak - knee) / WHITE));
    for (int i = 0; i <= CURVE; i++) {
        double luminance = knee + (peak - knee) * i / CURVE;
        t->curve[i] = (float)(eetf(luminance, peak) / luminance);
    }
}

/* Multiplies the components of each pixel by one factor. A pixel that is brighter than the peak becomes white. */
static void curve_apply(const struct bl_tonemap *t, float *red, float *green, float *blue, int count)
{
    for (int x = 0; x < count; x++) {
        float greatest = fmaxf(red[x], fmaxf(green[x], blue[x]));
        if (!(greatest > t->knee))
            continue;
        float factor = 1 / greatest, at = (greatest - t->knee) * t->scale;
        if (at < CURVE) {
            int i = (int)at;
            factor = t->curve[i] + (t->curve[i + 1] - t->curve[i]) * (at - (float)i);
        }
        red[x] *= factor;
        green[x] *= factor;
        blue[x] *= factor;
    }
}

/* --- zimg --------------------------------------------------------------------------------------------------------- */

/* Reports zimg's last error, and clears it. */
static int tonemap_report(const char *what, struct bl_error *e)
{
    char text[256] = "";
    zimg_error_code_e code = zimg_get_last_error(text, sizeof text);
    zimg_clear_last_error();
    if (code == ZIMG_ERROR_OUT_OF_MEMORY)
        return bl_error_memory(e);
    return bl_error_set(e, BL_EDATA, "zimg cannot %s: %s", what, text);
}

/* Sets the format of linear light, floats with the primaries of BT.2020, or of the result, bytes with BT.709's. */
static void format_set_rgb(zimg_image_format *f, bool light)
{
    f->pixel_type = light ? ZIMG_PIXEL_FLOAT : ZIMG_PIXEL_BYTE;
    f->depth = light ? 32 : 8;
    f->color_family = ZIMG_COLOR_RGB;
    f->pixel_range = ZIMG_RANGE_FULL;
    f->matrix_coefficients = ZIMG_MATRIX_RGB;
    f->transfer_characteristics = light ? ZIMG_TRANSFER_LINEAR : ZIMG_TRANSFER_BT709;
    f->color_primaries = light ? ZIMG_PRIMARIES_BT2020 : ZIMG_PRIMARIES_BT709;
}

/* Builds the two graphs for t->key; *temporary: the bytes that they need while they run. */
static int graphs_build(struct bl_tonemap *t, size_t *temporary, struct bl_error *e)
{
    zimg_image_format words, light, rgb;
    zimg_graph_builder_params params;
    zimg_image_format_default(&words, ZIMG_API_VERSION);
    words.width = (unsigned)t->key.width;
    words.height = (unsigned)t->key.height;
    light = rgb = words;
    words.pixel_type = ZIMG_PIXEL_WORD;
    words.depth = 16;
    words.color_family = t->key.family == BL_FAMILY_YUV ? ZIMG_COLOR_YUV : ZIMG_COLOR_RGB;
    words.pixel_range = t->key.full ? ZIMG_RANGE_FULL : ZIMG_RANGE_LIMITED;
    words.matrix_coefficients = (zimg_matrix_coefficients_e)t->key.matrix;
    words.transfer_characteristics = (zimg_transfer_characteristics_e)t->key.transfer;
    words.color_primaries = ZIMG_PRIMARIES_BT2020;
    format_set_rgb(&light, true);
    format_set_rgb(&rgb, false);
    zimg_graph_builder_params_default(&params, ZIMG_API_VERSION);
    params.nominal_peak_luminance = WHITE;
    params.allow_approximate_gamma = 0;
    params.cpu_type = (zimg_cpu_type_e)bl_simd_zimg(t->simd);
    t->to_light = zimg_filter_graph_build(&words, &light, &params);
    t->to_rgb = t->to_light ? zimg_filter_graph_build(&light, &rgb, &params) : NULL;
    size_t other = 0;
    if (!t->to_rgb || zimg_filter_graph_get_tmp_size(t->to_light, temporary) ||
        zimg_filter_graph_get_tmp_size(t->to_rgb, &other))
        return tonemap_report("convert such HDR", e);
    *temporary = other > *temporary ? other : *temporary;
    return BL_OK;
}

static void tonemap_clear(struct bl_tonemap *t)
{
    zimg_filter_graph_free(t->to_light);
    zimg_filter_graph_free(t->to_rgb);
    av_freep(&t->temporary);
    av_freep(&t->words);
    av_freep(&t->light);
    av_freep(&t->rgb);
    t->to_light = t->to_rgb = NULL;
}

/* Returns the distance of rows of so many bytes: aligned, with room for the bytes that zimg may read behind a row. */
static size_t row_stride(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN + ALIGN;
}

/* Returns the address of a row in one of three planes that lie one behind the other. */
static void *row_at(void *planes, size_t stride, const struct tonemap_key *key, int plane, int y)
{
    return (uint8_t *)planes + ((size_t)plane * (size_t)key->height + (size_t)y) * stride;
}

/* Runs a graph over the picture. */
static int graph_run(struct bl_tonemap *t, const zimg_filter_graph *graph, void *from, size_t from_stride, void *to,
                     size_t to_stride, struct bl_error *e)
{
    zimg_image_buffer_const in = {.version = ZIMG_API_VERSION};
    zimg_image_buffer out = {.version = ZIMG_API_VERSION};
    for (int c = 0; c < 3; c++) {
        in.plane[c].data = row_at(from, from_stride, &t->key, c, 0);
        in.plane[c].stride = (ptrdiff_t)from_stride;
        in.plane[c].mask = ZIMG_BUFFER_MAX;
        out.plane[c].data = row_at(to, to_stride, &t->key, c, 0);
        out.plane[c].stride = (ptrdiff_t)to_stride;
        out.plane[c].mask = ZIMG_BUFFER_MAX;
    }
    if (zimg_filter_graph_process(graph, &in, &out, t->temporary, NULL, NULL, NULL, NULL))
        return tonemap_report("map this frame", e);
    return BL_OK;
}

/* --- pictures ----------------------------------------------------------------------------------------------------- */

int bl_tonemap_open(struct bl_tonemap **tonemap, enum bl_simd simd, struct bl_error *e)
{
    *tonemap = calloc(1, sizeof **tonemap);
    if (!*tonemap)
        return bl_error_memory(e);
    (*tonemap)->simd = simd;
    return BL_OK;
}

void bl_tonemap_close(struct bl_tonemap *tonemap)
{
    if (tonemap)
        tonemap_clear(tonemap);
    free(tonemap);
}

/* An HDR picture that does not name its matrix has that of BT.2020. Graphs and memory are kept for the next picture. */
int bl_tonemap_begin(struct bl_tonemap *t, const AVFrame *frame, const struct bl_pixels *pixels, int width, int height,
                     struct bl_error *e)
{
    bool yuv = pixels->family == BL_FAMILY_YUV, named = frame->colorspace != AVCOL_SPC_UNSPECIFIED;
    const struct tonemap_key key = {
        .width = width,
        .height = height,
        .family = pixels->family,
        .full = pixels->full_range || frame->color_range == AVCOL_RANGE_JPEG || pixels->family == BL_FAMILY_RGB,
        .matrix = !yuv    ? AVCOL_SPC_RGB
                  : named ? frame->colorspace
                          : AVCOL_SPC_BT2020_NCL,
        .transfer = frame->color_trc,
    };
    double peak = bl_tonemap_peak(frame);
    if (!t->to_rgb || memcmp(&t->key, &key, sizeof key) != 0) {
        tonemap_clear(t);
        t->key = key;
        size_t rows = 3 * (size_t)height, temporary = 0;
        t->word_stride = row_stride((size_t)width * sizeof *t->words);
        t->light_stride = row_stride((size_t)width * sizeof *t->light);
        t->rgb_stride = row_stride((size_t)width);
        int code = graphs_build(t, &temporary, e);
        if (!code) {
            t->words = av_mallocz(rows * t->word_stride);
            t->light = av_mallocz(rows * t->light_stride);
            t->rgb = av_mallocz(rows * t->rgb_stride);
            t->temporary = av_mallocz(temporary + ALIGN);
            code = t->words && t->light && t->rgb && t->temporary ? BL_OK : bl_error_memory(e);
        }
        if (code) {
            tonemap_clear(t);
            return code;
        }
    }
    if (t->peak != peak)
        curve_make(t, peak);
    return BL_OK;
}

void bl_tonemap_put(struct bl_tonemap *t, const uint16_t *const plane[3], int x, int y, int count)
{
    for (int c = 0; c < 3; c++) {
        const uint16_t *from = t->key.family == BL_FAMILY_GREY ? plane[0] : plane[c];
        uint16_t *to = row_at(t->words, t->word_stride, &t->key, c, y);
        memcpy(to + x, from, (size_t)count * sizeof *to);
    }
}

int bl_tonemap_finish(struct bl_tonemap *t, const struct bl_pixel_writer *writer, struct bl_error *e)
{
    BL_TRY(graph_run(t, t->to_light, t->words, t->word_stride, t->light, t->light_stride, e));
    for (int y = 0; y < t->key.height; y++)
        curve_apply(t, row_at(t->light, t->light_stride, &t->key, 0, y),
                    row_at(t->light, t->light_stride, &t->key, 1, y), row_at(t->light, t->light_stride, &t->key, 2, y),
                    t->key.width);
    BL_TRY(graph_run(t, t->to_rgb, t->light, t->light_stride, t->rgb, t->rgb_stride, e));
    for (int y = 0; y < t->key.height; y++) {
        const uint8_t *row[3];
        for (int c = 0; c < 3; c++)
            row[c] = row_at(t->rgb, t->rgb_stride, &t->key, c, y);
        uint8_t *to = writer->origin + y * writer->step_y;
        for (int x = 0; x < t->key.width; x++, to += writer->step_x) {
            if (writer->channels == BL_CHANNELS_GRAY)
                *to = (uint8_t)bl_channels_luma(row[0][x], row[1][x], row[2][x]);
            for (int c = 0; c < 3 && writer->channels == BL_CHANNELS_RGB; c++)
                to[c] = row[c][x];
        }
    }
    return BL_OK;
}
