#include "kind/media/decoder_guard.h"

#include <libavutil/common.h>
#include <libavutil/mem.h>
#include <stdio.h>

#include "kind/media/decoder_memory.h"

/* A picture in use: the decoder's buffer, and the count that it belongs to. */
struct guarded {
    AVBufferRef *picture, *live;
};

static int64_t *live_count(const AVBufferRef *live)
{
    return (int64_t *)(void *)live->data;
}

static void guarded_free(void *opaque, uint8_t *data)
{
    struct guarded *g = opaque;
    (void)data;
    --*live_count(g->live);
    av_buffer_unref(&g->picture);
    av_buffer_unref(&g->live);
    av_free(g);
}

/* Puts a buffer of ours around the frame's first one, to learn when the picture is let go. */
static int guarded_wrap(const struct bl_decoder_guard *guard, AVFrame *frame)
{
    struct guarded *g = av_mallocz(sizeof *g);
    if (g)
        g->live = av_buffer_ref(guard->live);
    AVBufferRef *outer = NULL;
    if (g && g->live)
        outer = av_buffer_create(frame->buf[0]->data, frame->buf[0]->size, guarded_free, g, 0);
    if (!outer) {
        if (g)
            av_buffer_unref(&g->live);
        av_free(g);
        return AVERROR(ENOMEM);
    }
    g->picture = frame->buf[0];
    frame->buf[0] = outer;
    ++*live_count(g->live);
    return 0;
}

/* Whether so many bytes are allowed; if so, they are reserved. */
static bool guard_admit(struct bl_decoder_guard *guard, int64_t needed)
{
    struct bl_error none = {0};
    if (guard->needed)
        return false;
    if (needed > guard->limit)
        guard->needed = needed;
    return !guard->needed && bl_reservation_grow(guard->reservation, needed, &none) == BL_OK;
}

static int guard_weigh_picture(struct bl_decoder_guard *guard, const struct bl_coded_video *video)
{
    if (guard_admit(guard, bl_decoder_memory_video(video)))
        return 0;
    if (!*guard->what)
        snprintf(guard->what, sizeof guard->what, "%dx%d", video->width, video->height);
    return AVERROR(EINVAL);
}

static int guard_weigh_samples(struct bl_decoder_guard *guard, int channels, int samples)
{
    if (guard_admit(guard, bl_decoder_memory_audio(channels, samples)))
        return 0;
    if (!*guard->what)
        snprintf(guard->what, sizeof guard->what, "a frame of %d samples in %d channels", samples, channels);
    return AVERROR(EINVAL);
}

static int guard_get_samples(AVCodecContext *codec, AVFrame *frame, int flags)
{
    int code = guard_weigh_samples(codec->opaque, frame->ch_layout.nb_channels, frame->nb_samples);
    return code < 0 ? code : avcodec_default_get_buffer2(codec, frame, flags);
}

static int guard_get_picture(AVCodecContext *codec, AVFrame *frame, int flags)
{
    struct bl_decoder_guard *guard = codec->opaque;
    struct bl_coded_video video = {.codec = codec->codec_id,
                                   .width = frame->width,
                                   .height = frame->height,
                                   .format = (enum AVPixelFormat)frame->format,
                                   .level = codec->level,
                                   .pictures = *live_count(guard->live) + 1};
    int code = guard_weigh_picture(guard, &video);
    if (code >= 0)
        code = avcodec_default_get_buffer2(codec, frame, flags);
    if (code < 0)
        return code;
    code = guarded_wrap(guard, frame);
    if (code < 0)
        av_frame_unref(frame);
    return code;
}

int bl_decoder_guard_open(struct bl_decoder_guard *guard, AVCodecContext *codec, const struct bl_kind_env *env,
                          struct bl_error *e)
{
    int64_t limit = env->decoder_memory;
    *guard = (struct bl_decoder_guard){.limit = limit, .reservation = env->reservation};
    if (!limit)
        return BL_OK;
    guard->live = av_buffer_allocz(sizeof(int64_t));
    if (!guard->live)
        return bl_error_memory(e);
    codec->opaque = guard;
    codec->get_buffer2 = codec->codec_type == AVMEDIA_TYPE_AUDIO ? guard_get_samples : guard_get_picture;
    if (codec->codec_type == AVMEDIA_TYPE_VIDEO)
        codec->max_pixels = FFMIN(codec->max_pixels, bl_decoder_memory_area(codec->codec_id, limit));
    return BL_OK;
}

void bl_decoder_guard_close(struct bl_decoder_guard *guard)
{
    av_buffer_unref(&guard->live);
}

void bl_decoder_guard_examine(struct bl_decoder_guard *guard, const AVCodecParameters *parameters,
                              const AVPacket *packet)
{
    if (!guard->limit || guard->needed || !packet->size)
        return;
    AVCodecParserContext *parser = av_parser_init(parameters->codec_id);
    AVCodecContext *codec = avcodec_alloc_context3(NULL);
    if (parser && codec && avcodec_parameters_to_context(codec, parameters) >= 0) {
        uint8_t *out = NULL;
        int size = 0;
        parser->flags |= PARSER_FLAG_COMPLETE_FRAMES;
        av_parser_parse2(parser, codec, &out, &size, packet->data, packet->size, packet->pts, packet->dts, packet->pos);
        struct bl_coded_video video = bl_coded_video_from(parameters);
        video.width = FFMAX(parser->width, parser->coded_width);
        video.height = FFMAX(parser->height, parser->coded_height);
        if (parser->format >= 0)
            video.format = (enum AVPixelFormat)parser->format;
        guard_weigh_picture(guard, &video);
    }
    av_parser_close(parser);
    avcodec_free_context(&codec);
}

int bl_decoder_guard_check(const struct bl_decoder_guard *guard, struct bl_error *e)
{
    return guard->needed ? bl_decoder_memory_check(guard->what, guard->needed, guard->limit, e) : BL_OK;
}
