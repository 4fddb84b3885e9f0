/* See nvdec.h. A queue is a CUDA stream. FFmpeg uses it, too, so that its copies from decoded pictures to surfaces are
 * queued before what reads these. All queues of a GPU share its primary context, which FFmpeg creates. We use the
 * driver API, not the runtime: that would be loaded on every start of the tool, and needs a driver of its own age. */
#include "kind/video/nvdec.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/video/nvdec_driver.h"

#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
#include <libavutil/pixdesc.h>

#include "kind/video/backend.h"
#include "kind/video/geometry.h"
#include "kind/video/gpu_list.h"

#define SURFACES 4               /* that we hold at once, beyond those that the decoder needs */
#define SPARE ((size_t)64 << 20) /* bytes: with so much free, lack of memory is not why the driver failed */

struct device {
    int number;
    AVBufferRef *buffer; /* FFmpeg's, with the context */
    CUcontext context;   /* the primary one */
    CUmodule module;     /* nv12_rgb.cu's */
    CUfunction kernel;
};

struct bl_gpu {
    struct bl_driver driver;
    struct device device[BL_GPUS_MAX];
    int devices;
    atomic_int turn; /* of the next queue */
};

struct bl_gpu_queue {
    struct bl_gpu *gpu;
    const struct device *device;
    CUstream stream;
    CUevent event[BL_GPU_EVENTS];
    AVBufferRef *buffer; /* FFmpeg's, with the stream */
};

/* What we know of a codec context; its opaque. */
struct surfaces {
    struct bl_gpu_stream stream; /* when FFmpeg last asked for surfaces */
    bool refused;                /* FFmpeg could not create a decoder for it */
};

/* --- contexts --------------------------------------------------------------------------------------------------- */

/* The driver's functions act on the thread's current context, and a worker may have queues on several GPUs: each call
 * is bracketed by these two. */
static int device_enter(const struct bl_gpu *gpu, const struct device *device, struct bl_error *e)
{
    return bl_driver_check(&gpu->driver, device->number, "be used", gpu->driver.cuda->cuCtxPushCurrent(device->context),
                           e);
}

static void device_leave(const struct bl_gpu *gpu)
{
    CUcontext context;
    (void)gpu->driver.cuda->cuCtxPopCurrent(&context);
}

static int queue_enter(const struct bl_gpu_queue *queue, struct bl_error *e)
{
    return device_enter(queue->gpu, queue->device, e);
}

/* Undoes queue_enter, and reports the result of the call in between: "GPU 0 cannot WHAT". */
static int queue_leave(const struct bl_gpu_queue *queue, const char *what, CUresult result, struct bl_error *e)
{
    int code = bl_driver_check(&queue->gpu->driver, queue->device->number, what, result, e);
    device_leave(queue->gpu);
    return code;
}

static const CudaFunctions *queue_cuda(const struct bl_gpu_queue *queue)
{
    return queue->gpu->driver.cuda;
}

