/* Decompresses zlib data (RFC 1950) that is in memory. */
#ifndef BL_INFLATE_H
#define BL_INFLATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Decompresses the beginning of data into out, up to its capacity, and sets *got, the number of bytes in out: fewer
 * where the data ends or is damaged. BL_EFAIL: out of memory. */
int bl_inflate_prefix(const uint8_t *data, size_t size, uint8_t *out, size_t capacity, size_t *got, struct bl_error *e);

#endif
