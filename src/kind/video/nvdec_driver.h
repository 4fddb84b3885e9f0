/* Loads NVIDIA's driver, opens its GPUs, and asks what they can decode. The types are those of ffnvcodec's headers.
 *
 * Neither CUDA nor the video library is linked, so that one build runs on machines with a GPU and without. */
#ifndef BL_NVDEC_DRIVER_H
#define BL_NVDEC_DRIVER_H

/* Silences the loaders of ffnvcodec's headers. */
#define FFNV_DEBUG_LOG_FUNC(context, ...) ((void)(context))
#define FFNV_LOG_FUNC(context, ...) ((void)(context))
#include <ffnvcodec/dynlink_loader.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "kind/video/gpu.h"

/* --- shared libraries --------------------------------------------------------------------------------------------- */

#define BL_DRIVER_OUT_OF_MEMORY ((CUresult)2) /* CUDA_ERROR_OUT_OF_MEMORY, which ffnvcodec's headers leave out */

/* The counts of hardware decoders for struct bl_gpu_times. Several threads add to them. */
struct bl_decoder_counts {
    atomic_llong made, microseconds, reconfigured, reused;
};

/* Counts a decoder that was made in so many seconds. */
void bl_decoder_counts_add(struct bl_decoder_counts *counts, double seconds);

/* The driver's two shared libraries. */
struct bl_driver {
    CudaFunctions *cuda;
    CuvidFunctions *video;
    void *library; /* the handle of libcuda, for the following functions, which ffnvcodec's headers leave out */
    CUresult (*host_alloc)(void **memory, size_t bytes, unsigned flags);
    CUresult (*host_free)(void *memory);
    CUresult (*version)(int *version);
    struct bl_decoder_counts *counts; /* belongs to whoever opened the driver */
};

/* Loads both libraries and initialises the driver. *devices is the number of GPUs, at least one. A failed open needs no
 * close. BL_EFAIL: there is no driver, no GPU or no video library. */
int bl_driver_open(struct bl_driver *driver, int *devices, struct bl_error *e);
void bl_driver_close(struct bl_driver *driver);

/* --- devices ------------------------------------------------------------------------------------------------------ */

/* A GPU with its primary context, and the kernel on it. */

struct bl_device {
    const struct bl_driver *driver; /* must outlive the device */
    int number;                     /* by the driver's count, from 0 */
    CUdevice device;                /* the driver's handle of it */
    CUcontext context;              /* its primary one, which is retained; NULL: not yet */
    CUmodule module;                /* nv12_rgb.cu, as loaded on this GPU */
    CUfunction kernel;              /* in the module */
};

/* Opens a GPU, and loads the kernel. Call bl_device_close after a failure, too. BL_EFAIL: the GPU cannot be used. */
int bl_device_open(struct bl_device *device, const struct bl_driver *driver, int number, struct bl_error *e);
void bl_device_close(struct bl_device *device);

/* The driver's functions act on the thread's current context, and a worker may have queues on several GPUs. So each
 * call is bracketed by these two. bl_device_leave reports the result of the call in between: BL_EFAIL with "GPU 0
 * cannot WHAT: ..." if it is an error. */
int bl_device_enter(const struct bl_device *device, struct bl_error *e);
int bl_device_leave(const struct bl_device *device, const char *what, CUresult result, struct bl_error *e);

/* Returns BL_OK for CUDA_SUCCESS, else BL_EFAIL with the same message, without leaving the device. */
int bl_device_check(const struct bl_device *device, const char *what, CUresult result, struct bl_error *e);

/* --- capabilities ------------------------------------------------------------------------------------------------- */

/* The capabilities of a GPU's video engines, as its driver reports them. The question takes 7 ms on an H200, during
 * which the calls of all other threads are blocked, and a scan has it for every file. So the driver is asked once for
 * each codec, chroma format and depth, and the answers are kept. */

struct bl_caps;

int bl_caps_open(struct bl_caps **caps, struct bl_error *e);
void bl_caps_close(struct bl_caps *caps); /* NULL is fine */

/* Finds the driver's number for a codec; false: bload does not decode it on GPUs. MPEG-4 part 2 is left to the
 * processor, since NVDEC lacks some of its features (GMC, packed B-frames), and so is WMV3, whose headers the driver's
 * parser reads in another form. */
bool bl_codec_to_cuvid(enum AVCodecID id, cudaVideoCodec *codec);

/* Sets *can to whether the GPU reports that it can decode such a stream. Any thread may call this function and the
 * next two. */
int bl_caps_can_decode(struct bl_caps *caps, const struct bl_device *device, const struct bl_gpu_stream *stream,
                       bool *can, struct bl_error *e);

/* Raises *width and *height to the largest ones of all streams of the same codec and depth that bl_caps_can_decode has
 * accepted so far, but not above `limit`. */
void bl_caps_raise(struct bl_caps *caps, const struct bl_gpu_stream *stream, int limit, int *width, int *height);

/* Sets *engines to the number of engines that decode H.264, which all engines of a GPU do; 0: the driver is too old to
 * report it. */
int bl_caps_engines(struct bl_caps *caps, const struct bl_device *device, int *engines, struct bl_error *e);

#endif
