/* libnvcuvid.so.1: decoders that look at what they are given as the hardware's would, and draw instead of decoding. */
#include "fake.h"

#include <ffnvcodec/dynlink_nvcuvid.h>
#include <libavutil/frame.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SURFACES 32
#define OUTPUTS 64
#define ENGINES 16
#define UNMAPPED 0x77 /* what is in a surface that was given back */

tcuvidGetDecoderCaps cuvidGetDecoderCaps;
tcuvidCreateDecoder cuvidCreateDecoder;
tcuvidDestroyDecoder cuvidDestroyDecoder;
tcuvidDecodePicture cuvidDecodePicture;
tcuvidGetDecodeStatus cuvidGetDecodeStatus;
tcuvidMapVideoFrame64 cuvidMapVideoFrame64;
tcuvidUnmapVideoFrame64 cuvidUnmapVideoFrame64;
tcuvidReconfigureDecoder cuvidReconfigureDecoder;
CUresult fake_refused_video(void);

struct output {
    uint8_t *memory; /* NULL until it is used */
    int picture;     /* that is mapped here, or -1 */
    int64_t map;     /* which it is, of all */
    bool drawn;      /* the stream has copied it */
};

struct decoder {
    struct decoder *next;
    CUcontext context;
    CUVIDDECODECREATEINFO info; /* with the size that it is configured for */
    size_t pitch, bytes;        /* of an output */
    int64_t reserved, maps;
    bool decoded[SURFACES];
    struct fake_coded *coded[SURFACES]; /* what a parser found; NULL: the picture of the hash */
    uint64_t hash[SURFACES];
    int64_t done[SURFACES], last_done; /* when an engine has decoded it; and all so far */
    struct output output[OUTPUTS];
};

static struct decoder *decoders;
static int64_t engine_free[ENGINES]; /* from when on */

/* --- what it can do ----------------------------------------------------------------------------------------------- */

static bool is_supported(cudaVideoCodec codec, cudaVideoChromaFormat chroma, unsigned depth)
{
    bool deep = codec == cudaVideoCodec_HEVC || codec == cudaVideoCodec_VP9;
    bool ten = deep || codec == cudaVideoCodec_AV1;
    bool known = codec <= cudaVideoCodec_AV1 && codec != cudaVideoCodec_H264_SVC && codec != cudaVideoCodec_H264_MVC;
    if (chroma == cudaVideoChromaFormat_444)
        return codec == cudaVideoCodec_HEVC && (depth == 8 || depth == 10 || depth == 12);
    return known && chroma == cudaVideoChromaFormat_420 &&
           (depth == 8 || (depth == 10 && ten) || (depth == 12 && deep));
}

static void describe(CUVIDDECODECAPS *caps)
{
    unsigned depth = caps->nBitDepthMinus8 + 8;
    if (!is_supported(caps->eCodecType, caps->eChromaFormat, depth))
        return;
    caps->bIsSupported = 1;
    caps->nNumNVDECs = (unsigned char)fake_option("FAKE_ENGINES", 1);
    caps->nOutputFormatMask = 1u << cudaVideoSurfaceFormat_NV12 | (depth > 8) << cudaVideoSurfaceFormat_P016;
    if (caps->eChromaFormat == cudaVideoChromaFormat_444)
        caps->nOutputFormatMask = 1u << cudaVideoSurfaceFormat_YUV444 | (depth > 8)
                                                                            << cudaVideoSurfaceFormat_YUV444_16Bit;
    caps->nMinWidth = 48;
    caps->nMinHeight = 16;
    caps->nMaxWidth = caps->nMaxHeight = 4096;
    caps->nMaxMBCount = 65536;
}

CUresult cuvidGetDecoderCaps(CUVIDDECODECAPS *caps)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuvidGetDecoderCaps", &context);
    if (!result)
        describe(caps);
    return fake_end(result);
}

/* --- decoders ----------------------------------------------------------------------------------------------------- */

