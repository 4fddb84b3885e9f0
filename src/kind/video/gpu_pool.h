/* Shares the decoders of the GPUs between the readers of a process.
 *
 * A GPU worker has a queue, whose decoder decodes one stream after another, and a readback. All readers share one pool
 * of GPU workers. Creating a hardware decoder takes as long as decoding hundreds of frames, so workers are reused. */
#ifndef BL_GPU_POOL_H
#define BL_GPU_POOL_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/video/gpu.h"
#include "kind/video/readback.h"

/* --- codecs of the GPUs ------------------------------------------------------------------------------------------- */

struct bl_gpu;

/* Appends the names of the usual codecs that all of these GPUs can decode at 1920x1080, such as "H.264, HEVC". */
int bl_gpu_append_codecs(struct bl_gpu *gpu, struct bl_buffer *out, struct bl_error *e);

/* --- GPU workers -------------------------------------------------------------------------------------------------- */

/* A GPU worker decodes one piece at a time. It has a queue with a decoder, and a readback of pictures. */

struct bl_gpu_worker {
    const struct bl_gpu_functions *functions;
    struct bl_gpu_queue *queue;
    struct bl_readback readback;
    struct bl_gpu_worker *next; /* belongs to the pool */
};

/* Opens a worker for pictures of this many bytes. Close it before the GPUs. */
int bl_gpu_worker_open(struct bl_gpu_worker **worker, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                       size_t bytes, struct bl_error *e);
void bl_gpu_worker_close(struct bl_gpu_worker *worker); /* NULL is fine */

/* --- pool of GPU workers ------------------------------------------------------------------------------------------ */

/* A reader takes a worker for a piece, and gives it back.
 *
 * An engine decodes one picture at a time. Two workers keep it busy: while the pictures of one are drawn and copied,
 * the engine decodes for the other. More workers gain nothing, and creating each takes 40 ms, one after the other (on
 * an H200). So the pool makes at most BL_GPU_WORKERS_PER_ENGINE workers for each engine, however many readers there
 * are, and only when a reader finds none idle. The pool is a stack, so it makes no more workers than run at the same
 * time. */

#define BL_GPU_WORKERS_PER_ENGINE 2

struct bl_gpu_pool;

int bl_gpu_pool_open(struct bl_gpu_pool **pool, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                     struct bl_error *e);
/* Closes all workers; each must have been given back. Close the pool before the GPUs. NULL is fine. */
void bl_gpu_pool_close(struct bl_gpu_pool *pool);

/* Registers a reader, and unregisters it. A reader that leaves closes one idle worker that the remaining readers cannot
 * need. Readers end at the same time, so their threads share the time that closing takes. */
void bl_gpu_pool_enter(struct bl_gpu_pool *pool);
void bl_gpu_pool_leave(struct bl_gpu_pool *pool);

/* Takes a worker for pictures of this many bytes; waits until one is given back if the largest number is in use. A
 * worker for pictures of another size is closed and made anew. */
int bl_gpu_pool_take(struct bl_gpu_pool *pool, size_t bytes, struct bl_gpu_worker **worker, struct bl_error *e);
void bl_gpu_pool_give(struct bl_gpu_pool *pool, struct bl_gpu_worker *worker);

/* Adds the workers that were opened so far. Any thread may call it. */
void bl_gpu_pool_add_times(struct bl_gpu_pool *pool, struct bl_gpu_times *times);

#endif
