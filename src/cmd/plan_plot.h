/* The picture of a plan: blocks as bars of their sequences, in scale. */
#ifndef BL_PLAN_PLOT_H
#define BL_PLAN_PLOT_H

#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"
#include "store/plan_info.h"
#include "store/sequences.h"

/* What is drawn. */
struct bl_plan_plot {
    const struct bl_plan *plan;
    const struct bl_plan_info *plan_info;
    const struct bl_sequences *table; /* that the plan was made from; ids are read back where it is a file */
    const char *group_by;             /* the column whose values are groups; or NULL */
    int64_t epoch, epochs;            /* from 1; named if there are several */
};

/* Writes the picture as SVG to path; NULL or "-" is standard output. Its size is bounded: of large plans it shows the
 * first blocks, and says how many there are. */
int bl_plan_plot_write(const struct bl_plan_plot *plot, const char *path, struct bl_error *e);

#endif
