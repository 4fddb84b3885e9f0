/* The parts of a PNG that have nothing to do with its pixels: texts and colour profiles. FFmpeg decompresses them
 * without limit, and puts each text into a list that it searches for every other one. */
#ifndef BL_PNG_NOTES_H
#define BL_PNG_NOTES_H

#include <stddef.h>
#include <stdint.h>

/* Takes them out of a file, or of the packet of a stream of PNG or APNG, in place; returns the size of what is left.
 * Anything that is not made of whole parts stays as it is. */
size_t bl_png_drop_notes(uint8_t *data, size_t size);

#endif
