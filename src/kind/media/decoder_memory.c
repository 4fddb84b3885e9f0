#include "kind/media/decoder_memory.h"

#include <inttypes.h>
#include <libavutil/common.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"
#include "kind/media/compat.h"

/* --- upper bound -------------------------------------------------------------------------------------------------- */

#define ALIGNED 64                  /* pixels: decoders make pictures larger by up to this, to the right and below */
#define OURS 2                      /* pictures that we hold: the current and the previous one */
#define BASE ((int64_t)8 << 20)     /* bytes: contexts, packets, lines */
#define BORDER 128                  /* pixels: FFmpeg computes with so many more to a side */
#define SIDE_MAX ((int64_t)1 << 20) /* pixels: keeps what follows within 64 bits */

/* What a decoder holds beside the picture in progress. */
struct codec_needs {
    enum AVCodecID codec;
    int pictures; /* that it refers to, or gives out later */
    int beside;   /* bits of tables for each pixel of each picture */
    int once;     /* bits of tables for each pixel, once */
};

/* Of codecs that refer to other pictures: motion, modes. Of the others: coefficients, planes of their own. */
static const struct codec_needs known[] = {
    {AV_CODEC_ID_H264, 16, 6, 8},      {AV_CODEC_ID_HEVC, 15, 6, 8},      {AV_CODEC_ID_VP9, 9, 4, 8},
    {AV_CODEC_ID_AV1, 9, 4, 8},        {AV_CODEC_ID_VP8, 4, 2, 8},        {AV_CODEC_ID_MPEG1VIDEO, 3, 4, 8},
    {AV_CODEC_ID_MPEG2VIDEO, 3, 4, 8}, {AV_CODEC_ID_MPEG4, 3, 4, 8},      {AV_CODEC_ID_H263, 3, 4, 8},
    {AV_CODEC_ID_THEORA, 3, 2, 16},    {AV_CODEC_ID_MJPEG, 0, 0, 48},     {AV_CODEC_ID_PRORES, 0, 0, 8},
    {AV_CODEC_ID_DNXHD, 0, 0, 8},      {AV_CODEC_ID_FFV1, 1, 0, 8},       {AV_CODEC_ID_HUFFYUV, 0, 0, 8},
    {AV_CODEC_ID_FFVHUFF, 0, 0, 8},    {AV_CODEC_ID_UTVIDEO, 0, 0, 16},   {AV_CODEC_ID_MAGICYUV, 0, 0, 8},
    {AV_CODEC_ID_RAWVIDEO, 0, 0, 0},   {AV_CODEC_ID_PNG, 1, 0, 8},        {AV_CODEC_ID_APNG, 2, 0, 8},
    {AV_CODEC_ID_GIF, 1, 0, 48},       {AV_CODEC_ID_JPEG2000, 0, 0, 128}, {AV_CODEC_ID_DVVIDEO, 0, 0, 8},
    {AV_CODEC_ID_CFHD, 0, 0, 64},      {AV_CODEC_ID_HAP, 0, 0, 16}};

/* Returns the needs of a codec. Codecs that are not in the table get more than any of the common ones need. */
static const struct codec_needs *needs_of(enum AVCodecID codec)
{
    static const struct codec_needs others = {AV_CODEC_ID_NONE, 3, 8, 64};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].codec == codec)
            return &known[i];
    }
    return &others;
}

/* --- formats ---------------------------------------------------------------------------------------------------- */

/* Returns a format by its chroma (0: grey, 1: 4:2:0, 2: 4:2:2, 3: 4:4:4) and its bits: those above 8 take two bytes. */
static enum AVPixelFormat format_by_depth(int chroma, int depth)
{
    static const enum AVPixelFormat formats[4][2] = {{AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY16},
                                                     {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P16},
                                                     {AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV422P16},
                                                     {AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV444P16}};
    return formats[chroma & 3][depth > 8];
}

/* The profile implies the widest format of its pictures. */
static enum AVPixelFormat format_of_h264(int profile)
{
    switch (profile & 0xff) {
    case BL_COMPAT_H264(BASELINE):
    case BL_COMPAT_H264(MAIN):
    case BL_COMPAT_H264(EXTENDED):
    case BL_COMPAT_H264(HIGH):
        return AV_PIX_FMT_YUV420P;
    case BL_COMPAT_H264(HIGH_10):
        return AV_PIX_FMT_YUV420P16;
    case BL_COMPAT_H264(HIGH_422):
        return AV_PIX_FMT_YUV422P16;
    default:
        return AV_PIX_FMT_YUV444P16;
    }
}

/* The configuration that MP4 and Matroska have before the first packet: avcC, hvcC, av1C. */
static void coded_video_read_header(struct bl_coded_video *video, const uint8_t *header, int size)
{
    if (video->codec == AV_CODEC_ID_H264 && size >= 7 && header[0] == 1) {
        video->format = format_of_h264(header[1]);
        video->level = header[3];
    } else if (video->codec == AV_CODEC_ID_HEVC && size >= 23 && header[0] == 1) {
        video->format = format_by_depth(header[16] & 3, 8 + (header[17] & 7));
        video->level = header[12];
    } else if (video->codec == AV_CODEC_ID_AV1 && size >= 4 && header[0] == 0x81) {
        int chroma = header[2] & 0x10 ? 0 : header[2] & 0x08 ? header[2] & 0x04 ? 1 : 2 : 3;
        video->format = format_by_depth(chroma, header[2] & 0x40 ? 10 : 8);
    }
}

