/* Packing: from inputs to a dataset, in steps that many processes may share: open, table, plan, write, finish.
 *
 * `bload pack` takes all steps. With a task, the process writes its own shards, and the dataset is finished when all
 * tasks are done (bl_finish_run). `bload plan DIR` stops after the plan. A dataset that is there already is compared
 * with the job when it is opened: it is complete, or shards of it are missing and are made again. Everything that a run
 * keeps meanwhile lies in DIR/.bload (run/state.h), so that the same job goes on where an earlier run stopped.
 *
 * Nothing is printed: faults, progress and messages go to the caller's functions. */
#ifndef BL_PACKING_H
#define BL_PACKING_H

#include "base/cancel.h"
#include "base/option.h"
#include "packing/input_set.h"
#include "plan/options.h"
#include "run/finish.h"
#include "run/heartbeat.h"
#include "run/options.h"
#include "run/task.h"

/* Called on the caller's thread. Each may be NULL. */
struct bl_packing_events {
    void *sink;
    /* An input that is skipped, failed or damaged; the row's status and reason say which, and why. */
    void (*fault)(void *sink, const struct bl_row *row);
    /* At least several times a second while a stage of the work lasts. */
    void (*progress)(void *sink, const struct bl_progress *progress);
    /* That stage is over. */
    void (*progress_end)(void *sink);
    /* A line for the user. important: to be shown even when the user wants to see no messages. */
    void (*message)(void *sink, bool important, const char *text);
};

/* What is to be packed, and how. All of it must outlive the packing. */
struct bl_packing_job {
    const char *output;          /* the dataset's directory */
    struct bl_input_set *inputs; /* listed, their kind known unless the table does not say; attributes are closed when
                                  * they are no longer needed */
    const char *sequences;       /* a table to pack instead of scanning the inputs, or NULL */
    const char *plan;            /* a plan of that table, or NULL */
    const char *spool;           /* directory for tokens and inflated arrays, or NULL: DIR/.bload/spool */
    struct bl_pack_options *options;      /* the SIMD level is resolved here, durations are below: */
    struct bl_plan_options *plan_options; /* what identifies the dataset is printed from these */
    const struct bl_options *given;       /* the option groups that these are bound to */
    struct bl_task task;
    bool plan_only; /* open, table and plan alone, from the parts of a scan that tasks made in DIR */
    bool repair;    /* read a finished dataset through for damaged shards */
    int workers;
    struct bl_cancel *cancel;
    struct bl_packing_events events;
};

struct bl_packing;

/* Compares the job with what is in the directory, and takes the lock there. *packing is to be closed also after an
 * error, and is NULL only for lack of memory. BL_EUSAGE: the directory holds something else (the error says what
 * differs); BL_EFAIL: another run is at work there. */
int bl_packing_open(struct bl_packing **packing, const struct bl_packing_job *job, struct bl_error *e);

/* Whether there is nothing left to do: the dataset is complete, or with plan_only, it is planned. */
bool bl_packing_is_complete(const struct bl_packing *packing);

/* Gets the table of sequences: that of an earlier run, or of the scan that this makes. BL_EFAIL: no usable input, or
 * more faults than the options allow. */
int bl_packing_table(struct bl_packing *packing, struct bl_error *e);

/* Makes the plan, or takes the one that was given or that another task made, and what follows from it: the layout of
 * the shards, the memory to use, the draft of the manifest. BL_EUSAGE: options that do not fit the inputs or the
 * machine. */
int bl_packing_plan(struct bl_packing *packing, struct bl_error *e);

/* Writes the shards: all, those of the task, or those that are missing. */
int bl_packing_write(struct bl_packing *packing, struct bl_error *e);

/* Writes index, tables and manifest, and removes DIR/.bload. Nothing to do for a task. */
int bl_packing_finish(struct bl_packing *packing, struct bl_error *e);

/* What came of it, as far as the steps were taken. Texts and pointers live as long as the packing. */
struct bl_packing_result {
    bool partial; /* some inputs could not be used, or not wholly */
    const struct bl_sequences *table;
    const struct bl_plan *plan;
    const struct bl_plan_info *plan_info;
    const struct bl_format *format;
    const struct bl_finished *finished;
    int64_t shard_begin, shard_end; /* of the task */
    int64_t repaired;               /* shards of a finished dataset that were made again */
    int64_t suppressed;             /* faults that were not reported one by one */
    double rate;                    /* steps per second */
    const char *attributes;         /* "weight F64, split is text, ..."; or NULL */
    const char *unused;             /* rows of the table of attributes that belong to no sequence; or NULL */
};

void bl_packing_result(const struct bl_packing *packing, struct bl_packing_result *result);

/* The heartbeat, for whoever knows how the process ends; NULL: there is none. */
struct bl_heartbeat *bl_packing_heartbeat(struct bl_packing *packing);

/* NULL is fine. */
void bl_packing_close(struct bl_packing *packing);

/* Whether the columns of the inputs can be joined and grouped by, and are not named like tensors. BL_EUSAGE. Part of
 * opening; for whoever opens nothing. */
int bl_packing_check_inputs(const struct bl_packing_job *job, struct bl_error *e);

/* Appends everything that decides the dataset's bytes, beside the contents of the inputs and the versions of tool and
 * libraries: "name: value" lines. */
int bl_packing_identify(const struct bl_packing_job *job, struct bl_buffer *lines, struct bl_error *e);

#endif
