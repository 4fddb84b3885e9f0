/* Plans for more epochs of a dataset, and how many pairs of sequences meet again in them. */
#ifndef BL_EPOCHS_H
#define BL_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/company.h"
#include "plan/plan.h"
#include "store/manifest.h"

/* --- plans of epochs ---------------------------------------------------------------------------------------------- */

/* The plans are plans/epoch-00001.safetensors and so on. They use the stored pieces, the same number of blocks, and at
 * most as many sequences in a block; the composition of blocks and their order differ from epoch to epoch: none has the
 * partition of another or of the stored plan, where another can be found.
 *
 * Whatever the manifest lists exists: new plans are written before it lists them, and removed after it has stopped
 * listing them. A plan is never replaced by another one, since the manifest would be wrong for a moment. A run that is
 * interrupted leaves files in plans/ that the manifest does not list; they have no meaning, and the next run removes
 * them. */

#define BL_EPOCHS_DIR "plans"

struct bl_epochs {
    const char *dir;                /* the dataset's directory */
    int64_t count;                  /* number of plans that shall exist; 0: remove all */
    uint64_t seed;                  /* of the first epoch; the others count on */
    int64_t world_size, batch_size; /* 0: the dataset's */
    enum bl_balance balance;
    struct bl_plan_cost cost;
    int64_t accumulate;
    enum bl_sync sync;
};

struct bl_epochs_result {
    int64_t added, removed, there; /* there: number of plans afterwards, older ones included */
    int64_t repeated;              /* of those asked for: sequences share blocks as in the stored plan or in an earlier
                                      one, since no other partition was found */
    int64_t older;                 /* the same, of an earlier version, which did not look for another */
};

/* Adds the plans that are missing, or removes all. BL_EUSAGE: the dataset holds clips, its blocks are not a multiple of
 * world_size * batch_size, or it has other plans than these (of another seed, say). Nothing is changed then. */
int bl_epochs_add(const struct bl_epochs *epochs, struct bl_epochs_result *made, struct bl_error *e);

/* The name of an epoch's plan in the dataset's directory: plans/epoch-00001.safetensors. Returns out. */
#define BL_EPOCHS_NAME_MAX 64
char *bl_epochs_name(int64_t epoch, char out[BL_EPOCHS_NAME_MAX]);

/* How many plans of epochs a manifest lists. */
int64_t bl_epochs_count(const struct bl_manifest *manifest);

/* Lists the numbers of the plans that a manifest lists, ascending: *number[0] is 0, the stored plan. free(*number). */
int bl_epochs_list(const struct bl_manifest *manifest, int64_t **number, size_t *count, struct bl_error *e);

/* Lists the numbers of the plans that a manifest lists, ascending: *number[0] is 0, the stored plan. free(*number). */
int bl_epochs_list(const struct bl_manifest *manifest, int64_t **number, size_t *count, struct bl_error *e);

/* The number of the epoch whose plan has this name in the dataset's directory, or 0. */
int64_t bl_epochs_number(const char *name);

/* Removes what interrupted runs left: unfinished manifests, plans that the manifest does not list, and DIR/plans if it
 * is empty. fd: the directory. */
int bl_epochs_sweep(const char *dir, int fd, const struct bl_manifest *manifest, struct bl_error *e);

/* Whether a file of this name in DIR/plans was left by an interrupted run: a plan that the manifest does not list, or
 * an incomplete one. */
bool bl_epochs_is_leftover(const struct bl_manifest *manifest, const char *entry);

/* --- company ------------------------------------------------------------------------------------------------------ */

/* Company: how many of the pairs of sequences that share a block in one plan also share one in another. The stored plan
 * and the plans of the epochs are compared. */

struct bl_epochs_company {
    int64_t epochs; /* with a plan of their own; 0: nothing is measured */
    bool each_pair; /* all pairs of plans are compared; else each with the next one and with the stored one */
    struct bl_company highest; /* of two plans: how many pairs of the later one were met in the earlier one; the
                                  two for which this share is highest */
    int64_t plan[2];           /* those two, by epochs, the earlier one first; 0: the stored plan */
};

/* Reads the plans, two at a time. count: rows of sequences.tsv. BL_EDATA: a plan is invalid. BL_EFAIL: one cannot be
 * read, or out of memory. */
int bl_epochs_company_measure(struct bl_epochs_company *company, const struct bl_manifest *manifest, const char *dir,
                              size_t count, struct bl_error *e);

#endif
