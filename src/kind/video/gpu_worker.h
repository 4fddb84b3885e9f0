/* What a worker has of a GPU: a lane, sessions that decode on it, pictures on their way from it. */
#ifndef BL_GPU_WORKER_H
#define BL_GPU_WORKER_H

#include "kind/video/gpu.h"
#include "kind/video/pictures.h"
#include "kind/video/sessions.h"

struct bl_gpu_worker {
    const struct bl_gpu_functions *functions;
    struct bl_lane *lane;
    struct bl_sessions sessions;
    struct bl_pictures pictures;
};

/* For pictures of that many bytes. The GPUs outlive it. */
int bl_gpu_worker_open(struct bl_gpu_worker **worker, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                       size_t bytes, struct bl_error *e);
void bl_gpu_worker_close(struct bl_gpu_worker *worker); /* NULL is fine */

#endif
