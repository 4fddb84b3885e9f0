/* Runs jobs through four stages: produce -> work -> write -> consume. Many threads run work and write; the caller's
 * thread runs produce and consume.
 *
 * It resembles a Unix pipeline. produce makes jobs in order, as long as fewer than `slots` are in progress: this
 * backpressure bounds the memory. Workers run work. Writers, at most one for each worker, run write, so that no worker
 * waits for the disk. consume receives the results in the order of the jobs, whatever order they finished in. Example:
 * jobs 1, 2 and 3 are runs of blocks; 3 is encoded first, and is consumed after 1 and 2.
 *
 * With one worker everything runs in the same order without threads. The first fatal error, in the order of the jobs,
 * stops production, sets the cancel flag, waits for the threads and is returned. */
#ifndef BL_PIPELINE_H
#define BL_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/process.h"

/* The functions of the stages. They return BL_OK or an error code, and record the detail in *e. */
struct bl_stages {
    /* Makes the next job; *job stays NULL if there are no more. Runs on the caller's thread. */
    int (*produce)(void *context, void **job, struct bl_error *e);
    /* Open and close the state of a worker; both are NULL if workers need none. Both run on the thread of the worker,
     * which owns the state. */
    int (*open)(void *context, void **worker, struct bl_error *e);
    void (*close)(void *worker);
    /* Does a job, on any thread. A code other than BL_OK is fatal. */
    int (*work)(void *context, void *worker, void *job, struct bl_error *e);
    /* Follows work, on another thread, in parallel with other jobs; may be NULL. Errors as in work. */
    int (*write)(void *context, void *job, struct bl_error *e);
    int writers; /* the most threads that run write; 0: as many as workers */
    /* Takes a result, in order, and owns the job from then on. Runs on the caller's thread. NULL: a job that is done
     * has no result, and is discarded. */
    int (*consume)(void *context, void *job, struct bl_error *e);
    /* Frees a job that will not be consumed. Runs on the caller's thread. NULL: jobs need not be freed. */
    void (*discard)(void *context, void *job);
    /* Called several times a second while waiting, and after every job; may be NULL. */
    void (*tick)(void *context);
    struct bl_work *work_times; /* the times of this run are added here; NULL: do not measure times */
};

/* Runs all jobs and returns BL_OK after the last one is consumed. slots: the most jobs in progress, at least workers.
 * BL_ECANCEL: the cancel flag was set from outside (a signal). BL_EFAIL: a thread cannot start. Other codes are those
 * of the stages; with two or more workers, cancel->requested is then -1, unless a signal has set it. */
int bl_pipeline_run(const struct bl_stages *stages, void *context, int workers, int slots, struct bl_cancel *cancel,
                    struct bl_error *e);

/* --- work on a second thread -------------------------------------------------------------------------------------- */

/* A background task: work runs on its own thread while the calling thread reports that the work goes on. */

struct bl_background {
    int (*work)(void *context, struct bl_error *e);
    void *context;            /* passed to work; the caller's */
    void (*tick)(void *sink); /* called several times a second, on the caller's thread */
    void *sink;
    struct bl_cancel *cancel;
};

/* Runs the background task and returns the code of its work, with its error. The function always waits for the end of
 * the work, also when the cancel flag is set; then it returns BL_ECANCEL. */
int bl_background_run(const struct bl_background *background, struct bl_error *e);

#endif
