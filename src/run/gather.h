/* Gather: out of the records of all shards come shards.tsv, the index, and what became of sequences. */
#ifndef BL_GATHER_H
#define BL_GATHER_H

#include "kind/kind.h"
#include "plan/plan.h"
#include "run/outcome.h"
#include "store/format.h"
#include "store/sequences.h"

struct bl_gather {
    const char *dir; /* of the dataset */
    const struct bl_format *format;
    const struct bl_plan *plan;
    const struct bl_sequences *table; /* that it was made from */
    struct bl_cancel *cancel;
};

/* Writes both files. What the records tell of sequences is added to outcomes, in the order of the shards; *bytes: of
 * all shards. BL_EFAIL: shards are lacking; it says how many, and nothing is written. */
int bl_gather_run(const struct bl_gather *gather, struct bl_outcomes *outcomes, int64_t *bytes, struct bl_error *e);

#endif
