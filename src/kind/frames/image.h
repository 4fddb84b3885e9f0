/* One image file, decoded by itself: nothing of other images has any part in it. JPEG, PNG, BMP, WebP, TIFF. */
#ifndef BL_IMAGE_H
#define BL_IMAGE_H

#include <libavutil/frame.h>

#include "base/error.h"

/* Decodes a file of so many bytes and that time (bl_image) into an empty frame. BL_EDATA: no image, or damaged (a
 * picture that is there in part is none); BL_EFAIL: it cannot be read, or has another size or time. */
int bl_image_decode(const char *path, int64_t bytes, int64_t modified, AVFrame *frame, struct bl_error *e);

#endif
