/* A spill: text that grows in memory, and beyond 1 MiB in a file without a name. A file may have many millions of rows,
 * which must not fill the memory while they wait to be written. What is read from it is compared with its checksum. */
#ifndef BL_SPILL_H
#define BL_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* What was written at once. */
struct bl_spill_part {
    size_t bytes;
    uint64_t checksum;
};

struct bl_spill {
    const char *dir; /* of the file; NULL: $TMPDIR or /tmp */
    int fd;          /* -1: all of it is in memory */
    int64_t written; /* bytes in the file, before those in memory */
    struct bl_spill_part *part;
    size_t parts, parts_capacity;
    struct bl_buffer tail;
};

void bl_spill_init(struct bl_spill *spill, const char *dir);
/* To be called from time to time after appending to spill->tail. */
int bl_spill_flush(struct bl_spill *spill, struct bl_error *e);
/* In bytes. */
int64_t bl_spill_size(const struct bl_spill *spill);
/* Passes all of it to write. */
int bl_spill_drain(struct bl_spill *spill, int (*write)(void *sink, const void *data, size_t size, struct bl_error *e),
                   void *sink, struct bl_error *e);
void bl_spill_free(struct bl_spill *spill);

#endif