static CUresult info_check(const CUVIDDECODECREATEINFO *i)
{
    CUVIDDECODECAPS caps = {
        .eCodecType = i->CodecType, .eChromaFormat = i->ChromaFormat, .nBitDepthMinus8 = (unsigned)i->bitDepthMinus8};
    describe(&caps);
    if (!caps.bIsSupported)
        return fake_wrong(CUDA_ERROR_NOT_SUPPORTED, "a decoder of codec %d with %lu bits", (int)i->CodecType,
                          i->bitDepthMinus8 + 8);
    if (i->ulWidth < caps.nMinWidth || i->ulWidth > caps.nMaxWidth || i->ulHeight < caps.nMinHeight ||
        i->ulHeight > caps.nMaxHeight || i->ulWidth * i->ulHeight / 256 > caps.nMaxMBCount)
        return fake_wrong(CUDA_ERROR_NOT_SUPPORTED, "a decoder of %lux%lu", i->ulWidth, i->ulHeight);
    if ((i->ulMaxWidth && (i->ulMaxWidth < i->ulWidth || i->ulMaxWidth > caps.nMaxWidth)) ||
        (i->ulMaxHeight && (i->ulMaxHeight < i->ulHeight || i->ulMaxHeight > caps.nMaxHeight)) ||
        i->ulMaxWidth * i->ulMaxHeight / 256 > caps.nMaxMBCount)
        return fake_wrong(CUDA_ERROR_NOT_SUPPORTED, "a decoder of at most %lux%lu", i->ulMaxWidth, i->ulMaxHeight);
    if (i->ulTargetWidth != i->ulWidth || i->ulTargetHeight != i->ulHeight)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a decoder that scales");
    unsigned deep = i->bitDepthMinus8 > 0, planar = i->ChromaFormat == cudaVideoChromaFormat_444;
    if (i->OutputFormat != (planar ? cudaVideoSurfaceFormat_YUV444 : cudaVideoSurfaceFormat_NV12) + deep)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a decoder with outputs of format %d", (int)i->OutputFormat);
    if (i->ulNumDecodeSurfaces < 1 || i->ulNumDecodeSurfaces > SURFACES || i->ulNumOutputSurfaces < 1 ||
        i->ulNumOutputSurfaces > OUTPUTS)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a decoder with %lu surfaces and %lu outputs",
                          i->ulNumDecodeSurfaces, i->ulNumOutputSurfaces);
    return CUDA_SUCCESS;
}

static struct decoder *decoder_make(CUcontext context, const CUVIDDECODECREATEINFO *info)
{
    struct decoder *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    d->context = context;
    d->info = *info;
    if (!d->info.ulMaxWidth)
        d->info.ulMaxWidth = info->ulWidth;
    if (!d->info.ulMaxHeight)
        d->info.ulMaxHeight = info->ulHeight;
    d->pitch = ((size_t)d->info.ulMaxWidth * (info->bitDepthMinus8 ? 2 : 1) / 256 + 2) * 256;
    d->bytes = d->pitch * ((d->info.ulMaxHeight + 1) / 2 * (info->ChromaFormat == cudaVideoChromaFormat_444 ? 6 : 3));
    d->reserved = (int64_t)(d->bytes * (info->ulNumDecodeSurfaces + info->ulNumOutputSurfaces));
    for (int i = 0; i < OUTPUTS; i++)
        d->output[i].picture = -1;
    return d;
}

CUresult cuvidCreateDecoder(CUvideodecoder *handle, CUVIDDECODECREATEINFO *info)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuvidCreateDecoder", &context);
    if (!result)
        result = info_check(info);
    if (!result && fake_now(FAKE_DECODERS) >= fake_option("FAKE_DECODERS", INT_MAX))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result)
        return fake_end(result);
    struct decoder *d = decoder_make(context, info);
    result = fake_memory_reserve(context, d->reserved);
    if (result) {
        free(d);
        return fake_end(result);
    }
    d->next = decoders;
    decoders = d;
    fake_count(FAKE_DECODERS, 1);
    *handle = d;
    return fake_end(CUDA_SUCCESS);
}

/* What was decoded so far is no more. */
static void forget(struct decoder *d)
{
    for (int i = 0; i < SURFACES; i++) {
        fake_coded_drop(d->coded[i]);
        d->coded[i] = NULL;
        d->decoded[i] = false;
    }
}

