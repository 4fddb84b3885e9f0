/* The parser of libnvcuvid.so.1: FFmpeg's decoders on the processor find and decode the pictures, and the callbacks
 * come as NVIDIA's parser makes them: a picture ends where the next one begins, surfaces are free once their picture
 * was shown (the lowest free one is next), and the first timestamps that do not follow the order of display are sorted.
 */
#include <libavcodec/avcodec.h>
#include <libavutil/pixdesc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#include <ffnvcodec/dynlink_nvcuvid.h>

#define SURFACES 32
#define PACKETS 256
#define CHECKED 16 /* so many timestamps show whether they follow the order of display */

tcuvidCreateVideoParser cuvidCreateVideoParser;
tcuvidParseVideoData cuvidParseVideoData;
tcuvidDestroyVideoParser cuvidDestroyVideoParser;

struct fake_coded {
    atomic_int users;
    AVFrame *frame; /* NULL until it is shown */
    int surface;
};

struct parser {
    struct parser *next;
    CUVIDPARSERPARAMS params;
    AVCodecContext *codec;
    AVPacket *waiting; /* the packet whose end was not seen yet, behind headers that came alone */
    bool has_picture;  /* waiting has more than headers */
    CUvideotimestamp time[PACKETS];
    int state[PACKETS];                /* 0: not known; 1: without a timestamp, 2: with one */
    struct fake_coded *coded[PACKETS]; /* the pictures that were decoded and not shown so far */
    int64_t packets, surfaces;         /* so far; of the decoder */
    bool busy[SURFACES];
    AVFrame *queue[SURFACES]; /* to be shown, held back */
    int queued, checked;
    bool sorts;
    int width, height, shown_width, shown_height;
    enum AVPixelFormat format;
};

static _Thread_local struct fake_coded *decoding;

struct fake_coded *fake_parser_decoding(void)
{
    return decoding;
}

struct fake_coded *fake_coded_keep(struct fake_coded *coded)
{
    if (coded)
        atomic_fetch_add(&coded->users, 1);
    return coded;
}

void fake_coded_drop(struct fake_coded *coded)
{
    if (!coded || atomic_fetch_sub(&coded->users, 1) > 1)
        return;
    av_frame_free(&coded->frame);
    free(coded);
}

const AVFrame *fake_coded_frame(const struct fake_coded *coded)
{
    return coded->frame;
}

static struct parser *parsers; /* those that could not be destroyed are no leak of memory */

static enum AVCodecID codec_of(cudaVideoCodec codec)
{
    static const enum AVCodecID ids[cudaVideoCodec_NumCodecs] = {
        [cudaVideoCodec_MPEG1] = AV_CODEC_ID_MPEG1VIDEO, [cudaVideoCodec_MPEG2] = AV_CODEC_ID_MPEG2VIDEO,
        [cudaVideoCodec_MPEG4] = AV_CODEC_ID_MPEG4,      [cudaVideoCodec_VC1] = AV_CODEC_ID_VC1,
        [cudaVideoCodec_H264] = AV_CODEC_ID_H264,        [cudaVideoCodec_JPEG] = AV_CODEC_ID_MJPEG,
        [cudaVideoCodec_HEVC] = AV_CODEC_ID_HEVC,        [cudaVideoCodec_VP8] = AV_CODEC_ID_VP8,
        [cudaVideoCodec_VP9] = AV_CODEC_ID_VP9,          [cudaVideoCodec_AV1] = AV_CODEC_ID_AV1};
    return codec < cudaVideoCodec_NumCodecs ? ids[codec] : AV_CODEC_ID_NONE;
}

static bool has_start_codes(const struct parser *p)
{
    return p->params.CodecType == cudaVideoCodec_H264 || p->params.CodecType == cudaVideoCodec_HEVC;
}

