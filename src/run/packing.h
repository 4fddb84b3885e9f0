/* Packing: the steps that turn inputs into a dataset, and the counts of inputs that could not be used. */
#ifndef BL_PACKING_H
#define BL_PACKING_H

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/option.h"
#include "run/input_set.h"
#include "plan/options.h"
#include "run/bottleneck.h"
#include "run/finish.h"
#include "run/heartbeat.h"
#include "run/options.h"
#include "run/state_files.h"
#include "scan/subset.h"
#include "store/sequences.h"
#include "store/view.h"

/* --- counts of faults --------------------------------------------------------------------------------------------- */

/* How many inputs were unusable or only partly usable, in words: the reason of exit status 3. */

struct bl_fault_counts {
    int64_t skipped, failed, damaged;
    int64_t failed_steps; /* of failed inputs, zeros in the blocks; 0: unknown */
};

/* Counts the faults of a table. */
struct bl_fault_counts bl_fault_counts_of(const struct bl_sequences *table);

/* Appends "2 inputs skipped, 1 failed (20 steps are zeros), 3 damaged", without counts of 0. */
void bl_fault_counts_append(struct bl_buffer *out, const struct bl_fault_counts *counts);

/* --- steps of packing --------------------------------------------------------------------------------------------- */

/* Turns inputs into a dataset, in steps that many processes may share: open, table, plan, write, finish.
 *
 * `bload pack` does all steps. With a task, the process writes its own shards, and bl_finish_run finishes the dataset
 * after all tasks are done. `bload plan DIR` stops after the plan. Opening compares an existing dataset with the
 * request: either it is complete, or shards are missing and are made again. A run keeps its intermediate files in
 * DIR/.bload (run/state.h), so that the same request resumes where an earlier run stopped.
 *
 * Nothing is printed: faults, progress and messages go to the caller's functions. */

/* Called on the caller's thread. Each may be NULL. */
struct bl_packing_events {
    void *sink;
    /* An input is skipped, failed or damaged; the row has the status and the reason. */
    void (*fault)(void *sink, const struct bl_row *row);
    /* Called at least several times a second during a stage. */
    void (*progress)(void *sink, const struct bl_progress *progress);
    /* The stage has ended. */
    void (*progress_end)(void *sink);
    /* A line for the user. important: show it even if the user wants no messages. */
    void (*message)(void *sink, bool important, const char *text);
};

/* What to pack, and how. All of it must outlive the packing. */
struct bl_packing_request {
    const char *output;              /* the dataset's directory */
    struct bl_input_set *inputs;     /* listed, kind known or in the table; packing closes attributes */
    struct bl_view *view;            /* opened, to be packed instead of inputs: see run/from_view.h; or NULL */
    const char *sequences;           /* a table to pack, so that no scan is needed; or NULL */
    const char *plan;                /* a plan of that table, or NULL */
    const char *spool;               /* folder for tokens and inflated arrays, or NULL: DIR/.bload/spool */
    struct bl_pack_options *options; /* their SIMD level is resolved here, and durations of the next: */
    const struct bl_subset_options *subset;
    struct bl_plan_options *plan_options; /* part of the identity */
    const struct bl_options *given;       /* the option groups bound to these structs */
    struct bl_task task;
    bool plan_only; /* only open, table and plan, from the parts of tasks' scans in DIR */
    bool repair;    /* read a finished dataset to find damaged shards */
    bool dry_run;   /* only open, table, plan and forecast (run/forecast.h): output stays as it is */
    int workers;
    struct bl_cancel *cancel;
    struct bl_packing_events events;
    struct bl_run_times *times; /* where the time of workers goes is added here; or NULL */
};

struct bl_packing;

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

/* Checks that the columns of the inputs can be joined and grouped by, and do not have names of tensors. BL_EUSAGE.
 * bl_packing_open does this too. */
int bl_packing_check_inputs(const struct bl_packing_request *request, struct bl_error *e);

/* Appends a "name: value" line for everything that decides the dataset's bytes, except the contents of the inputs and
 * the versions of bload and its libraries. */
int bl_packing_identify(const struct bl_packing_request *request, struct bl_buffer *lines, struct bl_error *e);

#endif
