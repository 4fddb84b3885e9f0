/* Lends codec contexts and GPU workers to readers; gpu_pool.h explains sessions and pools.
 *
 * The lock of struct bl_gpu_pool guards the list of idle workers and the counts. Opening and closing a worker takes
 * tens of milliseconds, so that no function does either while it holds the lock: a reader that may open a worker first
 * counts it in p->made. */
#include "kind/video/gpu_pool.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kind/video/gpu.h"
#include "kind/video/peek.h"

/* --- codecs of the GPUs ------------------------------------------------------------------------------------------- */

/* MPEG-4 part 2 is not in the list, although the engines decode it: in MP4 its size is known only from the first frame,
 * when FFmpeg has already asked for surfaces. */
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

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* Returns whether a stream of these parameters begins as the one that the session was made for, with pictures of the
 * same size, and not only of the same coded size. Colours count: a context keeps the container's if the codec's headers
 * have none. */
static bool session_fits(const struct bl_session *s, const AVCodecParameters *b)
{
    const AVCodecParameters *a = s->parameters;
    return a->codec_id == b->codec_id && a->codec_tag == b->codec_tag && a->profile == b->profile &&
           a->format == b->format && a->width == b->width && a->height == b->height &&
           a->color_space == b->color_space && a->color_range == b->color_range && a->color_trc == b->color_trc &&
           a->color_primaries == b->color_primaries && a->chroma_location == b->chroma_location &&
           !av_cmp_q(a->sample_aspect_ratio, b->sample_aspect_ratio) && a->video_delay == b->video_delay &&
           a->extradata_size == b->extradata_size &&
           (!a->extradata_size || !memcmp(a->extradata, b->extradata, (size_t)a->extradata_size));
}

/* Returns the properties of a codec context that a stream may change. */
static struct bl_session_state session_state_of(const AVCodecContext *codec)
{
    return (struct bl_session_state){.width = codec->coded_width,
                                     .height = codec->coded_height,
                                     .delay = codec->has_b_frames,
                                     .space = codec->colorspace,
                                     .range = codec->color_range,
                                     .transfer = codec->color_trc,
                                     .primaries = codec->color_primaries,
                                     .location = codec->chroma_sample_location,
                                     .aspect = codec->sample_aspect_ratio};
}

/* Returns whether the context is in the state in which the current stream began. */
static bool session_is_unchanged(const struct bl_session *s)
{
    const struct bl_session_state now = session_state_of(s->codec);
    return memcmp(&now, &s->initial, sizeof now) == 0;
}

/* Returns whether the next stream follows without a flush, which would close the hardware decoder of H.264. */
static bool session_is_spliced(const struct bl_session *s)
{
    return s->parameters->codec_id == AV_CODEC_ID_H264;
}

void bl_session_ready(struct bl_session *s, AVRational time_base, AVRational rate)
{
    AVCodecContext *codec = s->codec;
    if (s->streams && !session_is_spliced(s))
        avcodec_flush_buffers(codec);
    s->times = (struct bl_session_times){.last_pts = INT64_MIN, .last_dts = INT64_MIN};
    codec->pkt_timebase = time_base;
    codec->framerate = s->streams ? s->rate : (AVRational){0, 1};
    s->container_rate = rate;
    s->resent = 0;
    s->started = false;
}

void bl_session_guess_time(struct bl_session *s, AVFrame *frame)
{
    struct bl_session_times *t = &s->times;
    int64_t pts = frame->pts, dts = frame->pkt_dts;
    if (dts != AV_NOPTS_VALUE) {
        t->faulty_dts += dts <= t->last_dts;
        t->last_dts = dts;
    } else if (pts != AV_NOPTS_VALUE) {
        t->last_dts = pts;
    }
    if (pts != AV_NOPTS_VALUE) {
        t->faulty_pts += pts <= t->last_pts;
        t->last_pts = pts;
    } else if (dts != AV_NOPTS_VALUE) {
        t->last_pts = dts;
    }
    bool by_pts = (t->faulty_pts <= t->faulty_dts || dts == AV_NOPTS_VALUE) && pts != AV_NOPTS_VALUE;
    frame->best_effort_timestamp = by_pts ? pts : dts;
}

