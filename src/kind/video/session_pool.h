/* A pool of sessions: a worker's codec contexts that decode on a GPU, kept between the files that it reads.
 *
 * Creating one costs as much as decoding some dozen frames. So a context is lent to the next file of the same codec,
 * size, colours and header. If there are too many, the least recently used one is closed; if the GPU's memory is not
 * enough, all idle ones. A context is only kept after a file without any fault, so that no file shows in the next. */
#ifndef BL_SESSION_POOL_H
#define BL_SESSION_POOL_H

#include "kind/video/gpu.h"
#include "kind/video/session.h"

#define BL_SESSION_POOL_MAX 3 /* of a worker, including the one that is lent */

struct bl_session_pool {
    const struct bl_gpu_functions *gpu;
    struct bl_gpu_queue *queue;
    struct bl_session session[BL_SESSION_POOL_MAX]; /* codec NULL: the place is free */
    uint64_t clock;
    int64_t opened, reused, evicted;
};

void bl_session_pool_begin(struct bl_session_pool *sessions, const struct bl_gpu_functions *gpu,
                           struct bl_gpu_queue *queue);
void bl_session_pool_end(struct bl_session_pool *sessions);

/* Lends a session for the stream, kept or new; one at a time. Errors as bl_gpu_functions.open_codec's. */
int bl_session_pool_acquire(struct bl_session_pool *sessions, const AVCodecParameters *parameters,
                            struct bl_session **session, struct bl_error *e);

/* Takes it back, and sets it to NULL (which is fine as input). clean: the decoder reported nothing unusual. */
void bl_session_pool_release(struct bl_session_pool *sessions, struct bl_session **session, bool clean);

/* Closes the idle sessions, to free memory of the GPU; returns how many. */
int bl_session_pool_evict(struct bl_session_pool *sessions);

#endif
