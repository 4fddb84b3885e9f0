/* Where the time of a stage went whose jobs several workers share: measured by the pipeline, and by what runs in it. */
#ifndef BL_WORK_H
#define BL_WORK_H

#include "base/error.h"
#include "base/processor_time.h"

/* What workers without a job wait for. */
enum bl_wait {
    BL_WAIT_JOB,   /* for one job, which others are at, and whose result comes before theirs */
    BL_WAIT_WRITE, /* for the disk: results are being written */
    BL_WAIT_ORDER, /* for the one thread that makes jobs and takes their results in order */
    BL_WAITS
};

/* Seconds; begin with {0}, end with bl_work_free. */
struct bl_work {
    double wall;           /* by the clock */
    double lost[BL_WAITS]; /* of it, by the share of the workers that had nothing to do */
    double worked;         /* of all workers, in jobs; of these: */
    double encoded;        /* encoding and compressing results */
    double reserved;       /* waiting for memory */
    struct bl_processor_time processor;
    double held;            /* lost to the job that is being taken: BL_WAIT_JOB */
    char *slowest;          /* the file to whose job most was lost; owned; or NULL */
    double slowest_held;    /* lost to that job */
    double slowest_seconds; /* that the file took */
};

/* Notes the slowest file of the job that is being taken, if no other held the stage up for longer, and the file is why:
 * it took at least half as long. BL_EFAIL: memory. */
int bl_work_note_file(struct bl_work *work, const char *file, double seconds, struct bl_error *e);

/* Adds the processor time of decoders, which was `before` when the stage began, and is `now`. */
void bl_work_add_decoders(struct bl_work *work, const struct bl_processor_time *before, struct bl_processor_time now);

void bl_work_free(struct bl_work *work);

#endif
