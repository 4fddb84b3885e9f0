#include "kind/video/gpu_worker.h"

#include <stdlib.h>

int bl_gpu_worker_open(struct bl_gpu_worker **worker, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                       size_t bytes, struct bl_error *e)
{
    struct bl_gpu_worker *w = calloc(1, sizeof *w);
    if (!w)
        return bl_error_memory(e);
    w->functions = functions;
    int code = functions->open(gpu, &w->lane, e);
    if (!code)
        code = bl_pictures_open(&w->pictures, functions, w->lane, bytes, e);
    if (code) {
        if (w->lane)
            functions->close(w->lane);
        free(w);
        return code;
    }
    bl_sessions_begin(&w->sessions, functions, w->lane);
    *worker = w;
    return BL_OK;
}

void bl_gpu_worker_close(struct bl_gpu_worker *worker)
{
    if (!worker)
        return;
    bl_pictures_close(&worker->pictures);
    bl_sessions_end(&worker->sessions);
    worker->functions->close(worker->lane);
    free(worker);
}
