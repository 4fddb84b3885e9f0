/* A spill: text that grows in memory, and from a size on in a file without a name. The rows of a file may be few or
 * many millions; what waits for its turn to be written must not fill the memory. */
#ifndef BL_SPILL_H
#define BL_SPILL_H

#include "base/buffer.h"
#include "base/error.h"

struct bl_spill {
    const char *dir; /* for the file; NULL: $TMPDIR or /tmp */
    int fd;          /* -1: all of it is in memory */
    int64_t written; /* bytes in the file, which come before those in memory */
    struct bl_buffer tail;
};

void bl_spill_init(struct bl_spill *spill, const char *dir);
/* To be called now and then after something was appended to spill->tail. */
int bl_spill_flush(struct bl_spill *spill, struct bl_error *e);
/* Bytes that were put into it. */
int64_t bl_spill_size(const struct bl_spill *spill);
/* Has write, which knows sink, write all of it. */
int bl_spill_drain(struct bl_spill *spill, int (*write)(void *sink, const void *data, size_t size, struct bl_error *e),
                   void *sink, struct bl_error *e);
void bl_spill_free(struct bl_spill *spill);

#endif
