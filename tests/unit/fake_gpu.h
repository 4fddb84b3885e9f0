/* A GPU that is none: struct bl_gpu_functions over the processor. Its memory is counted, copies back arrive only when
 * they are waited for, and any call can be made to fail. Its decoders are FFmpeg's own, for streams whose pictures are
 * surfaces already: raw video. What they say beside pixels and times is wrong, as a GPU does not say it. */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include "kind/media/compat.h"
#include "kind/video/geometry.h"
#include "kind/video/gpu.h"
#include "unit.h"

#define FAKE_COPIES 64

struct bl_gpu {
    int can_decode;             /* the answer */
    int calls, fail;            /* of all functions that can fail; number fail of them does, from 1; 0: none */
    int full;                   /* so many of the next packets find no room on the GPU for a decoder */
    int queues, streams;        /* open */
    int idle;                   /* decoders that a stream has left */
    int memory;                 /* pieces taken */
    int drawn, begun;           /* so far */
    struct bl_gpu_stream asked; /* what can was asked last */
};

struct bl_gpu_queue {
    struct bl_gpu *gpu;
    struct {
        void *to;
        const void *from;
        size_t bytes;
        int event; /* that stands behind it; -1: none yet */
    } copy[FAKE_COPIES];
    int copies;
    int set[BL_GPU_EVENTS];
    AVCodecContext *codec; /* of the stream */
};

static int fake_fails(struct bl_gpu *gpu, struct bl_error *e)
{
    return ++gpu->calls == gpu->fail ? bl_error_set(e, BL_EFAIL, "GPU 0 is lost") : BL_OK;
}

static int fake_can(struct bl_gpu *gpu, const struct bl_gpu_stream *stream, bool *can, struct bl_error *e)
{
    gpu->asked = *stream;
    *can = gpu->can_decode;
    return fake_fails(gpu, e);
}

static int fake_engines(struct bl_gpu *gpu, int *engines, struct bl_error *e)
{
    *engines = 1;
    return fake_fails(gpu, e);
}

static int fake_open(struct bl_gpu *gpu, struct bl_gpu_queue **queue, struct bl_error *e)
{
    int code = fake_fails(gpu, e);
    if (code)
        return code;
    *queue = calloc(1, sizeof **queue);
    (*queue)->gpu = gpu;
    gpu->queues++;
    return BL_OK;
}

static void fake_close(struct bl_gpu_queue *queue)
{
    queue->gpu->queues--;
    free(queue);
}

static int fake_take(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, size_t bytes, void **memory,
                     struct bl_error *e)
{
    (void)kind;
    int code = fake_fails(queue->gpu, e);
    if (code)
        return code;
    *memory = malloc(bytes);
    memset(*memory, 0x77, bytes);
    queue->gpu->memory++;
    return BL_OK;
}

static void fake_drop(struct bl_gpu_queue *queue, enum bl_gpu_memory kind, void *memory)
{
    (void)kind;
    queue->gpu->memory -= memory != NULL;
    free(memory);
}

static int fake_upload(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e)
{
    int code = fake_fails(queue->gpu, e);
    if (!code)
        memcpy(to, from, bytes);
    return code;
}

static int fake_clear(struct bl_gpu_queue *queue, void *to, size_t bytes, struct bl_error *e)
{
    int code = fake_fails(queue->gpu, e);
    if (!code)
        memset(to, 0, bytes);
    return code;
}

static int fake_draw(struct bl_gpu_queue *queue, const struct bl_nv12_rgb *picture, struct bl_error *e)
{
    int code = fake_fails(queue->gpu, e);
    if (code)
        return code;
    bl_nv12_rgb_host(picture);
    queue->gpu->drawn++;
    return BL_OK;
}

static int fake_download(struct bl_gpu_queue *queue, void *to, const void *from, size_t bytes, struct bl_error *e)
{
    int code = fake_fails(queue->gpu, e);
    if (code)
        return code;
    ck_assert_int_lt(queue->copies, FAKE_COPIES);
    queue->copy[queue->copies].to = to;
    queue->copy[queue->copies].from = from;
    queue->copy[queue->copies].bytes = bytes;
    queue->copy[queue->copies++].event = -1;
    return BL_OK;
}

