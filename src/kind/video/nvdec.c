/* See nvdec.h. A lane is a CUDA stream; FFmpeg is told of it, so that its copies from the decoder's pictures to
 * surfaces are queued there too, before what reads them. All lanes of a GPU are in its primary context, which FFmpeg
 * makes: it refuses one that was made with other flags than its own. */
#include "kind/video/nvdec.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Only the table of the driver's video library, which tells nobody what it cannot load. */
#define FFNV_LOG_FUNC(context, ...) ((void)(context))
#define FFNV_DEBUG_LOG_FUNC(context, ...) ((void)(context))
#include <ffnvcodec/dynlink_loader.h>

#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
#include <libavutil/pixdesc.h>

#include "kind/video/backend.h"
#include "kind/video/geometry.h"
#include "kind/video/gpu_list.h"

#define SURFACES 4 /* that we hold at once, beside those that the decoder needs */

struct device {
    int number;
    AVBufferRef *context; /* FFmpeg's, with the primary context of CUDA */
};

struct bl_gpu {
    struct device device[BL_GPUS_MAX];
    int devices;
    atomic_int turn; /* of the next lane */
    CuvidFunctions *video;
};

struct bl_lane {
    struct bl_gpu *gpu;
    int number; /* of the GPU */
    cudaStream_t stream;
    cudaEvent_t mark[BL_GPU_MARKS];
    AVBufferRef *context; /* FFmpeg's, with the stream */
};

/* What is known of a codec context beside FFmpeg; its opaque. */
struct surfaces {
    struct bl_gpu_stream stream; /* as it was when surfaces were asked for last */
    bool refused;                /* FFmpeg could make no decoder for it */
};

/* --- errors ----------------------------------------------------------------------------------------------------- */

static int fault(int number, const char *what, cudaError_t error, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "GPU %d cannot %s: %s (%s)", number, what, cudaGetErrorString(error),
                        cudaGetErrorName(error));
}

static int done(const struct bl_lane *lane, const char *what, cudaError_t error, struct bl_error *e)
{
    return error == cudaSuccess ? BL_OK : fault(lane->number, what, error, e);
}

/* CUDA's functions act on the thread's GPU, and a worker may have lanes on several. */
static cudaError_t enter(const struct bl_lane *lane)
{
    return cudaSetDevice(lane->number);
}

/* --- the GPUs --------------------------------------------------------------------------------------------------- */

static int no_driver(cudaError_t error, struct bl_error *e)
{
    int driver = 0, built = CUDART_VERSION;
    if (error == cudaErrorNoDevice)
        return bl_error_set(e, BL_EFAIL, "there is no NVIDIA GPU here");
    if (error == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0)
        return bl_error_set(e, BL_EFAIL, "the NVIDIA driver is for CUDA %d.%d at most, and this bload needs %d.%d",
                            driver / 1000, driver % 1000 / 10, built / 1000, built % 1000 / 10);
    if (error == cudaErrorInsufficientDriver)
        return bl_error_set(e, BL_EFAIL, "there is no NVIDIA driver here (libcuda.so.1)");
    return bl_error_set(e, BL_EFAIL, "the GPUs cannot be used: %s", cudaGetErrorString(error));
}

static int device_open(struct device *device, int number, struct bl_error *e)
{
    char name[16];
    device->number = number;
    snprintf(name, sizeof name, "%d", number);
    if (av_hwdevice_ctx_create(&device->context, AV_HWDEVICE_TYPE_CUDA, name, NULL, AV_CUDA_USE_PRIMARY_CONTEXT) < 0)
        return bl_error_set(e, BL_EFAIL, "GPU %d cannot be used: FFmpeg makes no context on it", number);
    cudaError_t error = cudaSetDevice(number);
    if (error == cudaSuccess)
        error = (cudaError_t)bl_nv12_rgb_ready();
    return error == cudaSuccess ? BL_OK : fault(number, "run what this bload was built with", error, e);
}

static int devices_open(struct bl_gpu *gpu, const struct bl_gpu_list *list, int present, struct bl_error *e)
{
    int code = BL_OK, wanted = list->count ? list->count : present < BL_GPUS_MAX ? present : BL_GPUS_MAX;
    for (int i = 0; i < wanted && !code; i++) {
        int number = list->count ? list->number[i] : i;
        if (number >= present)
            return bl_error_set(e, BL_EUSAGE, "--gpu %d: the GPUs here are 0 to %d", number, present - 1);
        gpu->devices++;
        code = device_open(&gpu->device[i], number, e);
    }
    return code;
}

