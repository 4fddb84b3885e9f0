#include "kind/video/gpu_worker.h"

#include <stdlib.h>

int bl_gpu_worker_open(struct bl_gpu_worker **worker, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                       size_t bytes, struct bl_error *e)
{
    struct bl_gpu_worker *w = calloc(1, sizeof *w);
    if (!w)
        return bl_error_memory(e);
    w->functions = functions;
    int code = functions->open(gpu, &w->queue, e);
    if (!code)
        code = bl_readback_open(&w->readback, functions, w->queue, bytes, e);
    if (code) {
        if (w->queue)
            functions->close(w->queue);
        free(w);
        return code;
    }
    bl_session_pool_begin(&w->sessions, functions, w->queue);
    *worker = w;
    return BL_OK;
}

void bl_gpu_worker_close(struct bl_gpu_worker *worker)
{
    if (!worker)
        return;
    bl_readback_close(&worker->readback);
    bl_session_pool_end(&worker->sessions);
    worker->functions->close(worker->queue);
    free(worker);
}
