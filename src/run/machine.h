/* The machine: how many processors and how much memory this process may use. The affinity and the control groups
 * (limits of a container or a batch job) may allow less than the machine has. */
#ifndef BL_MACHINE_H
#define BL_MACHINE_H

#include <stdint.h>

#include "plan/plan.h"
#include "store/format.h"
#include "store/sequences.h"

/* --- machine ------------------------------------------------------------------------------------------------------ */

/* Returns the number of usable processors, at least 1. */
int bl_machine_processors(void);

/* Returns the usable memory in bytes. */
int64_t bl_machine_memory(void);

/* Returns the lowest limit that a control group sets for this process, or INT64_MAX. root: prefix of /proc and /sys, ""
 * outside tests. Memory in bytes, processors in thousandths. */
int64_t bl_machine_group_memory(const char *root);
int64_t bl_machine_group_processors(const char *root);

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Memory: how many workers and blocks in progress fit into it. */

/* The limit that is given, or nine tenths of bl_machine_memory for 0; less what a run takes without any input. */
int64_t bl_memory_for_inputs(int64_t limit);

struct bl_memory_shares {
    int workers;           /* given: the most */
    int slots;             /* jobs in progress */
    int run_blocks;        /* blocks of a job; given: the most */
    int64_t rest;          /* bytes left for inputs that need more than a reader takes, and for the page cache */
    int64_t needed, limit; /* bytes that the run takes, and may take */
};

/* Decides how many workers and blocks fit. reader: bytes of a worker's reader. input: bytes that the largest input
 * needs to be decoded, if that is more; else, or if it is not known, 0. limit: bytes, or 0: nine tenths of
 * bl_machine_memory. A job gets as many blocks as fill a MiB, if they are small, and there are two jobs for each
 * worker; if the limit requires, first jobs become smaller, then fewer; then workers decrease too. BL_EUSAGE, with the
 * numbers, if one worker with one block does not fit; what the largest input needs is demanded only of a limit that is
 * given. */
int bl_memory_resolve(int64_t limit, const struct bl_sequences *table, const struct bl_plan *plan,
                      const struct bl_format *format, int64_t reader, int64_t input, struct bl_memory_shares *shares,
                      struct bl_error *e);

#endif
