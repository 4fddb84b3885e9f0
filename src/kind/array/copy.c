#include "kind/array/copy.h"

#include <string.h>

#include "base/checksum.h"
#include "base/io.h"

#define WHAT "an inflated array"

static size_t unit_size(int64_t left)
{
    return (size_t)(left < BL_ARRAY_COPY_UNIT ? left : BL_ARRAY_COPY_UNIT);
}

int bl_array_copy_put(struct bl_array_copy *copy, const uint8_t *data, int64_t size, const char *what,
                      struct bl_error *e)
{
    for (int64_t at = 0; at < size; at += BL_ARRAY_COPY_UNIT)
        copy->checksum[(copy->bytes + at) / BL_ARRAY_COPY_UNIT] = bl_checksum(data + at, unit_size(size - at));
    int code = bl_io_pwrite(copy->fd, data, (size_t)size, copy->begin + copy->bytes, what, e);
    if (!code)
        copy->bytes += size;
    return code;
}

/* Reads a whole unit, and compares it. */
static int copy_read_unit(const struct bl_array_copy *copy, int64_t unit, size_t size, uint8_t *data,
                          struct bl_error *e)
{
    int code = bl_io_pread(copy->fd, data, size, copy->begin + unit * BL_ARRAY_COPY_UNIT, WHAT, e);
    if (!code && bl_checksum(data, size) != copy->checksum[unit])
        code = bl_error_set(e, BL_EFAIL, WHAT ": what was read is not what was written: the disk or memory fails");
    return code;
}

int bl_array_copy_read(const struct bl_array_copy *copy, uint8_t *data, size_t size, int64_t offset, struct bl_error *e)
{
    uint8_t part[BL_ARRAY_COPY_UNIT];
    for (size_t done = 0; done < size;) {
        int64_t unit = offset / BL_ARRAY_COPY_UNIT;
        size_t whole = unit_size(copy->bytes - unit * BL_ARRAY_COPY_UNIT), skip = (size_t)(offset % BL_ARRAY_COPY_UNIT);
        size_t n = whole - skip < size - done ? whole - skip : size - done;
        uint8_t *to = n == whole ? data + done : part; /* a whole unit is read to where it belongs */
        int code = copy_read_unit(copy, unit, whole, to, e);
        if (code)
            return code;
        if (to == part)
            memcpy(data + done, part + skip, n);
        done += n;
        offset += (int64_t)n;
    }
    return BL_OK;
}
