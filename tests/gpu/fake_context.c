/* Devices and contexts. */
#include <stdio.h>
#include <stdlib.h>

#include "fake.h"

#define DEPTH 32

tcuInit cuInit;
tcuDeviceGetCount cuDeviceGetCount;
tcuDeviceGet cuDeviceGet;
tcuDeviceGetAttribute cuDeviceGetAttribute;
tcuDeviceGetName cuDeviceGetName;
tcuDeviceComputeCapability cuDeviceComputeCapability;
tcuCtxCreate_v2 cuCtxCreate_v2;
tcuCtxPushCurrent_v2 cuCtxPushCurrent_v2;
tcuCtxPopCurrent_v2 cuCtxPopCurrent_v2;
tcuCtxDestroy_v2 cuCtxDestroy_v2;
tcuCtxGetDevice cuCtxGetDevice;
tcuDevicePrimaryCtxRetain cuDevicePrimaryCtxRetain;
tcuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2;
tcuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2;
tcuDevicePrimaryCtxGetState cuDevicePrimaryCtxGetState;
/* These the header lacks. */
CUresult cuDriverGetVersion(int *version);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxSynchronize(void);

static struct CUctx_st primary[FAKE_GPUS_MAX];
static CUcontext made; /* by cuCtxCreate */
static bool initialized;
static __thread CUcontext stack[DEPTH]; /* of contexts, in each thread */
static __thread int depth;

/* --- devices ------------------------------------------------------------------------------------------------------ */

static int present(void)
{
    int64_t count = fake_option("FAKE_GPUS", 1);
    return count < 0 ? 0 : count > FAKE_GPUS_MAX ? FAKE_GPUS_MAX : (int)count;
}

static CUresult begin_device(const char *function, CUdevice device)
{
    CUresult result = fake_begin(function);
    if (!result && !initialized)
        result = fake_wrong(CUDA_ERROR_NOT_INITIALIZED, "%s before cuInit", function);
    if (!result && (device < 0 || device >= present()))
        result = fake_wrong(CUDA_ERROR_INVALID_DEVICE, "%s: device %d", function, device);
    return result;
}

CUresult cuInit(unsigned flags)
{
    CUresult result = fake_begin("cuInit");
    if (!result && flags)
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "cuInit: flags");
    if (!result && present() == 0)
        result = CUDA_ERROR_NO_DEVICE;
    if (!result)
        initialized = true;
    return fake_end(result);
}

CUresult cuDriverGetVersion(int *version)
{
    CUresult result = fake_begin("cuDriverGetVersion");
    if (!result)
        *version = (int)fake_option("FAKE_VERSION", 13000);
    return fake_end(result);
}

CUresult cuDeviceGetCount(int *count)
{
    CUresult result = fake_begin("cuDeviceGetCount");
    if (!result && !initialized)
        result = fake_wrong(CUDA_ERROR_NOT_INITIALIZED, "cuDeviceGetCount before cuInit");
    if (!result)
        *count = present();
    return fake_end(result);
}

/* An ordinal too high is a question, and nothing wrong. */
CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult result = fake_begin("cuDeviceGet");
    if (!result && (!initialized || ordinal < 0 || ordinal >= present()))
        result = initialized ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_NOT_INITIALIZED;
    if (!result)
        *device = ordinal;
    return fake_end(result);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult result = begin_device("cuDeviceGetAttribute", device);
    if (!result)
        *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
                 : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
                 : attribute == CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT        ? 512
                                                                             : 1;
    return fake_end(result);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    CUresult result = begin_device("cuDeviceGetName", device);
    if (!result)
        snprintf(name, (size_t)length, "no GPU, number %d", device);
    return fake_end(result);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    CUresult result = begin_device("cuDeviceComputeCapability", device);
    if (!result) {
        *major = 9;
        *minor = 0;
    }
    return fake_end(result);
}

/* --- contexts ----------------------------------------------------------------------------------------------------- */

CUresult fake_context(CUcontext *context)
{
    *context = depth ? stack[depth - 1] : NULL;
    if (!*context)
        return fake_wrong(CUDA_ERROR_INVALID_CONTEXT, "a call without a context");
    return (*context)->alive ? CUDA_SUCCESS
                             : fake_wrong(CUDA_ERROR_CONTEXT_IS_DESTROYED, "a call in a context that is gone");
}

