/* Test doubles of the driver's two libraries, libcuda.so.1 and libnvcuvid.so.1, for machines without a GPU: with
 * LD_LIBRARY_PATH on their folder, FFmpeg's cuda hwaccel and all that stands above it run as they are.
 *
 * They are harder on their callers than a GPU is. What is put into a stream happens when somebody waits for it, and not
 * before; memory is known by its bounds, its context and its owner; what is used wrongly is refused and noted. What a
 * decoder "decodes" is what FFmpeg's decoder on the processor makes of it, for pictures that the parser found
 * (fake_parser.c), and for others a pure function of the bytes that it was given (fake_picture.c). The environment:
 *
 *     FAKE_GPUS=2              devices, 1 by default
 *     FAKE_VERSION=11080       of CUDA, 13000 by default
 *     FAKE_MEMORY=BYTES        of each device
 *     FAKE_DECODERS=3          that can be open at once
 *     FAKE_FAIL=NAME:N[,...]   the Nth call of that function (its name without _v2) fails, with FAKE_FAIL_CODE (999:
 *                              unknown; 2: out of memory); with FAKE_LOST=1 all calls behind it fail, too
 *     FAKE_ENGINES=7           of each device, 1 by default
 *     FAKE_COSTS=NAME:US[,...] what a call of that function takes, in microseconds, and nothing else goes on meanwhile;
 *                              "last": what destroying the last decoder takes besides; "picture": what an engine takes
 *                              for one, which is waited for when it is mapped. With costs nothing is drawn, and the
 *                              parser decodes little more than headers, so that these are all that takes time
 *     FAKE_REPORT=FILE         what was used, written at the end: lines "NAME TOTAL NOW MOST", "wrong WORDS" and
 *                              "calls NAME NUMBER" */
#ifndef FAKE_H
#define FAKE_H

#include <ffnvcodec/dynlink_cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of CUDA's errors the header has but a few. */
#define CUDA_ERROR_INVALID_VALUE ((CUresult)1)
#define CUDA_ERROR_OUT_OF_MEMORY ((CUresult)2)
#define CUDA_ERROR_NOT_INITIALIZED ((CUresult)3)
#define CUDA_ERROR_NO_DEVICE ((CUresult)100)
#define CUDA_ERROR_INVALID_DEVICE ((CUresult)101)
#define CUDA_ERROR_INVALID_IMAGE ((CUresult)200)
#define CUDA_ERROR_INVALID_CONTEXT ((CUresult)201)
#define CUDA_ERROR_INVALID_HANDLE ((CUresult)400)
#define CUDA_ERROR_NOT_FOUND ((CUresult)500)
#define CUDA_ERROR_ILLEGAL_ADDRESS ((CUresult)700)
#define CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE ((CUresult)708)
#define CUDA_ERROR_CONTEXT_IS_DESTROYED ((CUresult)709)
#define CUDA_ERROR_NOT_SUPPORTED ((CUresult)801)

#define FAKE_GPUS_MAX 8

struct AVFrame;

/* --- calls: fake_call.c ------------------------------------------------------------------------------------------- */

/* Every function of the API is between these two, under one lock. What begin returns is the result, unless it is
 * success: the card was lost, or this is the call that is to fail. */
CUresult fake_begin(const char *function);
CUresult fake_end(CUresult result);

