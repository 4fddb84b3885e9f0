#include "kind/video/picture_tags.h"

struct bl_picture_tags bl_picture_tags_read(struct bl_bits *b)
{
    struct bl_picture_tags tags = BL_PICTURE_UNTAGGED;
    if (bl_bits_get(b, 1) && bl_bits_get(b, 8) == 255) /* an aspect ratio of its own */
        bl_bits_skip(b, 32);
    if (bl_bits_get(b, 1)) /* overscan_info_present_flag */
        bl_bits_skip(b, 1);
    if (!bl_bits_get(b, 1)) /* video_signal_type_present_flag */
        return tags;
    bl_bits_skip(b, 4);
    if (!bl_bits_get(b, 1)) /* colour_description_present_flag */
        return tags;
    bl_bits_skip(b, 8);
    tags.transfer = (uint8_t)bl_bits_get(b, 8);
    tags.matrix = (uint8_t)bl_bits_get(b, 8);
    return tags;
}
