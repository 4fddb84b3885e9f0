/* Heartbeats: the state of a process that packs or scans, in a small file that `bload status` can read from any
 * machine: DIR/.bload/task-00003, or for a scan DIR/.bload/scan-task-00003.
 *
 * The file has "name: value" lines and is replaced every few seconds. No result depends on it: it is not synced, and
 * work continues if it cannot be written. Each beat tries again and counts failures: after the end, missed and error
 * tell what to report, once. */
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
    BL_BEAT_DONE,    /* exit status 0 or 3 */
    BL_BEAT_FAILED,  /* any other exit status */
    BL_BEAT_STOPPED, /* by a signal */
};

/* The contents of a heartbeat. Texts are escaped only in the file, as in tables. Rates are steps and milliseconds, both
 * by the writer's clock. */
struct bl_beat {
    char stage[16];      /* of the task: "scan", "pack" */
    int64_t task, tasks; /* 0 of 1: one process does all */
    char host[65];
    int64_t pid;
    char job[64];              /* Slurm's job: "77", "77_3"; "" without Slurm */
    int64_t began, updated;    /* seconds since 1970, by the writer's clock */
    int64_t state;             /* enum bl_beat_state */
    int64_t status;            /* exit status, or 128 + the signal; -1 while it runs */
    char doing[16];            /* the present phase: "scan", "plan", "scatter", "pack" */
    char unit[16];             /* "files", "blocks" */
    int64_t done, total;       /* units; total 0: unknown */
    char step[16];             /* "frames", or "" */
    int64_t steps, steps_left; /* steps_left negative: unknown */
    int64_t parts;             /* thousandths of units, including those in progress; 0: unknown */
    int64_t milliseconds;      /* since the phase began: the time for done and steps */
    int64_t bytes;             /* written in this run */
    char error[1024];
};

/* Formats the file name of a task in DIR/.bload; returns out. */
char *bl_beat_file(const char *stage, int64_t task, char out[BL_BEAT_FILE_MAX]);

void bl_beat_format(const struct bl_beat *beat, struct bl_buffer *out);

/* Parses the text of a heartbeat. Lines with unknown names are ignored, so that files of later versions can be read.
 * BL_EDATA: not a heartbeat. */
int bl_beat_parse(struct bl_beat *beat, const char *text, size_t size, struct bl_error *e);

const char *bl_beat_state_name(int64_t state);

/* The heartbeat of this process. All zeros: there is none, and the functions below do nothing. */
struct bl_heartbeat {
    struct bl_beat beat;
    char *path, *temporary;
    double written;        /* time of the last beat, in seconds of a monotonic clock */
    int64_t missed;        /* beats that could not be written */
    struct bl_error error; /* the reason of the first of them */
};

/* Starts the heartbeat of a task of stage in dir, whose .bload must exist, and writes the first beat. */
void bl_heartbeat_begin(struct bl_heartbeat *heartbeat, const char *dir, const char *stage, const struct bl_task *task);

/* Announces a phase that reports no progress and may take long: "plan". Written at once. */
void bl_heartbeat_set_phase(struct bl_heartbeat *heartbeat, const char *doing);

/* Writes a beat if one is due. Cheap otherwise, so it may be called many times a second. */
void bl_heartbeat_tick(struct bl_heartbeat *heartbeat, const struct bl_progress *progress);

/* Writes the last beat. status: the exit status, or 128 + the signal. error: text or NULL. If DIR/.bload is gone, the
 * dataset is finished, and that is no error. Frees everything but missed and error. */
void bl_heartbeat_end(struct bl_heartbeat *heartbeat, int status, const char *error);

/* Frees it without a last beat: for a process that ends otherwise. */
void bl_heartbeat_free(struct bl_heartbeat *h);

#endif
