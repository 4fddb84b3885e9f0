/* Implements gpu.h with CUDA and NVDEC.
 *
 * A queue is a CUDA stream with a decoder (nvdec_decoder.h), whose copies from decoded pictures to surfaces are put
 * into the stream before the drawings that read these. All queues of a GPU share its primary context. We use the driver
 * API, and not the runtime: that would be loaded on every start of the tool, and needs a driver of its own age. */
#include "kind/video/gpu.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/process.h"
#include "kind/video/nvdec_decoder.h"
#include "kind/video/nvdec_driver.h"
#include "kind/video/options.h"

struct bl_gpu {
    struct bl_driver driver;
    struct bl_device device[BL_GPUS_MAX];
    struct bl_caps *caps[BL_GPUS_MAX];
    int devices;
    atomic_int turn; /* of the next queue */
    double opened;   /* seconds of opening */
    struct bl_decoder_counts counts;
};

/* A CUDA stream on one GPU, with its events. */
struct bl_gpu_queue {
    struct bl_gpu *gpu;
    const struct bl_device *device;
    CUstream stream;
    CUevent event[BL_GPU_EVENTS];
    struct bl_nvdec_decoder *decoder;
};

/* --- GPUs --------------------------------------------------------------------------------------------------------- */

int bl_nvdec_open(struct bl_gpu **out, const char *which, struct bl_error *e)
{
    struct bl_gpu_list list;
    int present;
    double begun = bl_seconds_now();
    *out = NULL;
    BL_TRY(bl_gpu_list_parse(&list, which, e));
    struct bl_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return bl_error_memory(e);
    int code = bl_driver_open(&gpu->driver, &present, e);
    if (code) {
        free(gpu);
        return code;
    }
    gpu->driver.counts = &gpu->counts;
    int wanted = list.count ? list.count : present < BL_GPUS_MAX ? present : BL_GPUS_MAX;
    for (int i = 0; i < wanted && !code; i++) {
        int number = list.count ? list.number[i] : i;
        if (number >= present) {
            code = bl_error_set(e, BL_EUSAGE, "--gpu %d: the GPUs here are 0 to %d", number, present - 1);
            break;
        }
        gpu->devices++;
        code = bl_device_open(&gpu->device[i], &gpu->driver, number, e);
        if (!code)
            code = bl_caps_open(&gpu->caps[i], e);
    }
    gpu->opened = bl_seconds_now() - begun;
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
    for (int i = 0; i < gpu->devices; i++) {
        bl_caps_close(gpu->caps[i]);
        bl_device_close(&gpu->device[i]);
    }
    bl_driver_close(&gpu->driver);
    free(gpu);
}

void bl_nvdec_add_times(const struct bl_gpu *gpu, struct bl_gpu_times *times)
{
    times->devices += gpu->devices;
    times->devices_seconds += gpu->opened;
    times->decoders += gpu->counts.made;
    times->decoders_seconds += (double)gpu->counts.microseconds / 1e6;
    times->reconfigured += gpu->counts.reconfigured;
    times->reused += gpu->counts.reused;
}

int bl_nvdec_version(void)
{
    return BL_CUDA_VERSION;
}

/* Asks all GPUs. It restores errno, which the driver may set: the caller may watch errno for a lack of memory
 * (bl_error_memory_watch). */
static int nvdec_can_decode(struct bl_gpu *gpu, const struct bl_gpu_stream *stream, bool *can, struct bl_error *e)
{
    int before = errno, code = BL_OK;
    *can = true;
    for (int i = 0; i < gpu->devices && *can && !code; i++)
        code = bl_caps_can_decode(gpu->caps[i], &gpu->device[i], stream, can, e);
    errno = before;
    return code;
}

/* Adds up the engines of all GPUs; 0 if one of the drivers is too old to report them. */
static int nvdec_engines(struct bl_gpu *gpu, int *engines, struct bl_error *e)
{
    int code = BL_OK, sum = 0, own = 1;
    for (int i = 0; i < gpu->devices && own && !code; i++) {
        code = bl_caps_engines(gpu->caps[i], &gpu->device[i], &own, e);
        sum += own;
    }
    *engines = own ? sum : 0;
    return code;
}

/* --- queues ------------------------------------------------------------------------------------------------------- */

static const CudaFunctions *queue_cuda(const struct bl_gpu_queue *queue)
{
    return queue->device->driver->cuda;
}

/* Calls the driver on the queue's GPU, and gives the code for the result, with the message "GPU 0 cannot WHAT: ...". */
#define QUEUE_CALL(queue, what, call, e)                                                                               \
    (bl_device_enter((queue)->device, e) ? BL_EFAIL                                                                    \
                                         : bl_device_leave((queue)->device, what, queue_cuda(queue)->call, e))

/* Returns the driver's number for an address in the GPU's memory. */
static CUdeviceptr device_address(const void *memory)
{
    return (CUdeviceptr)(uintptr_t)memory;
}

/* Closes a queue, even one that queue_open could not complete. */
static void queue_close(struct bl_gpu_queue *queue)
{
    struct bl_error none = {0};
    bl_nvdec_decoder_close(queue->decoder);
    if (!bl_device_enter(queue->device, &none)) {
        for (int i = 0; i < BL_GPU_EVENTS; i++) {
            if (queue->event[i])
                (void)queue_cuda(queue)->cuEventDestroy(queue->event[i]);
        }
        if (queue->stream)
            (void)queue_cuda(queue)->cuStreamDestroy(queue->stream);
        (void)bl_device_leave(queue->device, "be left", CUDA_SUCCESS, &none);
    }
    free(queue);
}

