/* A GPU: its primary context, and the kernel on it. */
#ifndef BL_NVDEC_DEVICE_H
#define BL_NVDEC_DEVICE_H

#include "kind/video/nvdec_driver.h"

#include <libavutil/buffer.h>
#include <stdbool.h>

#include "kind/video/gpu.h"

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

#endif