int bl_nvdec_open(struct bl_gpu **out, const char *which, struct bl_error *e)
{
    struct bl_gpu_list list;
    int present = 0, code = bl_gpu_list_parse(&list, which, e);
    *out = NULL;
    if (code)
        return code;
    cudaError_t error = cudaGetDeviceCount(&present);
    if (error != cudaSuccess || present == 0)
        return no_driver(error == cudaSuccess ? cudaErrorNoDevice : error, e);
    struct bl_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return bl_error_memory(e);
    if (cuvid_load_functions(&gpu->video, NULL) < 0 || !gpu->video->cuvidGetDecoderCaps)
        code = bl_error_set(e, BL_EFAIL,
                            "the driver's video library (libnvcuvid.so.1) is not here, or too old: containers have it "
                            "with NVIDIA_DRIVER_CAPABILITIES=compute,video,utility");
    if (!code)
        code = devices_open(gpu, &list, present, e);
    if (code)
        bl_nvdec_close(gpu);
    else
        *out = gpu;
    return code;
}

void bl_nvdec_close(struct bl_gpu *gpu)
{
    if (!gpu)
        return;
    for (int i = 0; i < gpu->devices; i++)
        av_buffer_unref(&gpu->device[i].context);
    cuvid_free_functions(&gpu->video);
    free(gpu);
}

int bl_nvdec_version(void)
{
    return CUDART_VERSION;
}

/* --- what they can decode --------------------------------------------------------------------------------------- */

static bool codec_find(enum AVCodecID id, cudaVideoCodec *codec)
{
    static const struct {
        enum AVCodecID id;
        cudaVideoCodec codec;
    } codecs[] = {{AV_CODEC_ID_H264, cudaVideoCodec_H264},        {AV_CODEC_ID_HEVC, cudaVideoCodec_HEVC},
                  {AV_CODEC_ID_VP8, cudaVideoCodec_VP8},          {AV_CODEC_ID_VP9, cudaVideoCodec_VP9},
                  {AV_CODEC_ID_AV1, cudaVideoCodec_AV1},          {AV_CODEC_ID_MJPEG, cudaVideoCodec_JPEG},
                  {AV_CODEC_ID_MPEG1VIDEO, cudaVideoCodec_MPEG1}, {AV_CODEC_ID_MPEG2VIDEO, cudaVideoCodec_MPEG2},
                  {AV_CODEC_ID_MPEG4, cudaVideoCodec_MPEG4},      {AV_CODEC_ID_VC1, cudaVideoCodec_VC1},
                  {AV_CODEC_ID_WMV3, cudaVideoCodec_VC1}};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (codecs[i].id == id) {
            *codec = codecs[i].codec;
            return true;
        }
    }
    return false;
}

static int device_can(const struct bl_gpu *gpu, const struct device *device, const struct bl_gpu_stream *s,
                      cudaVideoCodec codec, struct bl_error *e)
{
    int depth = av_pix_fmt_desc_get(s->format)->comp[0].depth;
    CUVIDDECODECAPS caps = {
        .eCodecType = codec, .eChromaFormat = cudaVideoChromaFormat_420, .nBitDepthMinus8 = (unsigned)depth - 8};
    cudaVideoSurfaceFormat surface = depth > 8 ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12;
    cudaError_t error = cudaSetDevice(device->number);
    if (error != cudaSuccess)
        return fault(device->number, "be used", error, e);
    CUresult result = gpu->video->cuvidGetDecoderCaps(&caps);
    if (result != CUDA_SUCCESS)
        return bl_error_set(e, BL_EFAIL, "GPU %d does not say what it can decode (error %d)", device->number,
                            (int)result);
    unsigned width = (unsigned)s->width, height = (unsigned)s->height;
    return caps.bIsSupported && caps.nOutputFormatMask & 1u << surface && width >= caps.nMinWidth &&
           width <= caps.nMaxWidth && height >= caps.nMinHeight && height <= caps.nMaxHeight &&
           (uint64_t)width * height / 256 <= caps.nMaxMBCount;
}

/* The caller may be watching errno for memory that could not be had (bl_error_memory_watch): of what the driver leaves
 * there it shall see nothing. */
