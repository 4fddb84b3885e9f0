/* Heartbeats: what a process that packs or scans tells of itself, in a small file that `bload status` reads from
 * anywhere: DIR/.bload/task-00003, of a scan DIR/.bload/scan-task-00003.
 *
 * A file of "name: value" lines, replaced every few seconds. No result depends on it: it is not synced, and a
 * heartbeat that cannot be written stops nothing. It is tried again at the next beat, and counted: whoever ends the
 * heartbeat finds in missed and error what to tell, once. */
#ifndef BL_HEARTBEAT_H
#define BL_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "run/progress.h"
#include "run/task.h"

#define BL_HEARTBEAT_SECONDS 10 /* between two beats */
#define BL_BEAT_FILE_MAX 32     /* bytes of a file's name in DIR/.bload */

enum bl_beat_state {
    BL_BEAT_RUNNING,
    BL_BEAT_DONE,    /* status 0 or 3 */
    BL_BEAT_FAILED,  /* any other */
    BL_BEAT_STOPPED, /* by a signal */
};

/* What a heartbeat says. Texts are as they are; only in the file are they written as in tables. Rates are steps in
 * milliseconds: both of one clock, the writer's. */
struct bl_beat {
    char stage[16];      /* of the task: "scan", "pack" */
    int64_t task, tasks; /* 0 of 1: a process that does all */
    char host[65];
    int64_t pid;
    char job[64];           /* of Slurm: "77", "77_3"; "" without one */
    int64_t began, updated; /* seconds since 1970, by the writer's clock */
    int64_t state;          /* enum bl_beat_state */
    int64_t status;         /* exit status, or 128 and the signal; -1 while it runs */
    char doing[16];         /* what it is at: "scan", "plan", "scatter", "pack" */
    char unit[16];          /* "files", "blocks" */
    int64_t done, total;    /* of those; total 0: not known */
    char step[16];          /* "frames", or "" */
    int64_t steps, steps_left;
    int64_t parts;        /* thousandths of units, also of those under way; 0: not told */
    int64_t milliseconds; /* since it is at that: what done or steps took */
    int64_t bytes;        /* written in this run */
    char error[1024];
};

/* The name of a task's file in DIR/.bload; returns out. */
char *bl_beat_file(const char *stage, int64_t task, char out[BL_BEAT_FILE_MAX]);

void bl_beat_format(const struct bl_beat *beat, struct bl_buffer *out);

/* Reads the text of one. Lines of names that are not known are passed over, so that a later version's can be read.
 * BL_EDATA: it is none. */
int bl_beat_parse(struct bl_beat *beat, const char *text, size_t size, struct bl_error *e);

const char *bl_beat_state_name(int64_t state);

/* A process's own. Empty (zeros) where there is none: then the functions below do nothing. */
struct bl_heartbeat {
    struct bl_beat beat;
    char *path, *temporary;
    double written;        /* seconds of a monotonic clock */
    int64_t missed;        /* beats that could not be written */
    struct bl_error error; /* why, the first time */
};

/* From now on this process is at work on its task of stage in dir, whose .bload is there. The first beat. */
void bl_heartbeat_begin(struct bl_heartbeat *heartbeat, const char *dir, const char *stage, const struct bl_task *task);

/* It turns to something that tells no progress, and may take long: "plan". Written at once. */
void bl_heartbeat_set_phase(struct bl_heartbeat *heartbeat, const char *doing);

/* A beat, if it is time for one. Cheap when it is not: may be called many times a second. */
void bl_heartbeat_tick(struct bl_heartbeat *heartbeat, const struct bl_progress *progress);

/* The last beat: how it ended. status: the exit status, or 128 and the signal. error: text or NULL. A DIR/.bload that
 * is gone is fine: then the dataset is finished. Frees all but missed and error. */
void bl_heartbeat_end(struct bl_heartbeat *heartbeat, int status, const char *error);

#endif
