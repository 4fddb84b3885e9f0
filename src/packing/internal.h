/* What the parts of the packing stage share. The steps of packing.h fill it in this order. */
#ifndef BL_PACKING_INTERNAL_H
#define BL_PACKING_INTERNAL_H

#include "packing/fault_counts.h"
#include "packing/packing.h"
#include "run/pack_job.h"
#include "run/state.h"
#include "store/attribute_values.h"
#include "store/manifest.h"
#include "store/missing.h"

struct bl_packing {
    struct bl_packing_job job;

    /* open: */
    struct bl_kind_env env;
    bool simd_unset;                 /* the level was not given: whoever begins the dataset decides */
    struct bl_buffer identity;       /* lines */
    bool complete;                   /* nothing is left to do */
    struct bl_fault_counts existing; /* of a finished dataset */
    bool repairing;                  /* the dataset is finished, but shards are missing: */
    struct bl_missing missing;
    struct bl_state state;
    struct bl_heartbeat heartbeat;

    /* table: */
    struct bl_sequences table;
    int64_t suppressed; /* faults of the scan that were not reported one by one */
    struct bl_buffer unused;

    /* plan: */
    struct bl_plan plan;
    struct bl_plan_info plan_info; /* the plan's own, where one was given */
    struct bl_format format;
    struct bl_attribute_values values; /* of the format's attributes */
    struct bl_buffer attributes_text;  /* which columns became attributes */
    struct bl_manifest manifest;       /* the draft of it */
    int workers, slots;
    int64_t memory; /* that is left for the page cache */

    /* write: */
    int64_t shard_begin, shard_end; /* this task's, or all */
    uint8_t *failed;                /* a bit per sequence: a piece of it failed, which was reported */

    /* finish: */
    struct bl_finished finished;

    /* all the way: */
    int64_t unusable; /* inputs so far that were skipped or failed */
    bool partial;
    struct bl_progress progress; /* of the present stage */
    struct bl_progress run;      /* of the whole, for its rate */
    int64_t steps;               /* read in this run */
};

/* --- events (report.c) ----------------------------------------------------------------------------------------- */

void bl_packing_progress_begin(struct bl_packing *p, const char *what, const char *unit, const char *step,
                               int64_t total);
void bl_packing_progress_tick(struct bl_packing *p);
void bl_packing_progress_end(struct bl_packing *p);
void bl_packing_message(const struct bl_packing *p, bool important, const char *format, ...) BL_PRINTF(3, 4);

/* An input that is skipped, failed or damaged is reported. BL_EFAIL when that is one too many, by --on-error and
 * --max-failed. inputs: how many there are in all; INT64_MAX: not known. */
int bl_packing_fault(struct bl_packing *p, const struct bl_row *row, int64_t inputs, struct bl_error *e);

/* --- open ------------------------------------------------------------------------------------------------------- */

/* Chooses the SIMD level and applies it: --simd, or what a dataset here began with, or the best of this machine. */
int bl_packing_choose_simd(struct bl_packing *p, struct bl_error *e);

/* Looks for a finished dataset (existing.c): sets complete or repairing. BL_EUSAGE: it is another. */
int bl_packing_find_dataset(struct bl_packing *p, struct bl_error *e);

/* Opens DIR/.bload for this run alone or, with a task, along with others. */
int bl_packing_enter(struct bl_packing *p, struct bl_error *e);

/* Whether the inputs are those of the table: BL_EDATA says which is not, and how. */
int bl_packing_compare_inputs(const struct bl_packing *p, const struct bl_sequences *table, struct bl_error *e);

/* --- standard input (stdin.c) ----------------------------------------------------------------------------------- */

bool bl_packing_reads_stdin(const struct bl_packing *p);

/* Keeps the checksum that the scan found (0: standard input was none of its inputs). */
int bl_packing_keep_stdin(struct bl_packing *p, uint64_t sum, struct bl_error *e);

/* A table is there already: reads all of standard input, which must be what was scanned, or the table is removed as
 * long as no shard is finished. BL_EUSAGE: it is other input. */
int bl_packing_check_stdin(struct bl_packing *p, struct bl_error *e);

/* Of a finished dataset: takes the line of standard input out of the configuration's lines; adds it to those of this
 * run; compares it. */
void bl_packing_extract_stdin(struct bl_buffer *lines, struct bl_buffer *digest);
int bl_packing_add_stdin(struct bl_packing *p, const char *digest, struct bl_error *e);
int bl_packing_compare_stdin(const struct bl_packing *p, const struct bl_buffer *there, const char *what,
                             struct bl_error *e);

/* --- attributes (attributes.c) ---------------------------------------------------------------------------------- */

/* No column of the table of attributes may have the name of a tensor of the shards. BL_EUSAGE. */
int bl_packing_check_attributes(const struct bl_packing_job *job, struct bl_error *e);

/* Makes attributes of the format out of those columns that are numbers. The table of attributes is closed. */
int bl_packing_attributes(struct bl_packing *p, struct bl_error *e);

/* --- a finished dataset ----------------------------------------------------------------------------------------- */

/* Finds the task's shards that are missing, or damaged where the job says so (repair.c). */
int bl_packing_find_missing(struct bl_packing *p, const struct bl_manifest *manifest, struct bl_error *e);

/* Writes the scan's table as far as that of the finished dataset tells it. */
int bl_packing_restore_table(const struct bl_packing *p, struct bl_output *out, struct bl_error *e);

/* Whether the draft is that of the finished dataset: made by the same versions, of the same plan. BL_EFAIL. */
int bl_packing_compare_draft(const struct bl_packing *p, struct bl_error *e);

/* Takes over the shards of a finished dataset that lost its manifest, as many as can be, before others are packed
 * (reclaim.c). */
int bl_packing_reclaim(struct bl_packing *p, struct bl_pack *pack, struct bl_error *e);

/* --- plan ------------------------------------------------------------------------------------------------------- */

/* Reads the plan that was given (given_plan.c). BL_EUSAGE: it is not what the options say. */
int bl_packing_read_plan(struct bl_packing *p, struct bl_error *e);

#endif
