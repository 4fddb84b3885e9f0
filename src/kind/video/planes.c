/* See planes.h. Everything is read off FFmpeg's pixel format descriptors, so that no list of formats is kept here.
 * Three ways to read a row of one component: whole bytes or little-endian words at a stride (nearly all formats),
 * FFmpeg's own reader for what is left (bit streams, big-endian), and the palette. */
#include "kind/video/planes.h"

#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <string.h>

static int format_is_yuvj(enum AVPixelFormat format)
{
    return format == AV_PIX_FMT_YUVJ420P || format == AV_PIX_FMT_YUVJ422P || format == AV_PIX_FMT_YUVJ444P ||
           format == AV_PIX_FMT_YUVJ440P || format == AV_PIX_FMT_YUVJ411P;
}

static int format_refuse(const AVPixFmtDescriptor *desc, enum AVPixelFormat format, struct bl_error *e)
{
    const uint64_t strange = AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_HWACCEL;
    if (!desc)
        return bl_error_set(e, BL_EDATA, "pixel format %d is unknown", (int)format);
    if (desc->flags & strange || format == AV_PIX_FMT_XYZ12LE || format == AV_PIX_FMT_XYZ12BE || !desc->nb_components)
        return bl_error_set(e, BL_EDATA, "pixel format %s cannot be converted to RGB", desc->name);
    for (int c = 0; c < desc->nb_components; c++) {
        if (desc->comp[c].depth < 1 || desc->comp[c].depth > 16)
            return bl_error_set(e, BL_EDATA, "pixel format %s has components of %d bits", desc->name,
                                desc->comp[c].depth);
    }
    return 0;
}

int bl_layout_make(struct bl_layout *layout, enum AVPixelFormat format, struct bl_error *e)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    memset(layout, 0, sizeof(*layout));
    int rc = format_refuse(desc, format, e);
    if (rc)
        return rc;
    int colours = desc->nb_components - (desc->flags & AV_PIX_FMT_FLAG_ALPHA ? 1 : 0);
    if (desc->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL))
        layout->family = BL_FAMILY_RGB;
    else
        layout->family = colours < 3 ? BL_FAMILY_GREY : BL_FAMILY_YUV;
    layout->planes = layout->family == BL_FAMILY_GREY ? 1 : 3;
    layout->depth = desc->comp[0].depth < 8 ? 8 : desc->comp[0].depth;
    layout->bytes = layout->depth > 8 ? 2 : 1;
    layout->sub_w = layout->family == BL_FAMILY_YUV ? desc->log2_chroma_w : 0;
    layout->sub_h = layout->family == BL_FAMILY_YUV ? desc->log2_chroma_h : 0;
    layout->full_range = format_is_yuvj(format);
    return 0;
}

/* Whether component c lies as bl_layout says, but for the place and the length of its rows. */
static int component_is_plain(const AVPixFmtDescriptor *desc, const struct bl_layout *layout, int c)
{
    const AVComponentDescriptor *comp = &desc->comp[c];
    int swapped = layout->bytes > 1 && desc->flags & AV_PIX_FMT_FLAG_BE;
    return !(desc->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM)) && !swapped && !comp->shift &&
           comp->offset == 0 && comp->step == layout->bytes && comp->depth == layout->depth;
}

/* Whether component c is made of whole bytes, or of little-endian words. */
static int component_is_strided(const AVPixFmtDescriptor *desc, const struct bl_layout *layout, int c)
{
    const AVComponentDescriptor *comp = &desc->comp[c];
    if (desc->flags & (AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM) || comp->depth != layout->depth)
        return 0;
    if (layout->bytes == 1)
        return comp->shift == 0;
    return !(desc->flags & AV_PIX_FMT_FLAG_BE) && comp->depth + comp->shift <= 16;
}

static int frame_points(struct bl_planes *planes, const struct bl_layout *layout, const AVPixFmtDescriptor *desc,
                        const AVFrame *frame)
{
    if (planes->width != frame->width || planes->height != frame->height)
        return 0;
    for (int c = 0; c < layout->planes; c++) {
        int plane = desc->comp[c].plane;
        uintptr_t place = (uintptr_t)frame->data[plane] | (uintptr_t)(intptr_t)frame->linesize[plane];
        if (!component_is_plain(desc, layout, c) || place % BL_PLANES_ALIGN)
            return 0;
        planes->data[c] = frame->data[plane];
        planes->stride[c] = frame->linesize[plane];
    }
    return 1;
}

static void strided_read(uint8_t *out, const uint8_t *row, const AVComponentDescriptor *comp, int bytes, int count)
{
    const uint8_t *in = row + comp->offset;
    if (bytes == 1 && comp->step == 1) {
        memcpy(out, in, (size_t)count);
        return;
    }
    if (bytes == 1) {
        for (int i = 0; i < count; i++)
            out[i] = in[(ptrdiff_t)i * comp->step];
        return;
    }
    uint16_t *word = (uint16_t *)(void *)out;
    unsigned mask = (1u << comp->depth) - 1;
    for (int i = 0; i < count; i++) {
        const uint8_t *at = in + (ptrdiff_t)i * comp->step;
        word[i] = (uint16_t)(((unsigned)(at[0] | at[1] << 8) >> comp->shift) & mask);
    }
}