CUresult cuvidCreateVideoParser(CUvideoparser *out, CUVIDPARSERPARAMS *params)
{
    CUresult result = fake_begin("cuvidCreateVideoParser");
    const AVCodec *decoder = avcodec_find_decoder(codec_of(params->CodecType));
    if (!result &&
        (!decoder || !params->pfnSequenceCallback || !params->pfnDecodePicture || !params->pfnDisplayPicture))
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "a parser of codec %d", (int)params->CodecType);
    if (result)
        return fake_end(result);
    struct parser *p = calloc(1, sizeof *p);
    AVCodecContext *codec = avcodec_alloc_context3(decoder);
    if (!p || !codec)
        abort();
    *p = (struct parser){.params = *params, .codec = codec, .waiting = av_packet_alloc(), .format = AV_PIX_FMT_NONE};
    codec->thread_count = 1;
    codec->apply_cropping = 0;
    if (!fake_draws()) /* pictures are not looked at */
        codec->skip_loop_filter = codec->skip_idct = AVDISCARD_ALL;
    const CUVIDEOFORMATEX *header = params->pExtVideoInfo;
    if (header && header->format.seqhdr_data_length) {
        codec->extradata_size = (int)header->format.seqhdr_data_length;
        codec->extradata = av_mallocz((size_t)codec->extradata_size + AV_INPUT_BUFFER_PADDING_SIZE);
        memcpy(codec->extradata, header->raw_seqhdr_data, (size_t)codec->extradata_size);
    }
    if (!p->waiting || avcodec_open2(codec, decoder, NULL) < 0)
        abort();
    fake_count(FAKE_PARSERS, 1);
    p->next = parsers;
    parsers = p;
    *out = p;
    return fake_end(CUDA_SUCCESS);
}

CUresult cuvidDestroyVideoParser(CUvideoparser handle)
{
    struct parser *p = handle, **link = &parsers;
    CUresult result = fake_begin("cuvidDestroyVideoParser");
    while (!result && *link && *link != p)
        link = &(*link)->next;
    if (!result && !*link)
        result = fake_wrong(CUDA_ERROR_INVALID_HANDLE, "a parser that is none is destroyed");
    if (result)
        return fake_end(result);
    *link = p->next;
    for (int i = 0; i < p->queued; i++)
        av_frame_free(&p->queue[i]);
    for (int i = 0; i < PACKETS; i++)
        fake_coded_drop(p->coded[i]);
    avcodec_free_context(&p->codec);
    av_packet_free(&p->waiting);
    free(p);
    fake_count(FAKE_PARSERS, -1);
    return fake_end(CUDA_SUCCESS);
}

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

/* The timestamp of a packet's picture; those that do not follow the order of display are sorted, as far as pictures are
 * held back. */
static CUvideotimestamp time_take(struct parser *p, int packet)
{
    int earliest = packet;
    for (int i = 0; i < p->queued && p->state[packet] == 2 && (p->sorts || p->checked < CHECKED); i++) {
        int other = (int)(p->queue[i]->pts % PACKETS);
        if (p->state[other] == 2 && p->time[other] < p->time[earliest])
            earliest = other;
    }
    p->checked++;
    if (earliest != packet) {
        CUvideotimestamp own = p->time[packet];
        p->sorts = true;
        p->time[packet] = p->time[earliest];
        p->time[earliest] = own;
    }
    return p->state[packet] == 2 ? p->time[packet] : 12345678901;
}

/* The picture of a packet was shown, or never will be: its surface is free. */
static void coded_end(struct parser *p, int packet)
{
    if (p->coded[packet])
        p->busy[p->coded[packet]->surface] = false;
    fake_coded_drop(p->coded[packet]);
    p->coded[packet] = NULL;
}

static bool display(struct parser *p, AVFrame *frame)
{
    int packet = (int)(frame->pts % PACKETS);
    struct fake_coded *coded = p->coded[packet];
    CUVIDPARSERDISPINFO info = {.picture_index = coded->surface,
                                .progressive_frame = !frame->interlaced_frame,
                                .top_field_first = frame->top_field_first,
                                .repeat_first_field = frame->repeat_pict,
                                .timestamp = time_take(p, packet)};
    coded->frame = frame;
    bool well = p->params.pfnDisplayPicture(p->params.pUserData, &info) > 0;
    coded_end(p, packet);
    return well;
}

/* Shows pictures until so many are held back. */
static bool display_until(struct parser *p, int held)
{
    bool well = true;
    while (p->queued > held) {
        AVFrame *frame = p->queue[0];
        p->queued--;
        memmove(p->queue, p->queue + 1, (size_t)p->queued * sizeof *p->queue);
        well = display(p, frame) && well;
    }
    return well;
}

