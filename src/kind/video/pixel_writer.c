/* Writes the pixels that --pixels names; colour.h has the contract. */
#include <string.h>

#include "kind/video/colour.h"

#define GROUP 32 /* numbers written at a time */
#define INLINE inline __attribute__((always_inline))

/* Writes the numbers that words were made from, as 16-bit numbers in the byte order of the processor. */
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

/* Writes depths in metres, F32: the numbers that words were made from, divided by the numbers in a metre. */
static void depths_write(const uint16_t *words, int depth, double per_metre, int count, uint8_t *out)
{
    for (int i = 0; i < count; i++, out += sizeof(float)) {
        float metres = (float)((words[i] >> (16 - depth)) / per_metre);
        memcpy(out, &metres, sizeof metres);
    }
}

/* Writes indices, whose words have the index of 8 bits as their high byte, and a bit alone as 0 or 255. */
static void indices_write(const uint16_t *restrict words, uint8_t mask, int count, uint8_t *restrict out)
{
    for (int i = 0; i < count; i++)
        out[i] = (uint8_t)((words[i] >> 8) & mask);
}

/* Writes the numbers of three components side by side. */
static void triples_write(const uint16_t *const plane[3], int depth, int count, uint8_t *out)
{
    for (int i = 0; i < count; i++) {
        for (int c = 0; c < 3; c++, out += sizeof(uint16_t)) {
            uint16_t number = (uint16_t)(plane[c][i] >> (16 - depth));
            memcpy(out, &number, sizeof number);
        }
    }
}

/* Writes RGB and alpha side by side. */
static void rgba_write(const struct bl_pixel_writer *w, const uint16_t *const plane[4], int count,
                       uint8_t *restrict out)
{
    uint8_t *restrict rgb = w->levels, *restrict alpha = rgb + 3 * (size_t)count;
    bl_colour_row(&w->colour, w->simd, plane, count, rgb);
    if (w->has_alpha)
        bl_colour_grey_row(&w->alpha, w->simd, plane[3], count, alpha);
    else
        memset(alpha, UINT8_MAX, (size_t)count);
    for (int i = 0; i < count; i++) {
        memcpy(out + 4 * (size_t)i, rgb + 3 * (size_t)i, 3);
        out[4 * (size_t)i + 3] = alpha[i];
    }
}

/* Copies pixels to places that are step bytes apart; size is a constant in each call, for speed. */
static INLINE void pixels_scatter(const uint8_t *from, int size, int count, uint8_t *to, ptrdiff_t step)
{
    for (int i = 0; i < count; i++, from += size, to += step)
        memcpy(to, from, (size_t)size);
}

/* Converts count words of each plane (of one channel: of the first) to pixels that are neighbours. */
static void pixel_writer_convert(const struct bl_pixel_writer *w, const uint16_t *const plane[4], int count,
                                 uint8_t *row)
{
    switch (w->channels) {
    case BL_CHANNELS_RGB:
        bl_colour_row(&w->colour, w->simd, plane, count, row);
        return;
    case BL_CHANNELS_GRAY:
        bl_colour_grey_row(&w->colour, w->simd, plane[0], count, row);
        return;
    case BL_CHANNELS_GRAY16:
        numbers_write(plane[0], w->depth, count, row);
        return;
    case BL_CHANNELS_INDEX:
        indices_write(plane[0], w->mask, count, row);
        return;
    case BL_CHANNELS_RGB16:
        triples_write(plane, w->depth, count, row);
        return;
    case BL_CHANNELS_RGBA:
        rgba_write(w, plane, count, row);
        return;
    case BL_CHANNELS_DEPTH:
        depths_write(plane[0], w->depth, w->per_metre, count, row);
        return;
    case BL_CHANNELS_FLOW: /* no frames: bl_convert_check refuses them */
        return;
    }
}

void bl_pixel_writer_put(const struct bl_pixel_writer *w, const uint16_t *const plane[4], int x, int y, int count)
{
    uint8_t *to = w->origin + y * w->step_y + x * w->step_x;
    int size = bl_channels_bytes(w->channels);
    uint8_t *row = w->step_x == size ? to : w->row;
    pixel_writer_convert(w, plane, count, row);
    if (row == to)
        return;
    if (size == 6)
        pixels_scatter(row, 6, count, to, w->step_x);
    else if (size == 4)
        pixels_scatter(row, 4, count, to, w->step_x);
    else if (size == 3)
        pixels_scatter(row, 3, count, to, w->step_x);
    else if (size == 2)
        pixels_scatter(row, 2, count, to, w->step_x);
    else
        pixels_scatter(row, 1, count, to, w->step_x);
}