static CUdeviceptr device_address(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

/* --- the GPUs --------------------------------------------------------------------------------------------------- */

/* A driver older than the compiler may not be able to load the kernel. */
static int kernel_report(const struct bl_gpu *gpu, const struct device *device, CUresult result, struct bl_error *e)
{
    int has = 0, built = BL_CUDA_VERSION;
    struct bl_error why = {0};
    (void)bl_driver_check(&gpu->driver, device->number, "load the kernel of this build", result, &why);
    if (gpu->driver.version(&has) != CUDA_SUCCESS || has >= built)
        return bl_error_set(e, BL_EFAIL, "%s", why.text);
    return bl_error_set(e, BL_EFAIL, "%s: the NVIDIA driver supports CUDA %d.%d, bload was built with %d.%d", why.text,
                        has / 1000, has % 1000 / 10, built / 1000, built % 1000 / 10);
}

static int kernel_load(const struct bl_gpu *gpu, struct device *device, struct bl_error *e)
{
    const CudaFunctions *f = gpu->driver.cuda;
    int code = device_enter(gpu, device, e);
    if (code)
        return code;
    CUresult result = f->cuModuleLoadData(&device->module, bl_nv12_rgb_image);
    if (result == CUDA_SUCCESS)
        result = f->cuModuleGetFunction(&device->kernel, device->module, BL_NV12_RGB_KERNEL);
    if (result != CUDA_SUCCESS)
        code = kernel_report(gpu, device, result, e);
    device_leave(gpu);
    return code;
}

static int device_open(const struct bl_gpu *gpu, struct device *device, int number, struct bl_error *e)
{
    char name[16];
    device->number = number;
    snprintf(name, sizeof name, "%d", number);
    if (av_hwdevice_ctx_create(&device->buffer, AV_HWDEVICE_TYPE_CUDA, name, NULL, AV_CUDA_USE_PRIMARY_CONTEXT) < 0)
        return bl_error_set(e, BL_EFAIL, "GPU %d cannot be used: FFmpeg cannot create a context on it", number);
    const AVCUDADeviceContext *own = ((AVHWDeviceContext *)(void *)device->buffer->data)->hwctx;
    device->context = own->cuda_ctx;
    return kernel_load(gpu, device, e);
}

static void device_close(const struct bl_gpu *gpu, struct device *device)
{
    struct bl_error none = {0};
    if (device->module && !device_enter(gpu, device, &none)) {
        (void)gpu->driver.cuda->cuModuleUnload(device->module);
        device_leave(gpu);
    }
    av_buffer_unref(&device->buffer);
}

static int devices_open(struct bl_gpu *gpu, const struct bl_gpu_list *list, int present, struct bl_error *e)
{
    int code = BL_OK, wanted = list->count ? list->count : present < BL_GPUS_MAX ? present : BL_GPUS_MAX;
    for (int i = 0; i < wanted && !code; i++) {
        int number = list->count ? list->number[i] : i;
        if (number >= present)
            return bl_error_set(e, BL_EUSAGE, "--gpu %d: the GPUs here are 0 to %d", number, present - 1);
        gpu->devices++;
        code = device_open(gpu, &gpu->device[i], number, e);
    }
    return code;
}

int bl_nvdec_open(struct bl_gpu **out, const char *which, struct bl_error *e)
{
    struct bl_gpu_list list;
    int present, code = bl_gpu_list_parse(&list, which, e);
    *out = NULL;
    if (code)
        return code;
    struct bl_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return bl_error_memory(e);
    code = bl_driver_open(&gpu->driver, &present, e);
    if (code) {
        free(gpu);
        return code;
    }
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
        device_close(gpu, &gpu->device[i]);
    bl_driver_close(&gpu->driver);
    free(gpu);
}

int bl_nvdec_version(void)
{
    return BL_CUDA_VERSION;
}

/* --- what they can decode --------------------------------------------------------------------------------------- */

static bool codec_to_cuvid(enum AVCodecID id, cudaVideoCodec *codec)
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

static int device_can_decode(const struct bl_gpu *gpu, const struct device *device, const struct bl_gpu_stream *s,
                             cudaVideoCodec codec, bool *can, struct bl_error *e)
{
    int depth = av_pix_fmt_desc_get(s->format)->comp[0].depth;
    CUVIDDECODECAPS caps = {
        .eCodecType = codec, .eChromaFormat = cudaVideoChromaFormat_420, .nBitDepthMinus8 = (unsigned)depth - 8};
    cudaVideoSurfaceFormat surface = depth > 8 ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12;
    int code = device_enter(gpu, device, e);
    if (code)
        return code;
    code = bl_driver_check(&gpu->driver, device->number, "report what it can decode",
                           gpu->driver.video->cuvidGetDecoderCaps(&caps), e);
    device_leave(gpu);
    if (code)
        return code;
    unsigned width = (unsigned)s->width, height = (unsigned)s->height;
    *can = caps.bIsSupported && caps.nOutputFormatMask & 1u << surface && width >= caps.nMinWidth &&
           width <= caps.nMaxWidth && height >= caps.nMinHeight && height <= caps.nMaxHeight &&
           (uint64_t)width * height / 256 <= caps.nMaxMBCount;
    return BL_OK;
}

/* Restores errno, which the driver may set: the caller may watch it for a lack of memory (bl_error_memory_watch). */
static int nvdec_can_decode(struct bl_gpu *gpu, const struct bl_gpu_stream *stream, bool *can, struct bl_error *e)
{
    cudaVideoCodec codec;
    int before = errno, code = BL_OK;
    *can = codec_to_cuvid(stream->codec, &codec) && bl_backend_supports_format(stream->format);
    for (int i = 0; i < gpu->devices && *can && !code; i++)
        code = device_can_decode(gpu, &gpu->device[i], stream, codec, can, e);
    errno = before;
    return code;
}

/* --- queues ------------------------------------------------------------------------------------------------------ */

static void queue_close(struct bl_gpu_queue *queue)
{
    struct bl_error none = {0};
    av_buffer_unref(&queue->buffer);
    if (!queue_enter(queue, &none)) {
        for (int i = 0; i < BL_GPU_EVENTS; i++) {
            if (queue->event[i])
                (void)queue_cuda(queue)->cuEventDestroy(queue->event[i]);
        }
        if (queue->stream)
            (void)queue_cuda(queue)->cuStreamDestroy(queue->stream);
        device_leave(queue->gpu);
    }
    free(queue);
}

/* Makes another FFmpeg context of the GPU, with this queue's stream. */
static int queue_make_buffer(struct bl_gpu_queue *queue, struct bl_error *e)
{
    queue->buffer = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA);
    if (!queue->buffer)
        return bl_error_memory(e);
    AVCUDADeviceContext *own = ((AVHWDeviceContext *)(void *)queue->buffer->data)->hwctx;
    own->cuda_ctx = queue->device->context;
    own->stream = queue->stream;
    if (av_hwdevice_ctx_init(queue->buffer) < 0)
        return bl_error_set(e, BL_EFAIL, "GPU %d cannot be used: FFmpeg cannot create a context on it",
                            queue->device->number);
    return BL_OK;
}

