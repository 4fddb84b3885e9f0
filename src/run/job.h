/* The state of a run that packs: the request, the results of the steps, and functions that one step offers to others.
 * The steps of packing.h fill struct bl_packing in the order of its members. */
#ifndef BL_JOB_H
#define BL_JOB_H

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/option.h"
#include "base/output.h"
#include "plan/options.h"
#include "run/bottleneck.h"
#include "run/finish.h"
#include "run/heartbeat.h"
#include "run/input_set.h"
#include "run/options.h"
#include "run/state.h"
#include "run/state_files.h"
#include "scan/subset.h"
#include "store/attribute_values.h"
#include "store/folders.h"
#include "store/manifest.h"
#include "store/sequences.h"
#include "store/view.h"

/* --- what to pack ------------------------------------------------------------------------------------------------- */

/* Functions that report to the caller, on the caller's thread. Each may be NULL. */
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
    struct bl_mirror *mirror;        /* the dataset is in a store, and output is its scratch; or NULL */
    struct bl_input_set *inputs;     /* listed, kind known or in the table; packing closes attributes */
    struct bl_view *view;            /* opened, to be packed instead of inputs: see run/from_view.h; or NULL */
    const char *sequences;           /* a table to pack, so that no scan is needed; or NULL */
    const char *plan;                /* a plan of that table, or NULL */
    const char *spool;               /* folder for tokens and inflated arrays, or NULL: DIR/.bload/spool */
    struct bl_pack_options *options; /* packing resolves their SIMD level, */
    const struct bl_subset_options *subset;
    struct bl_plan_options *plan_options; /* and the durations in these; both are part of the identity */
    const struct bl_options *given;       /* the option groups bound to these structs */
    struct bl_task task;
    bool plan_only; /* only open, table and plan, from the parts of tasks' scans in DIR */
    bool repair;    /* read a finished dataset to find damaged shards */
    bool dry_run;   /* only open, table, plan and forecast (run/forecast.h): output stays as it is */
    int workers;
    struct bl_cancel *cancel;
    struct bl_packing_events events;
    struct bl_run_times *times; /* the times of the run are added here; or NULL */
};

/* --- a packing ---------------------------------------------------------------------------------------------------- */

struct bl_packing {
    struct bl_packing_request request;
    struct bl_pack pack; /* parameters for reading and writing; each step sets the members that it knows */

    /* open: */
    struct bl_kind_env env;
    bool simd_unset;                 /* the level was not given: the process that begins the dataset chooses it */
    struct bl_buffer identity;       /* lines */
    bool complete;                   /* no work is left */
    struct bl_fault_counts existing; /* faults of the inputs of a finished dataset */
    bool repairing;                  /* the dataset is finished, but these shards are missing: */
    struct bl_missing missing;
    struct bl_state state;
    char *scratch; /* temporary folder of a dry run, which holds the state; or NULL */
    bool begun;    /* the output of a dry run holds an unfinished dataset of this request */
    struct bl_heartbeat heartbeat;

    /* table: */
    struct bl_sequences table;
    uint64_t table_checksum; /* of its file; 0: not known */
    int64_t suppressed;      /* faults of the scan that were not reported individually */
    int64_t needed; /* bytes to decode the largest input, found by the scan; 0: a reader has enough, or unknown */
    struct bl_buffer unused;

    /* plan: */
    struct bl_plan plan;
    struct bl_plan_info plan_info; /* of the given plan, if there is one */
    struct bl_format format;
    struct bl_attribute_values values; /* of the format's attributes */
    struct bl_buffer attributes_text;  /* which columns became attributes */
    struct bl_manifest manifest;       /* its draft */

    /* write: */
    uint8_t *failed; /* one bit per sequence: a piece failed and was reported */

    /* finish: */
    struct bl_finished finished;

    /* during all steps: */
    int64_t unusable; /* inputs skipped or failed so far */
    bool partial;
    struct bl_progress progress; /* of the present stage */
    struct bl_progress run;      /* of the whole run, for its rate */
    int64_t steps;               /* steps read in this run */
    struct bl_run_times times;   /* used if the request has none */
};

/* --- reports to the caller ---------------------------------------------------------------------------------------- */

/* Begin, report and end the progress of a stage, for the heartbeat and for the caller's events. */
void bl_packing_progress_begin(struct bl_packing *p, const char *what, const char *unit, const char *step,
                               int64_t total);
void bl_packing_progress_tick(struct bl_packing *p);
void bl_packing_progress_end(struct bl_packing *p);
/* Formats a line and passes it to events.message. */
void bl_packing_message(const struct bl_packing *p, bool important, const char *format, ...) BL_PRINTF(3, 4);

