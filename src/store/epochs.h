/* Plans for further epochs of a dataset, and the pair repeat rate between them: the share of the pairs of sequences in
 * a block of one plan that share a block of another plan, too. */
#ifndef BL_EPOCHS_H
#define BL_EPOCHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/pair_repeat.h"
#include "plan/plan.h"
#include "store/manifest.h"

/* --- plans of epochs ---------------------------------------------------------------------------------------------- */

/* The plan of epoch 1 is plans/epoch-00001.safetensors, and so on. Each plan distributes the stored pieces to the same
 * number of blocks, with at most as many sequences in a block. The composition and the order of blocks differ from
 * epoch to epoch: no two plans have the same partition of the pieces into blocks, unless no other partition is found.
 *
 * Every file that the manifest lists exists: a new plan is written before the manifest lists it, and a plan is removed
 * after the manifest has stopped listing it. A plan is never replaced by another one, since the manifest would be wrong
 * for a moment. An interrupted run leaves files in plans/ that the manifest does not list. They have no meaning, and
 * the next run removes them. */

#define BL_EPOCHS_DIR "plans"

struct bl_epochs {
    const char *dir;                /* the dataset's directory */
    int64_t count;                  /* number of plans wanted, those that exist included; 0: remove all */
    uint64_t seed;                  /* of epoch 1; epoch k has seed + k - 1 */
    int64_t world_size, batch_size; /* 0: as in the dataset's plan */
    enum bl_balance balance;
    struct bl_plan_cost cost;
    int64_t accumulate;
    enum bl_sync sync;
};

struct bl_epochs_result {
    int64_t added, removed, there; /* there: number of plans that exist afterwards */
    int64_t repeated;              /* plans whose partition is that of an earlier plan, since no other was found */
    int64_t older;                 /* existing plans of an earlier version of the tool, which did not look for another
                                      partition */
};

/* Adds the plans that are missing, or removes all of them if count is 0. Takes a lock on the directory, so that only
 * one process changes the plans. BL_EUSAGE: the dataset holds clips or is a store, its number of blocks is not a
 * multiple of world_size * batch_size * accumulate, or it has plans made with other options, such as another seed. The
 * listed plans are unchanged then. */
int bl_epochs_add(const struct bl_epochs *epochs, struct bl_epochs_result *made, struct bl_error *e);

/* Formats the name of an epoch's plan relative to the dataset: plans/epoch-00001.safetensors. Returns out. */
#define BL_EPOCHS_NAME_MAX 64
char *bl_epochs_name(int64_t epoch, char out[BL_EPOCHS_NAME_MAX]);

/* Returns the number of plans of epochs that a manifest lists. The stored plan does not count. */
int64_t bl_epochs_count(const struct bl_manifest *manifest);

/* Returns the epochs whose plans a manifest lists, in ascending order: (*number)[0] is 0, the stored plan, and *count
 * is the size of the array. The caller frees *number. */
int bl_epochs_list(const struct bl_manifest *manifest, int64_t **number, size_t *count, struct bl_error *e);

/* Returns the epoch whose plan has this name relative to the dataset, or 0 if it is not the name of a plan. */
int64_t bl_epochs_number(const char *name);

/* Removes the files of interrupted runs: unfinished manifests, plans that the manifest does not list, and DIR/plans if
 * it is empty. fd: a descriptor of dir, which stays open. */
int bl_epochs_sweep(const char *dir, int fd, const struct bl_manifest *manifest, struct bl_error *e);

/* Returns true if an interrupted run left the file of this name in DIR/plans: it is an incomplete plan, or a plan that
 * the manifest does not list. */
bool bl_epochs_is_leftover(const struct bl_manifest *manifest, const char *entry);

/* --- pair repeat rate --------------------------------------------------------------------------------------------- */

/* The pair repeat rate of two plans is the share of the pairs of sequences in a block of the later plan that share a
 * block of the earlier plan, too. For example, if a block holds the sequences 3, 5 and 8, it has three pairs; if only 3
 * and 8 share a block of the earlier plan, one of the three is repeated. The stored plan and the plans of the epochs
 * are compared. */

struct bl_epochs_pair_repeat {
    int64_t epochs; /* number of epochs with a plan of their own; 0: nothing is measured */
    bool each_pair; /* true: all pairs of plans are compared; false: each plan with the next and with the stored one */
    struct bl_pair_repeat highest; /* the highest rate of two plans */
    int64_t plan[2];               /* the epochs of these two plans, the earlier one first; 0: the stored plan */
};

/* Compares the plans, of which at most two are in memory at a time. count: number of rows of sequences.tsv. BL_EDATA: a
 * plan is invalid. BL_EFAIL: a plan cannot be read, or memory ran out. */
int bl_epochs_pair_repeat_measure(struct bl_epochs_pair_repeat *pair_repeat, const struct bl_manifest *manifest,
                                  const char *dir, size_t count, struct bl_error *e);

#endif
