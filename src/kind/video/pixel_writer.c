#include "kind/video/pixel_writer.h"

#include <string.h>

#define GROUP 32 /* numbers written at a time */
#define INLINE inline __attribute__((always_inline))

/* Words back to the numbers that they were made of. */
static void numbers_write(const uint16_t *restrict words, int depth, int count, uint8_t *restrict out)
{
    uint16_t some[GROUP] = {0};
    int spare = 16 - depth, whole = count / GROUP * GROUP;
    for (int x = 0; x < whole; x += GROUP) {
        for (int i = 0; i < GROUP; i++)
            some[i] = (uint16_t)(words[x + i] >> spare);
        memcpy(out + 2 * (size_t)x, some, sizeof some);
    }
    for (int i = 0; i < count - whole; i++)
        some[i] = (uint16_t)(words[whole + i] >> spare);
    memcpy(out + 2 * (size_t)whole, some, (size_t)(count - whole) * sizeof *some);
}

static void pixels_write(const struct bl_pixel_writer *w, const uint16_t *const plane[3], int count, uint8_t *out)
{
    switch (w->channels) {
    case BL_CHANNELS_RGB:
        bl_colour_row(&w->colour, w->simd, plane, count, out);
        break;
    case BL_CHANNELS_GRAY:
        bl_colour_grey_row(&w->colour, w->simd, plane[0], count, out);
        break;
    case BL_CHANNELS_GRAY16:
        numbers_write(plane[0], w->depth, count, out);
        break;
    }
}

/* Copies pixels to places that are step bytes apart; size a constant, for speed. */
static INLINE void pixels_scatter(const uint8_t *from, int size, int count, uint8_t *to, ptrdiff_t step)
{
    for (int i = 0; i < count; i++, from += size, to += step)
        memcpy(to, from, (size_t)size);
}

void bl_pixel_writer_put(const struct bl_pixel_writer *w, const uint16_t *const plane[3], int x, int y, int count)
{
    uint8_t *to = w->origin + y * w->step_y + x * w->step_x;
    int size = bl_channels_bytes(w->channels);
    if (w->step_x == size) {
        pixels_write(w, plane, count, to);
        return;
    }
    pixels_write(w, plane, count, w->row);
    if (size == 3)
        pixels_scatter(w->row, 3, count, to, w->step_x);
    else if (size == 2)
        pixels_scatter(w->row, 2, count, to, w->step_x);
    else
        pixels_scatter(w->row, 1, count, to, w->step_x);
}
