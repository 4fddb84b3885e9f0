/* How long a thread or a process has run, and how long it was ready to run but had no processor. The rest of its time
 * it waited: for a disk, for another thread. */
#ifndef BL_PROCESSOR_TIME_H
#define BL_PROCESSOR_TIME_H

#include <stdbool.h>
#include <sys/types.h>

/* Seconds; sums of several threads. */
struct bl_processor_time {
    double run;
    double queued;  /* ready, without a processor, */
    bool is_partly; /* unless the kernel does not say so of all of them */
};

/* Those of the calling thread since it began. */
struct bl_processor_time bl_processor_time_self(void);

/* Those of the first thread of a process; nothing if it has ended. */
struct bl_processor_time bl_processor_time_of(pid_t pid);

void bl_processor_time_add(struct bl_processor_time *sum, const struct bl_processor_time *some);

#endif
