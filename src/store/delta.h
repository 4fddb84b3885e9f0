/* Differences of pictures, modulo 256, along rows, columns and colours, which zstd compresses better than the pictures.
 *
 * Each byte is the difference of the sums along one axis, so that the order of axes does not matter: sums along the
 * three axes in 8 bits (numpy.cumsum) restore the picture. See docs/performance.md for the alternatives that were
 * measured. */
#ifndef BL_DELTA_H
#define BL_DELTA_H

#include <stddef.h>
#include <stdint.h>

/* In place, for consecutive pictures of that shape, [height, width, 3 or 1]. */
void bl_delta_encode(uint8_t *data, size_t pictures, const int64_t shape[3]);
void bl_delta_decode(uint8_t *data, size_t pictures, const int64_t shape[3]);

#endif
