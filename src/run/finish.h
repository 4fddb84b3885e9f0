/* Ends a run: collects the outcomes that packing recorded about sequences, and turns a complete set of shards into a
 * dataset. */
#ifndef BL_FINISH_H
#define BL_FINISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/kind.h"
#include "plan/plan.h"
#include "store/format.h"
#include "store/manifest.h"
#include "store/sequences.h"

/* --- outcomes ----------------------------------------------------------------------------------------------------- */

/* Outcomes are the failures and notes about sequences that packing adds to the results of the scan.
 *
 * The record of the shard in which they were found stores them, so that a resumed run has them, too. The finish writes
 * them to sequences.tsv, and the counts that belong to no single row to the manifest. */

struct bl_outcome {
    int64_t row;   /* row of the table */
    bool failed;   /* false: only a note about damaged data, of which a part was read */
    int64_t steps; /* of the failed piece; 0 for a note */
    char *text;    /* the reason */
};

struct bl_outcomes {
    struct bl_outcome *outcome;
    size_t count, capacity;
    struct bl_untrained untrained; /* this and the following belong to no single row */
    bool unfiltered;               /* some input was decoded without a filter of system calls (kind/isolated) */
};

/* Adds an outcome; text is copied. BL_EFAIL: out of memory. */
int bl_outcomes_add(struct bl_outcomes *outcomes, int64_t row, bool failed, int64_t steps, const char *text,
                    struct bl_error *e);
void bl_outcomes_free(struct bl_outcomes *outcomes);

/* Adds the counts of further blocks. */
void bl_outcomes_add_untrained(struct bl_outcomes *outcomes, const struct bl_untrained *untrained);

/* Format and parse the lines of a shard's record. BL_EDATA: not valid lines. */
void bl_outcomes_format(const struct bl_outcomes *outcomes, struct bl_buffer *out);
int bl_outcomes_parse(struct bl_outcomes *outcomes, char *text, size_t size, struct bl_error *e);

/* Merges to one outcome per row: failed if any piece failed, steps summed, reasons joined in order of arrival (up to a
 * few hundred bytes). Sorted by row. */
int bl_outcomes_merge(struct bl_outcomes *outcomes, struct bl_error *e);

/* --- finish ------------------------------------------------------------------------------------------------------- */

/* Turns a complete set of shards into a dataset: sequences.tsv, the index, shards.tsv, and last the manifest. */

struct bl_finish {
    const char *dir;
    const struct bl_mirror *mirror;   /* dir is the scratch of a dataset in a store, which has the shards; or NULL */
    const struct bl_sequences *table; /* the table of the scan */
    uint64_t table_checksum;          /* checksum of its file, compared again while the rows are copied; 0: unknown */
    const struct bl_plan *plan;
    const struct bl_plan_options *plan_options; /* give the reasons why the plan left sequences out */
    struct bl_manifest *manifest;               /* the draft (run/options.h), which finish completes */
    struct bl_cancel *cancel;
    const struct bl_kind *kind; /* computes totals; NULL, or without totals: the kind of each row does */
    const void *config;         /* configuration of that kind */
};

/* What happened to the inputs, for the exit status and the summary. */
struct bl_finished {
    int64_t skipped, damaged, failed, failed_steps;
    int64_t empty;           /* number of skipped inputs that are empty, which is no fault */
    int64_t adjusted;        /* number of ok rows with a field that was adjusted to their length */
    struct bl_totals totals; /* of the ok rows */
    int64_t bytes;           /* of all shards */
    struct bl_untrained untrained;
};

/* Returns whether some inputs were unusable or only partly usable. */
bool bl_finished_partial(const struct bl_finished *finished);

/* Writes the files of the dataset; the manifest is last, since a directory with a manifest counts as complete.
 * BL_EFAIL: shards are missing, or the table changed since it was read. */
int bl_finish_run(const struct bl_finish *finish, struct bl_finished *result, struct bl_error *e);

/* Estimates the size in bytes of the manifest from its draft, which lacks the entries of files. */
int bl_finish_manifest_bytes(struct bl_manifest *draft, int64_t *bytes, struct bl_error *e);

/* Removes incomplete files that a killed finish left in DIR. The caller must hold the lock. */
int bl_finish_sweep(const char *dir, struct bl_error *e);

#endif
