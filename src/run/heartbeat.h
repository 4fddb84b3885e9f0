/* Signs of life of a run: its progress, and the heartbeat file that shows it on any machine.
 *
 * A plain bload pack has a heartbeat, too: asking its lock takes the lock for a moment, and a run that starts just
 * then would be refused. */
#ifndef BL_HEARTBEAT_H
#define BL_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "run/state_files.h"

/* --- progress ----------------------------------------------------------------------------------------------------- */

/* Progress: how far a stage of a run is, for the display and for the heartbeat. */

struct bl_progress {
    const char *what;    /* "scan", "pack" */
    const char *unit;    /* "files", "blocks" */
    const char *step;    /* "frames", or NULL */
    int64_t total;       /* units; 0: unknown */
    int64_t done;        /* units */
    int64_t steps;       /* done in this run, for the rate and the estimate of the time left */
    int64_t steps_left;  /* not done yet; negative: unknown, then units foretell the time left */
    int64_t steps_found; /* done by earlier runs */
    int64_t parts;       /* thousandths of units, by their weights, including those in progress; 0: unknown */
    int64_t bytes;       /* written, or read and checked, in this run */
    int64_t bytes_total; /* 0: unknown; else they foretell the time left, where there are no steps */
    const char *file;    /* the one that holds the stage up, as far as that is known; or NULL */
    double started;      /* start time in seconds of a monotonic clock */
};

/* Seconds after which the progress of a stage is shown if the stage usually takes less: a plan, a subset. */
#define BL_PROGRESS_LATE 1.0

void bl_progress_start(struct bl_progress *progress, const char *what, const char *unit, const char *step,
                       int64_t total);

/* The work done in this run, and left, in what foretells the time best: steps, bytes, or units and their parts. left is
 * negative if it is unknown. */
void bl_progress_work(const struct bl_progress *progress, double *done, double *left);

/* The share of the total that is done, including earlier runs; 0 if the total is unknown. */
double bl_progress_fraction(const struct bl_progress *progress);

/* Seconds since the start. */
double bl_progress_seconds(const struct bl_progress *progress);

/* --- heartbeat ---------------------------------------------------------------------------------------------------- */

/* Heartbeats: the state of a process that packs or scans, in a small file that `bload status` can read from any
 * machine: DIR/.bload/task-00003, or for a scan DIR/.bload/scan-task-00003.
 *
 * The file has "name: value" lines and is replaced every few seconds. No result depends on it: it is not synced, and
 * work continues if it cannot be written. Each beat tries again and counts failures: after the end, missed and error
 * tell what to report, once. */

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
