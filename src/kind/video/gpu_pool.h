/* The GPU workers of a process, which its readers share: each takes one for a piece, and gives it back.
 *
 * An engine decodes one picture after the other, and two decoders keep it busy: while the pictures of one are drawn and
 * fetched, the other one's are decoded. Further ones make nothing faster, and each takes 40 ms to create, one after the
 * other (on an H200). So there are at most BL_GPU_WORKERS_PER_ENGINE for each engine, however many readers there are;
 * they are made as pieces come that find none idle. The last one given back is the next one taken: its decoders are of
 * use most likely, and where a few workers suffice no others are made. */
#ifndef BL_GPU_POOL_H
#define BL_GPU_POOL_H

#include "kind/video/gpu_worker.h"

#define BL_GPU_WORKERS_PER_ENGINE 2

struct bl_gpu_pool;

int bl_gpu_pool_open(struct bl_gpu_pool **pool, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                     struct bl_error *e);
/* All workers were given back. Close it before the GPUs. NULL is fine. */
void bl_gpu_pool_close(struct bl_gpu_pool *pool);

/* Counts a reader that may take workers. When it leaves, it closes one that the others will not need: so the readers'
 * threads, which end together, share the time that this takes. */
void bl_gpu_pool_enter(struct bl_gpu_pool *pool);
void bl_gpu_pool_leave(struct bl_gpu_pool *pool);

/* Takes a worker for pictures of so many bytes; where as many as there may be are taken, waits for one. */
int bl_gpu_pool_take(struct bl_gpu_pool *pool, size_t bytes, struct bl_gpu_worker **worker, struct bl_error *e);
void bl_gpu_pool_give(struct bl_gpu_pool *pool, struct bl_gpu_worker *worker);

#endif