static int queue_make_stream(struct bl_gpu_queue *queue, struct bl_error *e)
{
    int code = queue_enter(queue, e);
    if (code)
        return code;
    CUresult result = queue_cuda(queue)->cuStreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < BL_GPU_EVENTS && result == CUDA_SUCCESS; i++)
        result = queue_cuda(queue)->cuEventCreate(&queue->event[i], CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
    return queue_leave(queue, "create a stream", result, e);
}

static int queue_open(struct bl_gpu *gpu, struct bl_gpu_queue **out, struct bl_error *e)
{
    struct bl_gpu_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return bl_error_memory(e);
    queue->gpu = gpu;
    queue->device = &gpu->device[(unsigned)atomic_fetch_add(&gpu->turn, 1) % (unsigned)gpu->devices];
    int code = queue_make_stream(queue, e);
    if (!code)
        code = queue_make_buffer(queue, e);
    if (code)
        queue_close(queue);
    else
        *out = queue;
    return code;
}

static int queue_alloc(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, size_t bytes, void **memory,
                       struct bl_error *e)
{
    int code = queue_enter(queue, e);
    if (code)
        return code;
    CUdeviceptr own = 0;
    CUresult result = kind == BL_GPU_OWN ? queue_cuda(queue)->cuMemAlloc(&own, bytes)
                                         : queue->gpu->driver.host_alloc(memory, bytes, 0);
    bool full = kind == BL_GPU_OWN && result == BL_DRIVER_OUT_OF_MEMORY;
    if (kind == BL_GPU_OWN && result == CUDA_SUCCESS)
        *memory = (void *)(uintptr_t)own;
    code =
        queue_leave(queue, kind == BL_GPU_OWN ? "allocate memory" : "pin host memory", full ? CUDA_SUCCESS : result, e);
    return full ? BL_GPU_FULL : code;
}

static void queue_free(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, void *memory)
{
    struct bl_error none = {0};
    if (!memory || queue_enter(queue, &none))
        return;
    (void)(kind == BL_GPU_OWN ? queue_cuda(queue)->cuMemFree(device_address(memory))
                              : queue->gpu->driver.host_free(memory));
    device_leave(queue->gpu);
}

/* Copies from pageable memory return when it has been read. */
static int queue_upload(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e)
{
    int code = queue_enter(queue, e);
    if (code)
        return code;
    CUresult result = queue_cuda(queue)->cuMemcpyHtoDAsync(device_address(to), from, bytes, queue->stream);
    return queue_leave(queue, "copy", result, e);
}

static int queue_download(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e)
{
    int code = queue_enter(queue, e);
    if (code)
        return code;
    CUresult result = queue_cuda(queue)->cuMemcpyDtoHAsync(to, device_address(from), bytes, queue->stream);
    return queue_leave(queue, "copy", result, e);
}

static int queue_clear(struct bl_gpu_queue *queue, void *to, size_t bytes, struct bl_error *e)
{
    int code = queue_enter(queue, e);
    if (code)
        return code;
    CUresult result = queue_cuda(queue)->cuMemsetD8Async(device_address(to), 0, bytes, queue->stream);
    return queue_leave(queue, "clear memory", result, e);
}

static unsigned grid_size(int32_t whole, unsigned part)
{
    return ((unsigned)whole + part - 1) / part;
}

static int queue_draw(struct bl_gpu_queue *queue, const struct bl_nv12_rgb *picture, struct bl_error *e)
{
    struct bl_nv12_rgb argument = *picture;
    void *arguments[] = {&argument};
    int code = queue_enter(queue, e);
    if (code)
        return code;
    CUresult result = queue_cuda(queue)->cuLaunchKernel(
        queue->device->kernel, grid_size(picture->across[0].count, BL_NV12_RGB_ACROSS),
        grid_size(picture->down[0].count, BL_NV12_RGB_DOWN), 1, BL_NV12_RGB_ACROSS, BL_NV12_RGB_DOWN, 1, 0,
        queue->stream, arguments, NULL);
    return queue_leave(queue, "scale a frame", result, e);
}

