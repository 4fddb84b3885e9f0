#include "kind/frames/webp.h"

#include <stdint.h>
#include <string.h>

/* Makes two pixels of a line from each chroma sample, 9 parts of the nearest, 3 of each beside it, 1 of the fourth.
 * Beyond the edges, the first and the last sample repeat. near: the nearest line of chroma, far: the one behind. */
static void line_upsample(const uint8_t *near, const uint8_t *far, int width, uint8_t *out)
{
    int last = (width + 1) / 2 - 1;
    for (int x = 0; x < width; x++) {
        int at = x / 2, beside = x % 2 ? at + 1 : at - 1;
        beside = beside < 0 ? 0 : beside > last ? last : beside;
        out[x] = (uint8_t)((9 * near[at] + 3 * near[beside] + 3 * far[at] + far[beside] + 8) >> 4);
    }
}

static void plane_upsample(const AVFrame *from, int plane, AVFrame *to)
{
    int last = (from->height + 1) / 2 - 1;
    for (int y = 0; y < from->height; y++) {
        int at = y / 2, behind = y % 2 ? at + 1 : at - 1;
        behind = behind < 0 ? 0 : behind > last ? last : behind;
        line_upsample(from->data[plane] + (ptrdiff_t)at * from->linesize[plane],
                      from->data[plane] + (ptrdiff_t)behind * from->linesize[plane], from->width,
                      to->data[plane] + (ptrdiff_t)y * to->linesize[plane]);
    }
}

int bl_webp_upsample(AVFrame *frame, struct bl_error *e)
{
    if (frame->format != AV_PIX_FMT_YUV420P && frame->format != AV_PIX_FMT_YUVA420P)
        return BL_OK;
    AVFrame *wide = av_frame_alloc();
    if (!wide)
        return bl_error_memory(e);
    wide->format = AV_PIX_FMT_YUV444P;
    wide->width = frame->width;
    wide->height = frame->height;
    wide->color_range = AVCOL_RANGE_MPEG; /* libwebp knows no other, whatever a header says */
    wide->colorspace = AVCOL_SPC_BT470BG;
    if (av_frame_get_buffer(wide, 0) < 0) {
        av_frame_free(&wide);
        return bl_error_memory(e);
    }
    for (int y = 0; y < frame->height; y++)
        memcpy(wide->data[0] + (ptrdiff_t)y * wide->linesize[0], frame->data[0] + (ptrdiff_t)y * frame->linesize[0],
               (size_t)frame->width);
    plane_upsample(frame, 1, wide);
    plane_upsample(frame, 2, wide);
    av_frame_unref(frame);
    av_frame_move_ref(frame, wide);
    av_frame_free(&wide);
    return BL_OK;
}
