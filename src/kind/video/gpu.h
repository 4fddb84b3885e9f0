/* What is asked of a GPU, as a table of functions: nvdec.c does it with CUDA and FFmpeg's cuda hwaccel; a test does it
 * with the processor, so that all that stands above can be tested without a GPU.
 *
 * A *queue* is one worker's way through a GPU: a queue of its own, in which what is asked for happens in order, while
 * the caller goes on. Functions return 0, or BL_EFAIL where the GPU failed; BL_GPU_FULL: its memory does not suffice.
 */
#ifndef BL_GPU_H
#define BL_GPU_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "kind/video/nv12_rgb.h"

#define BL_GPU_FULL 1
#define BL_GPU_EVENTS 4 /* of a queue */

struct bl_gpu; /* the GPUs that a process uses */
struct bl_gpu_queue;

/* What decides whether a GPU can decode a stream. */
struct bl_gpu_stream {
    enum AVCodecID codec;
    enum AVPixelFormat format; /* of the pictures, as a decoder on the processor gives them */
    int width, height;         /* as coded */
};

enum bl_gpu_memory {
    BL_GPU_OWN,    /* the GPU's */
    BL_GPU_PINNED, /* the machine's, where the GPU copies to while both go on */
};

struct bl_gpu_functions {
    /* Whether each of the GPUs decodes such a stream, by what it says of itself: 1, 0, or BL_EFAIL. By any thread. */
    int (*can_decode)(struct bl_gpu *gpu, const struct bl_gpu_stream *stream, bool *can, struct bl_error *e);

    /* A queue on one of the GPUs, which take turns. Called by the worker; every other function too. */
    int (*open)(struct bl_gpu *gpu, struct bl_gpu_queue **queue, struct bl_error *e);
    void (*close)(struct bl_gpu_queue *queue);

    int (*alloc)(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, size_t bytes, void **memory, struct bl_error *e);
    void (*free)(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, void *memory); /* NULL is fine */

    /* To be queued: bytes to the GPU (from has been read when it returns), zeros, a picture (nv12_rgb.h), and bytes
     * back, which have arrived when a later mark has passed. */
    int (*upload)(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e);
    int (*clear)(struct bl_gpu_queue *queue, void *to, size_t bytes, struct bl_error *e);
    int (*draw)(struct bl_gpu_queue *queue, const struct bl_nv12_rgb *picture, struct bl_error *e);
    int (*download)(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e);

    /* Puts mark 0...BL_GPU_EVENTS - 1 behind all that was queued; waits until what stands before it is done. */
    int (*record)(struct bl_gpu_queue *queue, int mark, struct bl_error *e);
    int (*wait)(struct bl_gpu_queue *queue, int mark, struct bl_error *e);

    /* A codec context, opened, whose frames lie in the GPU's memory (or are AV_PIX_FMT_NV12, P010LE, P016LE ones). The
     * hardware's decoder is made with the first packet. BL_EDATA: no such decoder. */
    int (*open_codec)(struct bl_gpu_queue *queue, const AVCodecParameters *parameters, AVCodecContext **codec,
                      struct bl_error *e);
    void (*close_codec)(struct bl_gpu_queue *queue, AVCodecContext **codec);

    /* What an error of the decoder comes from: 0, the content; BL_EDATA, the content, which the GPU cannot decode (the
     * reason in e); BL_GPU_FULL; BL_EFAIL. refused: it was the driver that took something ill. */
    int (*diagnose)(struct bl_gpu_queue *queue, const AVCodecContext *codec, bool refused, struct bl_error *e);
};

#endif
