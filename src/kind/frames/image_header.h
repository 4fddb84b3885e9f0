/* What is read of an image file before it is decoded: the tags of TIFF files, and the header with the size of the image
 * and the memory that decoding may take. */
#ifndef BL_IMAGE_HEADER_H
#define BL_IMAGE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* --- TIFF tags ---------------------------------------------------------------------------------------------------- */

/* The tags of TIFF files, some of which are changed before FFmpeg decodes the file. */

/* Removes from the first directory of a TIFF file in memory the tags that say nothing about pixels as they are stored,
 * among them the orientation, which bl_tiff_orientation reads before. A decoder that must refuse damage (AV_EF_EXPLODE)
 * refuses all tags that FFmpeg does not know, and most files have one: the unit of the resolution, notes of cameras and
 * programs. Files without a whole directory stay as they are. */
void bl_tiff_drop_notes(uint8_t *data, size_t size);

/* Has the numbers of a grey TIFF file in memory decoded as they are, also if 0 is white: FFmpeg would turn them round.
 */
void bl_tiff_keep_numbers(uint8_t *data, size_t size);

/* Makes the palette of a TIFF file in memory one of 16 bits where no number needs more than 8: some programs write
 * such, which FFmpeg takes for black, and libtiff does not. */
void bl_tiff_widen_palette(uint8_t *data, size_t size);

/* The Orientation tag, 1 to 8, of the first directory of a TIFF file, or of EXIF; 1 where there is none that is whole.
 */
int bl_tiff_orientation(const uint8_t *data, size_t size);

/* --- header ------------------------------------------------------------------------------------------------------- */

/* The header of an image file: its size, and the memory that decoding it may take, before it is decoded. Nothing in a
 * header is trusted: it may announce more than the file can hold, but not more than the limit. */

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
