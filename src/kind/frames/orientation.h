/* The orientation of an image by its EXIF data or its TIFF tag. FFmpeg's versions differ in what they read of it: 5.1
 * reads only that of JPEG, later ones those of PNG and WebP, too. */
#ifndef BL_IMAGE_ORIENTATION_H
#define BL_IMAGE_ORIENTATION_H

#include <libavutil/frame.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Reads the orientation, 1 to 8, of a JPEG, PNG, WebP or TIFF file in memory; 1 where it tells none. Of PNG: the chunk
 * eXIf, else a text that holds a profile of EXIF, as ImageMagick writes it. XMP is not read. BL_EFAIL: out of memory.
 */
int bl_image_orientation(const uint8_t *data, size_t size, int *orientation, struct bl_error *e);

/* Replaces the display matrix of a frame by that of an orientation. */
int bl_image_set_orientation(AVFrame *frame, int orientation, struct bl_error *e);

#endif
