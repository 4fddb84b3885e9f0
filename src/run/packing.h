/* Turns inputs into a dataset, in steps that many processes may share: open, table, plan, write, finish.
 *
 * `bload pack` does all steps. With a task, the process writes its own shards, and bl_finish_run finishes the dataset
 * after all tasks are done. `bload plan DIR` stops after the plan. Opening compares an existing dataset with the
 * request: either it is complete, or shards are missing and are made again. A run keeps its intermediate files in
 * DIR/.bload (run/state.h), so that the same request resumes where an earlier run stopped.
 *
 * Nothing is printed: faults, progress and messages go to the caller's functions. */
#ifndef BL_PACKING_H
#define BL_PACKING_H

#include "run/job.h"

/* Compares the request with the directory and takes its lock. The caller must close *packing even after an error; it is
 * NULL only if memory ran out. BL_EUSAGE: the directory holds something else (the message names the difference);
 * BL_EFAIL: another run is using it. */
int bl_packing_open(struct bl_packing **packing, const struct bl_packing_request *request, struct bl_error *e);

/* Whether no work is left: the dataset is complete, or with plan_only, planned. */
bool bl_packing_is_complete(const struct bl_packing *packing);

/* Gets the table of sequences from an earlier run, or scans the inputs. BL_EFAIL: no usable input, or more faults than
 * the options allow. */
int bl_packing_table(struct bl_packing *packing, struct bl_error *e);

/* Makes the plan, or takes the given one or another task's, and derives from it the layout of the shards, the memory to
 * use, and the draft of the manifest. BL_EUSAGE: the options do not fit the inputs or the machine. */
int bl_packing_plan(struct bl_packing *packing, struct bl_error *e);

/* Writes the shards: all, the task's, or the missing ones. */
int bl_packing_write(struct bl_packing *packing, struct bl_error *e);

/* Writes index, tables and manifest, and removes DIR/.bload. With a task it does nothing. */
int bl_packing_finish(struct bl_packing *packing, struct bl_error *e);

/* The result of the steps done so far. Texts and pointers live as long as the packing. */
struct bl_packing_result {
    bool partial; /* some inputs were unusable or only partly usable */
    const struct bl_sequences *table;
    const struct bl_plan *plan;
    const struct bl_plan_info *plan_info;
    const struct bl_format *format;
    const struct bl_finished *finished;
    int64_t shard_begin, shard_end; /* of the task */
    int64_t repaired;               /* shards of a finished dataset that were made again */
    int64_t suppressed;             /* faults that were not reported individually */
    double rate;                    /* steps per second */
    const char *attributes;         /* "weight F64, split is text, ..."; or NULL */
    const char *unused;             /* rows of the table of attributes that match no sequence; or NULL */
};

void bl_packing_result(const struct bl_packing *packing, struct bl_packing_result *result);

/* Returns the heartbeat, which the caller ends, since it knows the exit status. NULL: there is none. */
struct bl_heartbeat *bl_packing_heartbeat(struct bl_packing *packing);

/* NULL is accepted. */
void bl_packing_close(struct bl_packing *packing);

/* Appends a "name: value" line for everything that decides the dataset's bytes, except the contents of the inputs and
 * the versions of bload and its libraries. */
int bl_packing_identify(const struct bl_packing_request *request, struct bl_buffer *lines, struct bl_error *e);

#endif
