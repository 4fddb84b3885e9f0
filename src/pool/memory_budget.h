/* Limits the total memory of the workers by a budget, and maps memory that processes share.
 *
 * Workers take bytes before they allocate and release them afterwards, so that 16 workers with large images use no more
 * memory together than the user allows. */
#ifndef BL_MEMORY_BUDGET_H
#define BL_MEMORY_BUDGET_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"

/* --- memory budget ------------------------------------------------------------------------------------------------ */

/* A number of bytes that several workers share. Requests block until enough bytes are released. All members are guarded
 * by the lock. */

struct bl_memory_budget {
    pthread_mutex_t lock;
    pthread_cond_t given;                /* signalled when bytes are released or the next ticket is called */
    int64_t total, left;                 /* bytes; left is negative while charged bytes exceed the budget */
    uint64_t next_ticket, served_ticket; /* FIFO: the next to issue; the one whose turn it is */
    double waited;                       /* seconds that all requests together have waited */
};

/* Initializes a budget of `total` bytes. A total of 0 or less gives a budget of one byte, so that requests are granted
 * one at a time. The caller ends the budget with bl_memory_budget_free, after the last worker has ended. */
void bl_memory_budget_init(struct bl_memory_budget *budget, int64_t total);
void bl_memory_budget_free(struct bl_memory_budget *budget);

/* Waits until *bytes are left and takes them. A request for more than the total is reduced to the total, and *bytes is
 * set to it. The caller must not hold bytes of the budget: two such callers could wait for each other for ever.
 * Requests are granted in order of arrival, so that small requests cannot starve a large one. Returns BL_ECANCEL if the
 * cancel flag is set first; then nothing is taken. Takes the lock. */
int bl_memory_budget_take(struct bl_memory_budget *budget, int64_t *bytes, const struct bl_cancel *cancel,
                          struct bl_error *e);

/* Takes bytes without waiting, even if fewer are left: for a caller that already holds bytes and finds that it needs
 * more. */
void bl_memory_budget_charge(struct bl_memory_budget *budget, int64_t bytes);
/* Releases bytes and wakes the waiting requests. */
void bl_memory_budget_give(struct bl_memory_budget *budget, int64_t bytes);

/* --- shared memory ------------------------------------------------------------------------------------------------ */

/* Memory that other processes can map, too, by its file descriptor. The struct owns the mapping and the descriptor. */

struct bl_shared_memory {
    uint8_t *data; /* page-aligned; NULL: none */
    size_t size;
    int fd; /* -1: closed */
};

/* Makes size bytes of zeros. The kernel allocates each page when it is first written. BL_EFAIL: the system refuses. */
int bl_shared_memory_make(struct bl_shared_memory *memory, size_t size, struct bl_error *e);

/* Maps the memory behind fd, which another process made, and owns fd from then on. All pages are mapped at once, which
 * is much faster than a page fault for each. After a failure the caller must free it, too, since it owns fd. */
int bl_shared_memory_map(struct bl_shared_memory *memory, int fd, size_t size, struct bl_error *e);

/* Closes the descriptor when no other process needs it any more. The mapping stays. */
void bl_shared_memory_close_fd(struct bl_shared_memory *memory);

/* Unmaps the memory and closes the descriptor. A struct that is {0} is accepted. */
void bl_shared_memory_free(struct bl_shared_memory *memory);

#endif
