/* Sessions: codec contexts that decode on a GPU, of one worker, kept between the files that it reads.
 *
 * Making one costs as much as decoding some dozens of frames, so a context is lent to the next file of the same codec,
 * size, colours and header; the one longest unused goes when there are too many, all that are idle when the GPU's
 * memory does not suffice. Only what ended without any fault is kept: nothing of a file may show in the next. */
#ifndef BL_SESSION_POOL_H
#define BL_SESSION_POOL_H

#include "kind/video/gpu.h"
#include "kind/video/session.h"

#define BL_SESSION_POOL_MAX 3 /* of a worker, the one that is lent included */

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

/* Takes it back (NULL is fine), and makes it NULL; whole: it objected to nothing. */
void bl_session_pool_release(struct bl_session_pool *sessions, struct bl_session **session, bool whole);

/* Closes what is idle, to make room on the GPU: how many. */
int bl_session_pool_evict(struct bl_session_pool *sessions);

/* As bl_gpu_functions.diagnose. */
int bl_session_pool_diagnose(struct bl_session_pool *sessions, const AVCodecContext *codec, bool refused,
                             struct bl_error *e);

#endif
