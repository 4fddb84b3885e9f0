/* Decodes streams with NVIDIA's parser and kept hardware decoders; nvdec_decoder.h explains them.
 *
 * bl_nvdec_decoder_send passes a packet to the parser, which calls back, in this thread, before it returns:
 * parser_begin_sequence for a header, parser_decode for each coded picture, and parser_display for each picture whose
 * turn it is to be shown. parser_display maps the picture at once, since the parser may reuse its surface afterwards:
 * mapping copies it, on the queue's stream, into an output surface. The mapped picture waits in `ready`, from where
 * bl_nvdec_decoder_receive takes it. It is unmapped when the last reference to its frame is released. */
#include "kind/video/nvdec_decoder.h"

#include <libavcodec/bsf.h>
#include <stdlib.h>
#include <string.h>

#include "kind/video/nvdec_hardware.h"

#define DISPLAY_DELAY 4 /* pictures that the parser holds back, so that mapping one does not wait for its decoding */
#define READY_MAX 64    /* pictures that one packet can make ready */
#define SENT_MAX 128    /* packets whose pictures may still come */
#define HEADERS_MAX ((size_t)1 << 24)
#define SPARE_BYTES ((size_t)64 << 20)

/* A mapped picture, until its frame is released. */
struct surface {
    struct bl_nvdec_decoder *decoder;
    struct bl_hardware *hardware;
    CUdeviceptr address;
};

/* The times of a packet whose picture has not come. */
struct sent {
    bool waits;
    bool discard; /* the container says that it is not shown */
    int64_t pts, duration;
};

struct ready {
    AVFrame *frame;
    struct bl_gpu_picture picture;
};

struct bl_nvdec_decoder {
    const struct bl_device *device;
    CUstream stream;
    struct bl_hardware_pool hardware;

    /* The current stream. */
    CUvideoparser parser;
    AVBSFContext *filter; /* makes packets as the parser reads them; NULL: they are so already */
    AVPacket *packet;     /* for the filter */
    enum AVCodecID codec;
    bool started;                /* its headers were sent */
    struct bl_hardware *current; /* decodes the current sequence */
    CUVIDEOFORMAT format;        /* of the current sequence */
    int sequence;                /* its number, from 0; -1: there is none so far */
    struct sent sent[SENT_MAX];
    int next_sent;
    struct ready ready[READY_MAX];
    int first_ready, ready_count;

    /* The call of the parser that goes on. */
    int code;
    int refused;
    struct bl_error *error;
};

static const CuvidFunctions *decoder_video(const struct bl_nvdec_decoder *d)
{
    return d->device->driver->video;
}

/* --- failures ----------------------------------------------------------------------------------------------------- */

/* Finds why the driver refused content: BL_OK if the content is damaged, BL_EFAIL if the GPU has failed, or BL_GPU_FULL
 * if less than 64 MiB of its memory are left. The caller has entered the device. */
static int decoder_examine(const struct bl_nvdec_decoder *d, struct bl_error *e)
{
    const CudaFunctions *cuda = d->device->driver->cuda;
    CUdeviceptr spare;
    CUresult result = cuda->cuStreamQuery(d->stream);
    BL_TRY(bl_device_check(d->device, "decode", result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result, e));
    result = cuda->cuMemAlloc(&spare, SPARE_BYTES);
    if (result == BL_DRIVER_OUT_OF_MEMORY)
        return BL_GPU_FULL;
    BL_TRY(bl_device_check(d->device, "allocate memory", result, e));
    return bl_device_check(d->device, "free memory", cuda->cuMemFree(spare), e);
}

/* Counts content that was refused, unless the GPU is to blame. It returns whether the parser may go on. */
static int decoder_refuse(struct bl_nvdec_decoder *d)
{
    d->code = decoder_examine(d, d->error);
    d->refused += !d->code;
    return 0;
}

/* --- callbacks of the parser -------------------------------------------------------------------------------------- */

