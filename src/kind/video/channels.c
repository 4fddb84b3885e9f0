#include "kind/video/channels.h"

static const struct {
    int64_t count;
    enum bl_dtype dtype;
} kinds[] = {[BL_CHANNELS_RGB] = {3, BL_U8}, [BL_CHANNELS_GRAY] = {1, BL_U8}, [BL_CHANNELS_GRAY16] = {1, BL_U16}};

void bl_channels_set_field(enum bl_channels channels, int width, int height, struct bl_field *field)
{
    field->dtype = kinds[channels].dtype;
    field->rank = 3;
    field->shape[0] = height;
    field->shape[1] = width;
    field->shape[2] = kinds[channels].count;
}

int bl_channels_bytes(enum bl_channels channels)
{
    return (int)(kinds[channels].count * (int64_t)bl_dtype_size(kinds[channels].dtype));
}
