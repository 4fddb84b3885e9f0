/* How far a dataset is that many processes, or one, are making: gathered from what lies in DIR/.bload, whoever put it
 * there. Nothing is written, no lock is touched, and no file is looked at per shard: a finished shard is counted by the
 * names of its record and its file. What is done, files tell; heartbeats only tell of who is at the rest. */
#ifndef BL_STATUS_H
#define BL_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "run/heartbeat.h"
#include "store/manifest.h"
#include "store/plan_info.h"

/* Seconds without a beat after which a task is called silent: where it beats as it works, and where it is at something
 * that tells no progress. */
#define BL_STATUS_SILENT 120
#define BL_STATUS_SILENT_LONG 1800
/* The same for one of this machine whose process is not there any more. */
#define BL_STATUS_SILENT_GONE 30

enum bl_task_state {
    BL_TASK_FAILED,
    BL_TASK_SILENT,  /* no beat for long: killed, most likely */
    BL_TASK_STOPPED, /* by a signal */
    BL_TASK_RUNNING,
    BL_TASK_WAITING, /* nobody has begun, or what it had done is not there any more */
    BL_TASK_DONE,    /* all of it is there, whoever did it */
    BL_TASK_STATES
};

struct bl_status_task {
    struct bl_beat *beat; /* NULL: none was heard */
    enum bl_task_state state;
    bool gone;          /* silent, of this machine, and its process is not there */
    int64_t age;        /* seconds since its last beat */
    int64_t begin, end; /* its shards, or parts of a scan */
    int64_t finished;   /* of these */
    double rate;        /* steps a second, or what it counts where there are none; 0: not known */
    double left;        /* seconds; negative: not known */
};

/* The tasks of scan or pack. Of another division into tasks than the last one, only who is running is listed, behind
 * the others. */
struct bl_status_stage {
    int64_t tasks;               /* 0: not known yet */
    size_t count;                /* at least tasks */
    struct bl_status_task *task; /* task i at i */
    int64_t in[BL_TASK_STATES];  /* how many of tasks are so */
    int64_t units, finished;     /* parts, shards: all (0: not known yet), and those that are there */
    double rate;                 /* of all that run */
    const char *rate_of;         /* "frames", "files": what rate counts */
    double left;                 /* seconds; negative: not known */
};

enum bl_status_at { BL_AT_SCAN, BL_AT_PLAN, BL_AT_PACK, BL_AT_FINISH, BL_AT_END };

struct bl_status {
    enum bl_status_at at; /* what is to be done next; END: the dataset is complete */
    bool parts;           /* the scan is, or was, shared by tasks */
    bool table, plan;     /* are there */
    bool shared;          /* the plan is there for tasks: then bload finish comes last, else the run finishes itself */
    bool has_words;       /* the plan is known */
    struct bl_plan_info plan_info; /* of the plan */
    bool has_manifest;             /* of the dataset, or, while it is packed, what is known of it */
    struct bl_manifest manifest;
    struct bl_status_stage scan, pack;
    int64_t finished_blocks;
    int64_t verify_tasks, verified; /* of a chain of Slurm jobs: tasks, and those that left a mark; 0, 0 without one */
    bool slurm;                     /* there is DIR.slurm */
    int64_t unreadable;             /* heartbeats that are none */
    struct bl_error unread;         /* why, of the first */
    int64_t now;                    /* seconds since 1970, by this machine's clock */
};

/* BL_EFAIL: DIR is neither a dataset nor one in the making, or cannot be read. On error *status is empty. */
int bl_status_read(struct bl_status *status, const char *dir, struct bl_error *e);
void bl_status_free(struct bl_status *status);

/* Whether somebody has to look: a task failed or is silent, and nobody did its work. */
bool bl_status_is_bad(const struct bl_status *status);

const char *bl_status_at_name(enum bl_status_at at);
const char *bl_task_state_name(enum bl_task_state state);

/* Appends all of it as JSON. next: what to do now, in words, or NULL. */
int bl_status_json(const struct bl_status *status, const char *next, struct bl_buffer *out, struct bl_error *e);

#endif