/* A header that differs from the one before. It returns the number of decode surfaces; 0: failed. */
static int CUDAAPI parser_begin_sequence(void *opaque, CUVIDEOFORMAT *format)
{
    struct bl_nvdec_decoder *d = opaque;
    unsigned surfaces = format->min_num_decode_surfaces + (unsigned)DISPLAY_DELAY;
    if (d->code)
        return 0;
    bool same = d->current && bl_hardware_fits(d->current, format, surfaces) &&
                d->current->width == format->coded_width && d->current->height == format->coded_height;
    if (!same) {
        d->current = NULL; /* all its pictures were shown, and those that are mapped keep it */
        d->code = bl_hardware_take(&d->hardware, d->codec, format, surfaces, &d->current, d->error);
    }
    if (d->code)
        return 0;
    d->format = *format;
    d->sequence++;
    return (int)d->current->made.ulNumDecodeSurfaces;
}

/* The parser decodes into a surface whose picture was shown. That picture is mapped, maybe still, as a copy, which the
 * stream makes: the copy must be complete. It usually is, since the parser holds pictures back. */
static int CUDAAPI parser_decode(void *opaque, CUVIDPICPARAMS *picture)
{
    struct bl_nvdec_decoder *d = opaque;
    int surface = picture->CurrPicIdx;
    if (d->code || !d->current || surface < 0 || surface >= BL_HARDWARE_SURFACES)
        return 0;
    CUevent copied = d->current->copied[surface];
    if (copied)
        d->code = bl_device_check(d->device, "finish its work", d->device->driver->cuda->cuEventSynchronize(copied),
                                  d->error);
    if (d->code)
        return 0;
    if (decoder_video(d)->cuvidDecodePicture(d->current->handle, picture) != CUDA_SUCCESS)
        return decoder_refuse(d);
    return 1;
}

/* Unmaps the picture of a frame that was released. */
static void surface_free(void *opaque, uint8_t *data)
{
    struct surface *s = opaque;
    struct bl_error none = {0};
    (void)data;
    CUresult result = CUDA_SUCCESS;
    bool entered = !bl_device_enter(s->decoder->device, &none);
    if (entered)
        result = decoder_video(s->decoder)->cuvidUnmapVideoFrame(s->hardware->handle, s->address);
    if (!entered || bl_device_leave(s->decoder->device, "release a picture", result, &none))
        s->hardware->faulty = true;
    s->hardware->mapped--;
    free(s);
}

/* Removes the packet with this time from those that wait, and returns it; NULL: the parser made up the time. */
static const struct sent *sent_find(struct bl_nvdec_decoder *d, int64_t pts)
{
    for (int i = 0; i < SENT_MAX; i++) {
        struct sent *s = &d->sent[(d->next_sent + i) % SENT_MAX]; /* the oldest first */
        if (!s->waits || s->pts != pts)
            continue;
        s->waits = false;
        return s;
    }
    return NULL;
}

/* Appends a mapped picture to `ready`; takes over the surface. */
static int ready_append(struct bl_nvdec_decoder *d, struct surface *surface, unsigned pitch, int64_t time,
                        bool concealed, struct bl_error *e)
{
    const CUVIDEOFORMAT *f = &d->format;
    uint8_t *data = (uint8_t *)(uintptr_t)surface->address;
    AVBufferRef *buffer = av_buffer_create(data, pitch, surface_free, surface, 0);
    AVFrame *frame = buffer ? av_frame_alloc() : NULL;
    if (!buffer)
        surface_free(surface, data);
    if (!frame) {
        av_buffer_unref(&buffer);
        return bl_error_memory(e);
    }
    unsigned depth = bl_format_depth(f);
    if (bl_format_is_444(f))
        frame->format = depth ? AV_PIX_FMT_YUV444P16LE : AV_PIX_FMT_YUV444P;
    else
        frame->format = depth == 0 ? AV_PIX_FMT_NV12 : depth == 2 ? AV_PIX_FMT_P010LE : AV_PIX_FMT_P016LE;
    frame->width = (int)f->coded_width;
    frame->height = (int)f->coded_height;
    frame->buf[0] = buffer;
    /* Chroma stands behind an even number of rows of luma; in 4:4:4, V stands behind as many rows of U. */
    size_t luma = (size_t)pitch * ((f->coded_height + 1) / 2 * 2);
    for (int p = 0; p < (bl_format_is_444(f) ? 3 : 2); p++) {
        frame->data[p] = data + (size_t)p * luma;
        frame->linesize[p] = (int)pitch;
    }
    const struct sent *sent = sent_find(d, time);
    struct ready *ready = &d->ready[(d->first_ready + d->ready_count++) % READY_MAX];
    *ready = (struct ready){frame,
                            {.sequence = d->sequence,
                             .pts = sent ? sent->pts : AV_NOPTS_VALUE,
                             .duration = sent ? sent->duration : 0,
                             .discard = sent && sent->discard,
                             .concealed = concealed,
                             .left = f->display_area.left,
                             .top = f->display_area.top,
                             .width = f->display_area.right - f->display_area.left,
                             .height = f->display_area.bottom - f->display_area.top}};
    return BL_OK;
}