CUresult fake_begin_in(const char *function, CUcontext *context)
{
    CUresult result = fake_begin(function);
    return result ? result : fake_context(context);
}

static bool is_context(CUcontext context)
{
    bool known = context >= primary && context < primary + FAKE_GPUS_MAX;
    for (CUcontext c = made; c && !known; c = c->next)
        known = c == context;
    return known && context->alive;
}

/* What lives in it is lost with it, and stays in the counts. */
static void context_end(CUcontext context)
{
    fake_streams_drain(context);
    context->alive = false;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    CUresult result = begin_device("cuCtxCreate", device);
    if (!result && depth == DEPTH)
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "contexts are pushed and not popped");
    if (result)
        return fake_end(result);
    CUcontext c = calloc(1, sizeof *c);
    if (!c)
        abort();
    *c = (struct CUctx_st){.next = made, .device = device, .retained = 1, .flags = flags, .alive = true};
    made = c;
    stack[depth++] = *context = c;
    fake_count(FAKE_CONTEXTS, 1);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    CUresult result = fake_begin("cuCtxDestroy");
    if (!result && (!is_context(context) || context == &primary[context->device]))
        result = fake_wrong(CUDA_ERROR_INVALID_CONTEXT, "cuCtxDestroy of none that was made");
    if (!result) {
        context_end(context);
        fake_count(FAKE_CONTEXTS, -1);
        if (depth && stack[depth - 1] == context)
            depth--;
    }
    return fake_end(result);
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult result = fake_begin("cuCtxPushCurrent");
    if (!result && (!context || !is_context(context)))
        result = fake_wrong(CUDA_ERROR_INVALID_CONTEXT, "cuCtxPushCurrent of no context");
    if (!result && depth == DEPTH)
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "contexts are pushed and not popped");
    if (!result)
        stack[depth++] = context;
    return fake_end(result);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult result = fake_begin("cuCtxPopCurrent");
    if (!result && !depth)
        result = fake_wrong(CUDA_ERROR_INVALID_CONTEXT, "cuCtxPopCurrent without a context");
    if (!result) {
        depth--;
        if (context)
            *context = stack[depth];
    }
    return fake_end(result);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult result = fake_begin("cuCtxSetCurrent");
    if (!result && context && !is_context(context))
        result = fake_wrong(CUDA_ERROR_INVALID_CONTEXT, "cuCtxSetCurrent of no context");
    if (!result && !context)
        depth -= depth > 0;
    if (!result && context) {
        depth += depth == 0;
        stack[depth - 1] = context;
    }
    return fake_end(result);
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    CUresult result = fake_begin("cuCtxGetCurrent");
    if (!result)
        *context = depth ? stack[depth - 1] : NULL;
    return fake_end(result);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuCtxGetDevice", &context);
    if (!result)
        *device = context->device;
    return fake_end(result);
}

CUresult cuCtxSynchronize(void)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuCtxSynchronize", &context);
    if (!result)
        fake_streams_drain(context);
    return fake_end(result);
}

/* --- primary ones ------------------------------------------------------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = begin_device("cuDevicePrimaryCtxRetain", device);
    if (!result) {
        primary[device].device = device;
        primary[device].alive = true;
        primary[device].retained++;
        fake_count(FAKE_CONTEXTS, 1);
        *context = &primary[device];
    }
    return fake_end(result);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    CUresult result = begin_device("cuDevicePrimaryCtxRelease", device);
    if (!result && !primary[device].retained)
        result = fake_wrong(CUDA_ERROR_INVALID_CONTEXT, "a primary context is released that was not retained");
    if (!result) {
        fake_count(FAKE_CONTEXTS, -1);
        if (!--primary[device].retained)
            context_end(&primary[device]);
    }
    return fake_end(result);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    return cuDevicePrimaryCtxRelease(device);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned flags)
{
    CUresult result = begin_device("cuDevicePrimaryCtxSetFlags", device);
    if (!result && primary[device].alive && primary[device].flags != flags)
        result = CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
    if (!result)
        primary[device].flags = flags;
    return fake_end(result);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    return cuDevicePrimaryCtxSetFlags(device, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
    CUresult result = begin_device("cuDevicePrimaryCtxGetState", device);
    if (!result) {
        *flags = primary[device].flags;
        *active = primary[device].alive;
    }
    return fake_end(result);
}
