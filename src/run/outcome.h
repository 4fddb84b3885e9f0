/* Outcomes: what packing found about sequences beyond the scan.
 *
 * The record of the shard where they were found stores them, so that a resumed run has them too. The finish adds them
 * to sequences.tsv, and what is of no row to the manifest. */
#ifndef BL_OUTCOME_H
#define BL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/manifest.h"

struct bl_outcome {
    int64_t row;   /* row of the table */
    bool failed;   /* false: only a note, about damaged data that was read */
    int64_t steps; /* of the failed piece; 0 for a note */
    char *text;    /* the reason */
};

struct bl_outcomes {
    struct bl_outcome *outcome;
    size_t count, capacity;
    struct bl_untrained untrained; /* of no row, as what follows */
    bool unfiltered;               /* something was decoded without a filter of system calls (kind/isolated) */
};

int bl_outcomes_add(struct bl_outcomes *outcomes, int64_t row, bool failed, int64_t steps, const char *text,
                    struct bl_error *e);
void bl_outcomes_free(struct bl_outcomes *outcomes);

/* Adds counts, of other blocks. */
void bl_outcomes_add_untrained(struct bl_outcomes *outcomes, const struct bl_untrained *untrained);

/* Format and parse the lines of a shard's record. BL_EDATA: not valid lines. */
void bl_outcomes_format(const struct bl_outcomes *outcomes, struct bl_buffer *out);
int bl_outcomes_parse(struct bl_outcomes *outcomes, char *text, size_t size, struct bl_error *e);

/* Merges to one outcome per row: failed if any piece failed, steps summed, reasons joined in order of arrival (up to a
 * few hundred bytes). Sorted by row. */
int bl_outcomes_merge(struct bl_outcomes *outcomes, struct bl_error *e);

#endif
