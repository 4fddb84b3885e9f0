/* Memory, copies, modules and kernels, as libcuda.so.1 has them. The only kernel that it knows is ours: the same
 * source, compiled as a loop. */
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "kind/video/nv12_rgb.h"

tcuMemAlloc_v2 cuMemAlloc_v2;
tcuMemAllocPitch_v2 cuMemAllocPitch_v2;
tcuMemFree_v2 cuMemFree_v2;
tcuMemsetD8Async cuMemsetD8Async;
tcuMemcpy cuMemcpy;
tcuMemcpyAsync cuMemcpyAsync;
tcuMemcpy2D_v2 cuMemcpy2D_v2;
tcuMemcpy2DAsync_v2 cuMemcpy2DAsync_v2;
tcuMemcpyHtoD_v2 cuMemcpyHtoD_v2;
tcuMemcpyHtoDAsync_v2 cuMemcpyHtoDAsync_v2;
tcuMemcpyDtoH_v2 cuMemcpyDtoH_v2;
tcuMemcpyDtoHAsync_v2 cuMemcpyDtoHAsync_v2;
tcuMemcpyDtoD_v2 cuMemcpyDtoD_v2;
tcuMemcpyDtoDAsync_v2 cuMemcpyDtoDAsync_v2;
tcuGetErrorName cuGetErrorName;
tcuGetErrorString cuGetErrorString;
tcuLaunchKernel cuLaunchKernel;
tcuModuleLoadData cuModuleLoadData;
tcuModuleUnload cuModuleUnload;
tcuModuleGetFunction cuModuleGetFunction;
/* These the header lacks. */
CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags);
CUresult cuMemFreeHost(void *memory);
CUresult fake_refused(void);

static void *to_pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address; /* NOLINT */
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    CUcontext context;
    void *memory = NULL;
    CUresult result = fake_begin_in("cuMemAlloc", &context);
    if (!result)
        result = fake_memory_take(context, FAKE_DEVICE, bytes, &memory);
    if (!result)
        *address = (CUdeviceptr)(uintptr_t)memory;
    return fake_end(result);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
    (void)element;
    *pitch = (width + 511) / 512 * 512;
    return cuMemAlloc_v2(address, *pitch * height);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuMemFree", &context);
    if (!result && address)
        result = fake_memory_drop(context, FAKE_DEVICE, to_pointer(address));
    return fake_end(result);
}

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuMemHostAlloc", &context);
    if (!result && flags > 7)
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "flags %u of pinned memory", flags);
    if (!result)
        result = fake_memory_take(context, FAKE_HOST, bytes, memory);
    return fake_end(result);
}

CUresult cuMemFreeHost(void *memory)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuMemFreeHost", &context);
    if (!result)
        result = fake_memory_drop(context, FAKE_HOST, memory);
    return fake_end(result);
}

struct setting {
    CUcontext context;
    uint8_t *to, value;
    size_t bytes;
};

