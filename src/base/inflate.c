#include "base/inflate.h"

#include <limits.h>
#include <zlib.h>

int bl_inflate_prefix(const uint8_t *data, size_t size, uint8_t *out, size_t capacity, size_t *got, struct bl_error *e)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data,
                       .avail_in = size < UINT_MAX ? (uInt)size : UINT_MAX,
                       .next_out = out,
                       .avail_out = capacity < UINT_MAX ? (uInt)capacity : UINT_MAX};
    *got = 0;
    if (inflateInit(&stream) != Z_OK)
        return bl_error_memory(e);
    int status = inflate(&stream, Z_SYNC_FLUSH); /* what came before damage is in out */
    (void)inflateEnd(&stream);
    *got = stream.total_out;
    return status == Z_MEM_ERROR ? bl_error_memory(e) : BL_OK;
}