static int fake_mark(struct bl_gpu_queue *queue, int mark, struct bl_error *e)
{
    int code = fake_fails(queue->gpu, e);
    ck_assert(mark >= 0 && mark < BL_GPU_EVENTS);
    queue->set[mark] = queue->copies;
    return code;
}

/* What stands before the mark happens now. */
static int fake_wait(struct bl_gpu_queue *queue, int mark, struct bl_error *e)
{
    int code = fake_fails(queue->gpu, e), count = queue->set[mark];
    if (code)
        return code;
    for (int i = 0; i < count; i++)
        memcpy(queue->copy[i].to, queue->copy[i].from, queue->copy[i].bytes);
    memmove(queue->copy, queue->copy + count, (size_t)(queue->copies - count) * sizeof *queue->copy);
    queue->copies -= count;
    for (int i = 0; i < BL_GPU_EVENTS; i++)
        queue->set[i] = queue->set[i] > count ? queue->set[i] - count : 0;
    return BL_OK;
}

static int fake_begin_stream(struct bl_gpu_queue *queue, const AVCodecParameters *parameters, struct bl_error *e)
{
    int code = fake_fails(queue->gpu, e);
    if (code)
        return code;
    const AVCodec *decoder = avcodec_find_decoder(parameters->codec_id);
    ck_assert_ptr_null(queue->codec);
    queue->codec = avcodec_alloc_context3(decoder);
    ck_assert_int_ge(avcodec_parameters_to_context(queue->codec, parameters), 0);
    queue->codec->thread_count = 1;
    queue->codec->max_pixels = BL_AREA_MAX;
    ck_assert_int_ge(avcodec_open2(queue->codec, decoder, NULL), 0);
    queue->gpu->streams++;
    queue->gpu->begun++;
    return BL_OK;
}

static void fake_end_stream(struct bl_gpu_queue *queue)
{
    queue->gpu->streams--;
    queue->gpu->idle = 1;
    avcodec_free_context(&queue->codec);
}

static int fake_send(struct bl_gpu_queue *queue, const AVPacket *packet, int *refused, struct bl_error *e)
{
    struct bl_gpu *gpu = queue->gpu;
    int code = fake_fails(gpu, e);
    *refused = 0;
    if (!code && gpu->full > 0) {
        gpu->full--;
        return BL_GPU_FULL;
    }
    if (!code)
        *refused = avcodec_send_packet(queue->codec, packet) < 0;
    return code;
}

static bool fake_receive(struct bl_gpu_queue *queue, AVFrame *frame, struct bl_gpu_picture *picture)
{
    if (avcodec_receive_frame(queue->codec, frame) < 0)
        return false;
    *picture = (struct bl_gpu_picture){.pts = frame->best_effort_timestamp,
                                       .duration = bl_compat_duration(frame),
                                       .width = frame->width,
                                       .height = frame->height};
    frame->color_range = AVCOL_RANGE_UNSPECIFIED;
    frame->colorspace = AVCOL_SPC_YCGCO;
    frame->pts = frame->best_effort_timestamp = 77;
    return true;
}

static int fake_evict(struct bl_gpu_queue *queue)
{
    int idle = queue->gpu->idle;
    queue->gpu->idle = 0;
    return idle;
}

static const struct bl_gpu_functions fake_functions = {
    .can_decode = fake_can,
    .engines = fake_engines,
    .open = fake_open,
    .close = fake_close,
    .alloc = fake_take,
    .free = fake_drop,
    .upload = fake_upload,
    .clear = fake_clear,
    .draw = fake_draw,
    .download = fake_download,
    .record = fake_mark,
    .wait = fake_wait,
    .begin = fake_begin_stream,
    .end = fake_end_stream,
    .send = fake_send,
    .receive = fake_receive,
    .evict = fake_evict,
};

/* A GPU that can do everything and fails nowhere. */
static void fake_begin(struct bl_gpu *gpu)
{
    *gpu = (struct bl_gpu){.can_decode = 1};
}

/* Everything that was taken was given back. */
static void fake_end(const struct bl_gpu *gpu)
{
    ck_assert_int_eq(gpu->queues, 0);
    ck_assert_int_eq(gpu->streams, 0);
    ck_assert_int_eq(gpu->memory, 0);
}

#endif