static CUresult set(void *data)
{
    const struct setting *s = data;
    if (!fake_memory_holds(s->context, s->to, s->bytes))
        return fake_wrong(CUDA_ERROR_ILLEGAL_ADDRESS, "memory is gone that is to be set");
    memset(s->to, s->value, s->bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream handle)
{
    CUcontext context;
    CUstream stream;
    CUresult result = fake_begin_in("cuMemsetD8Async", &context);
    if (!result)
        result = fake_stream(context, handle, &stream);
    if (!result && !fake_memory_holds(context, to_pointer(to), bytes))
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "cuMemsetD8Async of %zu bytes that are no memory", bytes);
    const struct setting setting = {context, to_pointer(to), value, bytes};
    if (!result)
        result = fake_stream_add(stream, set, &setting, sizeof setting);
    return fake_end(result);
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

/* An end of a copy: rows of bytes. */
struct end {
    uint8_t *at;
    size_t pitch;
    bool device;
};

struct copying {
    CUcontext context;
    struct end to, from;
    size_t width, height;
    uint8_t *read; /* what was read at once, of memory that is not pinned; or NULL */
};

static size_t end_bytes(const struct end *end, const struct copying *c)
{
    return c->height ? (c->height - 1) * end->pitch + c->width : 0;
}

static bool end_holds(const struct end *end, const struct copying *c)
{
    return !end->device || fake_memory_holds(c->context, end->at, end_bytes(end, c));
}

static CUresult copy(void *data)
{
    const struct copying *c = data;
    CUresult result = CUDA_SUCCESS;
    if (!end_holds(&c->to, c) || !end_holds(&c->from, c))
        result = fake_wrong(CUDA_ERROR_ILLEGAL_ADDRESS, "memory is gone that is to be copied");
    const uint8_t *from = c->read ? c->read : c->from.at;
    for (size_t y = 0; y < c->height && !result; y++)
        memcpy(c->to.at + y * c->to.pitch, from + y * c->from.pitch, c->width);
    free(c->read);
    return result;
}

static bool is_pinned(const struct end *end, const struct copying *c)
{
    return fake_memory_pinned(end->at, end_bytes(end, c));
}

/* Memory of the machine that is not pinned is read before the call returns, and written before it returns. */
static CUresult copy_queue(struct copying *c, CUstream handle, bool at_once)
{
    CUstream stream;
    CUresult result = fake_stream(c->context, handle, &stream);
    if (result)
        return result;
    if (!c->width || c->to.pitch < c->width || c->from.pitch < c->width || !end_holds(&c->to, c) ||
        !end_holds(&c->from, c))
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "a copy of %zux%zu bytes where no such memory is", c->width,
                          c->height);
    if (!c->from.device && !is_pinned(&c->from, c) && c->height) {
        c->read = malloc(end_bytes(&c->from, c));
        if (!c->read)
            abort();
        memcpy(c->read, c->from.at, end_bytes(&c->from, c));
    }
    fake_count(FAKE_COPIES, 1);
    fake_stream_add(stream, copy, c, sizeof *c);
    if (at_once || (!c->to.device && !is_pinned(&c->to, c)))
        fake_stream_drain(stream);
    return CUDA_SUCCESS;
}

static CUresult copy_bytes(const char *function, struct end to, struct end from, size_t bytes, CUstream handle,
                           bool at_once)
{
    struct copying c = {.to = to, .from = from, .width = bytes, .height = 1};
    c.to.pitch = c.from.pitch = bytes;
    CUresult result = fake_begin_in(function, &c.context);
    if (!result)
        result = copy_queue(&c, handle, at_once);
    return fake_end(result);
}

static struct end device(CUdeviceptr address)
{
    return (struct end){to_pointer(address), 0, true};
}

static struct end host(const void *memory)
{
    return (struct end){(uint8_t *)(uintptr_t)memory, 0, false};
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return copy_bytes("cuMemcpyHtoD", device(to), host(from), bytes, NULL, true);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return copy_bytes("cuMemcpyHtoDAsync", device(to), host(from), bytes, stream, false);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes("cuMemcpyDtoH", host(to), device(from), bytes, NULL, true);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes("cuMemcpyDtoHAsync", host(to), device(from), bytes, stream, false);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_bytes("cuMemcpyDtoD", device(to), device(from), bytes, NULL, true);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_bytes("cuMemcpyDtoDAsync", device(to), device(from), bytes, stream, false);
}

/* Of addresses that say themselves whose they are. */
static struct end either(CUdeviceptr address, CUcontext context, size_t bytes)
{
    struct end end = device(address);
    end.device = fake_memory_holds(context, end.at, bytes);
    return end;
}

static CUresult copy_either(const char *function, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream handle,
                            bool at_once)
{
    struct copying c = {.width = bytes, .height = 1};
    CUresult result = fake_begin_in(function, &c.context);
    if (!result) {
        c.to = either(to, c.context, bytes);
        c.from = either(from, c.context, bytes);
        c.to.pitch = c.from.pitch = bytes;
        result = copy_queue(&c, handle, at_once);
    }
    return fake_end(result);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return copy_either("cuMemcpy", to, from, bytes, NULL, true);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return copy_either("cuMemcpyAsync", to, from, bytes, stream, false);
}

