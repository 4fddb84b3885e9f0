/* Loads NVIDIA's driver, opens GPUs, and asks what they can decode; see nvdec_driver.h. */
#include "kind/video/nvdec_driver.h"

#include <dlfcn.h>
#include <libavutil/pixdesc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kind/video/decode.h"

/* --- shared libraries --------------------------------------------------------------------------------------------- */

/* Loads a function into the pointer at `function`. ISO C does not promise that pointers to objects and functions have
 * one size; POSIX does. */
static bool driver_load_symbol(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* Returns the driver's text for an error, which needs no freeing. */
static const char *driver_error_text(const struct bl_driver *d, CUresult result)
{
    const char *text = NULL;
    return d->cuda->cuGetErrorString(result, &text) == CUDA_SUCCESS && text ? text : "an unknown error";
}

int bl_driver_open(struct bl_driver *d, int *devices, struct bl_error *e)
{
    const CUresult no_device = (CUresult)100; /* CUDA_ERROR_NO_DEVICE */
    int code = BL_OK;
    *d = (struct bl_driver){0};
    if (cuda_load_functions(&d->cuda, NULL) >= 0)
        d->library = dlopen("libcuda.so.1", RTLD_LAZY);
    if (!d->library || !driver_load_symbol(d->library, "cuMemHostAlloc", &d->host_alloc) ||
        !driver_load_symbol(d->library, "cuMemFreeHost", &d->host_free) ||
        !driver_load_symbol(d->library, "cuDriverGetVersion", &d->version)) {
        code = bl_error_set(e, BL_EFAIL, "no NVIDIA driver found (libcuda.so.1)");
        goto out;
    }
    *devices = 0;
    CUresult result = d->cuda->cuInit(0);
    if (result == CUDA_SUCCESS)
        result = d->cuda->cuDeviceGetCount(devices);
    if (result == no_device || (result == CUDA_SUCCESS && *devices < 1))
        code = bl_error_set(e, BL_EFAIL, "no NVIDIA GPU found");
    else if (result != CUDA_SUCCESS)
        code = bl_error_set(e, BL_EFAIL, "the GPUs cannot be used: %s", driver_error_text(d, result));
    else if (cuvid_load_functions(&d->video, NULL) < 0 || !d->video->cuvidGetDecoderCaps)
        code = bl_error_set(e, BL_EFAIL,
                            "the driver's video library (libnvcuvid.so.1) is missing or too old: in a container, set "
                            "NVIDIA_DRIVER_CAPABILITIES=compute,video,utility");
out:
    if (code)
        bl_driver_close(d);
    return code;
}

void bl_driver_close(struct bl_driver *d)
{
    cuvid_free_functions(&d->video);
    cuda_free_functions(&d->cuda);
    if (d->library)
        (void)dlclose(d->library);
    *d = (struct bl_driver){0};
}

void bl_decoder_counts_add(struct bl_decoder_counts *counts, double seconds)
{
    counts->made++;
    counts->microseconds += (long long)(seconds * 1e6);
}

/* --- devices ------------------------------------------------------------------------------------------------------ */

/* A message is such as "GPU 0 cannot copy: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)". */
int bl_device_check(const struct bl_device *device, const char *what, CUresult result, struct bl_error *e)
{
    const struct bl_driver *d = device->driver;
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return BL_OK;
    if (d->cuda->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "?";
    return bl_error_set(e, BL_EFAIL, "GPU %d cannot %s: %s (%s)", device->number, what, driver_error_text(d, result),
                        name);
}

int bl_device_enter(const struct bl_device *device, struct bl_error *e)
{
    return bl_device_check(device, "be used", device->driver->cuda->cuCtxPushCurrent(device->context), e);
}

int bl_device_leave(const struct bl_device *device, const char *what, CUresult result, struct bl_error *e)
{
    CUcontext context;
    int code = bl_device_check(device, what, result, e);
    (void)device->driver->cuda->cuCtxPopCurrent(&context);
    return code;
}

/* Waiting threads sleep, unless another library in the process has already set the primary context up otherwise. */
int bl_device_open(struct bl_device *device, const struct bl_driver *driver, int number, struct bl_error *e)
{
    const CudaFunctions *f = driver->cuda;
    struct bl_error why = {0};
    *device = (struct bl_device){.driver = driver, .number = number};
    CUresult result = f->cuDeviceGet(&device->device, number);
    if (result == CUDA_SUCCESS) {
        (void)f->cuDevicePrimaryCtxSetFlags(device->device, CU_CTX_SCHED_BLOCKING_SYNC);
        result = f->cuDevicePrimaryCtxRetain(&device->context, device->device);
    }
    BL_TRY(bl_device_check(device, "be used", result, e));
    BL_TRY(bl_device_enter(device, e));
    result = f->cuModuleLoadData(&device->module, bl_nv12_rgb_image);
    if (result == CUDA_SUCCESS)
        result = f->cuModuleGetFunction(&device->kernel, device->module, BL_NV12_RGB_KERNEL);
    if (!bl_device_leave(device, "load the kernel of this build", result, &why))
        return BL_OK;
    /* A driver older than the compiler may not be able to load the kernel: then the message names both versions. */
    int has = 0, built = BL_CUDA_VERSION;
    if (driver->version(&has) != CUDA_SUCCESS || has >= built)
        return bl_error_set(e, BL_EFAIL, "%s", why.text);
    return bl_error_set(e, BL_EFAIL, "%s: the NVIDIA driver supports CUDA %d.%d, bload was built with %d.%d", why.text,
                        has / 1000, has % 1000 / 10, built / 1000, built % 1000 / 10);
}

void bl_device_close(struct bl_device *device)
{
    struct bl_error none = {0};
    if (device->module && !bl_device_enter(device, &none))
        (void)bl_device_leave(device, "unload", device->driver->cuda->cuModuleUnload(device->module), &none);
    if (device->context)
        (void)device->driver->cuda->cuDevicePrimaryCtxRelease(device->device);
    device->context = NULL;
}

/* --- capabilities ------------------------------------------------------------------------------------------------- */

#define DEPTHS 3  /* 8, 10 and 12 bits */
#define CHROMAS 2 /* 4:2:0 and 4:4:4 */

/* The driver's answer about one codec, chroma format and depth. An answer that failed stays unknown. */
struct answer {
    bool known;
    CUVIDDECODECAPS caps;
    int width, height; /* the largest of the streams that were accepted */
};

struct bl_caps {
    pthread_mutex_t lock; /* also while the driver is asked: it answers one after the other anyhow */
    struct answer answer[cudaVideoCodec_NumCodecs][CHROMAS][DEPTHS];
};

int bl_caps_open(struct bl_caps **out, struct bl_error *e)
{
    struct bl_caps *caps = calloc(1, sizeof *caps);
    if (!caps)
        return bl_error_memory(e);
    pthread_mutex_init(&caps->lock, NULL); /* cannot fail on Linux */
    *out = caps;
    return BL_OK;
}

void bl_caps_close(struct bl_caps *caps)
{
    if (!caps)
        return;
    pthread_mutex_destroy(&caps->lock);
    free(caps);
}

static struct answer *caps_answer(struct bl_caps *caps, cudaVideoCodec codec, bool is_444, int depth)
{
    return &caps->answer[codec][is_444][(depth - 8) / 2];
}

/* Finds the answer about a codec, chroma format (4:4:4, or else 4:2:0) and depth, and asks the driver if it is not
 * known. */
static int caps_find(struct bl_caps *caps, const struct bl_device *device, cudaVideoCodec codec, bool is_444, int depth,
                     CUVIDDECODECAPS *out, struct bl_error *e)
{
    struct answer *answer = caps_answer(caps, codec, is_444, depth);
    int code = BL_OK;
    pthread_mutex_lock(&caps->lock);
    if (!answer->known) {
        answer->caps =
            (CUVIDDECODECAPS){.eCodecType = codec,
                              .eChromaFormat = is_444 ? cudaVideoChromaFormat_444 : cudaVideoChromaFormat_420,
                              .nBitDepthMinus8 = (unsigned)depth - 8};
        code = bl_device_enter(device, e);
        if (!code)
            code = bl_device_leave(device, "report what it can decode",
                                   device->driver->video->cuvidGetDecoderCaps(&answer->caps), e);
        answer->known = !code;
    }
    *out = answer->caps;
    pthread_mutex_unlock(&caps->lock);
    return code;
}

bool bl_codec_to_cuvid(enum AVCodecID id, cudaVideoCodec *codec)
{
    static const struct {
        enum AVCodecID id;
        cudaVideoCodec codec;
    } codecs[] = {{AV_CODEC_ID_H264, cudaVideoCodec_H264},        {AV_CODEC_ID_HEVC, cudaVideoCodec_HEVC},
                  {AV_CODEC_ID_VP8, cudaVideoCodec_VP8},          {AV_CODEC_ID_VP9, cudaVideoCodec_VP9},
                  {AV_CODEC_ID_AV1, cudaVideoCodec_AV1},          {AV_CODEC_ID_MJPEG, cudaVideoCodec_JPEG},
                  {AV_CODEC_ID_MPEG1VIDEO, cudaVideoCodec_MPEG1}, {AV_CODEC_ID_MPEG2VIDEO, cudaVideoCodec_MPEG2},
                  {AV_CODEC_ID_VC1, cudaVideoCodec_VC1}};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (codecs[i].id == id) {
            *codec = codecs[i].codec;
            return true;
        }
    }
    return false;
}

int bl_caps_can_decode(struct bl_caps *all, const struct bl_device *device, const struct bl_gpu_stream *s, bool *can,
                       struct bl_error *e)
{
    cudaVideoCodec codec;
    CUVIDDECODECAPS caps;
    *can = bl_codec_to_cuvid(s->codec, &codec) && bl_backend_supports_format(s->format);
    if (!*can)
        return BL_OK;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(s->format);
    int depth = desc->comp[0].depth;
    bool is_444 = !desc->log2_chroma_w;
    BL_TRY(caps_find(all, device, codec, is_444, depth, &caps, e));
    cudaVideoSurfaceFormat surface =
        is_444 ? (depth > 8 ? cudaVideoSurfaceFormat_YUV444_16Bit : cudaVideoSurfaceFormat_YUV444)
               : (depth > 8 ? cudaVideoSurfaceFormat_P016 : cudaVideoSurfaceFormat_NV12);
    unsigned width = (unsigned)s->width, height = (unsigned)s->height;
    *can = caps.bIsSupported && caps.nOutputFormatMask & 1u << surface && width >= caps.nMinWidth &&
           width <= caps.nMaxWidth && height >= caps.nMinHeight && height <= caps.nMaxHeight &&
           (uint64_t)width * height / 256 <= caps.nMaxMBCount;
    if (*can) {
        struct answer *answer = caps_answer(all, codec, is_444, depth);
        pthread_mutex_lock(&all->lock);
        answer->width = FFMAX(answer->width, s->width);
        answer->height = FFMAX(answer->height, s->height);
        pthread_mutex_unlock(&all->lock);
    }
    return BL_OK;
}

void bl_caps_raise(struct bl_caps *caps, const struct bl_gpu_stream *s, int limit, int *width, int *height)
{
    cudaVideoCodec codec;
    if (!bl_codec_to_cuvid(s->codec, &codec))
        return;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(s->format);
    struct answer *answer = caps_answer(caps, codec, !desc->log2_chroma_w, desc->comp[0].depth);
    pthread_mutex_lock(&caps->lock);
    int most_wide = FFMIN(answer->width, limit), most_high = FFMIN(answer->height, limit);
    pthread_mutex_unlock(&caps->lock);
    *width = FFMAX(*width, most_wide);
    *height = FFMAX(*height, most_high);
}

int bl_caps_engines(struct bl_caps *all, const struct bl_device *device, int *engines, struct bl_error *e)
{
    CUVIDDECODECAPS caps;
    int code = caps_find(all, device, cudaVideoCodec_H264, false, 8, &caps, e);
    *engines = code ? 0 : caps.nNumNVDECs;
    return code;
}
