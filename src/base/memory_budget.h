/* Memory that several workers share, in bytes: who needs more than is left waits until others have given enough back.
 */
#ifndef BL_MEMORY_BUDGET_H
#define BL_MEMORY_BUDGET_H

#include <pthread.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"

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

#endif
