/* What decodes a piece on a GPU: a queue, the sessions that decode on it, and the readback of pictures. */
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
    struct bl_gpu_worker *next; /* belongs to the pool */
};

/* bytes: of a picture. Close it before the GPUs. */
int bl_gpu_worker_open(struct bl_gpu_worker **worker, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                       size_t bytes, struct bl_error *e);
void bl_gpu_worker_close(struct bl_gpu_worker *worker); /* NULL is fine */

#endif
