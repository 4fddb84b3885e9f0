/* Tasks: one process's share of work that many share, over which no master watches. Task i of N, i from 0. */
#ifndef BL_TASK_H
#define BL_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"

#define BL_TASKS_MAX 100000

struct bl_task {
    bool set;             /* false: this process does all */
    bool automatic;       /* until settled: index is the environment's to tell, and count too where it is 0 */
    int64_t index, count; /* 0 <= index < count <= BL_TASKS_MAX */
};

extern const struct bl_option_type bl_option_task; /* struct bl_task: 3/16, auto, auto/16 */

/* The flag --task, over a struct bl_task; a group of every command that shares work. */
extern const struct bl_option bl_task_option_table[];

/* Asks the environment where the task is automatic, which it then is no longer: Open MPI's rank, or srun's, within the
 * element of a Slurm job array where there is one; or the index of a Kubernetes Job. BL_EUSAGE: it does not tell, or
 * tells what cannot be, or another count than was given. */
int bl_task_resolve(struct bl_task *task, struct bl_error *e);

/* Of so many things, in order, this task's are begin to end - 1: floor(index * total / count) up to the next task's.
 * All of them when the task is not set. */
void bl_task_range(const struct bl_task *task, int64_t total, int64_t *begin, int64_t *end);

#endif
