#include "store/codec.h"

#include <stdlib.h>
#include <string.h>

#include "store/delta.h"
#include "store/jpeg.h"

struct bl_codec {
    const struct bl_format *format;
    bool pad_repeat;
    struct bl_jpeg_encoder *jpeg;
    uint8_t *step; /* [T] enum bl_step */
    uint8_t *room; /* for the files of one block; pages that are not written to take no memory */
};

/* Cannot overflow: bl_format_check bounds it. */
size_t bl_codec_max_size(const struct bl_format *format, int f)
{
    return (size_t)format->T * bl_jpeg_max_size(format->fields.field[f].shape, &format->encoding[f]);
}

static size_t codec_capacity(const struct bl_format *format)
{
    size_t room = 0;
    for (int f = 0; f < format->fields.count; f++) {
        size_t most = format->encoding[f].kind == BL_ENCODING_JPEG ? bl_codec_max_size(format, f) : 0;
        room = most > room ? most : room;
    }
    return room;
}

size_t bl_codec_memory(const struct bl_format *format)
{
    return bl_format_encodes(format, BL_ENCODING_JPEG) ? codec_capacity(format) + (size_t)format->T : 0;
}

int bl_codec_open(const struct bl_format *format, bool pad_repeat, struct bl_codec **out, struct bl_error *e)
{
    struct bl_codec *codec = calloc(1, sizeof *codec);
    if (!codec)
        return bl_error_memory(e);
    codec->format = format;
    codec->pad_repeat = pad_repeat;
    int code = BL_OK;
    if (bl_format_encodes(format, BL_ENCODING_JPEG)) {
        codec->step = malloc((size_t)format->T);
        codec->room = malloc(codec_capacity(format));
        code = codec->step && codec->room ? bl_jpeg_encoder_open(&codec->jpeg, e) : bl_error_memory(e);
    }
    if (code)
        bl_codec_close(codec);
    else
        *out = codec;
    return code;
}

void bl_codec_close(struct bl_codec *codec)
{
    if (!codec)
        return;
    bl_jpeg_encoder_close(codec->jpeg);
    free(codec->step);
    free(codec->room);
    free(codec);
}

/* Every step is encoded on its own, so that a file depends on its picture alone. */
int bl_codec_encode_jpeg(struct bl_codec *codec, const struct bl_block *block, int f, int64_t *offsets,
                         const uint8_t **bytes, struct bl_error *e)
{
    const struct bl_format *format = codec->format;
    const int64_t *shape = format->fields.field[f].shape;
    size_t step_bytes = bl_field_step_bytes(&format->fields.field[f]), at = 0, size = 0;
    int code = BL_OK;
    bl_block_steps(block, format, codec->pad_repeat, codec->step);
    for (int64_t t = 0; t < format->T && !code; t++) {
        offsets[t] = (int64_t)at;
        if (codec->step[t] == BL_STEP_OWN)
            code = bl_jpeg_encode(codec->jpeg, block->field[f] + (size_t)t * step_bytes, shape, &format->encoding[f],
                                  codec->room + at, &size, e);
        else if (codec->step[t] == BL_STEP_EMPTY)
            size = 0;
        else
            memcpy(codec->room + at, codec->room + at - size, size);
        at += size;
    }
    offsets[format->T] = (int64_t)at;
    *bytes = codec->room;
    return code;
}

int64_t bl_codec_check_offsets(const struct bl_format *format, const int64_t *offsets, int64_t bytes)
{
    for (int64_t t = 0; t < format->T; t++) {
        if (offsets[t] < 0 || offsets[t] > offsets[t + 1] || offsets[t + 1] > bytes)
            return t;
    }
    return -1;
}

void bl_codec_encode_delta(const struct bl_format *format, struct bl_block *block, int f)
{
    bl_delta_encode(block->field[f], (size_t)format->T, format->fields.field[f].shape);
}
