/* Declares the operations of a GPU as a table of functions, and the table for NVIDIA's GPUs. */
#ifndef BL_GPU_H
#define BL_GPU_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "kind/gpu_times.h"
#include "kind/video/nv12_rgb.h"

/* --- operations of a GPU ------------------------------------------------------------------------------------------ */

/* nvdec.c implements the table with CUDA and NVDEC. A unit test implements it on the processor, so that
 * its callers can be tested without a GPU.
 *
 * A *queue* belongs to one GPU worker (gpu_pool.h). The GPU runs the operations of a queue in order, while the caller
 * continues. Functions return 0, BL_EFAIL if the GPU failed, or BL_GPU_FULL if the GPU's memory is not enough. */

#define BL_GPU_FULL 1
#define BL_GPU_EVENTS 8 /* events of a queue */

struct bl_gpu; /* the GPUs that a process uses */
struct bl_gpu_queue;

/* The properties that decide whether a GPU can decode a stream. */
struct bl_gpu_stream {
    enum AVCodecID codec;
    enum AVPixelFormat format; /* of the frames that a decoder on the processor gives */
    int width, height;         /* as coded */
};

/* The properties of a decoded picture. */
struct bl_gpu_picture {
    int sequence;     /* the number of its sequence: a header that differs from the one before begins another; from 0 */
    int64_t pts;      /* of its packet, in ticks; AV_NOPTS_VALUE: unknown */
    int64_t duration; /* of its packet, in ticks; 0: unknown */
    bool discard;     /* its packet has AV_PKT_FLAG_DISCARD */
    bool concealed;   /* the decoder concealed damage in it */
    int left, top, width, height; /* the part that is shown, by the stream's header, in pixels */
};

enum bl_gpu_memory {
    BL_GPU_OWN,    /* the GPU's */
    BL_GPU_PINNED, /* page-locked host memory, which the GPU can copy to in the background */
};

struct bl_gpu_functions {
    /* Sets *can to whether all GPUs report that they can decode such a stream. Any thread may call it. */
    int (*can_decode)(struct bl_gpu *gpu, const struct bl_gpu_stream *stream, bool *can, struct bl_error *e);

    /* Sets *engines to the number of decoding engines of all GPUs together; 0: unknown. Any thread may call it. */
    int (*engines)(struct bl_gpu *gpu, int *engines, struct bl_error *e);

    /* Opens a queue on one of the GPUs, in turn. From here on, one thread at a time calls the functions of a queue. */
    int (*open)(struct bl_gpu *gpu, struct bl_gpu_queue **queue, struct bl_error *e);
    void (*close)(struct bl_gpu_queue *queue);

    int (*alloc)(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, size_t bytes, void **memory, struct bl_error *e);
    void (*free)(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, void *memory); /* NULL is fine */

    /* These four queue an operation: a copy to the GPU (the caller may reuse `from` at once), a fill with zeros, the
     * drawing of a picture (nv12_rgb.h), and a copy from the GPU, which is complete when an event that is recorded
     * after it has passed. */
    int (*upload)(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e);
    int (*clear)(struct bl_gpu_queue *queue, void *to, size_t bytes, struct bl_error *e);
    int (*draw)(struct bl_gpu_queue *queue, const struct bl_nv12_rgb *picture, struct bl_error *e);
    int (*download)(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e);

    /* `record` places an event (0...BL_GPU_EVENTS - 1) after everything queued so far. `wait` blocks until the GPU has
     * passed the event. */
    int (*record)(struct bl_gpu_queue *queue, int event, struct bl_error *e);
    int (*wait)(struct bl_gpu_queue *queue, int event, struct bl_error *e);

    /* Begins to decode a stream with the queue's decoder; a queue decodes one stream at a time. `end` ends it, and
     * drops the pictures that were not received. Frames must be released before `end`. BL_EDATA: the GPU has no decoder
     * for the codec, or the header is damaged. */
    int (*begin)(struct bl_gpu_queue *queue, const AVCodecParameters *parameters, struct bl_error *e);
    void (*end)(struct bl_gpu_queue *queue);

    /* Sends the stream's next packet, beginning with one at which decoding can begin; NULL after the last one. Receive
     * all pictures before the next packet. *refused: how often the decoder refused content as damaged. BL_EDATA: the
     * GPU cannot decode such content. */
    int (*send)(struct bl_gpu_queue *queue, const AVPacket *packet, int *refused, struct bl_error *e);

    /* Takes the next picture in the order in which pictures are shown, or returns false if the decoder needs another
     * packet. The frame must be empty; it gets the coded size, a format of bl_nv12_has_format (readback.h), and
     * pointers into the GPU's memory; its other properties are not set. The caller releases it with av_frame_unref. */
    bool (*receive)(struct bl_gpu_queue *queue, AVFrame *frame, struct bl_gpu_picture *picture);

    /* Destroys the idle hardware decoders of the queue to free the GPU's memory, and returns their number. */
    int (*evict)(struct bl_gpu_queue *queue);
};

/* --- NVIDIA GPUs -------------------------------------------------------------------------------------------------- */

/* nvdec.c uses CUDA and NVDEC; builds without CUDA have nvdec_none.c instead. The driver and its video library are not
 * linked: bl_nvdec_open loads them. */

extern const struct bl_gpu_functions bl_nvdec_functions;

/* Opens the GPUs that `which` names ("all", or numbers such as "0,2"). BL_EUSAGE: the text is malformed, or names a GPU
 * that does not exist; BL_EFAIL: there is no usable GPU (e has the reason). */
int bl_nvdec_open(struct bl_gpu **gpu, const char *which, struct bl_error *e);
void bl_nvdec_close(struct bl_gpu *gpu); /* NULL is fine; close all queues first */

/* Adds the GPUs and the hardware decoders that were opened so far. Any thread may call it. */
void bl_nvdec_add_times(const struct bl_gpu *gpu, struct bl_gpu_times *times);

/* Returns the version of CUDA that compiled the kernel, such as 13000 for 13.0, or 0 in a build without CUDA. */
int bl_nvdec_version(void);

#endif
