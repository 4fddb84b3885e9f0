/* The reading of an image file before it is decoded: the tags of TIFF files, and the header with the size of the image
 * and the memory that decoding may take. */
#ifndef BL_IMAGE_HEADER_H
#define BL_IMAGE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/input_file.h"

/* --- TIFF tags ---------------------------------------------------------------------------------------------------- */

/* The tags of TIFF files, some of which are changed before FFmpeg decodes the file. */

/* Removes from the first directory of a TIFF file in memory the tags that say nothing about pixels as they are stored,
 * among them the orientation, which bl_tiff_orientation reads before. A decoder that must refuse damage (AV_EF_EXPLODE)
 * refuses all tags that FFmpeg does not know, and most files have one: the unit of the resolution, notes of cameras and
 * programs. Files without a whole directory stay as they are. */
void bl_tiff_drop_notes(uint8_t *data, size_t size);

/* Changes a grey TIFF file in memory so that its numbers are decoded as they are, also if 0 is white: FFmpeg would
 * invert them. */
void bl_tiff_keep_numbers(uint8_t *data, size_t size);

/* Turns the palette of a TIFF file in memory into one of 16 bits if all its numbers fit 8 bits. Some programs write
 * such palettes; FFmpeg decodes them as black, and libtiff as intended. */
void bl_tiff_widen_palette(uint8_t *data, size_t size);

/* Returns the Orientation tag, 1 to 8, of the first directory of a TIFF file or of EXIF; 1 if there is no complete one.
 */
int bl_tiff_orientation(const uint8_t *data, size_t size);

/* --- header ------------------------------------------------------------------------------------------------------- */

/* The header of an image file: its size, and the memory that decoding it may take, before it is decoded. Nothing in a
 * header is trusted: it may announce more than the file can hold, but not more than the limit. */

struct bl_image_header {
    int64_t width, height; /* pixels, less than 2^32; of several sizes in a file, the largest */
    int bits;              /* of a pixel, as it is decoded */
    int beside;            /* bits of a pixel that the decoder needs for its work */
    int depth;             /* bits of a component in the file */
    bool grey;             /* it has one, beside transparency */
    bool exact;            /* PNG or TIFF of grey with more than 8 bits, which decoders keep */
    bool exact_rgb;        /* PNG or TIFF of RGB with 16 bits, likewise */
    bool indexed;          /* PNG, TIFF or BMP of a palette or of grey with up to 8 bits: numbers, such as of classes */
    bool alpha_unread; /* its opacity is not read: PNG of 1 bit, or TIFF where it is premultiplied or something else */
    char unsupported[96]; /* for a format that is not supported: its name and advice; otherwise empty */
};

/* Reads the header of an open file of `bytes` bytes. *found false: the header is unknown or broken; header->unsupported
 * may be set nevertheless. BL_EFAIL: the file cannot be read. */
int bl_image_header_read(const struct bl_input_file *file, int64_t bytes, const char *path,
                         struct bl_image_header *header, bool *found, struct bl_error *e);

/* Returns the bytes that the decoded image, the file in memory and the decoder take at most. */
int64_t bl_image_header_memory(const struct bl_image_header *header, int64_t bytes);

#endif
