/* Sessions: codec contexts that decode on a GPU, of one worker, kept between the files that it reads.
 *
 * Making one costs as much as decoding some dozens of frames, so a context is lent to the next file of the same codec,
 * size, colours and header; the one longest unused goes when there are too many, all that are idle when the GPU's
 * memory does not suffice. Only what ended without any fault is kept: nothing of a file may show in the next. */
#ifndef BL_SESSIONS_H
#define BL_SESSIONS_H

#include "kind/video/gpu.h"
#include "kind/video/session.h"

#define BL_SESSIONS_MAX 3 /* of a worker, the one that is lent included */

struct bl_sessions {
    const struct bl_gpu_functions *gpu;
    struct bl_lane *lane;
    struct bl_session session[BL_SESSIONS_MAX]; /* codec NULL: the place is free */
    uint64_t clock;
    int64_t opened, reused, evicted;
};

void bl_sessions_begin(struct bl_sessions *sessions, const struct bl_gpu_functions *gpu, struct bl_lane *lane);
void bl_sessions_end(struct bl_sessions *sessions);

/* Lends a session for the stream, kept or new; one at a time. Errors as bl_gpu_functions.open_codec's. */
int bl_sessions_take(struct bl_sessions *sessions, const AVCodecParameters *parameters, struct bl_session **session,
                     struct bl_error *e);

/* Takes it back (NULL is fine), and makes it NULL; whole: it objected to nothing. */
void bl_sessions_give(struct bl_sessions *sessions, struct bl_session **session, bool whole);

/* Closes what is idle, to make room on the GPU: how many. */
int bl_sessions_evict(struct bl_sessions *sessions);

/* As bl_gpu_functions.blame. */
int bl_sessions_blame(struct bl_sessions *sessions, const AVCodecContext *codec, bool refused, struct bl_error *e);

#endif
