/* What a stream's own headers say of a picture's colours. */
#ifndef BL_PICTURE_TAGS_H
#define BL_PICTURE_TAGS_H

#include <stdint.h>

#include "kind/video/bits.h"

/* Numbers of H.273; 2: not said. */
struct bl_picture_tags {
    uint8_t transfer, matrix;
};

#define BL_PICTURE_UNTAGGED ((struct bl_picture_tags){2, 2})

/* Reads the beginning of the usability information (VUI), which H.264 and H.265 share (annex E). */
struct bl_picture_tags bl_picture_tags_read(struct bl_bits *b);

#endif