/* Records that the picture in this surface is mapped: see parser_decode. */
static int surface_record(struct bl_nvdec_decoder *d, int surface)
{
    const CudaFunctions *cuda = d->device->driver->cuda;
    CUevent *copied = &d->current->copied[surface];
    CUresult result = CUDA_SUCCESS;
    if (!*copied)
        result = cuda->cuEventCreate(copied, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS)
        result = cuda->cuEventRecord(*copied, d->stream);
    return bl_device_check(d->device, "record an event", result, d->error);
}

static int CUDAAPI parser_display(void *opaque, CUVIDPARSERDISPINFO *shown)
{
    struct bl_nvdec_decoder *d = opaque;
    if (d->code || !shown || !d->current)
        return !d->code;
    struct bl_hardware *h = d->current;
    if (d->ready_count == READY_MAX || shown->picture_index < 0 || shown->picture_index >= BL_HARDWARE_SURFACES) {
        d->refused++;
        return 0;
    }
    /* With progressive_frame the two fields of an interlaced picture are woven, as on the processor. */
    CUVIDPROCPARAMS process = {.progressive_frame = 1, .output_stream = d->stream};
    unsigned long long address = 0;
    unsigned pitch = 0;
    if (decoder_video(d)->cuvidMapVideoFrame(h->handle, shown->picture_index, &address, &pitch, &process) !=
        CUDA_SUCCESS)
        return decoder_refuse(d);
    struct surface *surface = malloc(sizeof *surface);
    if (!surface) {
        (void)decoder_video(d)->cuvidUnmapVideoFrame(h->handle, address);
        d->code = bl_error_memory(d->error);
        return 0;
    }
    *surface = (struct surface){d, h, (CUdeviceptr)address};
    h->mapped++;
    d->code = surface_record(d, shown->picture_index);
    CUVIDGETDECODESTATUS status = {0};
    bool concealed =
        decoder_video(d)->cuvidGetDecodeStatus(h->handle, shown->picture_index, &status) == CUDA_SUCCESS &&
        (status.decodeStatus == cuvidDecodeStatus_Error || status.decodeStatus == cuvidDecodeStatus_Error_Concealed);
    int code = ready_append(d, surface, pitch, shown->timestamp, concealed, d->error);
    d->code = d->code ? d->code : code;
    return !d->code;
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

int bl_nvdec_decoder_open(struct bl_nvdec_decoder **out, const struct bl_device *device, struct bl_caps *caps,
                          CUstream stream, struct bl_error *e)
{
    struct bl_nvdec_decoder *d = calloc(1, sizeof *d);
    if (d)
        d->packet = av_packet_alloc();
    if (!d || !d->packet) {
        free(d);
        return bl_error_memory(e);
    }
    d->device = device;
    d->hardware = (struct bl_hardware_pool){.device = device, .caps = caps};
    d->stream = stream;
    *out = d;
    return BL_OK;
}

void bl_nvdec_decoder_close(struct bl_nvdec_decoder *d)
{
    struct bl_error none = {0};
    if (!d)
        return;
    bl_nvdec_decoder_end(d);
    if (!bl_device_enter(d->device, &none)) {
        bl_hardware_destroy(&d->hardware, BL_HARDWARE_ALL);
        (void)bl_device_leave(d->device, "be left", CUDA_SUCCESS, &none);
    }
    av_packet_free(&d->packet);
    free(d);
}

int bl_nvdec_decoder_evict(struct bl_nvdec_decoder *d)
{
    struct bl_error none = {0};
    if (bl_device_enter(d->device, &none))
        return 0;
    int destroyed = bl_hardware_destroy(&d->hardware, BL_HARDWARE_IDLE);
    (void)bl_device_leave(d->device, "be left", CUDA_SUCCESS, &none);
    return destroyed;
}

/* Opens the filter that turns the container's packets into a byte stream with start codes, which the parser reads; NULL
 * for codecs whose packets are so already. */
static int filter_open(AVBSFContext **out, const AVCodecParameters *parameters, struct bl_error *e)
{
    const char *name = parameters->codec_id == AV_CODEC_ID_H264   ? "h264_mp4toannexb"
                       : parameters->codec_id == AV_CODEC_ID_HEVC ? "hevc_mp4toannexb"
                                                                  : NULL;
    *out = NULL;
    if (!name)
        return BL_OK;
    const AVBitStreamFilter *filter = av_bsf_get_by_name(name);
    if (!filter)
        return bl_error_set(e, BL_EDATA, "this build of FFmpeg has no filter %s, which decoding on a GPU needs", name);
    if (av_bsf_alloc(filter, out) < 0)
        return bl_error_memory(e);
    if (avcodec_parameters_copy((*out)->par_in, parameters) >= 0 && av_bsf_init(*out) >= 0)
        return BL_OK;
    av_bsf_free(out);
    return bl_error_set(e, BL_EDATA, "damaged: the stream's header cannot be used");
}

int bl_nvdec_decoder_begin(struct bl_nvdec_decoder *d, const AVCodecParameters *parameters, struct bl_error *e)
{
    cudaVideoCodec codec;
    if (!bl_codec_to_cuvid(parameters->codec_id, &codec))
        return bl_error_set(e, BL_EDATA, "no GPU decodes %s", avcodec_get_name(parameters->codec_id));
    CUVIDEOFORMATEX header = {0};
    CUVIDPARSERPARAMS info = {.CodecType = codec,
                              .ulMaxNumDecodeSurfaces = 1, /* parser_begin_sequence tells the number */
                              .ulMaxDisplayDelay = DISPLAY_DELAY,
                              .pUserData = d,
                              .pfnSequenceCallback = parser_begin_sequence,
                              .pfnDecodePicture = parser_decode,
                              .pfnDisplayPicture = parser_display};
    size_t bytes = (size_t)FFMAX(parameters->extradata_size, 0);
    bool in_header = codec == cudaVideoCodec_MPEG1 || codec == cudaVideoCodec_MPEG2 || codec == cudaVideoCodec_VC1;
    if (in_header && bytes && bytes <= sizeof header.raw_seqhdr_data) {
        header.format.seqhdr_data_length = (unsigned)bytes;
        memcpy(header.raw_seqhdr_data, parameters->extradata, bytes);
        info.pExtVideoInfo = &header;
    }
    BL_TRY(filter_open(&d->filter, parameters, e));
    d->codec = parameters->codec_id;
    d->started = false;
    d->sequence = -1;
    memset(d->sent, 0, sizeof d->sent);
    int code = bl_device_enter(d->device, e);
    if (!code)
        code = bl_device_leave(d->device, "parse a stream", decoder_video(d)->cuvidCreateVideoParser(&d->parser, &info),
                               e);
    if (code)
        bl_nvdec_decoder_end(d);
    return code;
}

void bl_nvdec_decoder_end(struct bl_nvdec_decoder *d)
{
    struct bl_error none = {0};
    for (; d->ready_count > 0; d->ready_count--) {
        av_frame_free(&d->ready[d->first_ready].frame);
        d->first_ready = (d->first_ready + 1) % READY_MAX;
    }
    d->current = NULL;
    av_bsf_free(&d->filter);
    if (bl_device_enter(d->device, &none))
        return;
    if (d->parser)
        (void)decoder_video(d)->cuvidDestroyVideoParser(d->parser);
    d->parser = NULL;
    bl_hardware_destroy(&d->hardware, BL_HARDWARE_FAULTY);
    (void)bl_device_leave(d->device, "be left", CUDA_SUCCESS, &none);
}

/* Passes bytes to the parser. What it refuses is counted, unless a callback has reported why. */
static int decoder_parse(struct bl_nvdec_decoder *d, CUVIDSOURCEDATAPACKET data)
{
    if (d->code)
        return d->code;
    int before = d->refused;
    CUresult result = decoder_video(d)->cuvidParseVideoData(d->parser, &data);
    if (result != CUDA_SUCCESS && !d->code && d->refused == before)
        (void)decoder_refuse(d);
    return d->code;
}

/* Passes a packet to the parser, with its pts as the timestamp: the parser expects timestamps in the order of display,
 * and sorts them if the first ones are not. For a packet without pts it makes one up. */
static int decoder_parse_packet(struct bl_nvdec_decoder *d, const AVPacket *packet)
{
    CUVIDSOURCEDATAPACKET data = {.payload = packet->data, .payload_size = (tcu_ulong)FFMAX(packet->size, 0)};
    if (packet->pts != AV_NOPTS_VALUE) {
        data.flags = CUVID_PKT_TIMESTAMP;
        data.timestamp = packet->pts;
        d->sent[d->next_sent] =
            (struct sent){true, packet->flags & AV_PKT_FLAG_DISCARD, packet->pts, FFMAX(packet->duration, 0)};
        d->next_sent = (d->next_sent + 1) % SENT_MAX;
    }
    return decoder_parse(d, data);
}

/* Opens the filter anew if the container has other headers from this packet on. */
static int filter_follow(struct bl_nvdec_decoder *d, const AVPacket *packet)
{
    size_t size = 0;
    const uint8_t *headers = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size);
    if (!headers || !size || size > HEADERS_MAX)
        return BL_OK;
    AVCodecParameters *parameters = avcodec_parameters_alloc();
    int code =
        parameters && avcodec_parameters_copy(parameters, d->filter->par_in) >= 0 ? BL_OK : bl_error_memory(d->error);
    if (!code) {
        av_freep(&parameters->extradata);
        parameters->extradata_size = 0;
        parameters->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
        code = parameters->extradata ? BL_OK : bl_error_memory(d->error);
    }
    if (!code) {
        memcpy(parameters->extradata, headers, size);
        parameters->extradata_size = (int)size;
        av_bsf_free(&d->filter);
        code = filter_open(&d->filter, parameters, d->error);
        d->started = false;
    }
    avcodec_parameters_free(&parameters);
    return code;
}

