/* Where the time goes in NVIDIA's driver, on machines that have nothing which traces calls: to be loaded by LD_AUDIT.
 *
 *     LD_AUDIT=$PWD/trace.so GPU_TRACE=calls.tsv bload pack ... --decoder nvdec
 *
 * The dynamic linker asks la_symbind64 for each name that is looked up in libcuda.so.1 and libnvcuvid.so.1, also by
 * dlsym, which is how FFmpeg and bload find the driver. It gives a function that calls the driver's and notes the time.
 * What the driver's libraries call of each other is not seen. A call that calls the program back, as that of the parser
 * does, has the time of the callback too, but not that of the traced calls which the callback makes: each of these has
 * its own. When the process ends, its lines are appended to the file:
 *
 *     call   NAME PHASE CALLS SECONDS SYSTEM LONGEST         of all threads; SYSTEM: of the seconds those in the kernel
 *     thread NUMBER NAME PHASE CALLS SECONDS SYSTEM LONGEST  of each, in the order of their first calls
 *     slow   BEGAN NUMBER NAME SECONDS                       each call with a millisecond of its own and more
 *     first  SECONDS                                         when a decoder had given a picture for the first time
 *     process SECONDS USER SYSTEM                            since it was loaded
 *
 * PHASE is "open" until the process asks for its first decoder, then "first" until the thread has its first picture,
 * then "rest". Times are in seconds; BEGAN counts from when this was loaded. */
#include <ffnvcodec/dynlink_cuda.h>
#include <ffnvcodec/dynlink_nvcuvid.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define THREADS 256 /* later ones share the last number */
#define SLOW 16384  /* lines; what comes later is only counted */
#define SLOW_NS 1000000

/* clang-format off: a line for each function */
#define CALLS(X)                                                                                                       \
    X(cuInit, (unsigned flags), (flags))                                                                               \
    X(cuDriverGetVersion, (int *version), (version))                                                                   \
    X(cuDeviceGetCount, (int *count), (count))                                                                         \
    X(cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal))                                                \
    X(cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device), (value, attribute, device))   \
    X(cuDeviceGetName, (char *name, int length, CUdevice device), (name, length, device))                              \
    X(cuDeviceGetUuid, (CUuuid * uuid, CUdevice device), (uuid, device))                                               \
    X(cuDeviceComputeCapability, (int *major, int *minor, CUdevice device), (major, minor, device))                    \
    X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), (context, device))                             \
    X(cuDevicePrimaryCtxRelease, (CUdevice device), (device))                                                          \
    X(cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned flags), (device, flags))                                  \
    X(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active), (device, flags, active))            \
    X(cuCtxCreate_v2, (CUcontext * context, unsigned flags, CUdevice device), (context, flags, device))                \
    X(cuCtxDestroy_v2, (CUcontext context), (context))                                                                 \
    X(cuCtxPushCurrent_v2, (CUcontext context), (context))                                                             \
    X(cuCtxPopCurrent_v2, (CUcontext * context), (context))                                                            \
    X(cuCtxGetDevice, (CUdevice * device), (device))                                                                   \
    X(cuCtxSetLimit, (CUlimit limit, size_t value), (limit, value))                                                    \
    X(cuModuleLoadData, (CUmodule * module, const void *image), (module, image))                                       \
    X(cuModuleUnload, (CUmodule module), (module))                                                                     \
    X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name), (function, module, name))       \
    X(cuMemAlloc_v2, (CUdeviceptr * memory, size_t bytes), (memory, bytes))                                            \
    X(cuMemAllocPitch_v2, (CUdeviceptr * memory, size_t * pitch, size_t width, size_t height, unsigned element),       \
      (memory, pitch, width, height, element))                                                                         \
    X(cuMemFree_v2, (CUdeviceptr memory), (memory))                                                                    \
    X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags), (memory, bytes, flags))                           \
    X(cuMemFreeHost, (void *memory), (memory))                                                                         \
    X(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream),                           \
      (to, value, bytes, stream))                                                                                      \
    X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),                         \
      (to, from, bytes, stream))                                                                                       \
    X(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))    \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),                         \
      (to, from, bytes, stream))                                                                                       \
    X(cuMemcpy2D_v2, (const CUDA_MEMCPY2D *copy), (copy))                                                              \
    X(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream))                                \
    X(cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags))                                            \
    X(cuStreamDestroy_v2, (CUstream stream), (stream))                                                                 \
    X(cuStreamQuery, (CUstream stream), (stream))                                                                      \
    X(cuStreamSynchronize, (CUstream stream), (stream))                                                                \
    X(cuEventCreate, (CUevent * event, unsigned flags), (event, flags))                                                \
    X(cuEventDestroy_v2, (CUevent event), (event))                                                                     \
    X(cuEventRecord, (CUevent event, CUstream stream), (event, stream))                                                \
    X(cuEventQuery, (CUevent event), (event))                                                                          \
    X(cuEventSynchronize, (CUevent event), (event))                                                                    \
    X(cuLaunchKernel,                                                                                                  \
      (CUfunction function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y, unsigned block_z,  \
       unsigned shared, CUstream stream, void **arguments, void **extra),                                              \
      (function, x, y, z, block_x, block_y, block_z, shared, stream, arguments, extra))                                \
    X(cuvidGetDecoderCaps, (CUVIDDECODECAPS * caps), (caps))                                                           \
    X(cuvidCreateDecoder, (CUvideodecoder * decoder, CUVIDDECODECREATEINFO * info), (decoder, info))                   \
    X(cuvidDestroyDecoder, (CUvideodecoder decoder), (decoder))                                                        \
    X(cuvidReconfigureDecoder, (CUvideodecoder decoder, CUVIDRECONFIGUREDECODERINFO * info), (decoder, info))          \
    X(cuvidDecodePicture, (CUvideodecoder decoder, CUVIDPICPARAMS * picture), (decoder, picture))                      \
    X(cuvidGetDecodeStatus, (CUvideodecoder decoder, int picture, CUVIDGETDECODESTATUS *status),                       \
      (decoder, picture, status))                                                                                      \
    X(cuvidMapVideoFrame64,                                                                                            \
      (CUvideodecoder decoder, int picture, unsigned long long *address, unsigned *pitch, CUVIDPROCPARAMS *process),   \
      (decoder, picture, address, pitch, process))                                                                     \
    X(cuvidUnmapVideoFrame64, (CUvideodecoder decoder, unsigned long long address), (decoder, address))                \
    X(cuvidCreateVideoParser, (CUvideoparser * parser, CUVIDPARSERPARAMS * parameters), (parser, parameters))          \
    X(cuvidParseVideoData, (CUvideoparser parser, CUVIDSOURCEDATAPACKET * packet), (parser, packet))                   \
    X(cuvidDestroyVideoParser, (CUvideoparser parser), (parser))
