/* The steps of one sequence of a field, read one after the other from wherever its parts are stored.
 *
 * Nothing is taken on trust: before the first step of a stored block is given, the block is compared with its checksum
 * in the index, and the place with the tables of the shard. */
#ifndef BL_STORED_SEQUENCE_H
#define BL_STORED_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/view.h"

/* Which steps: first to end - 1. */
struct bl_step_range {
    int64_t first, end; /* end -1: to the end of the sequence */
    bool is_given;      /* false: the whole sequence, and nothing less */
};

struct bl_stored_sequence {
    struct bl_view *view; /* not owned */
    int64_t row;
    int field;
    int64_t next, end; /* steps that are still to be read */
    const struct bl_dataset *checked;
    int64_t checked_block; /* of checked: it matches its checksum; -1: none does */
};

/* Begins with the first of these steps. BL_EUSAGE: the sequence was skipped, dropped or failed, with the reason; or not
 * all of these steps are stored, with those that are. */
int bl_stored_sequence_begin(struct bl_stored_sequence *sequence, struct bl_view *view, int64_t row, int field,
                             const struct bl_step_range *range, struct bl_error *e);

/* Copies the next steps, decoded, at most so many. *steps: how many they are; 0: there are no more. BL_EDATA: they are
 * damaged. */
int bl_stored_sequence_read(struct bl_stored_sequence *sequence, int64_t most, void *out, int64_t *steps,
                            struct bl_error *e);

#endif
