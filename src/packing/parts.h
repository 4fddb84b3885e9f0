/* The parts that the tasks of bload scan wrote to DIR/.bload; together they form the table of the dataset
 * (scan/merge.h). */
#ifndef BL_PARTS_H
#define BL_PARTS_H

#include "base/option.h"
#include "packing/input_set.h"
#include "run/state.h"
#include "scan/subset_options.h"

/* Checks that all tasks run the same scan of the same inputs, which must be listed and their kind in use. The first
 * task writes the identity. BL_EUSAGE: this scan differs; the message says how. */
int bl_parts_agree(const struct bl_state *state, int64_t tasks, const struct bl_options *options,
                   const struct bl_input_set *inputs, const struct bl_subset_options *subset, struct bl_error *e);

struct bl_parts {
    int64_t tasks;   /* that share the scan; 0: there is no such scan */
    int64_t missing; /* the first task without a part; -1: none */
};

int bl_parts_find(const struct bl_state *state, struct bl_parts *parts, struct bl_error *e);

/* BL_EFAIL names a missing part, and the command that makes it. */
int bl_parts_require(const struct bl_state *state, const struct bl_parts *parts, struct bl_error *e);

/* Checks that the options of the subset, and the datasets that they name, are those that the scan's tasks were given,
 * for a process that does not list the inputs. BL_EUSAGE names one that differs. */
int bl_parts_check_subset(const struct bl_state *state, const struct bl_options *options,
                          const struct bl_subset_options *subset, struct bl_error *e);

#endif
