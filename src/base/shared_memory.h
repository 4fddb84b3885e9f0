/* Memory that other processes map, too, by its descriptor. */
#ifndef BL_SHARED_MEMORY_H
#define BL_SHARED_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_shared_memory {
    uint8_t *data; /* page-aligned; NULL: none */
    size_t size;
    int fd; /* -1: closed */
};

/* Makes so many bytes of zeros, of which pages are allocated when they are first written. */
int bl_shared_memory_make(struct bl_shared_memory *memory, size_t size, struct bl_error *e);

/* Maps what another process made, all of it at once, which is much faster than page after page, and takes over its
 * descriptor. Also to be freed after a failure. */
int bl_shared_memory_map(struct bl_shared_memory *memory, int fd, size_t size, struct bl_error *e);

/* Closes the descriptor: no other process will map it. */
void bl_shared_memory_close_fd(struct bl_shared_memory *memory);

/* Initialize with {0}. */
void bl_shared_memory_free(struct bl_shared_memory *memory);

#endif