/* Passes a packet through the filter to the parser; NULL: what the filter holds. */
static int decoder_filter(struct bl_nvdec_decoder *d, const AVPacket *packet)
{
    d->code = packet ? filter_follow(d, packet) : BL_OK;
    if (d->code)
        return d->code;
    if (packet && av_packet_ref(d->packet, packet) < 0)
        return d->code = bl_error_memory(d->error);
    if (!d->started && d->filter->par_out->extradata_size > 0) {
        const AVCodecParameters *out = d->filter->par_out;
        (void)decoder_parse(
            d, (CUVIDSOURCEDATAPACKET){.payload = out->extradata, .payload_size = (tcu_ulong)out->extradata_size});
    }
    d->started = true;
    int code = av_bsf_send_packet(d->filter, packet ? d->packet : NULL);
    while (code >= 0 && !d->code && (code = av_bsf_receive_packet(d->filter, d->packet)) >= 0) {
        (void)decoder_parse_packet(d, d->packet);
        av_packet_unref(d->packet);
    }
    av_packet_unref(d->packet);
    if (code == AVERROR(ENOMEM))
        return d->code = bl_error_memory(d->error);
    d->refused += code < 0 && code != AVERROR(EAGAIN) && code != AVERROR_EOF;
    return d->code;
}

int bl_nvdec_decoder_send(struct bl_nvdec_decoder *d, const AVPacket *packet, int *refused, struct bl_error *e)
{
    BL_TRY(bl_device_enter(d->device, e));
    d->error = e;
    d->code = BL_OK;
    d->refused = 0;
    if (d->filter)
        (void)decoder_filter(d, packet);
    else if (packet)
        (void)decoder_parse_packet(d, packet);
    if (!packet)
        (void)decoder_parse(d, (CUVIDSOURCEDATAPACKET){.flags = CUVID_PKT_ENDOFSTREAM});
    *refused = d->refused;
    d->error = NULL;
    int left = bl_device_leave(d->device, "be left", CUDA_SUCCESS, e);
    return d->code ? d->code : left;
}

bool bl_nvdec_decoder_receive(struct bl_nvdec_decoder *d, AVFrame *frame, struct bl_gpu_picture *picture)
{
    if (!d->ready_count)
        return false;
    struct ready *ready = &d->ready[d->first_ready];
    *picture = ready->picture;
    av_frame_move_ref(frame, ready->frame);
    av_frame_free(&ready->frame);
    d->first_ready = (d->first_ready + 1) % READY_MAX;
    d->ready_count--;
    return true;
}
