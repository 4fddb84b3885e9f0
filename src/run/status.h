/* The progress of a dataset that one or many processes are making: the tasks of each stage, the whole dataset, and both
 * as JSON. */
#ifndef BL_STATUS_H
#define BL_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "run/heartbeat.h"
#include "run/state_files.h"
#include "store/manifest.h"
#include "store/plan_info.h"

/* --- tasks of a stage --------------------------------------------------------------------------------------------- */

/* The tasks of a stage of packing, from their heartbeats and from the files that they made. */

enum bl_task_state {
    BL_TASK_FAILED,
    BL_TASK_SILENT,  /* no beat for long: probably killed */
    BL_TASK_STOPPED, /* by a signal */
    BL_TASK_RUNNING,
    BL_TASK_WAITING, /* not begun, or its results are gone */
    BL_TASK_DONE,    /* all its results exist, whichever task made them */
    BL_TASK_STATES
};

struct bl_status_task {
    struct bl_beat *beat; /* NULL: no heartbeat */
    enum bl_task_state state;
    bool gone;          /* silent, and its process on this machine has ended */
    int64_t age;        /* seconds since its last beat */
    int64_t begin, end; /* its shards, or parts of a scan */
    int64_t finished;   /* units of that range */
    double rate;        /* per second: steps, or units without steps; 0: unknown */
    double left;        /* seconds; negative: unknown */
};

/* The tasks of scan or pack. If the work was divided differently before, the running tasks of that division follow the
 * others. */
struct bl_status_stage {
    int64_t tasks;               /* 0: unknown */
    size_t count;                /* at least tasks */
    struct bl_status_task *task; /* [count] task i at index i */
    int64_t in[BL_TASK_STATES];  /* number of tasks in each state */
    int64_t units, finished;     /* parts or shards: all (0: unknown), and existing ones */
    double rate;                 /* of all running tasks */
    const char *rate_of;         /* unit of rate: "frames", "files" */
    double left;                 /* seconds; negative: unknown */
    int64_t unreadable;          /* number of invalid heartbeats */
    struct bl_error unread;      /* the reason of the first of them */
};

const char *bl_task_state_name(enum bl_task_state state);

/* Appends the command that continues a stage: "run the same bload pack --task I/8 command for I = 3, 4, 7-9", by the
 * tasks that are neither running nor done; or, for a single process, "run the same bload pack command to
 * resume". */
void bl_status_stage_append_command(const struct bl_status_stage *stage, const char *command, struct bl_buffer *out);

/* --- status of a dataset ------------------------------------------------------------------------------------------ */

/* The progress of a dataset, from the files in DIR/.bload. Reading it writes nothing, takes no lock, and opens no file
 * per shard: a shard is finished if its record and its file exist by name. Files decide what is done; heartbeats only
 * show which processes are running. */

enum bl_status_at { BL_AT_SCAN, BL_AT_PLAN, BL_AT_PACK, BL_AT_FINISH, BL_AT_END };

struct bl_status {
    enum bl_status_at at; /* the next stage; END: the dataset is complete */
    bool parts;           /* tasks share or shared the scan */
    bool table, plan;     /* whether they exist */
    bool shared;          /* tasks share the plan, so bload finish is needed; otherwise the run finishes by itself */
    bool has_plan_info;   /* plan_info is valid */
    struct bl_plan_info plan_info; /* of the plan */
    bool has_manifest;             /* manifest is valid; while packing it is the draft */
    struct bl_manifest manifest;
    struct bl_status_stage scan, pack;
    int64_t finished_blocks;
    struct bl_error lost;           /* a file of a finished dataset, other than its shards, that is lost; or none */
    int64_t verify_tasks, verified; /* of a chain of Slurm jobs: tasks, and those with a mark; otherwise 0, 0 */
    bool slurm;                     /* DIR.slurm exists */
    int64_t unreadable;             /* number of invalid heartbeats */
    struct bl_error unread;         /* the reason of the first of them */
    int64_t now;                    /* seconds since 1970, by this machine's clock */
    const struct bl_mirror *mirror; /* what bl_status_read was given */
};

/* mirror: DIR is the scratch of a dataset in a store, which has the shards; or NULL: DIR has them. BL_EFAIL: DIR is
 * neither a dataset nor an unfinished one, or cannot be read. On error *status is empty. */
int bl_status_read(struct bl_status *status, const char *dir, const struct bl_mirror *mirror, struct bl_error *e);
void bl_status_free(struct bl_status *status);

/* Whether the user must act: a task failed or is silent, and no other task did its work. */
bool bl_status_is_bad(const struct bl_status *status);

/* Appends the status as JSON. next: the advice in words, or NULL. */
int bl_status_json(const struct bl_status *status, const char *next, struct bl_buffer *out, struct bl_error *e);

#endif