/* Opens a queue on the next GPU in turn: a stream with its events and its decoder. */
static int queue_open(struct bl_gpu *gpu, struct bl_gpu_queue **out, struct bl_error *e)
{
    struct bl_gpu_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return bl_error_memory(e);
    queue->gpu = gpu;
    unsigned number = (unsigned)atomic_fetch_add(&gpu->turn, 1) % (unsigned)gpu->devices;
    queue->device = &gpu->device[number];
    int code = bl_device_enter(queue->device, e);
    if (code)
        goto out;
    CUresult result = queue_cuda(queue)->cuStreamCreate(&queue->stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < BL_GPU_EVENTS && result == CUDA_SUCCESS; i++)
        result = queue_cuda(queue)->cuEventCreate(&queue->event[i], CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
    code = bl_device_leave(queue->device, "create a stream", result, e);
    if (!code)
        code = bl_nvdec_decoder_open(&queue->decoder, queue->device, gpu->caps[number], queue->stream, e);
out:
    if (code)
        queue_close(queue);
    else
        *out = queue;
    return code;
}

static int queue_alloc(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, size_t bytes, void **memory,
                       struct bl_error *e)
{
    BL_TRY(bl_device_enter(queue->device, e));
    CUdeviceptr own = 0;
    CUresult result = kind == BL_GPU_OWN ? queue_cuda(queue)->cuMemAlloc(&own, bytes)
                                         : queue->device->driver->host_alloc(memory, bytes, 0);
    bool full = kind == BL_GPU_OWN && result == BL_DRIVER_OUT_OF_MEMORY;
    if (kind == BL_GPU_OWN && result == CUDA_SUCCESS)
        *memory = (void *)(uintptr_t)own;
    int code = bl_device_leave(queue->device, kind == BL_GPU_OWN ? "allocate memory" : "pin host memory",
                               full ? CUDA_SUCCESS : result, e);
    return full ? BL_GPU_FULL : code;
}

static void queue_free(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, void *memory)
{
    struct bl_error none = {0};
    if (!memory || bl_device_enter(queue->device, &none))
        return;
    CUresult result = kind == BL_GPU_OWN ? queue_cuda(queue)->cuMemFree(device_address(memory))
                                         : queue->device->driver->host_free(memory);
    (void)bl_device_leave(queue->device, "free memory", result, &none);
}

/* A copy from pageable memory returns when that was read, so that the caller may reuse it. */
static int queue_upload(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e)
{
    return QUEUE_CALL(queue, "copy", cuMemcpyHtoDAsync(device_address(to), from, bytes, queue->stream), e);
}

static int queue_download(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e)
{
    return QUEUE_CALL(queue, "copy", cuMemcpyDtoHAsync(to, device_address(from), bytes, queue->stream), e);
}

static int queue_clear(struct bl_gpu_queue *queue, void *to, size_t bytes, struct bl_error *e)
{
    return QUEUE_CALL(queue, "clear memory", cuMemsetD8Async(device_address(to), 0, bytes, queue->stream), e);
}

/* Returns the number of blocks of `part` threads that cover all of them. */
static unsigned grid_size(int32_t threads, unsigned part)
{
    return ((unsigned)threads + part - 1) / part;
}

static int queue_draw(struct bl_gpu_queue *queue, const struct bl_nv12_rgb *picture, struct bl_error *e)
{
    struct bl_nv12_rgb argument = *picture;
    void *arguments[] = {&argument};
    return QUEUE_CALL(queue, "scale a frame",
                      cuLaunchKernel(queue->device->kernel, grid_size(picture->across[0].count, BL_NV12_RGB_ACROSS),
                                     grid_size(picture->down[0].count, BL_NV12_RGB_DOWN), 1, BL_NV12_RGB_ACROSS,
                                     BL_NV12_RGB_DOWN, 1, 0, queue->stream, arguments, NULL),
                      e);
}

static int queue_record(struct bl_gpu_queue *queue, int number, struct bl_error *e)
{
    return QUEUE_CALL(queue, "record an event", cuEventRecord(queue->event[number], queue->stream), e);
}

static int queue_wait(struct bl_gpu_queue *queue, int number, struct bl_error *e)
{
    return QUEUE_CALL(queue, "finish its work", cuEventSynchronize(queue->event[number]), e);
}

/* --- decoders ----------------------------------------------------------------------------------------------------- */

static int queue_begin(struct bl_gpu_queue *queue, const AVCodecParameters *parameters, struct bl_error *e)
{
    return bl_nvdec_decoder_begin(queue->decoder, parameters, e);
}

static void queue_end(struct bl_gpu_queue *queue)
{
    bl_nvdec_decoder_end(queue->decoder);
}

static int queue_send(struct bl_gpu_queue *queue, const AVPacket *packet, int *refused, struct bl_error *e)
{
    return bl_nvdec_decoder_send(queue->decoder, packet, refused, e);
}

static bool queue_receive(struct bl_gpu_queue *queue, AVFrame *frame, struct bl_gpu_picture *picture)
{
    return bl_nvdec_decoder_receive(queue->decoder, frame, picture);
}

static int queue_evict(struct bl_gpu_queue *queue)
{
    return bl_nvdec_decoder_evict(queue->decoder);
}

const struct bl_gpu_functions bl_nvdec_functions = {
    .can_decode = nvdec_can_decode,
    .engines = nvdec_engines,
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
    .begin = queue_begin,
    .end = queue_end,
    .send = queue_send,
    .receive = queue_receive,
    .evict = queue_evict,
};
