/* JPEG files by libjpeg-turbo, which Pillow uses, too: for pixels that are equal to Pillow's, and at a part of their
 * size, where its transform computes fewer pixels, each close to the mean of those that it stands for. FFmpeg's own
 * (lowres) is off by up to 16 levels on grey, and shifted where colours have half the size. */
#ifndef BL_JPEG_REDUCED_H
#define BL_JPEG_REDUCED_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Decodes a file in memory into an empty frame, RGB24 (or GRAY8 if grey, and the file is), of 1 / 2^shift of the width
 * and height, rounded up; shift: 0 to 3. *done false: libjpeg-turbo finds fault with it, or its colours are not RGB,
 * YUV or grey. BL_EFAIL: out of memory. */
int bl_jpeg_decode_reduced(const uint8_t *data, size_t size, int shift, bool grey, AVFrame *frame, bool *done,
                           struct bl_error *e);

#endif
