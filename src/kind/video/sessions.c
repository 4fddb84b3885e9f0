#include "kind/video/sessions.h"

#include <string.h>

void bl_sessions_begin(struct bl_sessions *sessions, const struct bl_gpu_functions *gpu, struct bl_lane *lane)
{
    *sessions = (struct bl_sessions){.gpu = gpu, .lane = lane};
}

static void session_close(struct bl_sessions *s, struct bl_session *session)
{
    if (session->codec)
        s->gpu->close_codec(s->lane, &session->codec);
    bl_session_end(session);
    *session = (struct bl_session){0};
}

void bl_sessions_end(struct bl_sessions *s)
{
    for (int i = 0; i < BL_SESSIONS_MAX; i++)
        session_close(s, &s->session[i]);
}

static struct bl_session *find(struct bl_sessions *s, const AVCodecParameters *parameters)
{
    for (int i = 0; i < BL_SESSIONS_MAX; i++) {
        if (s->session[i].codec && !s->session[i].lent && bl_session_suits(&s->session[i], parameters))
            return &s->session[i];
    }
    return NULL;
}

/* A free place, or that of the one longest unused. */
static struct bl_session *place(struct bl_sessions *s)
{
    struct bl_session *oldest = NULL;
    for (int i = 0; i < BL_SESSIONS_MAX; i++) {
        struct bl_session *session = &s->session[i];
        if (!session->codec)
            return session;
        if (!session->lent && (!oldest || session->used < oldest->used))
            oldest = session;
    }
    if (oldest) {
        session_close(s, oldest);
        s->evicted++;
    }
    return oldest;
}

int bl_sessions_evict(struct bl_sessions *s)
{
    int closed = 0;
    for (int i = 0; i < BL_SESSIONS_MAX; i++) {
        if (!s->session[i].codec || s->session[i].lent)
            continue;
        session_close(s, &s->session[i]);
        closed++;
    }
    s->evicted += closed;
    return closed;
}

static int codec_open(struct bl_sessions *s, const AVCodecParameters *parameters, AVCodecContext **codec,
                      struct bl_error *e)
{
    int code;
    do
        code = s->gpu->open_codec(s->lane, parameters, codec, e);
    while (code == BL_GPU_FULL && bl_sessions_evict(s));
    if (code == BL_GPU_FULL)
        return bl_error_set(e, BL_EFAIL,
                            "the GPU's memory does not suffice for another decoder: a smaller -j takes less");
    s->opened += !code;
    return code;
}

static int session_open(struct bl_sessions *s, struct bl_session *session, const AVCodecParameters *parameters,
                        struct bl_error *e)
{
    AVCodecContext *codec = NULL;
    int code = codec_open(s, parameters, &codec, e);
    if (code)
        return code;
    if (bl_session_begin(session, codec, parameters)) {
        s->gpu->close_codec(s->lane, &codec);
        code = bl_error_memory(e);
    }
    return code;
}

int bl_sessions_take(struct bl_sessions *s, const AVCodecParameters *parameters, struct bl_session **session,
                     struct bl_error *e)
{
    struct bl_session *found = find(s, parameters);
    if (found) {
        s->reused++;
    } else {
        found = place(s);
        if (!found)
            return bl_error_set(e, BL_EFAIL, "more decoders are in use than a worker has");
        int code = session_open(s, found, parameters, e);
        if (code)
            return code;
    }
    found->lent = true;
    found->used = ++s->clock;
    *session = found;
    return BL_OK;
}

void bl_sessions_give(struct bl_sessions *s, struct bl_session **session, bool whole)
{
    if (!*session)
        return;
    (*session)->lent = false;
    if (!bl_session_settle(*session, whole))
        session_close(s, *session);
    *session = NULL;
}

int bl_sessions_blame(struct bl_sessions *s, const AVCodecContext *codec, bool refused, struct bl_error *e)
{
    return s->gpu->blame(s->lane, codec, refused, e);
}