/* clang-format on */

enum call {
#define CALL(name, parameters, arguments) CALL_##name,
    CALLS(CALL) CALLS_ALL
};

static const char *const names[CALLS_ALL] = {
#define NAME(name, parameters, arguments) #name,
    CALLS(NAME)};

enum phase { OPEN, FIRST, REST, PHASES };

static const char *const phase_names[PHASES] = {"open", "first", "rest"};

struct cell {
    int64_t calls, ns, system_us, longest_ns;
};

struct slow {
    int64_t began_ns, ns;
    int thread, call;
};

/* A call that goes on. */
struct span {
    enum phase phase;
    int64_t began_ns, system_us;
    int64_t before_ns, before_system_us; /* the thread's sums of nested calls when it began */
};

static uintptr_t real[CALLS_ALL]; /* the driver's functions */
static struct cell cells[THREADS][PHASES][CALLS_ALL];
static struct slow slow[SLOW];
static atomic_int threads, slows;
static atomic_bool decoders_asked; /* for the first one */
static int64_t loaded_ns;
static _Atomic int64_t first_ns; /* when the first picture came, or 0 */
static __thread int thread = -1;
static __thread bool has_picture;
static __thread int64_t nested_ns, nested_system_us; /* of the calls that ended within the one that goes on */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t system_us(int who)
{
    struct rusage used;
    getrusage(who, &used);
    return (int64_t)used.ru_stime.tv_sec * 1000000 + used.ru_stime.tv_usec;
}

static struct span span_begin(enum call call)
{
    if (thread < 0) {
        thread = atomic_fetch_add(&threads, 1);
        thread = thread < THREADS ? thread : THREADS - 1;
    }
    if (call == CALL_cuvidCreateDecoder)
        atomic_store(&decoders_asked, true);
    enum phase phase = !atomic_load(&decoders_asked) ? OPEN : has_picture ? REST : FIRST;
    struct span span = {.phase = phase, .before_ns = nested_ns, .before_system_us = nested_system_us};
    nested_ns = nested_system_us = 0;
    span.system_us = system_us(RUSAGE_THREAD);
    span.began_ns = now_ns();
    return span;
}

