/* Processes: their limits, running other programs, and accounting for the time that threads and processes take. */
#ifndef BL_PROCESS_H
#define BL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- descriptors -------------------------------------------------------------------------------------------------- */

/* Sets the limit of open files to the largest that the process may set, and returns it. The usual limit of 1,024 is too
 * small for hundreds of workers. */
int64_t bl_descriptors_raise(void);

/* Closes all descriptors from first to last, by close_range(2), which kernels have from 5.9 on, or one by one. */
void bl_descriptors_close(int first, int last);
/* Closes them one by one: those that /proc/self/fd lists, or without /proc those up to 65,535. */
void bl_descriptors_close_each(int first, int last);

/* --- size of the stack -------------------------------------------------------------------------------------------- */

/* The limit of the stack (ulimit -s): beyond it a process ends by SIGSEGV, without a message. */

/* Whether the program has the stack that it needs, 1 MiB. If the hard limit allows more, the program sets the limit and
 * executes itself again with argv, since threads get the limit from the beginning. *limit: the hard limit in bytes, or
 * 0 if the stack suffices. Call it first, with main's argv. */
bool bl_stack_ensure(char **argv, int64_t *limit);

/* --- running programs --------------------------------------------------------------------------------------------- */

/* Runs other programs to their end, with an empty standard input. */

/* Whether PATH contains a program of that name. */
bool bl_process_found(const char *name);

/* Runs argv[0], found through PATH, with argv, which ends with NULL. Its standard output and error are appended to out,
 * or inherited if out is NULL. *status: its exit status, or 128 + the signal that ended it. BL_EFAIL: it did not
 * start. */
int bl_process_run(const char *const argv[], struct bl_buffer *out, int *status, struct bl_error *e);

/* Does the same, but appends its standard output alone; its standard error is inherited. */
int bl_process_read(const char *const argv[], struct bl_buffer *out, int *status, struct bl_error *e);

/* "SIGSEGV", or NULL for a signal that hardly ends a process. */
const char *bl_process_signal(int signal);

/* --- processor time ----------------------------------------------------------------------------------------------- */

/* How long a thread or a process has run, and how long it was ready to run but had no processor. The rest of its time
 * it waited: for a disk, for another thread. */

/* Seconds; sums of several threads. */
struct bl_processor_time {
    double run;
    double queued;  /* ready, without a processor, */
    bool is_partly; /* unless the kernel does not say so of all of them */
};

/* Seconds of a monotonic clock. */
double bl_seconds_now(void);

/* Returns the time of the calling thread since it began. */
struct bl_processor_time bl_processor_time_self(void);

/* Returns the time of the first thread of a process, or zero if the process has ended. */
struct bl_processor_time bl_processor_time_of(pid_t pid);

/* Adds the time of a thread to a sum. The sum is partly known if one of its parts is. */
void bl_processor_time_add(struct bl_processor_time *sum, const struct bl_processor_time *some);

/* --- time of a parallel stage ------------------------------------------------------------------------------------- */

/* Time accounting for a parallel stage. The pipeline measures it, and so does the code that runs in the pipeline. */

/* What workers without a job wait for. */
enum bl_wait {
    BL_WAIT_JOB,   /* idle: another worker still computes the next result in order */
    BL_WAIT_WRITE, /* for the disk: results are being written */
    BL_WAIT_ORDER, /* for the one thread that makes jobs and takes their results in order */
    BL_WAITS
};

/* Seconds; begin with {0}, end with bl_work_free. A stage of 4 workers that takes 10 s by the clock has 40 s to divide:
 * worked, and 4 times what was lost. */
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
