/* Gather: makes shards.tsv, the index and the outcomes of sequences from the records of all shards. */
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
    const struct bl_sequences *table; /* the table that the dataset is made from */
    struct bl_cancel *cancel;
};

/* Writes both files, and adds the outcomes in the records to outcomes, in the order of the shards. *bytes: size of all
 * shards. BL_EFAIL: shards are missing; the message says how many, and nothing is written. */
int bl_gather_run(const struct bl_gather *gather, struct bl_outcomes *outcomes, int64_t *bytes, struct bl_error *e);

#endif
