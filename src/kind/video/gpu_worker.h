/* What a worker has of a GPU: a queue, sessions that decode on it, pictures on their way from it. */
#ifndef BL_GPU_WORKER_H
#define BL_GPU_WORKER_H

#include "kind/video/gpu.h"
#include "kind/video/readback.h"
#include "kind/video/session_pool.h"

struct bl_gpu_worker {
    const struct bl_gpu_functions *functions;
    struct bl_gpu_queue *queue;
    struct bl_session_pool sessions;
    struct bl_readback readback;
};

/* For pictures of that many bytes. The GPUs outlive it. */
int bl_gpu_worker_open(struct bl_gpu_worker **worker, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                       size_t bytes, struct bl_error *e);
void bl_gpu_worker_close(struct bl_gpu_worker *worker); /* NULL is fine */

#endif