/* As many as the stream refers to and reorders, and a few. */
static unsigned char surfaces_needed(const AVCodecContext *c)
{
    int delayed = c->codec_id == AV_CODEC_ID_H264 && c->refs > c->has_b_frames ? c->refs : c->has_b_frames;
    bool refers = c->codec_id == AV_CODEC_ID_HEVC || c->codec_id == AV_CODEC_ID_VP9 || c->codec_id == AV_CODEC_ID_AV1;
    return (unsigned char)(delayed + (refers ? 9 : 4));
}

/* What the sequence that begins with this packet crops at the left and the top: FFmpeg says so only of a frame that
 * comes out, so a decoder of its own decodes the packet. */
static void find_crop(const struct parser *p, int *left, int *top)
{
    AVCodecContext *c = avcodec_alloc_context3(p->codec->codec);
    AVFrame *frame = av_frame_alloc();
    if (!c || !frame)
        abort();
    c->apply_cropping = 0;
    c->thread_count = 1;
    c->log_level_offset = 100; /* the other one complains */
    if (avcodec_open2(c, NULL, NULL) < 0)
        abort();
    (void)avcodec_send_packet(c, p->waiting);
    (void)avcodec_send_packet(c, NULL);
    if (avcodec_receive_frame(c, frame) >= 0) {
        *left = (int)frame->crop_left;
        *top = (int)frame->crop_top;
    }
    av_frame_free(&frame);
    avcodec_free_context(&c);
}

static bool begin_sequence(struct parser *p)
{
    int left = 0, top = 0;
    if (has_start_codes(p))
        find_crop(p, &left, &top);
    const AVCodecContext *c = p->codec;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(c->pix_fmt);
    CUVIDEOFORMAT format = {.codec = p->params.CodecType,
                            .bit_depth_luma_minus8 = (unsigned char)(desc->comp[0].depth - 8),
                            .bit_depth_chroma_minus8 = (unsigned char)(desc->comp[0].depth - 8),
                            .min_num_decode_surfaces = surfaces_needed(c),
                            .frame_rate = {(unsigned)c->framerate.num, (unsigned)c->framerate.den},
                            .progressive_sequence = c->field_order <= AV_FIELD_PROGRESSIVE,
                            .video_signal_description = {.video_full_range_flag = c->color_range == AVCOL_RANGE_JPEG,
                                                         .color_primaries = (unsigned char)c->color_primaries,
                                                         .transfer_characteristics = (unsigned char)c->color_trc,
                                                         .matrix_coefficients = (unsigned char)c->colorspace},
                            .coded_width = (unsigned)c->coded_width,
                            .coded_height = (unsigned)c->coded_height,
                            .display_area = {left, top, left + c->width, top + c->height},
                            .chroma_format = desc->log2_chroma_w == 0   ? cudaVideoChromaFormat_444
                                             : desc->log2_chroma_h == 0 ? cudaVideoChromaFormat_422
                                                                        : cudaVideoChromaFormat_420};
    p->width = c->coded_width;
    p->height = c->coded_height;
    p->shown_width = c->width;
    p->shown_height = c->height;
    p->format = c->pix_fmt;
    for (int i = 0; i < PACKETS; i++)
        coded_end(p, i);
    int surfaces = p->params.pfnSequenceCallback(p->params.pUserData, &format);
    p->surfaces = surfaces == 1 ? (int64_t)p->params.ulMaxNumDecodeSurfaces : surfaces < SURFACES ? surfaces : SURFACES;
    return surfaces > 0;
}

static int surface_free(const struct parser *p)
{
    int i = 0;
    while (i < p->surfaces && p->busy[i])
        i++;
    return i < p->surfaces ? i : -1;
}

/* The lowest free surface. If there is none, pictures are shown that would have been held back; and if that is not
 * enough, the oldest one gives its own, which FFmpeg's decoder has dropped, as it does with damaged ones. */
static int surface_find(struct parser *p, bool *well)
{
    while (surface_free(p) < 0 && p->queued)
        *well = display_until(p, p->queued - 1) && *well;
    for (int64_t i = p->packets > PACKETS ? p->packets - PACKETS : 0; i < p->packets && surface_free(p) < 0; i++)
        coded_end(p, (int)(i % PACKETS));
    return surface_free(p);
}

