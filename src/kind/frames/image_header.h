/* The header of an image file: its size, and the memory that decoding it may take, before it is decoded. Nothing in a
 * header is trusted: what it says may be more than the file can hold, but not more than the limit. */
#ifndef BL_IMAGE_HEADER_H
#define BL_IMAGE_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct bl_image_header {
    int64_t width, height; /* pixels, less than 2^32; of what has several sizes, the largest */
    int bits;              /* of a pixel, as it is decoded */
    int beside;            /* bits of a pixel that the decoder needs for its work */
    int depth;             /* bits of a component in the file */
    bool grey;             /* it has one, beside transparency */
    bool exact;            /* PNG or TIFF of grey with more than 8 bits, which decoders keep */
    char unsupported[96];  /* what it is, if that is not read, and what to do; else empty */
};

/* Reads the header of an open file of so many bytes. *found false: it has none that is known, or a broken one; it may
 * be known all the same that it is not supported. BL_EFAIL: the file cannot be read. */
int bl_image_header_read(int fd, int64_t bytes, const char *path, struct bl_image_header *header, bool *found,
                         struct bl_error *e);

/* Bytes that the decoded image, the file in memory and the decoder take at most. */
int64_t bl_image_header_memory(const struct bl_image_header *header, int64_t bytes);

#endif
