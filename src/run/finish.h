/* Finish: from shards that are all there to a dataset: sequences.tsv, index, shards.tsv, and last the manifest. */
#ifndef BL_FINISH_H
#define BL_FINISH_H

#include <stdbool.h>

#include "kind/kind.h"
#include "plan/plan.h"
#include "store/manifest.h"
#include "store/sequences.h"

struct bl_finish {
    const char *dir;
    const struct bl_sequences *table; /* of the scan */
    const struct bl_plan *plan;
    const struct bl_plan_options *plan_options; /* for why the plan left sequences out */
    struct bl_manifest *manifest;               /* the draft (run/manifest_draft.h), which is filled in */
    struct bl_cancel *cancel;
    const struct bl_kind *kind; /* for totals, or NULL: none */
    const void *config;         /* of that kind */
};

/* What became of the inputs, for the exit status and the summary. */
struct bl_finished {
    int64_t skipped, damaged, failed, failed_steps;
    int64_t empty;           /* of those skipped: without fault */
    int64_t adjusted;        /* ok ones with a field that was brought to their length */
    struct bl_totals totals; /* of the ok ones */
    int64_t bytes;           /* of all shards */
};

/* Whether some inputs could not be used, or not wholly. */
bool bl_finished_partial(const struct bl_finished *finished);

int bl_finish_run(const struct bl_finish *finish, struct bl_finished *result, struct bl_error *e);

/* Removes what a finish that was killed left half-written in DIR. Only for one who holds its lock. */
int bl_finish_sweep(const char *dir, struct bl_error *e);

#endif
