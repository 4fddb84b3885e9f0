/* The parts that the tasks of bload scan left in DIR/.bload, which become the table of the dataset. */
#ifndef BL_PARTS_H
#define BL_PARTS_H

#include "base/option.h"
#include "packing/input_set.h"
#include "run/state.h"
#include "scan/merge.h"

/* All tasks must be at the same scan of the same inputs, which are listed, their kind in use: the first one to come
 * writes down what that is. BL_EUSAGE: it is another, of which it says what differs. */
int bl_parts_agree(const struct bl_state *state, int64_t tasks, const struct bl_options *options,
                   const struct bl_input_set *inputs, struct bl_error *e);

struct bl_parts {
    int64_t tasks;   /* that share the scan; 0: nobody scanned so */
    int64_t missing; /* the first of them whose part is not there; -1: all are there */
};

int bl_parts_find(const struct bl_state *state, struct bl_parts *parts, struct bl_error *e);

/* BL_EFAIL: which part is missing, and the command that makes it. */
int bl_parts_require(const struct bl_state *state, const struct bl_parts *parts, struct bl_error *e);

/* Merges them, all being there, into DIR/.bload/sequences.tsv, which appears once: another process may be at the same.
 * job says whom to tell of what; its folder and tasks are set here. The attributes of merged are to be freed. */
int bl_parts_merge(const struct bl_state *state, const struct bl_parts *parts, struct bl_merge *job,
                   struct bl_merged *merged, struct bl_error *e);

#endif
