/* The pipeline: produce -> work -> write -> consume, with work and write done by many threads and everything else on
 * the caller's.
 *
 * It is told like a Unix pipeline. produce makes jobs in order, and only while fewer than `slots` are under way: that
 * is the backpressure, and the bound on memory. Workers take them; what has to wait for a disk then is done by as many
 * writers, so that workers do not wait; consume gets the results in the order of the jobs, whatever the order in which
 * they were done. With one worker the same way is taken without threads. The first fatal error, in the order of the
 * jobs, stops intake, raises cancel, waits for the threads and is returned. */
#ifndef BL_PIPELINE_H
#define BL_PIPELINE_H

#include "base/error.h"
#include "kind/kind.h"

struct bl_stages {
    /* The next job: 1, 0 when there are no more, or a code. On the caller's thread. */
    int (*produce)(void *context, void **job, struct bl_error *e);
    /* A worker's own state; both NULL when it needs none. open runs on the worker's thread. */
    int (*open)(void *context, void **worker, struct bl_error *e);
    void (*close)(void *worker);
    /* Does a job. On any thread; a code other than BL_OK is fatal to the run. */
    int (*work)(void *context, void *worker, void *job, struct bl_error *e);
    /* Follows work, on another thread, beside the work on other jobs; may be NULL. Errors as in work. */
    int (*write)(void *context, void *job, struct bl_error *e);
    /* Takes a result, in order, and owns the job from then on. On the caller's thread. */
    int (*consume)(void *context, void *job, struct bl_error *e);
    /* Frees a job that will not be consumed. */
    void (*discard)(void *context, void *job);
    /* Called several times a second while waiting, and after every job. May be NULL. */
    void (*tick)(void *context);
};

/* Runs to the end. BL_ECANCEL when cancel was raised from outside (a signal). Errors of starting threads are BL_EFAIL.
 */
int bl_pipeline_run(const struct bl_stages *stages, void *context, int workers, int slots, struct bl_cancel *cancel,
                    struct bl_error *e);

#endif