static CUresult copy_plane(const char *function, const CUDA_MEMCPY2D *plane, CUstream handle, bool at_once)
{
    struct copying c = {.width = plane->WidthInBytes, .height = plane->Height};
    c.to = plane->dstMemoryType == CU_MEMORYTYPE_DEVICE ? device(plane->dstDevice) : host(plane->dstHost);
    c.from = plane->srcMemoryType == CU_MEMORYTYPE_DEVICE ? device(plane->srcDevice) : host(plane->srcHost);
    c.to.pitch = plane->dstPitch;
    c.from.pitch = plane->srcPitch;
    c.to.at += plane->dstY * plane->dstPitch + plane->dstXInBytes;
    c.from.at += plane->srcY * plane->srcPitch + plane->srcXInBytes;
    CUresult result = fake_begin_in(function, &c.context);
    if (!result && (plane->dstMemoryType == CU_MEMORYTYPE_ARRAY || plane->srcMemoryType == CU_MEMORYTYPE_ARRAY))
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (!result)
        result = copy_queue(&c, handle, at_once);
    return fake_end(result);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *plane)
{
    return copy_plane("cuMemcpy2D", plane, NULL, true);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *plane, CUstream stream)
{
    return copy_plane("cuMemcpy2DAsync", plane, stream, false);
}

/* --- the kernel --------------------------------------------------------------------------------------------------- */

struct CUmod_st {
    struct CUmod_st *next;
    CUcontext context;
};

static CUmodule modules;

struct drawing {
    CUcontext context;
    struct bl_nv12_rgb picture;
};

/* The last sample that an axis reaches, or -1 where its tables are no memory. */
static int64_t reach(CUcontext context, const struct bl_nv12_axis *axis)
{
    int64_t last = 0;
    size_t count = (size_t)axis->count, taps = (size_t)axis->taps;
    if (axis->count <= 0 || axis->taps <= 0 || !fake_memory_holds(context, axis->first, count * sizeof *axis->first) ||
        !fake_memory_holds(context, axis->weight, count * taps * sizeof *axis->weight))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (axis->first[i] < 0)
            return -1;
        last = axis->first[i] + axis->taps > last ? axis->first[i] + axis->taps : last;
    }
    return last - 1;
}

/* Whether the samples of a plane (luma, U, V) that its axes reach are there. */
static bool plane_is_there(const struct drawing *d, int plane)
{
    const struct bl_nv12_rgb *p = &d->picture;
    int axis = plane > 0;
    int64_t right = reach(d->context, &p->across[axis]), bottom = reach(d->context, &p->down[axis]);
    size_t bytes = (size_t)(1 + p->words), step = plane ? (size_t)p->chroma_step : bytes;
    size_t pitch = plane ? p->chroma_pitch : p->luma_pitch, row = (size_t)right * step + bytes;
    return right >= 0 && bottom >= 0 && row <= pitch &&
           fake_memory_holds(d->context, plane ? p->chroma[plane - 1] : p->luma, (size_t)bottom * pitch + row);
}

/* Whether all four corners are in one piece of memory. */
static bool rgb_is_there(const struct drawing *d)
{
    const struct bl_nv12_rgb *p = &d->picture;
    ptrdiff_t across = (p->across[0].count - 1) * p->step_x, down = (p->down[0].count - 1) * p->step_y;
    ptrdiff_t low = (across < 0 ? across : 0) + (down < 0 ? down : 0);
    ptrdiff_t high = (across > 0 ? across : 0) + (down > 0 ? down : 0) + 3;
    return fake_memory_holds(d->context, p->rgb + low, (size_t)(high - low));
}

/* Where somebody before left the upper halves of the vector registers in use, the loop would take forty times as long.
 */
static void clear_registers(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroupper");
#endif
}

