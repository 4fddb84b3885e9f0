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
    avcodec_parameters_free(&session->parameters);
    *session = (struct bl_session){0};
}

void bl_sessions_end(struct bl_sessions *s)
{
    for (int i = 0; i < BL_SESSIONS_MAX; i++)
        session_close(s, &s->session[i]);
}

/* Streams that begin alike for a decoder. The size is that of the picture, not of the blocks it is coded in. */
static bool alike(const AVCodecParameters *a, const AVCodecParameters *b)
{
    return a->codec_id == b->codec_id && a->codec_tag == b->codec_tag && a->profile == b->profile &&
           a->format == b->format && a->width == b->width && a->height == b->height &&
           a->video_delay == b->video_delay && a->extradata_size == b->extradata_size &&
           (!a->extradata_size || !memcmp(a->extradata, b->extradata, (size_t)a->extradata_size));
}

static struct bl_session *find(struct bl_sessions *s, const AVCodecParameters *parameters)
{
    for (int i = 0; i < BL_SESSIONS_MAX; i++) {
        if (s->session[i].codec && !s->session[i].lent && alike(s->session[i].parameters, parameters))
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

static int session_open(struct bl_sessions *s, struct bl_session *session, const AVCodecParameters *parameters,
                        struct bl_error *e)
{
    session->parameters = avcodec_parameters_alloc();
    if (!session->parameters || avcodec_parameters_copy(session->parameters, parameters) < 0)
        return bl_error_memory(e);
    int code;
    do
        code = s->gpu->open_codec(s->lane, parameters, &session->codec, e);
    while (code == BL_GPU_FULL && bl_sessions_evict(s));
    if (code == BL_GPU_FULL)
        return bl_error_set(e, BL_EFAIL,
                            "the GPU's memory does not suffice for another decoder: a smaller -j takes less");
    s->opened += !code;
    return code;
}

int bl_sessions_take(struct bl_sessions *s, const AVCodecParameters *parameters, AVCodecContext **codec,
                     struct bl_error *e)
{
    struct bl_session *session = find(s, parameters);
    if (session) {
        avcodec_flush_buffers(session->codec);
        s->reused++;
    } else {
        session = place(s);
        if (!session)
            return bl_error_set(e, BL_EFAIL, "more decoders are in use than a worker has");
        int code = session_open(s, session, parameters, e);
        if (code) {
            session_close(s, session);
            return code;
        }
    }
    session->lent = true;
    session->used = ++s->clock;
    *codec = session->codec;
    return BL_OK;
}

void bl_sessions_give(struct bl_sessions *s, AVCodecContext **codec, bool clean)
{
    for (int i = 0; *codec && i < BL_SESSIONS_MAX; i++) {
        struct bl_session *session = &s->session[i];
        if (session->codec != *codec)
            continue;
        session->lent = false;
        if (!clean || !s->gpu->stays(session->codec))
            session_close(s, session);
        break;
    }
    *codec = NULL;
}

int bl_sessions_blame(struct bl_sessions *s, const AVCodecContext *codec, struct bl_error *e)
{
    return s->gpu->blame(s->lane, codec, e);
}