/* FFmpeg's palettes are native words 0xAARRGGBB; c is 0 for red. */
static void palette_read(uint8_t *out, const AVFrame *frame, int y, int c, int count)
{
    const uint8_t *row = frame->data[0] + (ptrdiff_t)y * frame->linesize[0];
    for (int i = 0; i < count; i++) {
        uint32_t colour;
        memcpy(&colour, frame->data[1] + 4 * (size_t)row[i], sizeof(colour));
        out[i] = (uint8_t)(colour >> (16 - 8 * c));
    }
}

/* Any other format by FFmpeg's reader, which gives words; what is narrower than 8 bits is widened to the whole range.
 */
static void line_read(uint8_t *out, uint16_t *words, const struct bl_layout *layout, const AVPixFmtDescriptor *desc,
                      const AVFrame *frame, int y, int c, int count)
{
    const uint8_t *data[4] = {frame->data[0], frame->data[1], frame->data[2], frame->data[3]};
    av_read_image_line2(words, data, frame->linesize, desc, 0, y, c, count, 0, 2);
    if (layout->bytes == 2) {
        memcpy(out, words, (size_t)count * 2);
        return;
    }
    unsigned max = (1u << desc->comp[c].depth) - 1;
    unsigned flip = frame->format == AV_PIX_FMT_MONOWHITE ? max : 0;
    for (int i = 0; i < count; i++)
        out[i] = (uint8_t)(((words[i] ^ flip) * 255 + max / 2) / max);
}

/* Repeats the last sample to the right end of the row. */
static void row_complete(uint8_t *row, int bytes, int count, int width)
{
    for (int i = count; i < width; i++)
        memcpy(row + (size_t)i * (size_t)bytes, row + (size_t)(count - 1) * (size_t)bytes, (size_t)bytes);
}

/* Copies component c into its place in the room: [height][stride], from a frame of count x lines samples. */
static void component_copy(struct bl_planes *planes, const struct bl_layout *layout, const AVPixFmtDescriptor *desc,
                           const AVFrame *frame, int c, uint8_t *plane, uint16_t *words)
{
    int sub_w = c ? layout->sub_w : 0, sub_h = c ? layout->sub_h : 0;
    int count = AV_CEIL_RSHIFT(frame->width, sub_w), lines = AV_CEIL_RSHIFT(frame->height, sub_h);
    int width = planes->width >> sub_w, height = planes->height >> sub_h;
    const AVComponentDescriptor *comp = &desc->comp[c];
    int strided = component_is_strided(desc, layout, c);
    for (int y = 0; y < height; y++) {
        uint8_t *row = plane + planes->stride[c] * y;
        if (y >= lines)
            memcpy(row, row - planes->stride[c], (size_t)width * (size_t)layout->bytes);
        else if (desc->flags & AV_PIX_FMT_FLAG_PAL)
            palette_read(row, frame, y, c, count);
        else if (strided)
            strided_read(row, frame->data[comp->plane] + (ptrdiff_t)y * frame->linesize[comp->plane], comp,
                         layout->bytes, count);
        else
            line_read(row, words, layout, desc, frame, y, c, count);
        row_complete(row, layout->bytes, count, width);
    }
}

/* Makes room for all planes and one row of words; sizes are bounded by the geometry's bounds, checked by the caller. */
static int room_make(struct bl_planes *planes, const struct bl_layout *layout, size_t plane_bytes[3],
                     struct bl_error *e)
{
    size_t total = 0;
    for (int c = 0; c < layout->planes; c++) {
        size_t row = (size_t)(planes->width >> (c ? layout->sub_w : 0)) * (size_t)layout->bytes;
        row = (row + BL_PLANES_ALIGN - 1) / BL_PLANES_ALIGN * BL_PLANES_ALIGN;
        planes->stride[c] = (ptrdiff_t)row;
        plane_bytes[c] = row * (size_t)(planes->height >> (c ? layout->sub_h : 0));
        total += plane_bytes[c];
    }
    total += (size_t)planes->width * sizeof(uint16_t);
    if (total <= planes->room_bytes)
        return 0;
    bl_planes_free(planes);
    planes->room = av_malloc(total); /* aligned for any SIMD level */
    if (!planes->room)
        return bl_error_memory(e);
    planes->room_bytes = total;
    return 0;
}

int bl_planes_read(struct bl_planes *planes, const struct bl_layout *layout, const AVFrame *frame, struct bl_error *e)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get((enum AVPixelFormat)frame->format);
    int count = av_pix_fmt_count_planes((enum AVPixelFormat)frame->format);
    for (int p = 0; p < count || (p == 1 && desc->flags & AV_PIX_FMT_FLAG_PAL); p++) {
        if (!frame->data[p])
            return bl_error_set(e, BL_EDATA, "a frame without data");
    }
    int block_w = 1 << layout->sub_w, block_h = 1 << layout->sub_h;
    planes->width = (frame->width + block_w - 1) & -block_w;
    planes->height = (frame->height + block_h - 1) & -block_h;
    if (frame_points(planes, layout, desc, frame))
        return 0;

    size_t plane_bytes[3];
    int rc = room_make(planes, layout, plane_bytes, e);
    if (rc)
        return rc;
    uint8_t *at = planes->room;
    uint16_t *words = (uint16_t *)(void *)(planes->room + planes->room_bytes - (size_t)planes->width * 2);
    for (int c = 0; c < layout->planes; c++) {
        component_copy(planes, layout, desc, frame, c, at, words);
        planes->data[c] = at;
        at += plane_bytes[c];
    }
    return 0;
}

void bl_planes_free(struct bl_planes *planes)
{
    av_freep(&planes->room);
    planes->room_bytes = 0;
}
