/* Memory for several workers or processes: a budget that bounds what workers use together, and memory that processes
 * share. */
#ifndef BL_MEMORY_BUDGET_H
#define BL_MEMORY_BUDGET_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"

/* --- memory budget ------------------------------------------------------------------------------------------------ */

/* A number of bytes that several workers share. Requests block until enough memory is released. */

struct bl_memory_budget {
    pthread_mutex_t lock;
    pthread_cond_t given;
    int64_t total, left; /* left: less than 0 where some was charged */
    uint64_t came, went; /* numbers of those who wait: they are served in turn */
    double waited;       /* seconds, of all who did */
};

/* A total may be less than 0; there is always one byte to take turns for. Needs bl_memory_budget_free afterwards. */
void bl_memory_budget_init(struct bl_memory_budget *budget, int64_t total);
void bl_memory_budget_free(struct bl_memory_budget *budget);

/* Waits for so many bytes; more than the total: for all of it, and then *bytes is that. The caller must hold none,
 * or two of them could wait for each other. BL_ECANCEL. */
int bl_memory_budget_take(struct bl_memory_budget *budget, int64_t *bytes, const struct bl_cancel *cancel,
                          struct bl_error *e);

/* Takes them although they are not left, for a need that shows itself when others are held. */
void bl_memory_budget_charge(struct bl_memory_budget *budget, int64_t bytes);
void bl_memory_budget_give(struct bl_memory_budget *budget, int64_t bytes);

/* --- shared memory ------------------------------------------------------------------------------------------------ */

/* Memory that other processes map, too, by its descriptor. */

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
