/* The inflated copy of a deflated array (inflated.h), in a file that it shares with others. */
#ifndef BL_ARRAY_COPY_H
#define BL_ARRAY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_array_copy {
    int fd;             /* the file of all copies */
    int64_t begin;      /* offset of the first element in that file */
    int64_t bytes;      /* of the elements that could be inflated: all, or those before the first damage */
    bool sound;         /* all were, and the checksum of the archive's member is right */
    uint64_t *checksum; /* of each BL_ARRAY_COPY_UNIT bytes; owned */
};

#define BL_ARRAY_COPY_UNIT ((int64_t)16 << 10)

/* Appends size bytes, a multiple of the unit or the last. There is room for their checksums. what: for messages. */
int bl_array_copy_put(struct bl_array_copy *copy, const uint8_t *data, int64_t size, const char *what,
                      struct bl_error *e);

/* Reads bytes that were put. BL_EFAIL: they are not those that were. */
int bl_array_copy_read(const struct bl_array_copy *copy, uint8_t *data, size_t size, int64_t offset,
                       struct bl_error *e);

#endif
