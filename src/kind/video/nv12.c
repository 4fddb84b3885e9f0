#include "kind/video/nv12.h"

#include <string.h>

#include "kind/video/channels.h"
#include "kind/video/colour.h"
#include "kind/video/scanlines.h"

/* Surfaces always are 4:2:0. */
static const struct bl_pixels pixels_420 = {.family = BL_FAMILY_YUV, .planes = 3, .depth = 8, .sub_w = 1, .sub_h = 1};

int bl_nv12_prepare(struct bl_nv12 *nv12, const struct bl_geometry *g, enum AVChromaLocation location, bool *made,
                    struct bl_error *e)
{
    struct bl_nv12_key k = {.width = g->coded_width,
                            .height = g->coded_height,
                            .scaled_width = g->scaled_width,
                            .scaled_height = g->scaled_height,
                            .resize = g->resize,
                            .x = g->source_x,
                            .y = g->source_y,
                            .source_width = g->source_width,
                            .source_height = g->source_height};
    bl_scanlines_phases(&pixels_420, location, &k.phase_w, &k.phase_h);
    *made = !nv12->across[0].first || memcmp(&nv12->key, &k, sizeof k) != 0;
    if (!*made)
        return BL_OK;
    struct bl_nv12 n = {.key = k};
    int code = bl_filter_make(&n.across[0], g->resize, k.width, k.x, k.source_width, k.scaled_width, e);
    if (code)
        goto out;
    code = bl_filter_make(&n.down[0], g->resize, k.height, k.y, k.source_height, k.scaled_height, e);
    if (code)
        goto out;
    code = bl_filter_make_chroma(&n.across[1], g->resize, k.width, k.x, k.source_width, k.scaled_width, k.phase_w / 8.0,
                                 e);
    if (code)
        goto out;
    code = bl_filter_make_chroma(&n.down[1], g->resize, k.height, k.y, k.source_height, k.scaled_height,
                                 k.phase_h / 8.0, e);
    if (code)
        goto out;
    struct bl_nv12 old = *nv12;
    *nv12 = n;
    n = old;
out:
    bl_nv12_free(&n);
    return code;
}

void bl_nv12_free(struct bl_nv12 *nv12)
{
    for (int i = 0; i < 2; i++) {
        bl_filter_free(&nv12->across[i]);
        bl_filter_free(&nv12->down[i]);
    }
}

struct bl_nv12_axis bl_nv12_axis(const struct bl_filter *filter)
{
    return (struct bl_nv12_axis){filter->first, filter->weight, filter->count, filter->taps};
}

/* Converts the converter's factor, per word in units of 2^-15 with BL_COLOUR_SHIFT bits below a level, to one per
 * sample of `unit` words. */
static float nv12_factor(int16_t of_words, int unit)
{
    return (float)(of_words * (double)unit / (1 << (15 + BL_COLOUR_SHIFT)));
}

static float nv12_base(const struct bl_colour *c, const int16_t chroma[2])
{
    double words = (double)c->gain + chroma[0] + chroma[1];
    return (float)(128 + (double)c->base / (1 << BL_COLOUR_SHIFT) - words * 32768 / (1 << (15 + BL_COLOUR_SHIFT)));
}

int bl_nv12_describe(struct bl_nv12_rgb *picture, const struct bl_geometry *geometry, enum AVPixelFormat format,
                     const AVFrame *frame, ptrdiff_t *origin, struct bl_error *e)
{
    struct bl_pixels pixels = pixels_420;
    struct bl_colour c;
    pixels.depth = format == AV_PIX_FMT_NV12 ? 8 : format == AV_PIX_FMT_P010LE ? 10 : 16;
    int code = bl_colour_make(&c, &pixels, frame->colorspace, frame->color_range, e);
    if (code)
        return code;
    const int16_t *chroma[3] = {c.red, c.green, c.blue};
    int unit = format == AV_PIX_FMT_NV12 ? 256 : 1;
    picture->words = unit == 1;
    picture->gain = nv12_factor(c.gain, unit);
    for (int i = 0; i < 3; i++) {
        picture->base[i] = nv12_base(&c, chroma[i]);
        picture->u[i] = nv12_factor(chroma[i][0], unit);
        picture->v[i] = nv12_factor(chroma[i][1], unit);
    }
    *origin = bl_geometry_place(geometry, bl_channels_bytes(BL_CHANNELS_RGB), &picture->step_x, &picture->step_y);
    return BL_OK;
}

/* NVDEC puts chroma after an even number of luma rows; FFmpeg 5.1 assumes as many as the picture has. */
static size_t surface_chroma_shift(const AVFrame *frame)
{
    if (frame->format != AV_PIX_FMT_CUDA)
        return 0;
    ptrdiff_t pitch = frame->linesize[0], rows = (frame->data[1] - frame->data[0]) / pitch;
    return (size_t)(rows % 2 * pitch);
}

void bl_nv12_set_surface(struct bl_nv12_rgb *picture, const AVFrame *frame)
{
    size_t bytes = 1 + (size_t)picture->words, left = frame->crop_left, top = frame->crop_top;
    picture->luma_pitch = (size_t)frame->linesize[0];
    picture->chroma_pitch = (size_t)frame->linesize[1];
    picture->luma = frame->data[0] + top * picture->luma_pitch + left * bytes;
    picture->chroma =
        frame->data[1] + surface_chroma_shift(frame) + top / 2 * picture->chroma_pitch + left / 2 * 2 * bytes;
}
