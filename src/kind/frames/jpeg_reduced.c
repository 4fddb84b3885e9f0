#include "kind/frames/jpeg_reduced.h"

#include <string.h>
#include <turbojpeg.h>

#include "kind/frames/tiff.h"

enum { MARKER_SOS = 0xda, MARKER_APP1 = 0xe1 };

/* EXIF's orientation, 1 to 8; 1 where there is none. */
static int jpeg_orientation(const uint8_t *data, size_t size)
{
    for (size_t at = 2; size >= 4 && at <= size - 4 && data[at] == 0xff && data[at + 1] != MARKER_SOS;) {
        size_t length = (size_t)data[at + 2] << 8 | data[at + 3];
        const uint8_t *segment = data + at + 4;
        if (length < 2 || length > size - at - 2)
            break;
        if (data[at + 1] == MARKER_APP1 && length >= 8 && memcmp(segment, "Exif\0", 6) == 0)
            return bl_tiff_orientation(segment + 6, length - 8);
        at += 2 + length;
    }
    return 1;
}

/* A display matrix for each orientation: the columns are where rows and columns of the picture go. */
static int frame_add_orientation(AVFrame *frame, int orientation, struct bl_error *e)
{
    static const int8_t turns[9][4] = {{1, 0, 0, 1}, {1, 0, 0, 1},  {-1, 0, 0, 1},  {-1, 0, 0, -1}, {1, 0, 0, -1},
                                       {0, 1, 1, 0}, {0, 1, -1, 0}, {0, -1, -1, 0}, {0, -1, 1, 0}};
    const int8_t *turn = turns[orientation];
    const int32_t one = 1 << 16;
    const int32_t matrix[9] = {turn[0] * one, turn[1] * one, 0, turn[2] * one, turn[3] * one, 0, 0, 0, 1 << 30};
    if (orientation <= 1)
        return BL_OK;
    AVFrameSideData *side = av_frame_new_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX, sizeof matrix);
    if (!side)
        return bl_error_memory(e);
    memcpy(side->data, matrix, sizeof matrix);
    return BL_OK;
}

static int jpeg_decode(tjhandle handle, const uint8_t *data, size_t size, int shift, bool grey, AVFrame *frame,
                       bool *done, struct bl_error *e)
{
    const tjscalingfactor factor = {1, 1 << shift};
    int width, height, sampling, colours;
    if (tjDecompressHeader3(handle, data, size, &width, &height, &sampling, &colours) != 0 || colours == TJCS_CMYK ||
        colours == TJCS_YCCK)
        return BL_OK;
    grey = grey && colours == TJCS_GRAY;
    frame->format = grey ? AV_PIX_FMT_GRAY8 : AV_PIX_FMT_RGB24;
    frame->width = TJSCALED(width, factor);
    frame->height = TJSCALED(height, factor);
    if (av_frame_get_buffer(frame, 0) < 0)
        return bl_error_memory(e);
    *done =
        tjDecompress2(handle, data, size, frame->data[0], frame->width, frame->linesize[0], frame->height,
                      grey ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) == 0;
    if (!*done && bl_error_memory_seen())
        return bl_error_memory(e);
    return *done ? frame_add_orientation(frame, jpeg_orientation(data, size), e) : BL_OK;
}

int bl_jpeg_decode_reduced(const uint8_t *data, size_t size, int shift, bool grey, AVFrame *frame, bool *done,
                           struct bl_error *e)
{
    *done = false;
    bl_error_memory_watch();
    tjhandle handle = tjInitDecompress();
    if (!handle)
        return bl_error_memory(e);
    int code = jpeg_decode(handle, data, size, shift, grey, frame, done, e);
    (void)tjDestroy(handle);
    if (!*done || code)
        av_frame_unref(frame);
    return code;
}
