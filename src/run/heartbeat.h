/* Tracks the progress of a run, and publishes it in a heartbeat file that any machine can read.
 *
 * A bload pack without tasks has a heartbeat, too. `bload status` could test its lock instead, but a test takes the
 * lock for a moment, and a run that starts at that moment would be refused. */
#ifndef BL_HEARTBEAT_H
#define BL_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "run/state_files.h"

/* --- progress ----------------------------------------------------------------------------------------------------- */

/* The progress of a stage of a run, for the display and for the heartbeat. A unit is a file or a block; a step is a
 * step of a sequence, such as a frame. */

struct bl_progress {
    const char *what;    /* "scan", "pack" */
    const char *unit;    /* "files", "blocks" */
    const char *step;    /* "frames", or NULL */
    int64_t total;       /* units; 0: unknown */
    int64_t done;        /* units */
    int64_t steps;       /* steps done in this run, for the rate and the estimate of the time left */
    int64_t steps_left;  /* steps not done yet; negative: unknown, then units predict the time left */
    int64_t steps_found; /* steps done by earlier runs */
    int64_t parts;       /* thousandths of units, by weight, including units in progress; 0: unknown */
    int64_t bytes;       /* written, or read and checked, in this run */
    int64_t bytes_total; /* 0: unknown; otherwise bytes predict the time left if there are no steps */
    const char *file;    /* the file that holds the stage up, or NULL if none is known to */
    double started;      /* start time in seconds of a monotonic clock */
};

/* Seconds after which the progress of a stage is shown if the stage usually takes less: a plan, a subset. */
#define BL_PROGRESS_LATE 1.0

/* Starts the progress of a stage now, with nothing done. The texts must outlive it. */
void bl_progress_start(struct bl_progress *progress, const char *what, const char *unit, const char *step,
                       int64_t total);

/* Sets *done to the work done in this run and *left to the remaining work, both in the unit that predicts the time
 * best: steps, else bytes, else units with their parts. *left is negative if it is unknown. */
void bl_progress_work(const struct bl_progress *progress, double *done, double *left);

/* Returns the share of all work that is done, 0 to 1, including steps of earlier runs; 0 if the total is unknown. */
double bl_progress_fraction(const struct bl_progress *progress);

/* Returns the seconds since bl_progress_start. */
double bl_progress_seconds(const struct bl_progress *progress);

/* --- heartbeat ---------------------------------------------------------------------------------------------------- */

/* A heartbeat is the state of a process that packs or scans, in a small file that `bload status` can read from any
 * machine: DIR/.bload/task-00003, or for a scan DIR/.bload/scan-task-00003.
 *
 * The file has "name: value" lines and is replaced every few seconds. No result depends on it: it is not synced, and
 * work continues if it cannot be written. Each beat tries again and counts failures. After the end, the caller reports
 * missed and error once. */

#define BL_HEARTBEAT_SECONDS 10 /* between two beats */
#define BL_BEAT_FILE_MAX 32     /* bytes of a file's name in DIR/.bload */

enum bl_beat_state {
    BL_BEAT_RUNNING,
    BL_BEAT_DONE,    /* exit status 0 or 3 */
    BL_BEAT_FAILED,  /* any other exit status */
    BL_BEAT_STOPPED, /* by a signal */
};

struct bl_mirror;

/* The contents of a heartbeat. Texts are escaped only in the file, as in tables. A reader computes the rate as steps
 * divided by milliseconds, which are measured by one clock, so that it need not trust the clocks of two machines. */
struct bl_beat {
    char stage[16];      /* stage of the task: "scan", "pack" */
    int64_t task, tasks; /* task 0 of 1: one process does all work */
    char host[65];
    int64_t pid;
    char job[64];              /* Slurm's job: "77", "77_3"; "" without Slurm */
    int64_t began, updated;    /* seconds since 1970, by the writer's clock */
    int64_t state;             /* enum bl_beat_state */
    int64_t status;            /* exit status, or 128 + the signal; -1 while it runs */
    char doing[16];            /* the present phase: "scan", "plan", "bucketing", "pack" */
    char unit[16];             /* "files", "blocks" */
    int64_t done, total;       /* units; total 0: unknown */
    char step[16];             /* "frames", or "" */
    int64_t steps, steps_left; /* steps_left negative: unknown */
    int64_t parts;             /* thousandths of units, including those in progress; 0: unknown */
    int64_t milliseconds;      /* since the phase began: the time in which done and steps were done */
    int64_t bytes;             /* written in this run */
    char error[1024];
};

/* Formats the name of the heartbeat file of a task in DIR/.bload and returns out. */
char *bl_beat_file(const char *stage, int64_t task, char out[BL_BEAT_FILE_MAX]);

/* Appends the lines of the file to out. */
void bl_beat_format(const struct bl_beat *beat, struct bl_buffer *out);

/* Parses the text of a heartbeat. Lines with unknown names are ignored, so that files of later versions can be read.
 * BL_EDATA: not a heartbeat. */
int bl_beat_parse(struct bl_beat *beat, const char *text, size_t size, struct bl_error *e);

/* The heartbeat of this process. All zeros: there is none, and the functions below do nothing. */
struct bl_heartbeat {
    struct bl_beat beat;
    char *path, *temporary;
    struct bl_mirror *mirror; /* each beat also goes to this store; or NULL */
    double written;           /* time of the last beat, in seconds of a monotonic clock */
    int64_t missed;           /* beats that could not be written */
    struct bl_error error;    /* the reason of the first missed beat */
};

/* Starts the heartbeat of a task of stage in dir, whose .bload must exist, and writes the first beat. mirror: of a
 * dataset in a store, or NULL. */
void bl_heartbeat_begin(struct bl_heartbeat *heartbeat, const char *dir, struct bl_mirror *mirror, const char *stage,
                        const struct bl_task *task);

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
