#include "kind/video/gpu_pool.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

struct bl_gpu_pool {
    const struct bl_gpu_functions *functions;
    struct bl_gpu *gpu;
    pthread_mutex_t lock;       /* for all that follows */
    pthread_cond_t given;       /* a worker is idle, or may be made */
    struct bl_gpu_worker *idle; /* a list, the last one given back first */
    int made, most;             /* workers, idle or taken; most 0: not known yet */
    int readers;
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

/* Asks for the number of engines when it is first needed. */
static int pool_find_most(struct bl_gpu_pool *p, struct bl_error *e)
{
    int engines, code = p->most ? BL_OK : p->functions->engines(p->gpu, &engines, e);
    if (!code && !p->most)
        p->most = engines ? engines * BL_GPU_WORKERS_PER_ENGINE : INT_MAX;
    return code;
}

/* Waits for an idle worker, or, with *worker NULL, for the right to make one. */
static int pool_wait(struct bl_gpu_pool *p, struct bl_gpu_worker **worker, struct bl_error *e)
{
    pthread_mutex_lock(&p->lock);
    int code = pool_find_most(p, e);
    while (!code && !p->idle && p->made >= p->most)
        pthread_cond_wait(&p->given, &p->lock);
    *worker = code ? NULL : pool_pop(p);
    p->made += !code && !*worker;
    pthread_mutex_unlock(&p->lock);
    return code;
}

static void pool_forget_one(struct bl_gpu_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->made--;
    pthread_cond_signal(&p->given);
    pthread_mutex_unlock(&p->lock);
}

int bl_gpu_pool_take(struct bl_gpu_pool *p, size_t bytes, struct bl_gpu_worker **worker, struct bl_error *e)
{
    int code = pool_wait(p, worker, e);
    if (code || (*worker && (*worker)->readback.bytes == bytes))
        return code;
    bl_gpu_worker_close(*worker); /* for pictures of another size */
    *worker = NULL;
    code = bl_gpu_worker_open(worker, p->functions, p->gpu, bytes, e);
    if (code)
        pool_forget_one(p);
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
