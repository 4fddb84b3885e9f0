/* Finish: turns a complete set of shards into a dataset: sequences.tsv, the index, shards.tsv, and last the
 * manifest. */
#ifndef BL_FINISH_H
#define BL_FINISH_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/kind.h"
#include "plan/plan.h"
#include "run/outcome.h"
#include "store/format.h"
#include "store/manifest.h"
#include "store/sequences.h"

struct bl_finish {
    const char *dir;
    const struct bl_sequences *table; /* of the scan */
    uint64_t table_checksum;          /* of its file, which is compared once more; 0: not known */
    const struct bl_plan *plan;
    const struct bl_plan_options *plan_options; /* why the plan left sequences out */
    struct bl_manifest *manifest;               /* the draft (run/manifest_draft.h), which finish completes */
    struct bl_cancel *cancel;
    const struct bl_kind *kind; /* for totals; NULL, or without such: that of each row */
    const void *config;         /* of that kind */
};

/* What happened to the inputs, for the exit status and the summary. */
struct bl_finished {
    int64_t skipped, damaged, failed, failed_steps;
    int64_t empty;           /* skipped inputs without fault */
    int64_t adjusted;        /* ok rows with a field that was adjusted to their length */
    struct bl_totals totals; /* of the ok rows */
    int64_t bytes;           /* of all shards */
    struct bl_untrained untrained;
};

/* Whether some inputs were unusable, or only partly usable. */
bool bl_finished_partial(const struct bl_finished *finished);

int bl_finish_run(const struct bl_finish *finish, struct bl_finished *result, struct bl_error *e);

/* About the size that the manifest will have, of which this is the draft: its files are not in it yet. */
int bl_finish_manifest_bytes(struct bl_manifest *draft, int64_t *bytes, struct bl_error *e);

/* Removes incomplete files that a killed finish left in DIR. The caller must hold the lock. */
int bl_finish_sweep(const char *dir, struct bl_error *e);

#endif
