/* The times of opening GPUs, workers and hardware decoders, for the report of a run. */
#ifndef BL_GPU_TIMES_H
#define BL_GPU_TIMES_H

#include <stdint.h>

/* Seconds of several threads are added up, also those in which they waited for each other: the driver makes one decoder
 * after the other. {0}: no GPU was opened. */
struct bl_gpu_times {
    int64_t devices, workers, decoders; /* that were opened: GPUs, queues with their memory, and hardware decoders */
    double devices_seconds, workers_seconds, decoders_seconds;
    int64_t reconfigured, reused; /* streams whose decoder was kept: for another size, and as it was */
};

#endif
