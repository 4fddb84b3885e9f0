/* Further plans of a dataset: plans/epoch-00001.safetensors and so on. Over the pieces as they are stored, with as many
 * blocks and as many sequences in the fullest; what shares a block, and the order, differ from epoch to epoch.
 *
 * What the manifest names is there: new plans are written before it names them, and plans are removed when it names
 * them no more. So a plan is never replaced by another one, which would leave a moment in which the manifest is wrong.
 * Whoever is stopped leaves files in plans/ that the manifest does not name, which mean nothing, and go with the next
 * run. */
#ifndef BL_EPOCHS_H
#define BL_EPOCHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"
#include "store/manifest.h"

#define BL_EPOCHS_DIR "plans"

struct bl_epochs {
    const char *dir;                /* of the dataset */
    int64_t count;                  /* how many there shall be at least; 0: none */
    uint64_t seed;                  /* of the first; the others count on */
    int64_t world_size, batch_size; /* 0: the dataset's */
    enum bl_balance balance;
};

struct bl_epochs_result {
    int64_t added, removed, there; /* there: in the end, older ones too */
};

/* Adds the plans that are not there yet, or removes all. BL_EUSAGE for datasets of clips, where the blocks are no
 * multiple of world_size * batch_size, and where there are others than these, of another seed for example; nothing is
 * changed then. */
int bl_epochs_add(const struct bl_epochs *epochs, struct bl_epochs_result *made, struct bl_error *e);

/* The number of the epoch whose plan has this name below the dataset's directory; 0: it is none. */
int64_t bl_epochs_number(const char *name);

/* Whether a file in DIR/plans, by its name there, is what a run that was stopped left: a plan that the manifest does
 * not name, or one that is not whole. */
bool bl_epochs_is_leftover(const struct bl_manifest *manifest, const char *entry);

#endif