/* The link to it, so that it can be taken out. */
static CUresult begin(const char *function, CUvideodecoder handle, CUcontext *context, struct decoder ***link)
{
    CUresult result = fake_begin_in(function, context);
    if (result)
        return result;
    *link = &decoders;
    while (**link && **link != handle)
        *link = &(**link)->next;
    if (!**link)
        return fake_wrong(CUDA_ERROR_INVALID_HANDLE, "%s: a decoder that is none", function);
    if ((**link)->context != *context)
        return fake_wrong(CUDA_ERROR_INVALID_CONTEXT, "%s: a decoder of another context", function);
    return CUDA_SUCCESS;
}

CUresult cuvidDestroyDecoder(CUvideodecoder handle)
{
    CUcontext context;
    struct decoder **link;
    CUresult result = begin("cuvidDestroyDecoder", handle, &context, &link);
    if (result)
        return fake_end(result);
    struct decoder *d = *link;
    *link = d->next;
    fake_streams_drain(context);
    for (int i = 0; i < OUTPUTS; i++) {
        if (d->output[i].picture >= 0)
            (void)fake_wrong(CUDA_SUCCESS, "a decoder is destroyed with picture %d mapped", d->output[i].picture);
        if (d->output[i].memory)
            (void)fake_memory_drop(context, FAKE_UNCOUNTED, d->output[i].memory);
    }
    (void)fake_memory_reserve(d->context, -d->reserved);
    forget(d);
    free(d);
    fake_count(FAKE_DECODERS, -1);
    if (!decoders)
        fake_sleep(fake_cost("last"));
    return fake_end(CUDA_SUCCESS);
}

static CUresult reconfigure(struct decoder *d, const CUVIDRECONFIGUREDECODERINFO *i)
{
    if (i->ulWidth > d->info.ulMaxWidth || i->ulHeight > d->info.ulMaxHeight)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "%ux%u for a decoder of at most %lux%lu", i->ulWidth, i->ulHeight,
                          d->info.ulMaxWidth, d->info.ulMaxHeight);
    if (i->ulNumDecodeSurfaces > d->info.ulNumDecodeSurfaces || i->ulTargetWidth != i->ulWidth ||
        i->ulTargetHeight != i->ulHeight)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a decoder reconfigured for %u surfaces, %ux%u",
                          i->ulNumDecodeSurfaces, i->ulTargetWidth, i->ulTargetHeight);
    for (int k = 0; k < OUTPUTS; k++) {
        if (d->output[k].picture >= 0)
            return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a decoder is reconfigured with picture %d mapped",
                              d->output[k].picture);
    }
    d->info.ulWidth = i->ulWidth;
    d->info.ulHeight = i->ulHeight;
    forget(d);
    fake_count(FAKE_RECONFIGURED, 1);
    return CUDA_SUCCESS;
}

CUresult cuvidReconfigureDecoder(CUvideodecoder handle, CUVIDRECONFIGUREDECODERINFO *info)
{
    CUcontext context;
    struct decoder **link;
    CUresult result = begin("cuvidReconfigureDecoder", handle, &context, &link);
    return fake_end(result ? result : reconfigure(*link, info));
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* A picture that another one refers to; -1 (of a byte: 255) says that there is none. */
static CUresult reference(const struct decoder *d, int picture, bool needed)
{
    if (!needed && (picture == -1 || picture == 255))
        return CUDA_SUCCESS;
    if (picture < 0 || picture >= (int)d->info.ulNumDecodeSurfaces)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a reference to picture %d", picture);
    return d->decoded[picture]
               ? CUDA_SUCCESS
               : fake_wrong(CUDA_ERROR_INVALID_VALUE, "a reference to picture %d, which was not decoded", picture);
}

static CUresult references_h264(const struct decoder *d, const CUVIDPICPARAMS *p)
{
    const CUVIDH264DPBENTRY *dpb = p->CodecSpecific.h264.dpb;
    bool instant = (p->pBitstreamData[p->pSliceDataOffsets[0] + 3] & 31) == 5; /* behind the start code */
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < 16 && !result; i++) {
        result = reference(d, dpb[i].PicIdx, false);
        if (instant && !p->second_field && dpb[i].PicIdx >= 0)
            result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "an instant refresh with references");
    }
    return result;
}

