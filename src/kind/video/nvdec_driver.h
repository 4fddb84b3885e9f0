/* NVIDIA's driver: loads it, opens its GPUs, and asks what they can decode. The types are those of ffnvcodec's headers,
 * which FFmpeg uses, too. */
#ifndef BL_NVDEC_DRIVER_H
#define BL_NVDEC_DRIVER_H

/* Silences the loaders of ffnvcodec's headers. */
#define FFNV_DEBUG_LOG_FUNC(context, ...) ((void)(context))
#define FFNV_LOG_FUNC(context, ...) ((void)(context))
#include <ffnvcodec/dynlink_loader.h>
#include <libavutil/buffer.h>
#include <stdbool.h>

#include "base/error.h"
#include "kind/video/gpu.h"

/* --- shared libraries --------------------------------------------------------------------------------------------- */

/* The driver's two shared libraries, loaded on demand, and the names of its errors. */

#define BL_DRIVER_OUT_OF_MEMORY ((CUresult)2) /* CUDA_ERROR_OUT_OF_MEMORY, which those headers leave out */

struct bl_driver {
    CudaFunctions *cuda;
    CuvidFunctions *video;
    void *library; /* as cuda, for functions that those headers lack: */
    CUresult (*host_alloc)(void **memory, size_t bytes, unsigned flags);
    CUresult (*host_free)(void *memory);
    CUresult (*version)(int *version);
};

/* Loads both libraries and initialises the driver; *devices: the number of GPUs, at least one. BL_EFAIL: no driver, no
 * GPU or no video library. Needs no close after a failure. */
int bl_driver_open(struct bl_driver *driver, int *devices, struct bl_error *e);
void bl_driver_close(struct bl_driver *driver);

/* --- devices ------------------------------------------------------------------------------------------------------ */

/* A GPU: its primary context, and the kernel on it. */

struct bl_device {
    const struct bl_driver *driver;
    int number;
    AVBufferRef *buffer; /* FFmpeg's, with the context */
    CUcontext context;   /* the primary one */
    CUmodule module;     /* nv12_rgb.cu's */
    CUfunction kernel;
};

/* BL_EFAIL: it cannot be used. To be closed also after a failure. */
int bl_device_open(struct bl_device *device, const struct bl_driver *driver, int number, struct bl_error *e);
void bl_device_close(struct bl_device *device);

/* The driver's functions act on the thread's current context, and a worker may have queues on several GPUs: each call
 * is bracketed by these two. bl_device_leave reports the result of the call in between: "GPU 0 cannot WHAT". */
int bl_device_enter(const struct bl_device *device, struct bl_error *e);
int bl_device_leave(const struct bl_device *device, const char *what, CUresult result, struct bl_error *e);

/* --- capabilities ------------------------------------------------------------------------------------------------- */

/* What a GPU's video engines can decode, as its driver says. The question takes 7 ms on an H200, during which no other
 * thread's call goes on, and a scan asks it for every file: so the driver is asked once for each kind of stream. */

struct bl_caps;

int bl_caps_open(struct bl_caps **caps, struct bl_error *e);
void bl_caps_close(struct bl_caps *caps); /* NULL is fine */

/* Whether the GPU reports that it can decode such a stream. Any thread may call these two. */
int bl_caps_can_decode(struct bl_caps *caps, const struct bl_device *device, const struct bl_gpu_stream *stream,
                       bool *can, struct bl_error *e);

/* The number of engines that decode H.264, which all of a GPU's do; 0: the driver is too old to tell. */
int bl_caps_engines(struct bl_caps *caps, const struct bl_device *device, int *engines, struct bl_error *e);

#endif
