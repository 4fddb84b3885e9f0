#include "scan/spill.h"

#include <unistd.h>

#include "base/io.h"
#include "base/temporary.h"

#define IN_MEMORY ((size_t)1 << 20)

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
    code = bl_io_write(spill->fd, spill->tail.data, spill->tail.size, "rows that wait to be written", e);
    if (code)
        return code;
    spill->written += (int64_t)spill->tail.size;
    bl_buffer_clear(&spill->tail);
    return BL_OK;
}

int64_t bl_spill_size(const struct bl_spill *spill)
{
    return spill->written + (int64_t)spill->tail.size;
}

int bl_spill_drain(struct bl_spill *spill, int (*write)(void *sink, const void *data, size_t size, struct bl_error *e),
                   void *sink, struct bl_error *e)
{
    char chunk[1 << 16];
    int code = BL_OK;
    for (int64_t at = 0; at < spill->written && !code;) {
        int64_t left = spill->written - at;
        size_t size = left < (int64_t)sizeof chunk ? (size_t)left : sizeof chunk;
        code = bl_io_pread(spill->fd, chunk, size, at, "rows that wait to be written", e);
        if (!code)
            code = write(sink, chunk, size, e);
        at += (int64_t)size;
    }
    if (code || !spill->tail.size)
        return code;
    return write(sink, spill->tail.data, spill->tail.size, e);
}

void bl_spill_free(struct bl_spill *spill)
{
    if (spill->fd >= 0)
        close(spill->fd);
    bl_buffer_free(&spill->tail);
    bl_spill_init(spill, NULL);
}