static void span_end(enum call call, const struct span *span)
{
    int64_t all_ns = now_ns() - span->began_ns, all_system_us = system_us(RUSAGE_THREAD) - span->system_us;
    int64_t ns = all_ns - nested_ns;
    struct cell *cell = &cells[thread][span->phase][call];
    cell->calls++;
    cell->ns += ns;
    cell->system_us += all_system_us - nested_system_us;
    nested_ns = span->before_ns + all_ns;
    nested_system_us = span->before_system_us + all_system_us;
    cell->longest_ns = ns > cell->longest_ns ? ns : cell->longest_ns;
    if (call == CALL_cuvidMapVideoFrame64 && !has_picture) {
        int64_t none = 0;
        has_picture = true;
        (void)atomic_compare_exchange_strong(&first_ns, &none, span->began_ns + all_ns);
    }
    int at = ns >= SLOW_NS ? atomic_fetch_add(&slows, 1) : SLOW;
    if (at < SLOW)
        slow[at] = (struct slow){span->began_ns, ns, thread, call};
}

#define TRACED(name, parameters, arguments)                                                                            \
    typedef CUresult type_of_##name parameters;                                                                        \
    static CUresult traced_##name parameters                                                                           \
    {                                                                                                                  \
        const struct span span = span_begin(CALL_##name);                                                              \
        CUresult result = ((type_of_##name *)real[CALL_##name])arguments;                                              \
        span_end(CALL_##name, &span);                                                                                  \
        return result;                                                                                                 \
    }
CALLS(TRACED)

static uintptr_t traced_address(enum call call)
{
    switch (call) {
#define ADDRESS(name, parameters, arguments)                                                                           \
    case CALL_##name:                                                                                                  \
        return (uintptr_t)traced_##name;
        CALLS(ADDRESS)
    default:
        return 0;
    }
}

/* --- what the dynamic linker calls -------------------------------------------------------------------------------- */

unsigned la_version(unsigned version)
{
    loaded_ns = now_ns();
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    const char *slash = strrchr(map->l_name, '/'), *name = slash ? slash + 1 : map->l_name;
    (void)space;
    bool driver = !strncmp(name, "libcuda.so", 10) || !strncmp(name, "libnvcuvid.so", 13);
    *cookie = driver;
    return driver ? LA_FLG_BINDTO : LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
                       const char *name)
{
    (void)index;
    (void)to;
    (void)flags;
    for (int i = 0; i < CALLS_ALL && !*from; i++) {
        if (!strcmp(names[i], name)) {
            real[i] = symbol->st_value;
            return traced_address(i);
        }
    }
    return symbol->st_value;
}

/* --- the report --------------------------------------------------------------------------------------------------- */

static void cell_print(FILE *file, const struct cell *c, enum phase phase, int call)
{
    fprintf(file, "%s\t%s\t%lld\t%.6f\t%.6f\t%.6f\n", names[call], phase_names[phase], (long long)c->calls,
            (double)c->ns / 1e9, (double)c->system_us / 1e6, (double)c->longest_ns / 1e9);
}

static void print_sum(FILE *file, enum phase phase, int call)
{
    struct cell sum = {0};
    for (int i = 0; i < THREADS; i++) {
        const struct cell *c = &cells[i][phase][call];
        sum.calls += c->calls;
        sum.ns += c->ns;
        sum.system_us += c->system_us;
        sum.longest_ns = c->longest_ns > sum.longest_ns ? c->longest_ns : sum.longest_ns;
    }
    if (!sum.calls)
        return;
    fprintf(file, "call\t");
    cell_print(file, &sum, phase, call);
}

static void print_thread(FILE *file, int number)
{
    for (int phase = 0; phase < PHASES; phase++) {
        for (int call = 0; call < CALLS_ALL; call++) {
            if (!cells[number][phase][call].calls)
                continue;
            fprintf(file, "thread\t%d\t", number);
            cell_print(file, &cells[number][phase][call], phase, call);
        }
    }
}

static void print_all(FILE *file)
{
    struct rusage used;
    for (int phase = 0; phase < PHASES; phase++) {
        for (int call = 0; call < CALLS_ALL; call++)
            print_sum(file, phase, call);
    }
    for (int i = 0; i < THREADS; i++)
        print_thread(file, i);
    for (int i = 0; i < slows && i < SLOW; i++)
        fprintf(file, "slow\t%.6f\t%d\t%s\t%.6f\n", (double)(slow[i].began_ns - loaded_ns) / 1e9, slow[i].thread,
                names[slow[i].call], (double)slow[i].ns / 1e9);
    if (first_ns)
        fprintf(file, "first\t%.6f\n", (double)(first_ns - loaded_ns) / 1e9);
    getrusage(RUSAGE_SELF, &used);
    fprintf(file, "process\t%.6f\t%.6f\t%.6f\n", (double)(now_ns() - loaded_ns) / 1e9,
            (double)used.ru_utime.tv_sec + (double)used.ru_utime.tv_usec / 1e6, (double)system_us(RUSAGE_SELF) / 1e6);
}

__attribute__((destructor)) static void trace_end(void)
{
    const char *path = getenv("GPU_TRACE");
    FILE *file = threads && path && *path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    print_all(file);
    fclose(file);
}
