/* Outcomes: what packing found out about sequences beyond what the scan knew.
 *
 * They are kept with the record of the shard in which they were found, so that a resumed run knows them too, and go
 * into sequences.tsv at the end. */
#ifndef BL_OUTCOME_H
#define BL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct bl_outcome {
    int64_t row;   /* of the table */
    bool failed;   /* or only noted: damaged, but read */
    int64_t steps; /* of the piece that failed; 0 when only noted */
    char *text;    /* the reason */
};

struct bl_outcomes {
    struct bl_outcome *outcome;
    size_t count, capacity;
};

int bl_outcomes_add(struct bl_outcomes *outcomes, int64_t row, bool failed, int64_t steps, const char *text,
                    struct bl_error *e);
void bl_outcomes_free(struct bl_outcomes *outcomes);

/* Lines for a shard's record, and back. BL_EDATA for text that is none. */
void bl_outcomes_format(const struct bl_outcomes *outcomes, struct bl_buffer *out);
int bl_outcomes_parse(struct bl_outcomes *outcomes, char *text, size_t size, struct bl_error *e);

/* One outcome per row: failed if any piece was, steps added up, the reasons of pieces joined in the order they came (at
 * most a few hundred bytes). Sorted by row. */
int bl_outcomes_merge(struct bl_outcomes *outcomes, struct bl_error *e);

#endif
