#include "kind/video/nvdec_driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define NO_DEVICE ((CUresult)100) /* CUDA_ERROR_NO_DEVICE */

/* ISO C does not promise that pointers to objects and functions have one size; here they do. */
static bool driver_load_symbol(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool driver_load_cuda(struct bl_driver *d)
{
    if (cuda_load_functions(&d->cuda, NULL) < 0)
        return false;
    d->library = dlopen("libcuda.so.1", RTLD_LAZY);
    return d->library && driver_load_symbol(d->library, "cuMemHostAlloc", &d->host_alloc) &&
           driver_load_symbol(d->library, "cuMemFreeHost", &d->host_free) &&
           driver_load_symbol(d->library, "cuDriverGetVersion", &d->version);
}

static const char *driver_error_text(const struct bl_driver *d, CUresult result)
{
    const char *text = NULL;
    return d->cuda->cuGetErrorString(result, &text) == CUDA_SUCCESS && text ? text : "an unknown error";
}

static int driver_init(const struct bl_driver *d, int *devices, struct bl_error *e)
{
    CUresult result = d->cuda->cuInit(0);
    *devices = 0;
    if (result == CUDA_SUCCESS)
        result = d->cuda->cuDeviceGetCount(devices);
    if (result == NO_DEVICE || (result == CUDA_SUCCESS && *devices < 1))
        return bl_error_set(e, BL_EFAIL, "no NVIDIA GPU found");
    if (result != CUDA_SUCCESS)
        return bl_error_set(e, BL_EFAIL, "the GPUs cannot be used: %s", driver_error_text(d, result));
    return BL_OK;
}

int bl_driver_open(struct bl_driver *d, int *devices, struct bl_error *e)
{
    int code;
    *d = (struct bl_driver){0};
    if (!driver_load_cuda(d))
        code = bl_error_set(e, BL_EFAIL, "no NVIDIA driver found (libcuda.so.1)");
    else
        code = driver_init(d, devices, e);
    if (!code && (cuvid_load_functions(&d->video, NULL) < 0 || !d->video->cuvidGetDecoderCaps))
        code = bl_error_set(e, BL_EFAIL,
                            "the driver's video library (libnvcuvid.so.1) is missing or too old: in a container, set "
                            "NVIDIA_DRIVER_CAPABILITIES=compute,video,utility");
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

int bl_driver_check(const struct bl_driver *d, int number, const char *what, CUresult result, struct bl_error *e)
{
    const char *name = NULL;
    if (result == CUDA_SUCCESS)
        return BL_OK;
    if (d->cuda->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
        name = "?";
    return bl_error_set(e, BL_EFAIL, "GPU %d cannot %s: %s (%s)", number, what, driver_error_text(d, result), name);
}
