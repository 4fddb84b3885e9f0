#include "kind/video/session_pool.h"

#include <string.h>

void bl_session_pool_begin(struct bl_session_pool *sessions, const struct bl_gpu_functions *gpu,
                           struct bl_gpu_queue *queue)
{
    *sessions = (struct bl_session_pool){.gpu = gpu, .queue = queue};
}

static void pool_close_session(struct bl_session_pool *s, struct bl_session *session)
{
    if (session->codec)
        s->gpu->close_codec(s->queue, &session->codec);
    bl_session_end(session);
    *session = (struct bl_session){0};
}

void bl_session_pool_end(struct bl_session_pool *s)
{
    for (int i = 0; i < BL_SESSION_POOL_MAX; i++)
        pool_close_session(s, &s->session[i]);
}

static struct bl_session *pool_find(struct bl_session_pool *s, const AVCodecParameters *parameters)
{
    for (int i = 0; i < BL_SESSION_POOL_MAX; i++) {
        if (s->session[i].codec && !s->session[i].lent && bl_session_matches(&s->session[i], parameters))
            return &s->session[i];
    }
    return NULL;
}

/* A free slot, or that of the least recently used session. */
static struct bl_session *pool_find_slot(struct bl_session_pool *s)
{
    struct bl_session *oldest = NULL;
    for (int i = 0; i < BL_SESSION_POOL_MAX; i++) {
        struct bl_session *session = &s->session[i];
        if (!session->codec)
            return session;
        if (!session->lent && (!oldest || session->used < oldest->used))
            oldest = session;
    }
    if (oldest) {
        pool_close_session(s, oldest);
        s->evicted++;
    }
    return oldest;
}

int bl_session_pool_evict(struct bl_session_pool *s)
{
    int closed = 0;
    for (int i = 0; i < BL_SESSION_POOL_MAX; i++) {
        if (!s->session[i].codec || s->session[i].lent)
            continue;
        pool_close_session(s, &s->session[i]);
        closed++;
    }
    s->evicted += closed;
    return closed;
}

static int pool_open_codec(struct bl_session_pool *s, const AVCodecParameters *parameters, AVCodecContext **codec,
                           struct bl_error *e)
{
    int code;
    do
        code = s->gpu->open_codec(s->queue, parameters, codec, e);
    while (code == BL_GPU_FULL && bl_session_pool_evict(s));
    if (code == BL_GPU_FULL)
        return bl_error_set(e, BL_EFAIL, "the GPU's memory is not enough for another decoder: use a smaller -j");
    s->opened += !code;
    return code;
}

static int pool_open_session(struct bl_session_pool *s, struct bl_session *session, const AVCodecParameters *parameters,
                             struct bl_error *e)
{
    AVCodecContext *codec = NULL;
    int code = pool_open_codec(s, parameters, &codec, e);
    if (code)
        return code;
    if (bl_session_begin(session, codec, parameters)) {
        s->gpu->close_codec(s->queue, &codec);
        code = bl_error_memory(e);
    }
    return code;
}

int bl_session_pool_acquire(struct bl_session_pool *s, const AVCodecParameters *parameters, struct bl_session **session,
                            struct bl_error *e)
{
    struct bl_session *found = pool_find(s, parameters);
    if (found) {
        s->reused++;
    } else {
        found = pool_find_slot(s);
        if (!found)
            return bl_error_set(e, BL_EFAIL, "more decoders are in use than a worker has");
        int code = pool_open_session(s, found, parameters, e);
        if (code)
            return code;
    }
    found->lent = true;
    found->used = ++s->clock;
    *session = found;
    return BL_OK;
}

void bl_session_pool_release(struct bl_session_pool *s, struct bl_session **session, bool clean)
{
    if (!*session)
        return;
    (*session)->lent = false;
    if (!bl_session_finish(*session, clean))
        pool_close_session(s, *session);
    *session = NULL;
}
