/* Keeps the state of a run in DIR/.bload: opens and locks the folder, and stores the checksum of the table and the plan
 * that tasks share. */
#ifndef BL_STATE_H
#define BL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "plan/plan.h"
#include "run/mirror.h"
#include "store/folders.h"
#include "store/plan_info.h"
#include "store/sequences.h"

/* --- state -------------------------------------------------------------------------------------------------------- */

/* The state of a run, in DIR/.bload: a lock, the configuration, the table of the scan, and other intermediate results.
 * From it a stopped run resumes. A finished dataset has no DIR/.bload.
 *
 * One run uses it alone, or many tasks on any number of machines share it. The first task that needs a shared result
 * writes it, once; the results of the others must be the same (base/output.h). */

struct bl_state {
    char *dir;                /* of the dataset */
    char *folder;             /* DIR/.bload */
    char *configuration;      /* DIR/.bload/configuration */
    char *sequences;          /* DIR/.bload/sequences.tsv */
    char *spool;              /* DIR/.bload/spool, a folder */
    int lock;                 /* descriptor of the lock, or -1 */
    bool alone;               /* the file "lock-alone" keeps other runs away, since the file system has no locks */
    int host_lock;            /* lock of a task, which shows other tasks on this machine that one is running; or -1 */
    struct bl_mirror *mirror; /* dir is the scratch of this dataset in a store, which shared results go to; or NULL */
};

/* A state that is not open; closing it is allowed. */
#define BL_STATE_NONE                                                                                                  \
    {                                                                                                                  \
        .lock = -1, .host_lock = -1                                                                                    \
    }

/* Makes DIR and DIR/.bload and takes the lock, which ends with the process. identity: a "name: value" line for
 * everything that decides the dataset. BL_EUSAGE: DIR holds other files, or finished shards of another configuration
 * (the message names the difference); BL_EFAIL: another run is using it. */
int bl_state_open(struct bl_state *state, const char *dir, const char *identity, struct bl_error *e);

/* Looks at DIR as bl_state_open does, but changes nothing and takes no lock. *begun: DIR holds an unfinished dataset of
 * this configuration. BL_EUSAGE: what bl_state_open would refuse. */
int bl_state_examine(const char *dir, const char *identity, bool *begun, struct bl_error *e);

/* The same as bl_state_open for a task: other tasks may run there too, but not a run that needs DIR alone. Removes the
 * incomplete files of tasks killed on this machine if no other task is running on it. Does not check the configuration.
 */
int bl_state_share(struct bl_state *state, const char *dir, struct bl_error *e);

/* Copies DIR/.bload/name, which other tasks need, to the store; nothing if the dataset is in a directory. BL_EDATA: the
 * store has another file of that name. */
int bl_state_share_file(const struct bl_state *state, const char *name, struct bl_error *e);

/* Writes DIR/.bload/name, once. BL_EDATA: the file exists and differs. */
int bl_state_publish(const struct bl_state *state, const char *name, const struct bl_buffer *text, struct bl_error *e);

/* Writes the "name: value" lines to DIR/.bload/name, once. BL_EUSAGE: the file exists and differs; the message names
 * the first difference. */
int bl_state_agree(const struct bl_state *state, const char *name, const char *lines, struct bl_error *e);

/* Sets the configuration of a packing task; it must agree with those of scan and plan. */
int bl_state_configure(const struct bl_state *state, const char *identity, struct bl_error *e);

/* Takes the lock of an unfinished dataset to finish it, and makes nothing. BL_EUSAGE: DIR holds none; BL_EFAIL: other
 * runs are using it. */
int bl_state_adopt(struct bl_state *state, const char *dir, struct bl_error *e);

/* Sets *found if at least one shard is finished. */
int bl_state_has_shards(const struct bl_state *state, bool *found, struct bl_error *e);

/* Sets *found if DIR/.bload exists. */
int bl_state_find(const char *dir, bool *found, struct bl_error *e);

/* Appends the path of a name in DIR/.bload. */
int bl_state_path(const struct bl_state *state, const char *name, struct bl_buffer *path, struct bl_error *e);

/* Appends the value of a line of DIR/.bload/file to value; nothing if there is no such line. */
int bl_state_value(const struct bl_state *state, const char *file, const char *name, struct bl_buffer *value,
                   struct bl_error *e);

/* Appends the value of a line of the configuration in DIR to value; nothing if there is no such line. */
int bl_state_recorded(const char *dir, const char *name, struct bl_buffer *value, struct bl_error *e);

/* Removes DIR/.bload of a finished dataset. */
int bl_state_remove(struct bl_state *state, struct bl_error *e);

/* Removes DIR/.bload of a dataset that is not made after all, and DIR if nothing else is in it. */
int bl_state_discard(struct bl_state *state, struct bl_error *e);

/* Removes the rest of DIR/.bload if a run was killed at its end: the dataset in DIR is complete. */
int bl_state_remove_leftovers(const char *dir, struct bl_error *e);
void bl_state_close(struct bl_state *state);

/* --- checksum of the table ---------------------------------------------------------------------------------------- */

/* The checksum of the table in DIR/.bload, stored beside it, so that a table that was edited or damaged later is not
 * packed. */

/* Stores the checksum of a table that this process has just written. */
int bl_table_checksum_keep(const struct bl_state *state, uint64_t checksum, struct bl_error *e);

/* Checks the table against its stored checksum and sets *checksum to it. A killed run may leave a table without a
 * checksum; then the present one is stored. BL_EFAIL: the table has changed. */
int bl_table_checksum_verify(const struct bl_state *state, uint64_t *checksum, struct bl_error *e);

/* Compares the table, as it was read, with the checksum. BL_EFAIL: the file has changed. */
int bl_table_checksum_compare(const struct bl_sequences *table, uint64_t checksum, struct bl_error *e);

/* Removes the checksum of an earlier table, before a new table is made. */
int bl_table_checksum_forget(const struct bl_state *state, struct bl_error *e);

/* --- saved plan --------------------------------------------------------------------------------------------------- */

/* The plan in DIR/.bload that all tasks share. It is made only once. */

/* Writes the plan for these lengths and its plan_info, once. BL_EFAIL: a different plan exists. */
int bl_saved_plan_publish(const struct bl_state *state, const struct bl_plan *plan, const int64_t *length, size_t count,
                          const struct bl_plan_info *plan_info, struct bl_error *e);

/* Reads the plan if it exists (*found). T: the required length of its blocks, or 0 for any. own: as for bl_index_load.
 * The caller frees the plan with bl_plan_free. BL_EDATA: the plan is damaged, or was made for other lengths. */
int bl_saved_plan_load(const struct bl_state *state, struct bl_plan *plan, struct bl_plan_info *plan_info, int64_t T,
                       const int64_t *length, size_t count, const struct bl_plan_own *own, bool *found,
                       struct bl_error *e);

#endif
