/* The tasks of a stage of packing, from their heartbeats and from the files that they made. */
#ifndef BL_STATUS_STAGE_H
#define BL_STATUS_STAGE_H

#include "run/heartbeat.h"
#include "run/state_files.h"

/* Seconds without a beat after which a task counts as silent: in a phase that reports progress, and in one that does
 * not. */
#define BL_STATUS_SILENT 120
#define BL_STATUS_SILENT_LONG 1800
/* The same for a task on this machine whose process has ended. */
#define BL_STATUS_SILENT_GONE 30

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

/* Reads the heartbeats of the tasks of a stage, "scan" or "pack". stage->tasks must be set. now: in seconds since 1970.
 * Free with bl_status_stage_free, also after an error. */
int bl_status_stage_read(struct bl_status_stage *stage, const char *folder, const char *name,
                         const struct bl_numbers *beats, int64_t now, struct bl_error *e);
void bl_status_stage_free(struct bl_status_stage *stage);

/* Sets the range of each task and counts its finished units: those in `made`. stage->units must be set. */
void bl_status_stage_resolve(struct bl_status_stage *stage, const struct bl_numbers *made);

/* Appends the command that continues a stage: "run the same bload pack --task I/8 command for I = 3, 4, 7-9", by the
 * tasks that are neither running nor done; or, for a single process, "run the same bload pack command to
 * resume". */
void bl_status_stage_append_command(const struct bl_status_stage *stage, const char *command, struct bl_buffer *out);

#endif
