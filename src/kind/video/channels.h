/* What a pixel of the frames is made of (--pixels). */
#ifndef BL_CHANNELS_H
#define BL_CHANNELS_H

#include <stdint.h>

#include "kind/field.h"

enum bl_channels {
    BL_CHANNELS_RGB,    /* U8 [3] */
    BL_CHANNELS_GRAY,   /* U8 [1]: luma, 0 to 255 */
    BL_CHANNELS_GRAY16, /* U16 [1]: the numbers of the file, of grey pictures of 9 to 16 bits */
};

/* Sets type and shape of a field whose steps are pictures of this size. */
void bl_channels_set_field(enum bl_channels channels, int width, int height, struct bl_field *field);

/* Bytes of a pixel. */
int bl_channels_bytes(enum bl_channels channels);

/* The luma of ITU-R BT.601-2 in 16-bit fixed point, as Pillow's convert("L") has it; of components of up to 16 bits. */
static inline uint32_t bl_channels_luma(uint32_t red, uint32_t green, uint32_t blue)
{
    return (19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16;
}

#endif