/* Counts and reports an input that is skipped, failed or damaged. inputs: the number of all inputs; INT64_MAX: unknown.
 * BL_EFAIL: more inputs are unusable than --on-error and --max-failed accept. */
int bl_packing_fault(struct bl_packing *p, const struct bl_row *row, int64_t inputs, struct bl_error *e);

/* --- open --------------------------------------------------------------------------------------------------------- */

/* Looks for a finished dataset (existing.c) and sets complete or repairing. BL_EUSAGE: it is a different one. */
int bl_packing_find_dataset(struct bl_packing *p, struct bl_error *e);

/* --- standard input (table.c) ------------------------------------------------------------------------------------- */

/* Returns whether standard input is among the inputs and this run reads it: a table given by --sequences takes its
 * place. */
bool bl_packing_reads_stdin(const struct bl_packing *p);

/* For a finished dataset: the first function moves the checksum of standard input from the lines of a configuration to
 * digest; the second adds a checksum to the identity of this run; the third reads standard input and compares it with
 * `there`, unless that is empty. */
void bl_packing_extract_stdin(struct bl_buffer *lines, struct bl_buffer *digest);
int bl_packing_add_stdin(struct bl_packing *p, const char *digest, struct bl_error *e);
int bl_packing_compare_stdin(const struct bl_packing *p, const struct bl_buffer *there, const char *what,
                             struct bl_error *e);

/* --- table -------------------------------------------------------------------------------------------------------- */

/* Checks that the columns of the inputs can be joined and grouped by, and do not have names of tensors. BL_EUSAGE. */
int bl_packing_check_inputs(const struct bl_packing_request *request, struct bl_error *e);

/* Checks that the fields with a cost exist, if the options decide which fields there are. BL_EUSAGE. */
int bl_packing_check_cost(const struct bl_packing_request *request, struct bl_error *e);

/* Checks that no column of the table of attributes has the name of a tensor in the shards. BL_EUSAGE. */
int bl_packing_check_attributes(const struct bl_packing_request *request, struct bl_error *e);

/* Checks that the inputs match the table. BL_EDATA names one that differs, and how. */
int bl_packing_compare_inputs(const struct bl_packing *p, const struct bl_sequences *table, struct bl_error *e);

/* --- nothing new (existing.c) ------------------------------------------------------------------------------------- */

/* Returns whether the datasets of --extend hold all usable sequences of the table, except for those that other options
 * of the subset leave out. */
bool bl_packing_is_all_held(const struct bl_packing *p);

/* The same, also except for those that a plan with blocks of T steps drops by their lengths. */
bool bl_packing_is_rest_dropped(const struct bl_packing *p, int64_t T);

/* Reports that nothing is new, and completes the request without a dataset: removes the directory unless tasks share
 * it. */
int bl_packing_end_held(struct bl_packing *p, struct bl_error *e);

/* --- a finished dataset ------------------------------------------------------------------------------------------- */

/* Writes the table of the scan again, from the table of the finished dataset. */
int bl_packing_restore_table(const struct bl_packing *p, struct bl_output *out, struct bl_error *e);

/* Compares the draft with the finished dataset: same versions, same plan. BL_EFAIL: they differ. */
int bl_packing_compare_draft(const struct bl_packing *p, struct bl_error *e);

/* Before packing, adopts the usable shards of a finished dataset that lost its manifest (existing.c). */
int bl_packing_reclaim(struct bl_packing *p, struct bl_error *e);

/* --- a view (from_view.c) ----------------------------------------------------------------------------------------- */

/* The same as bl_packing_identify for a view: appends its configuration, which names its sources, and the options that
 * decide bytes. */
int bl_packing_identify_view(const struct bl_packing_request *request, struct bl_buffer *lines, struct bl_error *e);

/* Writes the table: the rows of the sources, with the number of steps that the view stores of each. */
int bl_packing_fill_view_table(struct bl_packing *p, struct bl_output *out, struct bl_error *e);

/* Copies the plan of the first epoch of the view. */
int bl_packing_read_view_plan(struct bl_packing *p, struct bl_error *e);

/* Returns whether to copy the sequences of the view in stored order into buckets (run/bucketing.h) first. This is
 * faster if many pieces share a frame of a compressed source, since each piece alone would decompress the whole frame.
 */
bool bl_packing_view_needs_buckets(const struct bl_packing *p);

/* Copies the attributes of the view and their values. BL_EFAIL: the view has another number of rows than the table. */
int bl_packing_view_attributes(struct bl_packing *p, struct bl_error *e);

#endif