static CUresult references_hevc(const struct decoder *d, const CUVIDPICPARAMS *p)
{
    const CUVIDHEVCPICPARAMS *h = &p->CodecSpecific.hevc;
    CUresult result = CUDA_SUCCESS;
    if (h->pic_width_in_luma_samples != (int)d->info.ulWidth || h->pic_height_in_luma_samples != (int)d->info.ulHeight)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a picture of another size");
    for (int i = 0; i < 16 && !result; i++) {
        if (h->RefPicIdx[i] == p->CurrPicIdx) /* FFmpeg names it among the others */
            continue;
        result = reference(d, h->RefPicIdx[i], false);
        if (h->IdrPicFlag && h->RefPicIdx[i] >= 0)
            result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "an instant refresh with references");
    }
    return result;
}

static CUresult references_vp(const struct decoder *d, bool key, int last, int golden, int alternate)
{
    CUresult result = key ? CUDA_SUCCESS : reference(d, last, true);
    if (!key && !result)
        result = reference(d, golden, true);
    if (!key && !result)
        result = reference(d, alternate, true);
    return result;
}

static CUresult references_av1(const struct decoder *d, const CUVIDAV1PICPARAMS *p)
{
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < 7 && !result && p->frame_type != 0 && p->frame_type != 2; i++)
        result = reference(d, p->ref_frame[i].index, true);
    return result;
}

/* MPEG's and VC-1's parameters begin alike. Of a P picture FFmpeg names itself as the one behind. */
static CUresult references_mpeg(const struct decoder *d, const CUVIDPICPARAMS *p)
{
    const CUVIDMPEG2PICPARAMS *m = &p->CodecSpecific.mpeg2;
    CUresult result = p->intra_pic_flag ? CUDA_SUCCESS : reference(d, m->ForwardRefIdx, false);
    if (!p->intra_pic_flag && !result && m->BackwardRefIdx != p->CurrPicIdx)
        result = reference(d, m->BackwardRefIdx, false);
    return result;
}

static CUresult references_check(const struct decoder *d, const CUVIDPICPARAMS *p)
{
    const CUVIDVP8PICPARAMS *vp8 = &p->CodecSpecific.vp8;
    const CUVIDVP9PICPARAMS *vp9 = &p->CodecSpecific.vp9;
    switch (d->info.CodecType) {
    case cudaVideoCodec_H264:
        return references_h264(d, p);
    case cudaVideoCodec_HEVC:
        return references_hevc(d, p);
    case cudaVideoCodec_VP8:
        return references_vp(d, !vp8->vp8_frame_tag.frame_type, vp8->LastRefIdx, vp8->GoldenRefIdx, vp8->AltRefIdx);
    case cudaVideoCodec_VP9:
        return references_vp(d, !vp9->frameType || vp9->intraOnly, vp9->LastRefIdx, vp9->GoldenRefIdx, vp9->AltRefIdx);
    case cudaVideoCodec_AV1:
        return references_av1(d, &p->CodecSpecific.av1);
    case cudaVideoCodec_JPEG:
        return CUDA_SUCCESS;
    default:
        return references_mpeg(d, p);
    }
}

/* Whether a mapped picture is still to be copied from its surface. */
static bool is_awaited(const struct decoder *d, int picture)
{
    for (int i = 0; i < OUTPUTS; i++) {
        if (d->output[i].picture == picture && !d->output[i].drawn)
            return true;
    }
    return false;
}

static CUresult picture_check(const struct decoder *d, const CUVIDPICPARAMS *p)
{
    if (p->CurrPicIdx < 0 || p->CurrPicIdx >= (int)d->info.ulNumDecodeSurfaces)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "picture %d of %lu", p->CurrPicIdx, d->info.ulNumDecodeSurfaces);
    if (is_awaited(d, p->CurrPicIdx))
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "picture %d is decoded anew before it was copied", p->CurrPicIdx);
    if (!p->nNumSlices || !p->pBitstreamData || !p->nBitstreamDataLen || !p->pSliceDataOffsets)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a picture without data");
    for (unsigned i = 0; i < p->nNumSlices; i++) {
        if (p->pSliceDataOffsets[i] >= p->nBitstreamDataLen - (p->nBitstreamDataLen > 3 ? 3 : 0))
            return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a slice behind the end of the data");
    }
    int wider = p->PicWidthInMbs * 16 - (int)d->info.ulWidth;
    if (wider <= -16 || wider >= 16)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a picture of %d macroblocks for a decoder of %lu pixels",
                          p->PicWidthInMbs, d->info.ulWidth);
    int higher = p->FrameHeightInMbs * 16 - (int)d->info.ulHeight;
    if (fake_parser_decoding() && (higher <= -16 || higher >= 16))
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a picture of %d rows of macroblocks for a decoder of %lu pixels",
                          p->FrameHeightInMbs, d->info.ulHeight);
    if (!fake_parser_decoding() && d->info.ChromaFormat != cudaVideoChromaFormat_420)
        return fake_wrong(CUDA_ERROR_NOT_SUPPORTED, "a picture of 4:4:4 that does not come from the parser");
    return CUDA_SUCCESS;
}

