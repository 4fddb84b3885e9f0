/* Optical flow in .flo files, the format of Middlebury's benchmark: for each pixel a vector (u, v), in pixels, to where
 * its content is in the next frame.
 *
 * A file is the float 202021.25 (the bytes "PIEH"), the width and the height as 32-bit integers, and height * width
 * vectors of two 32-bit floats, row by row, all little-endian. Vectors are kept as they are; values above 1e9 stand for
 * an unknown vector. */
#ifndef BL_FLOW_H
#define BL_FLOW_H

#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "kind/frames/image_folder.h"

/* Reads the header of a file, and compares its size with that of the file. BL_EDATA: it is no .flo file, or has more or
 * less vectors than it states; BL_EFAIL: it cannot be read. */
int bl_flow_read_size(const struct bl_image *file, const char *path, struct bl_dimensions *size, struct bl_error *e);

/* Reads all vectors of a file into out[size->height][size->width][2], of floats. Errors as above; BL_EDATA: it has
 * another size; BL_EFAIL: it has changed since it was listed. */
int bl_flow_read(const struct bl_image *file, const char *path, const struct bl_dimensions *size, uint8_t *out,
                 struct bl_error *e);

#endif
