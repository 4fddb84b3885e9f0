/* Memory: how many workers and blocks in progress fit into it. */
#ifndef BL_MEMORY_H
#define BL_MEMORY_H

#include "plan/plan.h"
#include "store/format.h"
#include "store/sequences.h"

/* The limit that is given, or nine tenths of bl_machine_memory for 0; less what a run takes without any input. */
int64_t bl_memory_for_inputs(int64_t limit);

/* Decides how many workers and blocks fit. reader: bytes of a worker's reader. input: bytes that the largest input
 * needs to be decoded, if that is more; else, or if it is not known, 0. limit: bytes, or 0: nine tenths of
 * bl_machine_memory. *slots, the blocks in progress, becomes two per worker, or fewer if the limit requires; then
 * *workers decreases too. *rest: bytes left for inputs that need more than a reader takes, and for the page cache.
 * BL_EUSAGE, with the numbers, if one worker with one block does not fit; what the largest input needs is demanded only
 * of a limit that is given. */
int bl_memory_resolve(int64_t limit, const struct bl_sequences *table, const struct bl_plan *plan,
                      const struct bl_format *format, int64_t reader, int64_t input, int *workers, int *slots,
                      int64_t *rest, struct bl_error *e);

#endif
