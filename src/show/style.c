#include "show/style.h"

uint32_t bl_style_colour(uint64_t i)
{
    static const uint32_t colour[BL_STYLE_COLOURS] = {BL_COLOUR_BLUE, 0xa8521c, 0x27784a, 0xa33b6e, 0x6a5fc4, 0x76681a,
                                                      0x177a86,       0xb83a3a, 0x4f7a1f, 0x9243a8, 0x8a5a35, 0x4a6a8f};
    return colour[i % BL_STYLE_COLOURS];
}
