/* The operations of a GPU as a table of functions, and that table for NVIDIA's GPUs.
 *
 * FFmpeg's cuda hwaccel decodes, not the driver's video library by itself: parsing, order, times, cropping and
 * counting are then the same code as on the processor. The hardware decoder belongs to the codec context, so files of
 * H.264 are spliced to share one (gpu_pool.h). */
#ifndef BL_GPU_H
#define BL_GPU_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "kind/video/nv12_rgb.h"

/* --- operations of a GPU ------------------------------------------------------------------------------------------ */

/* The table lets a unit test implement the operations on the processor, so that the code that calls them can be tested
 * without a GPU. nvdec.c implements them with CUDA and FFmpeg's cuda hwaccel.
 *
 * A *queue* belongs to one GPU worker (gpu_pool.h). Its operations run in order, while the caller continues.
 * Functions return 0, BL_EFAIL if the GPU failed, or BL_GPU_FULL if its memory is not enough. */

#define BL_GPU_FULL 1
#define BL_GPU_EVENTS 4 /* of a queue */

struct bl_gpu; /* the GPUs that a process uses */
struct bl_gpu_queue;

/* The properties that decide whether a GPU can decode a stream. */
struct bl_gpu_stream {
    enum AVCodecID codec;
    enum AVPixelFormat format; /* of the frames that a decoder on the processor gives */
    int width, height;         /* as coded */
};

enum bl_gpu_memory {
    BL_GPU_OWN,    /* the GPU's */
    BL_GPU_PINNED, /* page-locked host memory, which the GPU can copy to in the background */
};

struct bl_gpu_functions {
    /* Whether all GPUs report that they can decode such a stream. Any thread may call it. */
    int (*can_decode)(struct bl_gpu *gpu, const struct bl_gpu_stream *stream, bool *can, struct bl_error *e);

    /* The number of engines that decode, of all GPUs together; 0: unknown. Any thread may call it. */
    int (*engines)(struct bl_gpu *gpu, int *engines, struct bl_error *e);

    /* Opens a queue on one of the GPUs, in turn. This and all other functions are called by one
     * thread at a time. */
    int (*open)(struct bl_gpu *gpu, struct bl_gpu_queue **queue, struct bl_error *e);
    void (*close)(struct bl_gpu_queue *queue);

    int (*alloc)(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, size_t bytes, void **memory, struct bl_error *e);
    void (*free)(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, void *memory); /* NULL is fine */

    /* Queue a copy to the GPU (from may be reused at once), a fill with zeros, the drawing of a picture (nv12_rgb.h),
     * or a copy from the GPU (complete when an event recorded later has passed). */
    int (*upload)(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e);
    int (*clear)(struct bl_gpu_queue *queue, void *to, size_t bytes, struct bl_error *e);
    int (*draw)(struct bl_gpu_queue *queue, const struct bl_nv12_rgb *picture, struct bl_error *e);
    int (*download)(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e);

    /* Records event 0...BL_GPU_EVENTS - 1 after everything queued so far; waits until the event has passed. */
    int (*record)(struct bl_gpu_queue *queue, int event, struct bl_error *e);
    int (*wait)(struct bl_gpu_queue *queue, int event, struct bl_error *e);

    /* Opens a codec context whose frames are in the GPU's memory (or are AV_PIX_FMT_NV12, P010LE or P016LE). The
     * hardware decoder is created with the first packet. BL_EDATA: there is no decoder. */
    int (*open_codec)(struct bl_gpu_queue *queue, const AVCodecParameters *parameters, AVCodecContext **codec,
                      struct bl_error *e);
    void (*close_codec)(struct bl_gpu_queue *queue, AVCodecContext **codec);

    /* Finds the cause of a decoder error. 0: damaged content; BL_EDATA: content that the GPU cannot decode (the reason
     * is in e); BL_GPU_FULL; BL_EFAIL. refused: the driver reported the error. */
    int (*diagnose)(struct bl_gpu_queue *queue, const AVCodecContext *codec, bool refused, struct bl_error *e);
};

/* --- NVIDIA GPUs -------------------------------------------------------------------------------------------------- */

/* Uses CUDA and NVDEC, through FFmpeg's cuda hwaccel; builds without CUDA have nvdec_none.c instead. Neither the
 * driver nor its video library is linked: both are loaded when GPUs are first asked for. */

extern const struct bl_gpu_functions bl_nvdec_functions;

/* Opens the GPUs that `which` names ("all", or numbers: "0,2"). BL_EUSAGE: it is malformed, or names one that does not
 * exist; BL_EFAIL: there is no usable GPU (the reason is in e). */
int bl_nvdec_open(struct bl_gpu **gpu, const char *which, struct bl_error *e);
void bl_nvdec_close(struct bl_gpu *gpu); /* NULL is fine; close all queues first */

/* The version of CUDA that compiled the kernel: 13000 for 13.0; 0 without CUDA. */
int bl_nvdec_version(void);

#endif