/* What a container says of a stream, with the first bytes of its codec's own header. */
static struct bl_coded_video coded_video_from(const AVCodecParameters *parameters)
{
    struct bl_coded_video video = {.codec = parameters->codec_id,
                                   .width = parameters->width,
                                   .height = parameters->height,
                                   .format = AV_PIX_FMT_NONE,
                                   .level = parameters->level};
    if (parameters->format != AV_PIX_FMT_NONE)
        video.format = (enum AVPixelFormat)parameters->format;
    else
        coded_video_read_header(&video, parameters->extradata, parameters->extradata_size);
    return video;
}

/* --- pictures --------------------------------------------------------------------------------------------------- */

/* H.264: the pictures that a level allows to be held, by their size in macroblocks (table A-1 of the standard). */
static int64_t pictures_of_h264(const struct bl_coded_video *video)
{
    static const struct {
        int level, blocks;
    } levels[] = {{10, 396},    {11, 900},    {12, 2376},   {20, 2376},   {21, 4752},   {22, 8100},
                  {30, 8100},   {31, 18000},  {32, 20480},  {40, 32768},  {41, 32768},  {42, 34816},
                  {50, 110400}, {51, 184320}, {52, 184320}, {60, 696320}, {61, 696320}, {62, 696320}};
    int64_t blocks = 696320, size = (((int64_t)video->width + 15) / 16) * (((int64_t)video->height + 15) / 16);
    for (size_t i = sizeof levels / sizeof *levels; i-- > 0;) {
        if (video->level > 0 && video->level <= levels[i].level)
            blocks = levels[i].blocks;
    }
    return FFMAX(1, FFMIN(16, blocks / FFMAX(1, size)));
}

/* H.265: the same, by size in samples (A.4.2), where the picture in progress is one of them. */
static int64_t pictures_of_hevc(const struct bl_coded_video *video)
{
    static const struct {
        int level;
        int64_t samples;
    } levels[] = {{30, 36864},  {60, 122880},   {63, 245760},   {90, 552960},
                  {93, 983040}, {123, 2228224}, {156, 8912896}, {186, 35651584}};
    int64_t samples = 35651584, size = (int64_t)video->width * video->height;
    for (size_t i = sizeof levels / sizeof *levels; i-- > 0;) {
        if (video->level > 0 && video->level <= levels[i].level)
            samples = levels[i].samples;
    }
    return size <= samples / 4 ? 15 : size <= samples / 2 ? 11 : size <= samples / 4 * 3 ? 7 : 5;
}

/* How many pictures are held, with the one in progress and ours. */
static int64_t pictures_held(const struct bl_coded_video *video)
{
    int64_t pictures = needs_of(video->codec)->pictures;
    if (video->codec == AV_CODEC_ID_H264)
        pictures = pictures_of_h264(video);
    else if (video->codec == AV_CODEC_ID_HEVC)
        pictures = pictures_of_hevc(video);
    return FFMAX(pictures + 1 + OURS, video->pictures);
}

int64_t bl_decoder_memory_video(const struct bl_coded_video *video)
{
    const struct codec_needs *needs = needs_of(video->codec);
    if (video->width <= 0 || video->height <= 0)
        return 0;
    int64_t width = FFMIN(video->width, SIDE_MAX) + ALIGNED, height = FFMIN(video->height, SIDE_MAX) + ALIGNED;
    /* Without a known format the common one counts. The guard checks the format again when decoding shows it. */
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(video->format);
    int pixel = needs->pictures > 2 ? 12 : video->codec == AV_CODEC_ID_MJPEG ? 24 : 32; /* bits */
    if (desc)
        pixel = av_get_padded_bits_per_pixel(desc);
    int64_t bits = pictures_held(video) * (pixel + needs->beside) + needs->once;
    return BASE + width * height / 8 * bits;
}

int64_t bl_decoder_memory_area(enum AVCodecID codec, int64_t limit)
{
    const struct codec_needs *needs = needs_of(codec);
    const struct bl_coded_video largest = {.codec = codec, .width = INT16_MAX, .height = INT16_MAX};
    return FFMAX(limit - BASE, 1) / (pictures_held(&largest) * (8 + needs->beside) + needs->once) * 8;
}

/* --- sound ------------------------------------------------------------------------------------------------------ */

#define SAMPLE_BYTES 8      /* the widest: doubles */
#define FRAMES 12           /* decoded ahead, within the decoder, mixed, and held to be resampled */
#define PCM_SAMPLES 4096    /* of a frame without compression */
#define FRAME_SAMPLES 65536 /* of one with: FLAC's and MPEG-4 ALS's most */