/* Gives a picture to the engine that is free first. A decoder's pictures are decoded one after the other. */
static void engine_take(struct decoder *d, int picture)
{
    int64_t engines = fake_option("FAKE_ENGINES", 1), cost = fake_cost("picture"), now = fake_clock();
    int first = 0;
    for (int i = 1; i < engines && i < ENGINES; i++)
        first = engine_free[i] < engine_free[first] ? i : first;
    int64_t begin = engine_free[first] > d->last_done ? engine_free[first] : d->last_done;
    engine_free[first] = d->done[picture] = d->last_done = (begin > now ? begin : now) + cost;
}

CUresult cuvidDecodePicture(CUvideodecoder handle, CUVIDPICPARAMS *p)
{
    CUcontext context;
    struct decoder **link;
    CUresult result = begin("cuvidDecodePicture", handle, &context, &link);
    if (!result)
        result = picture_check(*link, p);
    if (!result && !fake_parser_decoding())
        result = references_check(*link, p);
    if (result)
        return fake_end(result);
    struct decoder *d = *link;
    uint64_t begin = p->second_field ? d->hash[p->CurrPicIdx] : 0;
    d->hash[p->CurrPicIdx] = fake_picture_hash(begin, p->pBitstreamData, p->nBitstreamDataLen);
    d->decoded[p->CurrPicIdx] = true;
    fake_coded_drop(d->coded[p->CurrPicIdx]);
    d->coded[p->CurrPicIdx] = fake_coded_keep(fake_parser_decoding());
    if (d->info.CodecType == cudaVideoCodec_AV1 && p->CodecSpecific.av1.decodePicIdx >= 0 &&
        p->CodecSpecific.av1.decodePicIdx < SURFACES)
        d->decoded[p->CodecSpecific.av1.decodePicIdx] = true;
    engine_take(d, p->CurrPicIdx);
    fake_count(FAKE_PICTURES, 1);
    return fake_end(CUDA_SUCCESS);
}

static bool frame_is_damaged(const AVFrame *frame)
{
    return frame && (frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT);
}

CUresult cuvidGetDecodeStatus(CUvideodecoder handle, int picture, CUVIDGETDECODESTATUS *status)
{
    CUcontext context;
    struct decoder **link;
    CUresult result = begin("cuvidGetDecodeStatus", handle, &context, &link);
    bool decoded = !result && picture >= 0 && picture < SURFACES && (*link)->decoded[picture];
    const struct fake_coded *coded = decoded ? (*link)->coded[picture] : NULL;
    const AVFrame *frame = coded ? fake_coded_frame(coded) : NULL;
    if (!result)
        status->decodeStatus = !decoded                  ? cuvidDecodeStatus_Invalid
                               : frame_is_damaged(frame) ? cuvidDecodeStatus_Error_Concealed
                                                         : cuvidDecodeStatus_Success;
    return fake_end(result);
}

/* --- mapping ------------------------------------------------------------------------------------------------------ */

struct drawing {
    struct decoder *decoder;
    int output;
    int64_t map;
    uint64_t hash;
    AVFrame *frame; /* or NULL: the picture of the hash */
};

/* What was given back meanwhile is let be. */
static CUresult draw(void *data)
{
    struct drawing *drawing = data;
    struct decoder *d = drawing->decoder;
    struct output *output = &d->output[drawing->output];
    bool draws = output->picture >= 0 && output->map == drawing->map && fake_draws();
    if (draws && drawing->frame)
        fake_picture_copy(drawing->frame, output->memory, d->pitch, (int)d->info.ulWidth, (int)d->info.ulHeight);
    else if (draws)
        fake_picture_draw(drawing->hash, output->memory, d->pitch, (int)d->info.ulWidth, (int)d->info.ulHeight,
                          (int)d->info.bitDepthMinus8 + 8);
    output->drawn |= output->map == drawing->map;
    av_frame_free(&drawing->frame);
    return CUDA_SUCCESS;
}

