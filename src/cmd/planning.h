/* What the parts of `bload plan` share: the plan of tables (plan.c) and that of a dataset in the making
 * (plan_directory.c). */
#ifndef BL_PLANNING_H
#define BL_PLANNING_H

#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "cmd/lengths.h"
#include "plan/planner.h"
#include "run/options.h"
#include "run/progress.h"
#include "run/state.h"
#include "store/plan_info.h"

struct bl_planning {
    const char *config_path, *output, *report, *dataset;
    int64_t epochs;
    struct bl_length_source lengths;
    struct bl_plan_options options;
    struct bl_planner planner;
    struct bl_plan plan;           /* of the last epoch */
    struct bl_plan_info plan_info; /* of it, by the first epoch's seed */
    int64_t S;                     /* of all */
    /* What the YAML file of scan and pack may say beside, so that one file serves all. */
    struct bl_inputs inputs;
    struct bl_pack_options pack_options;
    struct bl_common common;
    /* Of a directory: */
    char *dir;
    struct bl_state state;
    struct bl_progress progress;
    bool partial; /* the status that BL_OK ends with */
};

/* Merges the parts of a scan in planning->dir, if there is no table yet, and makes its plan, both once. */
int bl_planning_directory(struct bl_cmd *cmd, struct bl_planning *planning);

/* Writes the counts as JSON to where --report says. */
int bl_planning_report(const struct bl_planning *planning, struct bl_error *e);

#endif
