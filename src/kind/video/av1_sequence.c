#include "kind/video/av1_sequence.h"

/* The timing information; returns the bits of a point's delays, or 0 if points have none. */
static unsigned timing_skip(struct bl_bits *b)
{
    bl_bits_skip(b, 64);
    if (bl_bits_get(b, 1))
        (void)bl_bits_unsigned(b);
    if (!bl_bits_get(b, 1)) /* decoder_model_info_present_flag */
        return 0;
    unsigned bits = bl_bits_get(b, 5) + 1;
    bl_bits_skip(b, 42);
    return bits;
}

static void points_skip(struct bl_bits *b)
{
    unsigned bits = bl_bits_get(b, 1) ? timing_skip(b) : 0;
    bool delays = bl_bits_get(b, 1);
    for (unsigned points = bl_bits_get(b, 5) + 1; points > 0; points--) {
        bl_bits_skip(b, 12);
        if (bl_bits_get(b, 5) > 7)
            bl_bits_skip(b, 1);
        if (bits && bl_bits_get(b, 1))
            bl_bits_skip(b, 2 * bits + 1);
        if (delays && bl_bits_get(b, 1))
            bl_bits_skip(b, 4);
    }
}

static void tools_skip(struct bl_bits *b)
{
    bl_bits_skip(b, 4);
    bool orders = bl_bits_get(b, 1);
    if (orders)
        bl_bits_skip(b, 2);
    bool screen = bl_bits_get(b, 1) || bl_bits_get(b, 1);
    if (screen && !bl_bits_get(b, 1))
        bl_bits_skip(b, 1);
    if (orders)
        bl_bits_skip(b, 3);
}

static void size_skip(struct bl_bits *b, bool reduced)
{
    unsigned width_bits = bl_bits_get(b, 4) + 1, height_bits = bl_bits_get(b, 4) + 1;
    bl_bits_skip(b, width_bits + height_bits);
    if (!reduced && bl_bits_get(b, 1)) /* frame_id_numbers_present_flag */
        bl_bits_skip(b, 7);
}

bool bl_av1_sequence_read(const uint8_t *data, size_t size, struct bl_picture_tags *tags)
{
    struct bl_bits b = {.data = data, .size = size};
    unsigned profile = bl_bits_get(&b, 3);
    bl_bits_skip(&b, 1);
    bool reduced = bl_bits_get(&b, 1); /* reduced_still_picture_header */
    if (reduced)
        bl_bits_skip(&b, 5);
    else
        points_skip(&b);
    size_skip(&b, reduced);
    bl_bits_skip(&b, 3);
    if (!reduced)
        tools_skip(&b);
    bl_bits_skip(&b, 3);
    if (bl_bits_get(&b, 1) && profile == 2) /* high_bitdepth */
        bl_bits_skip(&b, 1);
    if (profile != 1)
        bl_bits_skip(&b, 1);
    *tags = BL_PICTURE_UNTAGGED;
    if (bl_bits_get(&b, 1)) {
        bl_bits_skip(&b, 8);
        tags->transfer = (uint8_t)bl_bits_get(&b, 8);
        tags->matrix = (uint8_t)bl_bits_get(&b, 8);
    }
    return !bl_bits_ended(&b);
}
