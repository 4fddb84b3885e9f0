/* Lends GPU workers to readers; gpu_pool.h explains them.
 *
 * The lock of struct bl_gpu_pool guards the list of idle workers and the counts. Opening and closing a worker takes
 * tens of milliseconds, so that no function does either while it holds the lock: a reader that may open a worker first
 * counts it in p->made. */
#include "kind/video/gpu_pool.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/process.h"
#include "kind/video/gpu.h"

/* --- codecs of the GPUs ------------------------------------------------------------------------------------------- */

int bl_gpu_append_codecs(struct bl_gpu *gpu, struct bl_buffer *out, struct bl_error *e)
{
    static const struct {
        const char *name;
        enum AVCodecID id;
        enum AVPixelFormat format;
    } codecs[] = {
        {"H.264", AV_CODEC_ID_H264, AV_PIX_FMT_YUV420P},
        {"HEVC", AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV420P},
        {"HEVC 10 bits", AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV420P10},
        {"HEVC 4:4:4", AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV444P},
        {"HEVC 4:4:4 10 bits", AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV444P10},
        {"HEVC 4:4:4 12 bits", AV_CODEC_ID_HEVC, AV_PIX_FMT_YUV444P12},
        {"AV1", AV_CODEC_ID_AV1, AV_PIX_FMT_YUV420P},
        {"VP9", AV_CODEC_ID_VP9, AV_PIX_FMT_YUV420P},
        {"MPEG-2", AV_CODEC_ID_MPEG2VIDEO, AV_PIX_FMT_YUV420P},
    };
    bool some = false;
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        const struct bl_gpu_stream stream = {codecs[i].id, codecs[i].format, 1920, 1080};
        bool can;
        BL_TRY(bl_nvdec_functions.can_decode(gpu, &stream, &can, e));
        if (can)
            bl_buffer_printf(out, "%s%s", some ? ", " : "", codecs[i].name);
        some |= can;
    }
    return BL_OK;
}

/* --- GPU workers -------------------------------------------------------------------------------------------------- */

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
    *worker = w;
    return BL_OK;
}

void bl_gpu_worker_close(struct bl_gpu_worker *worker)
{
    if (!worker)
        return;
    bl_readback_close(&worker->readback);
    worker->functions->close(worker->queue);
    free(worker);
}

/* --- pool of GPU workers ------------------------------------------------------------------------------------------ */

struct bl_gpu_pool {
    const struct bl_gpu_functions *functions;
    struct bl_gpu *gpu;
    pthread_mutex_t lock;       /* for all that follows */
    pthread_cond_t given;       /* a worker is idle, or may be made */
    struct bl_gpu_worker *idle; /* a list, the last one given back first */
    int made, most;             /* workers, idle or taken; most 0: not known yet */
    int readers;
    struct bl_gpu_times times; /* of the workers that were opened */
};

int bl_gpu_pool_open(struct bl_gpu_pool **pool, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                     struct bl_error *e)
{
    struct bl_gpu_pool *p = calloc(1, sizeof *p);
    if (!p)
        return bl_error_memory(e);
    p->functions = functions;
    p->gpu = gpu;
    pthread_mutex_init(&p->lock, NULL); /* cannot fail on Linux, as the next */
    pthread_cond_init(&p->given, NULL);
    *pool = p;
    return BL_OK;
}

/* Takes the worker that was given back last, or returns NULL. The caller holds the lock, or is the pool's last user. */
static struct bl_gpu_worker *pool_pop(struct bl_gpu_pool *p)
{
    struct bl_gpu_worker *worker = p->idle;
    if (worker)
        p->idle = worker->next;
    return worker;
}

void bl_gpu_pool_close(struct bl_gpu_pool *p)
{
    struct bl_gpu_worker *worker;
    if (!p)
        return;
    while ((worker = pool_pop(p)))
        bl_gpu_worker_close(worker);
    pthread_cond_destroy(&p->given);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void bl_gpu_pool_enter(struct bl_gpu_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->readers++;
    pthread_mutex_unlock(&p->lock);
}

void bl_gpu_pool_leave(struct bl_gpu_pool *p)
{
    struct bl_gpu_worker *worker = NULL;
    pthread_mutex_lock(&p->lock);
    p->readers--;
    if (p->made > p->readers)
        worker = pool_pop(p);
    p->made -= worker != NULL;
    pthread_mutex_unlock(&p->lock);
    bl_gpu_worker_close(worker);
}

int bl_gpu_pool_take(struct bl_gpu_pool *p, size_t bytes, struct bl_gpu_worker **worker, struct bl_error *e)
{
    int engines, code = BL_OK;
    pthread_mutex_lock(&p->lock);
    if (!p->most) {
        code = p->functions->engines(p->gpu, &engines, e);
        if (!code)
            p->most = engines ? engines * BL_GPU_WORKERS_PER_ENGINE : INT_MAX;
    }
    while (!code && !p->idle && p->made >= p->most)
        pthread_cond_wait(&p->given, &p->lock);
    *worker = code ? NULL : pool_pop(p);
    p->made += !code && !*worker; /* none is idle, and this reader may make one */
    pthread_mutex_unlock(&p->lock);
    if (code || (*worker && (*worker)->readback.bytes == bytes))
        return code;
    bl_gpu_worker_close(*worker); /* it is for pictures of another size */
    *worker = NULL;
    double begun = bl_seconds_now();
    code = bl_gpu_worker_open(worker, p->functions, p->gpu, bytes, e);
    pthread_mutex_lock(&p->lock);
    p->times.workers += !code;
    p->times.workers_seconds += bl_seconds_now() - begun;
    if (code) {
        p->made--;
        pthread_cond_signal(&p->given);
    }
    pthread_mutex_unlock(&p->lock);
    return code;
}

void bl_gpu_pool_give(struct bl_gpu_pool *p, struct bl_gpu_worker *worker)
{
    pthread_mutex_lock(&p->lock);
    worker->next = p->idle;
    p->idle = worker;
    pthread_cond_signal(&p->given);
    pthread_mutex_unlock(&p->lock);
}

void bl_gpu_pool_add_times(struct bl_gpu_pool *p, struct bl_gpu_times *times)
{
    pthread_mutex_lock(&p->lock);
    times->workers += p->times.workers;
    times->workers_seconds += p->times.workers_seconds;
    pthread_mutex_unlock(&p->lock);
}
