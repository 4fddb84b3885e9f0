#include "kind/frames/png.h"

#include <inttypes.h>

#include "kind/media/module.h"

bool bl_png_can_encode(const struct bl_field *field)
{
    int64_t channels = field->rank == 2 ? 1 : field->rank == 3 ? field->shape[2] : 0;
    bool is_picture = field->dtype == BL_U8    ? channels == 1 || channels == 3 || channels == 4
                      : field->dtype == BL_U16 ? channels == 1
                                               : false;
    return is_picture && field->shape[0] <= INT16_MAX && field->shape[1] <= INT16_MAX;
}

int bl_png_open(struct bl_png **png, const struct bl_field *field, struct bl_error *e)
{
    const struct bl_media *media;
    *png = NULL;
    if (!bl_png_can_encode(field))
        return bl_error_set(e, BL_EUSAGE,
                            "--as png: the steps of %s are no pictures, U8 [H, W, 1, 3 or 4] or U16 [H, W], of up to "
                            "%d pixels a side: use --as npy",
                            field->name, INT16_MAX);
    int code = bl_media_open(&media, e);
    return code ? code : media->png_open(png, field, e);
}

int bl_png_encode(struct bl_png *png, const uint8_t *step, const uint8_t **data, size_t *size, struct bl_error *e)
{
    return bl_media_opened()->png_encode(png, step, data, size, e);
}

void bl_png_close(struct bl_png *png)
{
    if (png)
        bl_media_opened()->png_close(png);
}