static int queue_record(struct bl_gpu_queue *queue, int number, struct bl_error *e)
{
    int code = queue_enter(queue, e);
    if (code)
        return code;
    CUresult result = queue_cuda(queue)->cuEventRecord(queue->event[number], queue->stream);
    return queue_leave(queue, "record an event", result, e);
}

static int queue_wait(struct bl_gpu_queue *queue, int number, struct bl_error *e)
{
    int code = queue_enter(queue, e);
    if (code)
        return code;
    CUresult result = queue_cuda(queue)->cuEventSynchronize(queue->event[number]);
    return queue_leave(queue, "finish its work", result, e);
}

/* --- decoders --------------------------------------------------------------------------------------------------- */

/* FFmpeg asks again, without offering surfaces, if it could not create a hardware decoder. */
static enum AVPixelFormat codec_get_format(AVCodecContext *codec, const enum AVPixelFormat *formats)
{
    struct surfaces *surfaces = codec->opaque;
    bool offered = bl_backend_describe(codec, formats, &surfaces->stream);
    surfaces->refused = !offered || !bl_backend_supports_format(surfaces->stream.format);
    return surfaces->refused ? AV_PIX_FMT_NONE : AV_PIX_FMT_CUDA;
}

static void queue_close_codec(struct bl_gpu_queue *queue, AVCodecContext **codec)
{
    (void)queue;
    if (*codec)
        av_freep(&(*codec)->opaque);
    avcodec_free_context(codec);
}

static int queue_open_codec(struct bl_gpu_queue *queue, const AVCodecParameters *parameters, AVCodecContext **out,
                            struct bl_error *e)
{
    const AVCodec *decoder = bl_backend_find_decoder(parameters->codec_id);
    if (!decoder)
        return bl_error_set(e, BL_EDATA, "no decoder of %s hands it to a GPU", avcodec_get_name(parameters->codec_id));
    AVCodecContext *codec = avcodec_alloc_context3(decoder);
    if (!codec)
        return bl_error_memory(e);
    codec->opaque = av_mallocz(sizeof(struct surfaces));
    codec->hw_device_ctx = av_buffer_ref(queue->buffer);
    codec->thread_count = 1;
    codec->extra_hw_frames = SURFACES;
    codec->max_pixels = BL_AREA_MAX / 2;
    codec->get_format = codec_get_format;
    int code = codec->opaque && codec->hw_device_ctx ? BL_OK : bl_error_memory(e);
    if (!code && avcodec_parameters_to_context(codec, parameters) < 0)
        code = bl_error_set(e, BL_EDATA, "damaged: the stream's header cannot be used");
    if (!code && avcodec_open2(codec, decoder, NULL) < 0)
        code = bl_error_set(e, BL_EDATA, "the decoder cannot be opened");
    if (code)
        queue_close_codec(queue, &codec);
    else
        *out = codec;
    return code;
}

/* Fails if something that was queued has failed. */
static int queue_check(const struct bl_gpu_queue *queue, struct bl_error *e)
{
    int code = queue_enter(queue, e);
    if (code)
        return code;
    CUresult result = queue_cuda(queue)->cuStreamQuery(queue->stream);
    return queue_leave(queue, "decode", result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result, e);
}

/* FFmpeg does not report why the driver refused a picture. If memory is left, the content is to blame. */
static int queue_check_memory(struct bl_gpu_queue *queue, struct bl_error *e)
{
    void *spare = NULL;
    int code = queue_alloc(queue, BL_GPU_OWN, SPARE, &spare, e);
    queue_free(queue, BL_GPU_OWN, spare);
    return code;
}

static int queue_diagnose(struct bl_gpu_queue *queue, const AVCodecContext *codec, bool refused, struct bl_error *e)
{
    const struct surfaces *surfaces = codec->opaque;
    int code = queue_check(queue, e);
    if (code)
        return code;
    if (!surfaces->refused)
        return refused ? queue_check_memory(queue, e) : BL_OK;
    bool can = false;
    code = nvdec_can_decode(queue->gpu, &surfaces->stream, &can, e);
    if (code)
        return code;
    if (can) /* in general, so now its memory is full */
        return BL_GPU_FULL;
    return bl_error_set(e, BL_EDATA, "the GPU does not decode it from some frame on (%s, %dx%d)",
                        av_get_pix_fmt_name(surfaces->stream.format), surfaces->stream.width, surfaces->stream.height);
}

const struct bl_gpu_functions bl_nvdec_functions = {
    .can_decode = nvdec_can_decode,
    .open = queue_open,
    .close = queue_close,
    .alloc = queue_alloc,
    .free = queue_free,
    .upload = queue_upload,
    .clear = queue_clear,
    .draw = queue_draw,
    .download = queue_download,
    .record = queue_record,
    .wait = queue_wait,
    .open_codec = queue_open_codec,
    .close_codec = queue_close_codec,
    .diagnose = queue_diagnose,
};
