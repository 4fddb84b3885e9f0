/* Memory: how many workers and blocks under way fit into what there is. */
#ifndef BL_MEMORY_H
#define BL_MEMORY_H

#include "plan/plan.h"
#include "store/format.h"
#include "store/sequences.h"

/* reader: bytes that a worker's reader takes. Sets *slots, the blocks under way: two for each worker, or fewer where
 * the limit (bytes; 0: nine tenths of what bl_machine_memory says) does not allow that, and then lowers *workers.
 * *rest: what is left of the limit, which the page cache may take. BL_EUSAGE, with the figures, when not even one
 * worker with one block fits. */
int bl_memory_resolve(int64_t limit, const struct bl_sequences *table, const struct bl_plan *plan,
                      const struct bl_format *format, int64_t reader, int *workers, int *slots, int64_t *rest,
                      struct bl_error *e);

#endif