static bool decode_picture(struct parser *p, int packet)
{
    static const unsigned char data[4] = {0, 0, 1, 0};
    static const unsigned offset = 0;
    bool well = true;
    int surface = surface_find(p, &well);
    struct fake_coded *coded = calloc(1, sizeof *coded);
    if (!coded)
        abort();
    *coded = (struct fake_coded){.users = 1, .surface = surface};
    CUVIDPICPARAMS picture = {.CurrPicIdx = surface,
                              .PicWidthInMbs = (p->width + 15) / 16,
                              .FrameHeightInMbs = (p->height + 15) / 16,
                              .nBitstreamDataLen = sizeof data,
                              .pBitstreamData = data,
                              .nNumSlices = 1,
                              .pSliceDataOffsets = &offset};
    decoding = coded;
    well = p->params.pfnDecodePicture(p->params.pUserData, &picture) > 0 && well;
    decoding = NULL;
    coded_end(p, packet);
    if (well) {
        p->coded[packet] = coded;
        p->busy[surface] = true;
    } else {
        fake_coded_drop(coded); /* what was not decoded is not shown */
    }
    return well;
}

/* --- packets ------------------------------------------------------------------------------------------------------ */

/* Takes the pictures that the decoder has ready. Those that were not decoded into a surface are not shown. */
static bool receive(struct parser *p)
{
    bool well = true;
    for (;;) {
        AVFrame *frame = av_frame_alloc();
        if (!frame)
            abort();
        if (avcodec_receive_frame(p->codec, frame) < 0) {
            av_frame_free(&frame);
            return well;
        }
        if (!p->coded[frame->pts % PACKETS]) {
            p->state[frame->pts % PACKETS] = 0;
            av_frame_free(&frame);
            continue;
        }
        if (p->queued == SURFACES)
            well = display_until(p, SURFACES - 1) && well;
        p->queue[p->queued++] = frame;
    }
}

/* Whether the packet begins a sequence of another size, crop or format than the one before. */
static bool differs(const struct parser *p)
{
    const AVCodecContext *c = p->codec;
    return c->coded_width != p->width || c->coded_height != p->height || c->width != p->shown_width ||
           c->height != p->shown_height || c->pix_fmt != p->format;
}

/* Shows what is left of the sequence before. FFmpeg's decoders mix it with the next one, of which `packet` is the
 * first: they are emptied, and get that packet again. */
static bool end_sequence(struct parser *p, const AVPacket *packet)
{
    bool delays = p->codec->has_b_frames || has_start_codes(p);
    if (delays)
        (void)avcodec_send_packet(p->codec, NULL);
    for (;;) {
        AVFrame *frame = av_frame_alloc();
        if (!frame)
            abort();
        if (avcodec_receive_frame(p->codec, frame) < 0) {
            av_frame_free(&frame);
            break;
        }
        if (frame->pts == packet->pts && delays)
            av_frame_free(&frame);
        else
            p->queue[p->queued++] = frame;
    }
    if (!delays) /* the last one is the packet's own */
        return display_until(p, 1);
    avcodec_flush_buffers(p->codec);
    (void)avcodec_send_packet(p->codec, packet);
    return display_until(p, 0);
}

/* Whether bytes with start codes have a unit of one of these types. */
static bool has_unit(const struct parser *p, const unsigned char *bytes, size_t size, int first, int last)
{
    for (size_t i = 0; i + 3 < size; i++) {
        if (bytes[i] || bytes[i + 1] || bytes[i + 2] != 1)
            continue;
        int type = p->params.CodecType == cudaVideoCodec_H264 ? bytes[i + 3] & 31 : bytes[i + 3] >> 1 & 63;
        if (type >= first && type <= last)
            return true;
    }
    return false;
}

/* Whether bytes with start codes have a slice, and not only headers; and whether they have a sequence's header. */
static bool has_slice(const struct parser *p, const unsigned char *bytes, size_t size)
{
    bool h264 = p->params.CodecType == cudaVideoCodec_H264;
    return has_unit(p, bytes, size, h264 ? 1 : 0, h264 ? 5 : 31);
}

static bool has_header(const struct parser *p, const AVPacket *packet)
{
    int type = p->params.CodecType == cudaVideoCodec_H264 ? 7 : 33;
    return has_start_codes(p) && has_unit(p, packet->data, (size_t)packet->size, type, type);
}

