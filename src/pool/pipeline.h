/* The pipeline: produce -> work -> write -> consume. Many threads run work and write; the caller's thread runs the
 * rest.
 *
 * It resembles a Unix pipeline. produce makes jobs in order, but only while fewer than `slots` are in progress: that is
 * the backpressure, and bounds the memory. Workers run work. As many writers, or fewer, run write, which waits for the
 * disk, so that workers do not wait. consume gets the results in the order of the jobs, whatever order they finished
 * in. With one worker everything runs in the same order without threads. The first fatal error, in the order of the
 * jobs, stops production, raises cancel, waits for the threads and is returned. */
#ifndef BL_PIPELINE_H
#define BL_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/process.h"

struct bl_stages {
    /* Makes the next job; *job stays NULL if there are no more. Runs on the caller's thread. */
    int (*produce)(void *context, void **job, struct bl_error *e);
    /* Open and close the state of a worker; both NULL if it needs none. open runs on the worker's thread. */
    int (*open)(void *context, void **worker, struct bl_error *e);
    void (*close)(void *worker);
    /* Does a job, on any thread. A code other than BL_OK is fatal. */
    int (*work)(void *context, void *worker, void *job, struct bl_error *e);
    /* Follows work, on another thread, in parallel with other jobs; may be NULL. Errors as in work. */
    int (*write)(void *context, void *job, struct bl_error *e);
    int writers; /* threads that run it, at most; 0: as many as workers */
    /* Takes a result, in order, and owns the job from then on. Runs on the caller's thread. */
    int (*consume)(void *context, void *job, struct bl_error *e);
    /* Frees a job that will not be consumed. */
    void (*discard)(void *context, void *job);
    /* Called several times a second while waiting, and after every job; may be NULL. */
    void (*tick)(void *context);
    struct bl_work *work_times; /* where the time goes is added here; NULL: nobody asks */
};

/* Runs all jobs. BL_ECANCEL: cancel was raised from outside (a signal). A thread that cannot start is BL_EFAIL. */
int bl_pipeline_run(const struct bl_stages *stages, void *context, int workers, int slots, struct bl_cancel *cancel,
                    struct bl_error *e);

/* --- work on a second thread -------------------------------------------------------------------------------------- */

/* Runs work on a thread of its own, while the calling thread reports that the work goes on. */

struct bl_aside {
    int (*work)(void *context, struct bl_error *e);
    void *context;
    void (*tick)(void *sink); /* called several times a second, on the caller's thread */
    void *sink;
    struct bl_cancel *cancel;
};

/* Returns what the work does, with its error. It is waited for in any case: BL_ECANCEL comes after its end. */
int bl_aside_run(const struct bl_aside *aside, struct bl_error *e);

#endif
