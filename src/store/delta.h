/* Differences of pictures, modulo 256, along rows, columns and colours: what zstd makes less of than of the pictures.
 *
 * Each is the difference of the sums along one axis, so that the order does not matter, and sums along the three axes,
 * in 8 bits, give the picture: numpy.cumsum. See docs/performance.md for others that were tried. */
#ifndef BL_DELTA_H
#define BL_DELTA_H

#include <stddef.h>
#include <stdint.h>

/* In place, of `pictures` pictures [height, width, 3] that lie one after the other. */
void bl_delta_encode(uint8_t *data, size_t pictures, size_t height, size_t width);
void bl_delta_decode(uint8_t *data, size_t pictures, size_t height, size_t width);

#endif