static int can(struct bl_gpu *gpu, const struct bl_gpu_stream *stream, struct bl_error *e)
{
    cudaVideoCodec codec;
    int before = errno, yes = codec_find(stream->codec, &codec) && bl_backend_draws(stream->format);
    for (int i = 0; i < gpu->devices && yes > 0; i++)
        yes = device_can(gpu, &gpu->device[i], stream, codec, e);
    errno = before;
    return yes;
}

/* --- lanes ------------------------------------------------------------------------------------------------------ */

static void lane_close(struct bl_lane *lane)
{
    (void)enter(lane);
    av_buffer_unref(&lane->context);
    for (int i = 0; i < BL_GPU_MARKS; i++) {
        if (lane->mark[i])
            (void)cudaEventDestroy(lane->mark[i]);
    }
    if (lane->stream)
        (void)cudaStreamDestroy(lane->stream);
    free(lane);
}

/* FFmpeg's context of the GPU once more, with this lane's stream. */
static int lane_context(struct bl_lane *lane, const struct device *device, struct bl_error *e)
{
    lane->context = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA);
    if (!lane->context)
        return bl_error_memory(e);
    const AVCUDADeviceContext *primary = ((AVHWDeviceContext *)(void *)device->context->data)->hwctx;
    AVCUDADeviceContext *own = ((AVHWDeviceContext *)(void *)lane->context->data)->hwctx;
    own->cuda_ctx = primary->cuda_ctx;
    own->stream = lane->stream;
    if (av_hwdevice_ctx_init(lane->context) < 0)
        return bl_error_set(e, BL_EFAIL, "GPU %d cannot be used: FFmpeg makes no context on it", lane->number);
    return BL_OK;
}

static int lane_open(struct bl_gpu *gpu, struct bl_lane **out, struct bl_error *e)
{
    const struct device *device = &gpu->device[(unsigned)atomic_fetch_add(&gpu->turn, 1) % (unsigned)gpu->devices];
    struct bl_lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return bl_error_memory(e);
    lane->gpu = gpu;
    lane->number = device->number;
    cudaError_t error = enter(lane);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking);
    for (int i = 0; i < BL_GPU_MARKS && error == cudaSuccess; i++)
        error = cudaEventCreateWithFlags(&lane->mark[i], cudaEventBlockingSync | cudaEventDisableTiming);
    int code = done(lane, "begin", error, e);
    if (!code)
        code = lane_context(lane, device, e);
    if (code)
        lane_close(lane);
    else
        *out = lane;
    return code;
}

static int take(struct bl_lane *lane, enum bl_gpu_memory kind, size_t bytes, void **memory, struct bl_error *e)
{
    cudaError_t error = enter(lane);
    if (error == cudaSuccess)
        error = kind == BL_GPU_OWN ? cudaMalloc(memory, bytes) : cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
    if (error != cudaErrorMemoryAllocation)
        return done(lane, "give memory", error, e);
    (void)cudaGetLastError(); /* or the next launch would tell of it */
    return kind == BL_GPU_OWN ? BL_GPU_FULL : fault(lane->number, "pin memory of this machine", error, e);
}

static void drop(struct bl_lane *lane, enum bl_gpu_memory kind, void *memory)
{
    if (!memory)
        return;
    (void)enter(lane);
    (void)(kind == BL_GPU_OWN ? cudaFree(memory) : cudaFreeHost(memory));
}

static int copy(struct bl_lane *lane, void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                struct bl_error *e)
{
    cudaError_t error = enter(lane);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(to, from, bytes, kind, lane->stream);
    return done(lane, "copy", error, e);
}

static int upload(struct bl_lane *lane, void *to, const void *from, size_t bytes, struct bl_error *e)
{
    return copy(lane, to, from, bytes, cudaMemcpyHostToDevice, e);
}

static int download(struct bl_lane *lane, void *to, const void *from, size_t bytes, struct bl_error *e)
{
    return copy(lane, to, from, bytes, cudaMemcpyDeviceToHost, e);
}

static int clear(struct bl_lane *lane, void *to, size_t bytes, struct bl_error *e)
{
    cudaError_t error = enter(lane);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(to, 0, bytes, lane->stream);
    return done(lane, "clear memory", error, e);
}

static int draw(struct bl_lane *lane, const struct bl_nv12_rgb *picture, struct bl_error *e)
{
    cudaError_t error = enter(lane);
    if (error == cudaSuccess)
        error = (cudaError_t)bl_nv12_rgb_launch(picture, lane->stream);
    return done(lane, "scale a frame", error, e);
}

