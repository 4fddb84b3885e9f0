/* Decoding of image files: JPEG, PNG, BMP, WebP and TIFF. The orientation of an image and JPEG files at a reduced size
 * have separate functions, because FFmpeg's results for them differ from those of other programs. */
#ifndef BL_IMAGE_H
#define BL_IMAGE_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/input_file.h"
#include "kind/env.h"
#include "kind/frames/image_folder.h"
#include "kind/video/options.h"

/* --- orientation -------------------------------------------------------------------------------------------------- */

/* The orientation of an image by its EXIF data or its TIFF tag. FFmpeg's versions differ in what they read of it: 5.1
 * reads only that of JPEG, later ones those of PNG and WebP, too. */

/* Reads the orientation, 1 to 8, of a JPEG, PNG, WebP or TIFF file in memory; 1 if the file has none. Of PNG the chunk
 * eXIf counts, and without it a text that holds a profile of EXIF, as ImageMagick writes it. XMP is not read. BL_EFAIL:
 * out of memory. */
int bl_image_orientation(const uint8_t *data, size_t size, int *orientation, struct bl_error *e);

/* --- reduced JPEG ------------------------------------------------------------------------------------------------- */

/* JPEG files by libjpeg-turbo, which Pillow uses, too. Its pixels equal Pillow's. At a reduced size its transform
 * computes fewer pixels, each close to the mean of those that it replaces. FFmpeg's reduction (lowres) is off by up to
 * 16 levels on grey, and shifted where chroma has half the size. */

/* Decodes a file in memory into an empty frame, RGB24 (or GRAY8 if grey, and the file is), of 1 / 2^shift of the width
 * and height, rounded up; shift: 0 to 3. *done false: libjpeg-turbo finds fault with it, or its colours are not RGB,
 * YUV or grey. BL_EFAIL: out of memory. */
int bl_jpeg_decode_reduced(const uint8_t *data, size_t size, int shift, bool grey, AVFrame *frame, bool *done,
                           struct bl_error *e);

/* --- images ------------------------------------------------------------------------------------------------------- */

#define BL_IMAGE_SHIFT_MAX 3

/* The request for an image. JPEG files are reduced while they are decoded, to 1 / 2^shift of their sides, by the
 * largest shift that leaves both sides at least `side` long. Other files, and JPEG files that only FFmpeg decodes, keep
 * their size. Grey is made from libjpeg-turbo's pixels where it decodes the file, as in Pillow. Channels
 * that keep numbers are made only from PNG, TIFF and BMP, whose numbers FFmpeg does not change. .flo files have no
 * frame: see flow.h. */
struct bl_image_wanted {
    enum bl_channels channels;
    int shift; /* at most, 0 to BL_IMAGE_SHIFT_MAX */
    int side;  /* pixels, at least 1 */
};

/* Decodes the image in this file into an empty frame, by a new decoder, with reserved memory. BL_EDATA: the file is no
 * image, is damaged (also if a part of it decodes), needs more memory than the limit, or does not have the requested
 * pixels; BL_EFAIL: it cannot be read, or its size or time has changed. */
int bl_image_decode(const struct bl_image *image, const char *path, struct bl_image_wanted wanted,
                    const struct bl_kind_env *env, AVFrame *frame, struct bl_error *e);

/* Checks that an open file is the one that was listed, by size and time, before and after it is read. BL_EDATA: it is
 * no regular file; BL_EFAIL: it has changed. */
int bl_image_verify(const struct bl_image *image, const struct bl_input_file *file, const char *path,
                    struct bl_error *e);

/* Checks an image by its header alone, for a scan. BL_EDATA: the format is not supported, decoding may take more memory
 * than the limit, or the image has no pixels for these channels. Otherwise the reservation notes the memory that
 * decoding takes. bl_image_decode reports files that cannot be opened, or have no known header. *is_known, unless
 * is_known is NULL: the file has a known header. BL_EFAIL: the file cannot be read. */
int bl_image_check(const struct bl_image *image, const char *path, enum bl_channels channels,
                   const struct bl_kind_env *env, bool *is_known, struct bl_error *e);

#endif
