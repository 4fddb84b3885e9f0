/* Tasks: one process's share of work that many processes divide without a coordinator. Task i of N, i from 0. */
#ifndef BL_TASK_H
#define BL_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"

#define BL_TASKS_MAX 100000

struct bl_task {
    bool set;             /* false: this process does all the work */
    bool automatic;       /* not resolved yet: the environment gives index, and also count if that is 0 */
    int64_t index, count; /* 0 <= index < count <= BL_TASKS_MAX */
};

extern const struct bl_option_type bl_option_task; /* struct bl_task: 3/16, auto, auto/16 */

/* The flag --task, over a struct bl_task: a group for every command whose work can be divided. */
extern const struct bl_option bl_task_option_table[];

/* Resolves an automatic task from the environment: the rank of Open MPI or srun, combined with the element of a Slurm
 * job array; or the index of a Kubernetes Job. BL_EUSAGE: the variables are missing, impossible, or contradict the
 * given count. */
int bl_task_resolve(struct bl_task *task, struct bl_error *e);

/* The task's share of total things in order: from *begin to *end - 1, with *begin = floor(index * total / count). All
 * of them if the task is not set. */
void bl_task_range(const struct bl_task *task, int64_t total, int64_t *begin, int64_t *end);

#endif