static int mark(struct bl_lane *lane, int number, struct bl_error *e)
{
    cudaError_t error = enter(lane);
    if (error == cudaSuccess)
        error = cudaEventRecord(lane->mark[number], lane->stream);
    return done(lane, "go on", error, e);
}

static int await(struct bl_lane *lane, int number, struct bl_error *e)
{
    cudaError_t error = enter(lane);
    if (error == cudaSuccess)
        error = cudaEventSynchronize(lane->mark[number]);
    return done(lane, "finish its work", error, e);
}

/* --- decoders --------------------------------------------------------------------------------------------------- */

/* FFmpeg asks again, without surfaces, when it could make no decoder that gives them. */
static enum AVPixelFormat choose_surface(AVCodecContext *codec, const enum AVPixelFormat *formats)
{
    struct surfaces *surfaces = codec->opaque;
    bool offered = false;
    surfaces->stream =
        (struct bl_gpu_stream){codec->codec_id, AV_PIX_FMT_NONE, codec->coded_width, codec->coded_height};
    for (; *formats != AV_PIX_FMT_NONE; formats++) {
        offered |= *formats == AV_PIX_FMT_CUDA;
        surfaces->stream.format = *formats; /* the last one is the processor's */
    }
    surfaces->refused = !offered || !bl_backend_draws(surfaces->stream.format);
    return surfaces->refused ? AV_PIX_FMT_NONE : AV_PIX_FMT_CUDA;
}

static void codec_close(struct bl_lane *lane, AVCodecContext **codec)
{
    (void)enter(lane);
    if (*codec)
        av_freep(&(*codec)->opaque);
    avcodec_free_context(codec);
}

static int codec_open(struct bl_lane *lane, const AVCodecParameters *parameters, AVCodecContext **out,
                      struct bl_error *e)
{
    const AVCodec *decoder = bl_backend_decoder(parameters->codec_id);
    if (!decoder)
        return bl_error_set(e, BL_EDATA, "no decoder of %s hands it to a GPU", avcodec_get_name(parameters->codec_id));
    AVCodecContext *codec = avcodec_alloc_context3(decoder);
    if (!codec)
        return bl_error_memory(e);
    codec->opaque = av_mallocz(sizeof(struct surfaces));
    codec->hw_device_ctx = av_buffer_ref(lane->context);
    codec->thread_count = 1;
    codec->extra_hw_frames = SURFACES;
    codec->max_pixels = BL_AREA_MAX / 2;
    codec->get_format = choose_surface;
    int code = codec->opaque && codec->hw_device_ctx ? BL_OK : bl_error_memory(e);
    if (!code && avcodec_parameters_to_context(codec, parameters) < 0)
        code = bl_error_set(e, BL_EDATA, "damaged: the stream's header cannot be used");
    if (!code && avcodec_open2(codec, decoder, NULL) < 0)
        code = bl_error_set(e, BL_EDATA, "the decoder cannot be opened");
    if (code)
        codec_close(lane, &codec);
    else
        *out = codec;
    return code;
}

static int blame(struct bl_lane *lane, const AVCodecContext *codec, struct bl_error *e)
{
    const struct surfaces *surfaces = codec->opaque;
    cudaError_t error = enter(lane);
    if (error == cudaSuccess)
        error = cudaStreamQuery(lane->stream);
    if (error != cudaSuccess && error != cudaErrorNotReady)
        return fault(lane->number, "decode", error, e);
    if (!surfaces->refused)
        return BL_OK;
    int able = bl_backend_draws(surfaces->stream.format) ? can(lane->gpu, &surfaces->stream, e) : 0;
    if (able)
        return able < 0 ? able : BL_GPU_FULL;
    return bl_error_set(e, BL_EDATA, "the GPU does not decode it from some frame on (%s, %dx%d)",
                        av_get_pix_fmt_name(surfaces->stream.format), surfaces->stream.width, surfaces->stream.height);
}

const struct bl_gpu_functions bl_nvdec_functions = {
    .can = can,
    .open = lane_open,
    .close = lane_close,
    .take = take,
    .drop = drop,
    .upload = upload,
    .clear = clear,
    .draw = draw,
    .download = download,
    .mark = mark,
    .wait = await,
    .open_codec = codec_open,
    .close_codec = codec_close,
    .blame = blame,
};
