#include "kind/frames/png_encoder.h"

#include <libavcodec/avcodec.h>
#include <stdlib.h>
#include <string.h>

struct bl_png {
    AVCodecContext *encoder;
    AVFrame *frame;
    AVPacket *packet;
    size_t row; /* bytes */
    bool swaps; /* PNG has the high byte first */
};

/* The pixels of a field's steps, which are pictures. */
static enum AVPixelFormat field_pixels(const struct bl_field *field)
{
    int64_t channels = field->rank == 2 ? 1 : field->shape[2];
    if (field->dtype == BL_U16)
        return AV_PIX_FMT_GRAY16BE;
    return channels == 1 ? AV_PIX_FMT_GRAY8 : channels == 3 ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_RGBA;
}

static int png_check(int code, struct bl_error *e)
{
    if (code >= 0)
        return BL_OK;
    if (code == AVERROR(ENOMEM))
        return bl_error_memory(e);
    return bl_error_set(e, BL_EFAIL, "cannot encode as PNG: %s", av_err2str(code));
}

static int png_start(struct bl_png *png, const struct bl_field *field, enum AVPixelFormat pixels, struct bl_error *e)
{
    const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
    if (!codec)
        return bl_error_set(e, BL_EFAIL, "this FFmpeg cannot encode PNG: use --as npy");
    png->encoder = avcodec_alloc_context3(codec);
    png->frame = av_frame_alloc();
    png->packet = av_packet_alloc();
    if (!png->encoder || !png->frame || !png->packet)
        return bl_error_memory(e);
    png->frame->format = png->encoder->pix_fmt = pixels;
    png->frame->height = png->encoder->height = (int)field->shape[0];
    png->frame->width = png->encoder->width = (int)field->shape[1];
    png->encoder->time_base = (AVRational){1, 1};
    png->encoder->thread_count = 1; /* then each frame is given back at once */
    int code = png_check(avcodec_open2(png->encoder, codec, NULL), e);
    return code ? code : png_check(av_frame_get_buffer(png->frame, 0), e);
}

int bl_png_encoder_open(struct bl_png **out, const struct bl_field *field, struct bl_error *e)
{
    enum AVPixelFormat pixels = field_pixels(field);
    *out = NULL;
    struct bl_png *png = calloc(1, sizeof *png);
    if (!png)
        return bl_error_memory(e);
    png->row = bl_field_step_bytes(field) / (size_t)field->shape[0];
    png->swaps = pixels == AV_PIX_FMT_GRAY16BE;
    int code = png_start(png, field, pixels, e);
    if (code)
        bl_png_encoder_close(png);
    else
        *out = png;
    return code;
}

void bl_png_encoder_close(struct bl_png *png)
{
    if (!png)
        return;
    avcodec_free_context(&png->encoder);
    av_frame_free(&png->frame);
    av_packet_free(&png->packet);
    free(png);
}

static void row_copy(const struct bl_png *png, const uint8_t *from, uint8_t *to)
{
    if (!png->swaps)
        memcpy(to, from, png->row);
    for (size_t i = 0; png->swaps && i < png->row; i++)
        to[i] = from[i ^ 1];
}

int bl_png_encoder_encode(struct bl_png *png, const uint8_t *step, const uint8_t **data, size_t *size,
                          struct bl_error *e)
{
    av_packet_unref(png->packet);
    int code = png_check(av_frame_make_writable(png->frame), e);
    if (code)
        return code;
    for (int y = 0; y < png->frame->height; y++)
        row_copy(png, step + (size_t)y * png->row, png->frame->data[0] + (ptrdiff_t)y * png->frame->linesize[0]);
    code = png_check(avcodec_send_frame(png->encoder, png->frame), e);
    if (!code)
        code = png_check(avcodec_receive_packet(png->encoder, png->packet), e);
    if (code)
        return code;
    *data = png->packet->data;
    *size = (size_t)png->packet->size;
    return BL_OK;
}