/* Sends the first packet of a stream. Another stream may be spliced to this one if the packet resets the decoder, and
 * has no headers besides those of the container: then a copy is kept. Returns the codes of avcodec_send_packet. */
static int session_open_stream(struct bl_session *s, AVPacket *packet)
{
    const AVCodecParameters *parameters = s->parameters;
    bool follows = s->opening != NULL, followed = false;
    if (session_is_spliced(s) && parameters->extradata_size > 0) {
        struct bl_peek peek;
        bl_peek_init(&peek, parameters);
        bl_peek_packet(&peek, packet);
        followed = peek.restarts && !peek.suspicious && !peek.loose_headers;
    }
    av_packet_free(&s->opening);
    if (session_is_spliced(s) && s->streams && !(follows && followed))
        avcodec_flush_buffers(s->codec);
    if (followed && !(s->opening = av_packet_clone(packet)))
        return AVERROR(ENOMEM);
    /* The previous stream may have replaced the container's headers: they are sent again. */
    int code = 0;
    size_t size = (size_t)parameters->extradata_size;
    if (s->streams && size && !av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, NULL)) {
        uint8_t *headers = av_packet_new_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, size);
        code = headers ? 0 : AVERROR(ENOMEM);
        if (headers)
            memcpy(headers, parameters->extradata, size);
    }
    if (!code)
        code = avcodec_send_packet(s->codec, packet);
    s->initial = session_state_of(s->codec);
    s->rate = s->codec->framerate;
    if (s->rate.num <= 0 || s->rate.den <= 0)
        s->codec->framerate = s->container_rate;
    s->started = true;
    s->streams++;
    return code;
}

/* Sends the first packet of the stream again, whose picture is discarded: each time the decoder outputs one of the
 * frames that it holds. *ended: it has output all. Returns the codes of avcodec_send_packet. */
static int session_push_out(struct bl_session *s, bool *ended)
{
    AVPacket *again = av_packet_clone(s->opening);
    if (!again)
        return AVERROR(ENOMEM);
    again->flags |= AV_PKT_FLAG_DISCARD;
    again->pts = again->dts = AV_NOPTS_VALUE;
    int code = avcodec_send_packet(s->codec, again);
    av_packet_free(&again);
    *ended = ++s->resent >= s->codec->has_b_frames; /* each brings one frame out */
    return code;
}

int bl_session_send(struct bl_session *s, AVPacket *packet, bool clean, bool *ended)
{
    *ended = !packet;
    if (packet)
        return s->started ? avcodec_send_packet(s->codec, packet) : session_open_stream(s, packet);
    if (s->opening && clean && session_is_unchanged(s))
        return session_push_out(s, ended);
    av_packet_free(&s->opening);
    return avcodec_send_packet(s->codec, NULL);
}

/* Drops the frames that the decoder has ready; false if it failed or has ended. frame is empty room. */
static bool codec_receive_all(AVCodecContext *codec, AVFrame *frame)
{
    int code;
    while ((code = avcodec_receive_frame(codec, frame)) >= 0)
        av_frame_unref(frame);
    return code == AVERROR(EAGAIN);
}

/* Ends a stream that was read as far as needed; returns whether another may follow. clean: as for bl_session_send. */
static bool session_finish(struct bl_session *s, bool clean)
{
    /* A header in the packets of these codecs keeps the values of the previous header that it does not set. */
    enum AVCodecID id = s->parameters->codec_id;
    if (!clean || id == AV_CODEC_ID_MPEG1VIDEO || id == AV_CODEC_ID_MPEG2VIDEO || id == AV_CODEC_ID_VC1 ||
        id == AV_CODEC_ID_WMV3)
        return false;
    if (!s->started)
        return true;
    bool spliced = session_is_spliced(s);
    if (!session_is_unchanged(s) || (spliced && !s->opening))
        return false;
    if (!spliced)
        return true;
    AVFrame *frame = av_frame_alloc();
    bool ended = s->resent && s->resent >= s->codec->has_b_frames, well = frame && codec_receive_all(s->codec, frame);
    while (well && !ended)
        well = session_push_out(s, &ended) >= 0 && codec_receive_all(s->codec, frame);
    av_frame_free(&frame);
    return well;
}

