/* Further plans of a dataset: plans/epoch-00001.safetensors and so on. Over the pieces as they are stored, with as many
 * blocks and as many sequences in the fullest; what shares a block, and the order, differ from epoch to epoch. */
#ifndef BL_EPOCHS_H
#define BL_EPOCHS_H

#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

#define BL_EPOCHS_DIR "plans"

struct bl_epochs {
    const char *dir; /* of the dataset */
    int64_t count;
    uint64_t seed;                  /* of the first; the others count on */
    int64_t world_size, batch_size; /* 0: the dataset's */
    enum bl_balance balance;
};

/* Writes the plans and notes them in the manifest; plans that were there by those names are replaced. BL_EUSAGE for
 * datasets of clips, and where the blocks are no multiple of world_size * batch_size. */
int bl_epochs_add(const struct bl_epochs *epochs, struct bl_error *e);

#endif