/* Notes that the caller is wrong, and returns the error. */
CUresult fake_wrong(CUresult error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Everything fails from now on, as when a kernel reads where nothing is. */
void fake_lose(CUresult error);

/* What FAKE_COSTS says of that name, or 0; whether pictures are drawn; the time, in microseconds. */
int64_t fake_cost(const char *name);
bool fake_draws(void);
int64_t fake_clock(void);
void fake_sleep(int64_t us);

enum fake_count {
    FAKE_CONTEXTS, /* made, and retained */
    FAKE_MEMORY,   /* bytes of the devices */
    FAKE_PINNED,   /* bytes of the machine's */
    FAKE_STREAMS,
    FAKE_EVENTS,
    FAKE_MODULES,
    FAKE_COPIES,
    FAKE_LAUNCHES,
    FAKE_DECODERS,
    FAKE_RECONFIGURED, /* how often */
    FAKE_PICTURES,
    FAKE_MAPS,
    FAKE_PARSERS,
    FAKE_WRONG,
    FAKE_COUNTS
};

void fake_count(enum fake_count which, int64_t more);
int64_t fake_now(enum fake_count which);

/* A number of the environment. */
int64_t fake_option(const char *name, int64_t otherwise);

/* --- contexts: fake_context.c ---------------------------------------------------------------------------------------
 */

struct CUctx_st {
    struct CUctx_st *next;
    int device, retained;
    unsigned flags;
    bool alive;
    struct CUstream_st *own; /* the stream named NULL */
};

/* That of the thread; an error where it has none, or one that is no more. */
CUresult fake_context(CUcontext *context);
/* As fake_begin, for what needs a context. */
CUresult fake_begin_in(const char *function, CUcontext *context);

/* --- memory: fake_memory.c ------------------------------------------------------------------------------------------
 */

enum fake_kind { FAKE_DEVICE, FAKE_HOST, FAKE_UNCOUNTED /* a device's, of what was reserved */ };

CUresult fake_memory_take(CUcontext context, enum fake_kind kind, size_t bytes, void **memory);
CUresult fake_memory_drop(CUcontext context, enum fake_kind kind, void *memory);
/* Counts bytes of the device's memory as taken (or given back, where negative), and gives none. */
CUresult fake_memory_reserve(CUcontext context, int64_t bytes);
/* Whoever reads or writes closed memory is wrong. */
void fake_memory_close(const void *memory, bool closed);
/* Whether the device can use these bytes of its memory. */
bool fake_memory_holds(CUcontext context, const void *from, size_t bytes);
bool fake_memory_pinned(const void *from, size_t bytes);

/* --- streams: fake_stream.c -----------------------------------------------------------------------------------------
 */

/* What is to be done when its turn comes; an error loses the card. */
typedef CUresult fake_work(void *data);

/* The stream of a handle, which must be the context's. */
CUresult fake_stream(CUcontext context, CUstream handle, CUstream *stream);
/* Queues work, with a copy of its data. */
CUresult fake_stream_add(CUstream stream, fake_work *work, const void *data, size_t bytes);
void fake_stream_drain(CUstream stream);
void fake_streams_drain(CUcontext context);

/* --- pictures: fake_picture.c ---------------------------------------------------------------------------------------
 */

/* Fills a surface, NV12 or with depth > 8 P016, with the picture of that hash; its chroma lies behind as many rows of
 * luma as there are, rounded up to an even number. */
void fake_picture_draw(uint64_t hash, uint8_t *surface, size_t pitch, int width, int height, int depth);
uint64_t fake_picture_hash(uint64_t begin, const uint8_t *bytes, size_t count);

/* Fills a surface with a frame of the processor's decoder: YUV 4:2:0 or 4:4:4 of up to 12 bits, planar. What lies
 * beyond it repeats its edge. Of 4:4:4 each of the three planes has an even number of rows. */
void fake_picture_copy(const struct AVFrame *frame, uint8_t *surface, size_t pitch, int width, int height);

/* --- parser: fake_parser.c ------------------------------------------------------------------------------------------
 */

/* A picture that a parser has found. The parser and the decoders' surfaces share it. */
struct fake_coded;

/* The picture that the thread's decode callback is about; NULL: the thread is in none. */
struct fake_coded *fake_parser_decoding(void);
/* One more who has it, and one less. */
struct fake_coded *fake_coded_keep(struct fake_coded *coded);
void fake_coded_drop(struct fake_coded *coded);
/* Its frame; NULL until the parser shows it. */
const struct AVFrame *fake_coded_frame(const struct fake_coded *coded);

#endif