/* --- session pools ------------------------------------------------------------------------------------------------ */

void bl_session_pool_begin(struct bl_session_pool *sessions, const struct bl_gpu_functions *gpu,
                           struct bl_gpu_queue *queue)
{
    *sessions = (struct bl_session_pool){.gpu = gpu, .queue = queue};
}

/* Closes a session; its slot is free then. */
static void pool_close_session(struct bl_session_pool *s, struct bl_session *session)
{
    if (session->codec)
        s->gpu->close_codec(s->queue, &session->codec);
    avcodec_parameters_free(&session->parameters);
    av_packet_free(&session->opening);
    *session = (struct bl_session){0};
}

void bl_session_pool_end(struct bl_session_pool *s)
{
    for (int i = 0; i < BL_SESSION_POOL_MAX; i++)
        pool_close_session(s, &s->session[i]);
}

/* Returns a free slot, or that of the least recently used idle session, which it closes; NULL: all are lent. */
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

/* Opens a session in a free slot. If the GPU's memory is not enough, it closes the idle sessions and tries again. */
static int pool_open_session(struct bl_session_pool *s, struct bl_session *session, const AVCodecParameters *parameters,
                             struct bl_error *e)
{
    AVCodecContext *codec = NULL;
    int code;
    do
        code = s->gpu->open_codec(s->queue, parameters, &codec, e);
    while (code == BL_GPU_FULL && bl_session_pool_evict(s));
    if (code == BL_GPU_FULL)
        return bl_error_set(e, BL_EFAIL, "the GPU's memory is not enough for another decoder: use a smaller -j");
    if (code)
        return code;
    s->opened++;
    AVCodecParameters *copy = avcodec_parameters_alloc();
    if (!copy || avcodec_parameters_copy(copy, parameters) < 0) {
        avcodec_parameters_free(&copy);
        s->gpu->close_codec(s->queue, &codec);
        return bl_error_memory(e);
    }
    *session = (struct bl_session){.codec = codec, .parameters = copy};
    return BL_OK;
}

int bl_session_pool_acquire(struct bl_session_pool *s, const AVCodecParameters *parameters, struct bl_session **session,
                            struct bl_error *e)
{
    struct bl_session *found = NULL;
    for (int i = 0; i < BL_SESSION_POOL_MAX && !found; i++) {
        if (s->session[i].codec && !s->session[i].lent && session_fits(&s->session[i], parameters))
            found = &s->session[i];
    }
    if (found) {
        s->reused++;
    } else {
        found = pool_find_slot(s);
        if (!found)
            return bl_error_set(e, BL_EFAIL, "more decoders are in use than a worker has");
        BL_TRY(pool_open_session(s, found, parameters, e));
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
    if (!session_finish(*session, clean))
        pool_close_session(s, *session);
    *session = NULL;
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
    bl_session_pool_begin(&w->sessions, functions, w->queue);
    *worker = w;
    return BL_OK;
}

void bl_gpu_worker_close(struct bl_gpu_worker *worker)
{
    if (!worker)
        return;
    bl_readback_close(&worker->readback);
    bl_session_pool_end(&worker->sessions);
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
    code = bl_gpu_worker_open(worker, p->functions, p->gpu, bytes, e);
    if (code) {
        pthread_mutex_lock(&p->lock);
        p->made--;
        pthread_cond_signal(&p->given);
        pthread_mutex_unlock(&p->lock);
    }
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
