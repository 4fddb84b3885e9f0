/* Shared by the parts of `bload scan`: the command (scan.c), and the part of a table that a task makes (scan_task.c).
 */
#ifndef BL_CMD_SCAN_H
#define BL_CMD_SCAN_H

#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "cmd/progress_bar.h"
#include "plan/options.h"
#include "run/heartbeat.h"
#include "run/options.h"
#include "run/state.h"
#include "run/task.h"
#include "run/bottleneck.h"
#include "scan/scan.h"
#include "scan/subset.h"

struct bl_scan_cmd {
    const char *output;
    bool parents, json;
    struct bl_inputs inputs;
    struct bl_kind_env env;
    char *spool; /* from --spool, owned; or NULL */
    struct bl_progress progress;
    struct bl_progress_bar bar;
    struct bl_scan_progress found;
    struct bl_subset_options subset;
    struct bl_left_out_counts left_out;
    struct bl_task task;
    char *dir; /* with --task: the folder of all parts */
    struct bl_state state;
    struct bl_heartbeat heartbeat;
    struct bl_buffer unused; /* rows of the table of attributes that match no sequence */
    bool partial;            /* BL_OK gives exit status 3 */
    struct bl_run_times times;
    /* The options that pack's YAML file may contain besides the sources, so that one file serves both commands. */
    struct bl_pack_options pack_options;
    struct bl_plan_options plan_options;
};

/* Makes the folder where the kind puts its spool, if it needs one. */
int bl_scan_cmd_make_spool(const struct bl_scan_cmd *scan, struct bl_error *e);

/* The scan of the inputs, or of the task's share of them. */
struct bl_scan bl_scan_cmd_make_job(const struct bl_cmd *cmd, struct bl_scan_cmd *scan);

void bl_scan_cmd_start_progress(const struct bl_cmd *cmd, struct bl_scan_cmd *scan);

/* Prints "WHAT: 3 sequences of 17 steps; 1 skipped", and what else was counted. */
void bl_scan_cmd_print_found(struct bl_scan_cmd *scan, const char *what);

/* Prints how many faults were not printed, and which table has them. Does nothing the second time. */
void bl_scan_cmd_print_rest(struct bl_scan_cmd *scan);

/* Sets the directory that all tasks share. BL_EUSAGE: none is given, or the one above it does not exist. */
int bl_scan_cmd_find_dir(struct bl_cmd *cmd, struct bl_scan_cmd *scan);

/* Makes the task's part in the directory that all tasks share, unless it is there. */
int bl_scan_cmd_run_task(struct bl_cmd *cmd, struct bl_scan_cmd *scan);

#endif
