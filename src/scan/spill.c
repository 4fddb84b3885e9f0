#include "scan/spill.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/io.h"
#include "base/output.h"

#define IN_MEMORY ((size_t)1 << 20)
#define WHAT "rows that wait to be written"

void bl_spill_init(struct bl_spill *spill, const char *dir)
{
    *spill = (struct bl_spill){.dir = dir, .fd = -1};
}

int bl_spill_flush(struct bl_spill *spill, struct bl_error *e)
{
    int code = bl_buffer_check(&spill->tail, e);
    if (code || spill->tail.size < IN_MEMORY)
        return code;
    if (spill->fd < 0)
        spill->fd = bl_temporary_open(spill->dir, e);
    if (spill->fd < 0)
        return spill->fd;
    code = BL_ARRAY_RESERVE(spill->part, spill->parts_capacity, spill->parts + 1, e);
    if (code)
        return code;
    code = bl_io_write(spill->fd, spill->tail.data, spill->tail.size, WHAT, e);
    if (code)
        return code;
    spill->part[spill->parts++] =
        (struct bl_spill_part){spill->tail.size, bl_checksum(spill->tail.data, spill->tail.size)};
    spill->written += (int64_t)spill->tail.size;
    bl_buffer_clear(&spill->tail);
    return BL_OK;
}

int64_t bl_spill_size(const struct bl_spill *spill)
{
    return spill->written + (int64_t)spill->tail.size;
}

typedef int spill_write(void *sink, const void *data, size_t size, struct bl_error *e);

static int spill_drain_part(const struct bl_spill *spill, const struct bl_spill_part *part, int64_t at,
                            spill_write *write, void *sink, struct bl_error *e)
{
    char *data = malloc(part->bytes);
    if (!data)
        return bl_error_memory(e);
    int code = bl_io_pread(spill->fd, data, part->bytes, at, WHAT, e);
    if (!code && bl_checksum(data, part->bytes) != part->checksum)
        code = bl_error_set(e, BL_EFAIL, WHAT ": what was read is not what was written: the disk or memory fails");
    if (!code)
        code = write(sink, data, part->bytes, e);
    free(data);
    return code;
}

int bl_spill_drain(struct bl_spill *spill, int (*write)(void *sink, const void *data, size_t size, struct bl_error *e),
                   void *sink, struct bl_error *e)
{
    int64_t at = 0;
    for (size_t i = 0; i < spill->parts; i++) {
        int code = spill_drain_part(spill, &spill->part[i], at, write, sink, e);
        if (code)
            return code;
        at += (int64_t)spill->part[i].bytes;
    }
    if (!spill->tail.size)
        return BL_OK;
    return write(sink, spill->tail.data, spill->tail.size, e);
}

void bl_spill_free(struct bl_spill *spill)
{
    if (spill->fd >= 0)
        close(spill->fd);
    free(spill->part);
    bl_buffer_free(&spill->tail);
    bl_spill_init(spill, NULL);
}