/* Queues an empty frame for the packet, by its timestamp. */
static void queue_undrawn(struct parser *p, int64_t pts)
{
    int at = p->queued, packet = (int)(pts % PACKETS);
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        abort();
    frame->pts = pts;
    while (at > 0 && p->state[packet] == 2 && p->time[p->queue[at - 1]->pts % PACKETS] > p->time[packet])
        at--;
    memmove(p->queue + at + 1, p->queue + at, (size_t)(p->queued - at) * sizeof *p->queue);
    p->queue[at] = frame;
    p->queued++;
}

/* As process, where nothing is drawn: of the packets only the first one is decoded, and those with a header of H.264 or
 * HEVC, to know the format. The timestamps say the order of display. */
static bool process_undrawn(struct parser *p)
{
    AVFrame *frame = av_frame_alloc();
    bool well = true;
    if (!frame)
        abort();
    if (p->format == AV_PIX_FMT_NONE || has_header(p, p->waiting)) {
        (void)avcodec_send_packet(p->codec, p->waiting);
        (void)avcodec_send_packet(p->codec, NULL);
        while (avcodec_receive_frame(p->codec, frame) >= 0)
            av_frame_unref(frame);
        avcodec_flush_buffers(p->codec);
        if (p->codec->pix_fmt != AV_PIX_FMT_NONE && differs(p))
            well = display_until(p, 0) && begin_sequence(p);
    }
    av_frame_free(&frame);
    if (p->format == AV_PIX_FMT_NONE)
        return well;
    int delay = (int)p->params.ulMaxDisplayDelay, reorder = p->codec->has_b_frames + 1;
    well = well && decode_picture(p, (int)(p->waiting->pts % PACKETS));
    if (well)
        queue_undrawn(p, p->waiting->pts);
    return well && display_until(p, delay > reorder ? delay : reorder);
}

/* The waiting packet is whole. */
static bool process(struct parser *p)
{
    int packet = (int)(p->packets % PACKETS);
    if (!p->has_picture)
        return true;
    p->has_picture = false;
    p->waiting->pts = p->packets++;
    bool well = true;
    if (!fake_draws())
        well = process_undrawn(p);
    else if (avcodec_send_packet(p->codec, p->waiting) >= 0 && p->codec->pix_fmt != AV_PIX_FMT_NONE) {
        if (differs(p)) {
            well = p->format == AV_PIX_FMT_NONE || end_sequence(p, p->waiting);
            well = begin_sequence(p) && well;
        }
        well = well && decode_picture(p, packet) && receive(p) && display_until(p, (int)p->params.ulMaxDisplayDelay);
    }
    av_packet_unref(p->waiting);
    return well;
}

static void append(struct parser *p, const CUVIDSOURCEDATAPACKET *data)
{
    int before = p->waiting->size;
    if (av_grow_packet(p->waiting, (int)data->payload_size) < 0)
        abort();
    memcpy(p->waiting->data + before, data->payload, data->payload_size);
}

CUresult cuvidParseVideoData(CUvideoparser handle, CUVIDSOURCEDATAPACKET *data)
{
    struct parser *p = handle;
    CUresult result = fake_begin("cuvidParseVideoData");
    const unsigned char *b = data->payload;
    bool starts = data->payload_size < 4 || (!b[0] && !b[1] && (b[2] == 1 || (!b[2] && b[3] == 1)));
    if (!result && data->payload_size && has_start_codes(p) && !starts)
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "a packet without a start code");
    result = fake_end(result);
    if (result)
        return result;
    bool well = true;
    if (data->payload_size) {
        well = process(p);
        append(p, data);
        if (!has_start_codes(p) || has_slice(p, data->payload, data->payload_size)) {
            p->has_picture = true;
            p->state[p->packets % PACKETS] = data->flags & CUVID_PKT_TIMESTAMP ? 2 : 1;
            p->time[p->packets % PACKETS] = data->timestamp;
        }
        bool is_frame = p->params.CodecType == cudaVideoCodec_VP8 || p->params.CodecType == cudaVideoCodec_VP9 ||
                        p->params.CodecType == cudaVideoCodec_AV1 || p->params.CodecType == cudaVideoCodec_JPEG;
        if (well && is_frame)
            well = process(p);
    }
    if (well && data->flags & CUVID_PKT_ENDOFSTREAM) {
        well = process(p);
        (void)avcodec_send_packet(p->codec, NULL);
        well = receive(p) && display_until(p, 0) && well;
        avcodec_flush_buffers(p->codec);
    }
    return well ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