static CUresult draw(void *data)
{
    const struct drawing *d = data;
    if (!plane_is_there(d, 0) || !plane_is_there(d, 1) || !plane_is_there(d, 2))
        return fake_wrong(CUDA_ERROR_ILLEGAL_ADDRESS, "the kernel reads where nothing is");
    if (!rgb_is_there(d))
        return fake_wrong(CUDA_ERROR_ILLEGAL_ADDRESS, "the kernel writes where nothing is");
    clear_registers();
    if (fake_draws())
        bl_nv12_rgb_host(&d->picture);
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    CUcontext context;
    CUresult result = fake_begin_in("cuModuleLoadData", &context);
    if (!result && !image)
        result = fake_wrong(CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadData of nothing");
    if (result)
        return fake_end(result);
    CUmodule made = calloc(1, sizeof *made);
    if (!made)
        abort();
    *made = (struct CUmod_st){modules, context};
    *module = modules = made;
    fake_count(FAKE_MODULES, 1);
    return fake_end(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module)
{
    CUcontext context;
    CUmodule *link = &modules;
    CUresult result = fake_begin_in("cuModuleUnload", &context);
    while (*link && *link != module)
        link = &(*link)->next;
    if (!result && (!*link || module->context != context))
        result = fake_wrong(CUDA_ERROR_INVALID_HANDLE, "a module is unloaded that is none of this context");
    if (!result) {
        *link = module->next;
        free(module);
        fake_count(FAKE_MODULES, -1);
    }
    return fake_end(result);
}

/* The function is its module. */
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult result = fake_begin("cuModuleGetFunction");
    if (!result && strcmp(name, BL_NV12_RGB_KERNEL))
        result = fake_wrong(CUDA_ERROR_NOT_FOUND, "a kernel named %s", name);
    if (!result)
        *function = (CUfunction)(void *)module;
    return fake_end(result);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream handle, void **parameters,
                        void **extra)
{
    struct drawing d;
    CUstream stream;
    CUresult result = fake_begin_in("cuLaunchKernel", &d.context);
    if (!result && (!function || ((CUmodule)(void *)function)->context != d.context))
        result = fake_wrong(CUDA_ERROR_INVALID_HANDLE, "a kernel of another context");
    if (!result && (!parameters || extra || shared || grid_z != 1 || block_x != BL_NV12_RGB_ACROSS ||
                    block_y != BL_NV12_RGB_DOWN || block_z != 1))
        result = fake_wrong(CUDA_ERROR_INVALID_VALUE, "a launch of %u threads a block", block_x * block_y * block_z);
    if (!result)
        result = fake_stream(d.context, handle, &stream);
    if (result)
        return fake_end(result);
    memcpy(&d.picture, parameters[0], sizeof d.picture);
    if ((uint64_t)grid_x * block_x < (uint64_t)d.picture.across[0].count ||
        (uint64_t)grid_y * block_y < (uint64_t)d.picture.down[0].count)
        return fake_end(fake_wrong(CUDA_ERROR_INVALID_VALUE, "a launch of too few threads"));
    fake_count(FAKE_LAUNCHES, 1);
    return fake_end(fake_stream_add(stream, draw, &d, sizeof d));
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

static const struct {
    CUresult error;
    const char *name, *words;
} errors[] = {{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
              {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
              {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
              {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
              {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
              {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
              {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
              {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
              {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
              {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
              {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
              {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
              {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
              {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"}};

static CUresult tell(CUresult error, bool name, const char **text)
{
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].error == error)
            *text = name ? errors[i].name : errors[i].words;
    }
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **text)
{
    return tell(error, true, text);
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    return tell(error, false, text);
}

/* --- what only has to be there ------------------------------------------------------------------------------------ */

CUresult fake_refused(void)
{
    (void)fake_begin("another function");
    return fake_end(fake_wrong(CUDA_ERROR_NOT_SUPPORTED, "a function that the test double lacks"));
}

#define REFUSED(name) extern __typeof__(fake_refused) name __attribute__((alias("fake_refused")))

REFUSED(cuCtxSetLimit);
REFUSED(cuMemAllocManaged);
REFUSED(cuDevicePrimaryCtxReset);
REFUSED(cuStreamAddCallback);
REFUSED(cuLinkCreate);
REFUSED(cuLinkAddData);
REFUSED(cuLinkComplete);
REFUSED(cuLinkDestroy);
REFUSED(cuModuleGetGlobal);
REFUSED(cuTexObjectCreate);
REFUSED(cuTexObjectDestroy);
REFUSED(cuGLGetDevices_v2);
REFUSED(cuGraphicsGLRegisterImage);
REFUSED(cuGraphicsUnregisterResource);
REFUSED(cuGraphicsMapResources);
REFUSED(cuGraphicsUnmapResources);
REFUSED(cuGraphicsSubResourceGetMappedArray);
REFUSED(cuGraphicsResourceGetMappedPointer_v2);
REFUSED(cuArray3DCreate_v2);
REFUSED(cuArrayDestroy);