int64_t bl_decoder_memory_audio(int channels, int64_t samples)
{
    int64_t wide = FFMAX(channels, 1), frame = FFMAX(FFMIN(samples, INT32_MAX), 1);
    return BASE + FFMIN(wide * SAMPLE_BYTES * FRAMES, INT32_MAX) * frame;
}

/* The samples of a stream's frames, at most, as far as its header and its codec tell. */
static int64_t decoder_memory_samples(const AVCodecParameters *parameters)
{
    int64_t second = FFMAX(parameters->sample_rate, 0);
    if (parameters->codec_id >= AV_CODEC_ID_FIRST_AUDIO && parameters->codec_id < AV_CODEC_ID_ADPCM_IMA_QT)
        return PCM_SAMPLES;
    if (parameters->codec_id == AV_CODEC_ID_TTA)
        return second * 256 / 245;
    return parameters->frame_size > 0 ? parameters->frame_size : FRAME_SAMPLES;
}

int64_t bl_decoder_memory_stream(const AVCodecParameters *parameters)
{
    struct bl_coded_video video = coded_video_from(parameters);
    int channels = parameters->ch_layout.nb_channels;
    if (parameters->codec_type != AVMEDIA_TYPE_AUDIO)
        return bl_decoder_memory_video(&video);
    return channels > 0 ? bl_decoder_memory_audio(channels, decoder_memory_samples(parameters)) : 0;
}

/* --- the limit -------------------------------------------------------------------------------------------------- */

#define PART_MIN ((int64_t)64 << 20) /* bytes: room for FFmpeg's own buffers, whose size no input decides */

void bl_decoder_memory_limit_parts(int64_t limit)
{
    av_max_alloc(limit ? (size_t)FFMIN(FFMAX(limit, PART_MIN), INT_MAX) : INT_MAX);
}

int bl_decoder_memory_check(const char *what, int64_t needed, int64_t limit, struct bl_error *e)
{
    char a[32], b[32];
    if (!limit || needed <= limit)
        return BL_OK;
    return bl_error_set(e, BL_EDATA, "%s needs %s to decode, more than --decoder-memory %s", what,
                        bl_text_size(a, needed), bl_text_size(b, limit));
}

int bl_decoder_memory_check_picture(int64_t width, int64_t height, int64_t needed, int64_t limit, struct bl_error *e)
{
    char what[64];
    snprintf(what, sizeof what, "%" PRId64 "x%" PRId64, width, height);
    BL_TRY(bl_decoder_memory_check(what, needed, limit, e));
    if (width > INT32_MAX || height > INT32_MAX || (width + BORDER) * (height + BORDER) >= INT32_MAX / 8)
        return bl_error_set(e, BL_EDATA, "%s is more than FFmpeg decodes: 2^28 pixels with its borders", what);
    return BL_OK;
}

int bl_decoder_memory_check_stream(const AVCodecParameters *parameters, int64_t limit, struct bl_error *e)
{
    char what[64];
    int64_t needed = bl_decoder_memory_stream(parameters);
    if (!needed)
        return BL_OK;
    if (parameters->codec_type != AVMEDIA_TYPE_AUDIO)
        return bl_decoder_memory_check_picture(parameters->width, parameters->height, needed, limit, e);
    snprintf(what, sizeof what, "sound of %d channels at %d Hz", parameters->ch_layout.nb_channels,
             parameters->sample_rate);
    return bl_decoder_memory_check(what, needed, limit, e);
}

/* --- decoder guard ------------------------------------------------------------------------------------------------ */

/* A picture in use: the decoder's buffer, and the count that it belongs to. */
struct guarded {
    AVBufferRef *picture, *live;
};

/* The number of pictures in use, which lives as long as the last of them: longer than the guard. */
static int64_t *live_count(const AVBufferRef *live)
{
    return (int64_t *)(void *)live->data;
}

/* Called by libav when the last reference to a picture goes. */
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

/* Admits a picture, or notes what it is for the message, and returns an error of libav, which ends decoding. */
static int guard_weigh_picture(struct bl_decoder_guard *guard, const struct bl_coded_video *video)
{
    if (guard_admit(guard, bl_decoder_memory_video(video)))
        return 0;
    if (!*guard->what)
        snprintf(guard->what, sizeof guard->what, "%dx%d", video->width, video->height);
    return AVERROR(EINVAL);
}

/* get_buffer2 of decoders of sound: admits a frame before it is allocated. */
static int guard_get_samples(AVCodecContext *codec, AVFrame *frame, int flags)
{
    struct bl_decoder_guard *guard = codec->opaque;
    const int channels = frame->ch_layout.nb_channels, samples = frame->nb_samples;
    if (guard_admit(guard, bl_decoder_memory_audio(channels, samples)))
        return avcodec_default_get_buffer2(codec, frame, flags);
    if (!*guard->what)
        snprintf(guard->what, sizeof guard->what, "a frame of %d samples in %d channels", samples, channels);
    return AVERROR(EINVAL);
}

/* get_buffer2 of decoders of video: admits a picture, by its size and those in use, before it is allocated. */
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
        struct bl_coded_video video = coded_video_from(parameters);
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
