/* The picture of a plan: blocks as bars of their sequences, in scale, as an SVG file. */
#ifndef BL_PLAN_PLOT_H
#define BL_PLAN_PLOT_H

#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"
#include "store/plan_info.h"
#include "store/sequences.h"

/* The plan to draw, and where the names of its sequences and groups come from. */
struct bl_plan_plot {
    const struct bl_plan *plan;
    const struct bl_plan_info *plan_info;
    const struct bl_sequences *table; /* from which the plan was made; ids are read again if it is a file */
    const char *group_by;             /* the column whose values are groups; or NULL */
    int64_t epoch, epochs;            /* number of the plan, from 1, and of all; in the title if there are several */
};

/* Writes the picture as SVG to path; NULL or "-" is standard output. Its size is bounded: it shows the first blocks of
 * a large plan, and says how many there are. BL_EFAIL: the file cannot be written, or the table cannot be read again.
 */
int bl_plan_plot_write(const struct bl_plan_plot *plot, const char *path, struct bl_error *e);

#endif
