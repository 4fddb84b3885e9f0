/* The tags of TIFF files. */
#ifndef BL_TIFF_H
#define BL_TIFF_H

#include <stddef.h>
#include <stdint.h>

/* Removes from the first directory of a TIFF file in memory the tags that say nothing about pixels as they are stored,
 * among them the orientation, which bl_tiff_orientation reads before. A decoder that is
 * to refuse damage (AV_EF_EXPLODE) refuses all tags that FFmpeg does not know, and most files have one: the unit of
 * the resolution, notes of cameras and programs. Files without a whole directory stay as they are. */
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

#endif
