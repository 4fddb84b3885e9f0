#include "kind/video/nvdec_device.h"

#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
#include <stdio.h>

int bl_device_enter(const struct bl_device *device, struct bl_error *e)
{
    return bl_driver_check(device->driver, device->number, "be used",
                           device->driver->cuda->cuCtxPushCurrent(device->context), e);
}

int bl_device_leave(const struct bl_device *device, const char *what, CUresult result, struct bl_error *e)
{
    CUcontext context;
    int code = bl_driver_check(device->driver, device->number, what, result, e);
    (void)device->driver->cuda->cuCtxPopCurrent(&context);
    return code;
}

/* A driver older than the compiler may not be able to load the kernel. */
static int kernel_report(const struct bl_driver *driver, const struct bl_error *why, struct bl_error *e)
{
    int has = 0, built = BL_CUDA_VERSION;
    if (driver->version(&has) != CUDA_SUCCESS || has >= built)
        return bl_error_set(e, BL_EFAIL, "%s", why->text);
    return bl_error_set(e, BL_EFAIL, "%s: the NVIDIA driver supports CUDA %d.%d, bload was built with %d.%d", why->text,
                        has / 1000, has % 1000 / 10, built / 1000, built % 1000 / 10);
}

static int kernel_load(struct bl_device *device, struct bl_error *e)
{
    const CudaFunctions *f = device->driver->cuda;
    struct bl_error why = {0};
    int code = bl_device_enter(device, e);
    if (code)
        return code;
    CUresult result = f->cuModuleLoadData(&device->module, bl_nv12_rgb_image);
    if (result == CUDA_SUCCESS)
        result = f->cuModuleGetFunction(&device->kernel, device->module, BL_NV12_RGB_KERNEL);
    code = bl_device_leave(device, "load the kernel of this build", result, &why);
    return code ? kernel_report(device->driver, &why, e) : BL_OK;
}

int bl_device_open(struct bl_device *device, const struct bl_driver *driver, int number, struct bl_error *e)
{
    char name[16];
    *device = (struct bl_device){.driver = driver, .number = number};
    snprintf(name, sizeof name, "%d", number);
    if (av_hwdevice_ctx_create(&device->buffer, AV_HWDEVICE_TYPE_CUDA, name, NULL, AV_CUDA_USE_PRIMARY_CONTEXT) < 0)
        return bl_error_set(e, BL_EFAIL, "GPU %d cannot be used: FFmpeg cannot create a context on it", number);
    const AVCUDADeviceContext *own = ((AVHWDeviceContext *)(void *)device->buffer->data)->hwctx;
    device->context = own->cuda_ctx;
    return kernel_load(device, e);
}

void bl_device_close(struct bl_device *device)
{
    struct bl_error none = {0};
    if (device->module && !bl_device_enter(device, &none))
        (void)bl_device_leave(device, "unload", device->driver->cuda->cuModuleUnload(device->module), &none);
    av_buffer_unref(&device->buffer);
}
