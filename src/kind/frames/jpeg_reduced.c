#include "kind/frames/jpeg_reduced.h"

#include <turbojpeg.h>

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
    return BL_OK;
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