static int free_output(const struct decoder *d)
{
    for (int i = 0; i < (int)d->info.ulNumOutputSurfaces; i++) {
        if (d->output[i].picture < 0)
            return i;
    }
    return -1;
}

static CUresult map(struct decoder *d, int picture, int number, CUstream handle)
{
    struct output *output = &d->output[number];
    void *memory = output->memory;
    CUstream stream;
    CUresult result = fake_stream(d->context, handle, &stream);
    const AVFrame *frame = d->coded[picture] ? fake_coded_frame(d->coded[picture]) : NULL;
    if (!result && d->coded[picture] && !frame)
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "picture %d is mapped before it is shown", picture);
    if (!result && !memory)
        result = fake_memory_take(d->context, FAKE_UNCOUNTED, d->bytes, &memory);
    if (result)
        return result;
    *output = (struct output){.memory = memory, .picture = picture, .map = ++d->maps};
    fake_memory_close(memory, false);
    fake_count(FAKE_MAPS, 1);
    const struct drawing drawing = {d, number, output->map, d->hash[picture], frame ? av_frame_clone(frame) : NULL};
    return fake_stream_add(stream, draw, &drawing, sizeof drawing);
}

CUresult cuvidMapVideoFrame64(CUvideodecoder handle, int picture, unsigned long long *address, unsigned *pitch,
                              CUVIDPROCPARAMS *process)
{
    CUcontext context;
    struct decoder **link;
    CUresult result = begin("cuvidMapVideoFrame", handle, &context, &link);
    if (!result && (picture < 0 || picture >= SURFACES || !(*link)->decoded[picture]))
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "picture %d is mapped and was not decoded", picture);
    int number = result ? -1 : free_output(*link);
    if (!result && number < 0)
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "more than %lu pictures are mapped",
                            (*link)->info.ulNumOutputSurfaces);
    if (!result)
        result = map(*link, picture, number, process->output_stream);
    if (!result) {
        *address = (uintptr_t)(*link)->output[number].memory;
        *pitch = (unsigned)(*link)->pitch;
    }
    int64_t wait = result ? 0 : (*link)->done[picture] - fake_clock();
    result = fake_end(result);
    fake_sleep(wait); /* others go on */
    return result;
}

CUresult cuvidUnmapVideoFrame64(CUvideodecoder handle, unsigned long long address)
{
    CUcontext context;
    struct decoder **link;
    CUresult result = begin("cuvidUnmapVideoFrame", handle, &context, &link);
    if (result)
        return fake_end(result);
    struct output *output = (*link)->output;
    int i = 0;
    while (i < OUTPUTS && (output[i].picture < 0 || (uintptr_t)output[i].memory != address))
        i++;
    if (i == OUTPUTS)
        return fake_end(fake_wrong(CUDA_ERROR_INVALID_VALUE, "a surface is unmapped that was not mapped"));
    output[i].picture = -1;
    if (fake_draws())
        memset(output[i].memory, UNMAPPED, (*link)->bytes);
    fake_memory_close(output[i].memory, true);
    fake_count(FAKE_MAPS, -1);
    return fake_end(CUDA_SUCCESS);
}

/* --- what only has to be there ------------------------------------------------------------------------------------ */

CUresult fake_refused_video(void)
{
    (void)fake_begin("another function");
    return fake_end(fake_wrong(CUDA_ERROR_NOT_SUPPORTED, "a function that the test double lacks"));
}

#define REFUSED(name) extern __typeof__(fake_refused_video) name __attribute__((alias("fake_refused_video")))

REFUSED(cuvidCtxLockCreate);
REFUSED(cuvidCtxLockDestroy);
REFUSED(cuvidCtxLock);
REFUSED(cuvidCtxUnlock);
REFUSED(cuvidCreateVideoSource);
REFUSED(cuvidCreateVideoSourceW);
REFUSED(cuvidDestroyVideoSource);
REFUSED(cuvidSetVideoSourceState);
REFUSED(cuvidGetVideoSourceState);
REFUSED(cuvidGetSourceVideoFormat);
REFUSED(cuvidGetSourceAudioFormat);
