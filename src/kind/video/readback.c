#include "kind/video/readback.h"

#include <string.h>

#define LOT_BYTES ((size_t)2 << 20)     /* copies of this size run at the bus's full speed */
#define EVENT_DRAWN BL_READBACK_BATCHES /* the last surface is drawn; events before it: a batch has arrived */

_Static_assert(EVENT_DRAWN < BL_GPU_EVENTS, "an event for each batch, and one more");

static int readback_alloc(const struct bl_readback *p, enum bl_gpu_memory kind, size_t bytes, void **memory,
                          struct bl_error *e)
{
    int code = p->gpu->alloc(p->queue, kind, bytes, memory, e);
    if (code == BL_GPU_FULL)
        return bl_error_set(e, BL_EFAIL, "the GPU's memory is not enough for pictures: use a smaller -j");
    return code;
}

int bl_readback_open(struct bl_readback *p, const struct bl_gpu_functions *gpu, struct bl_gpu_queue *queue,
                     size_t bytes, struct bl_error *e)
{
    *p = (struct bl_readback){.gpu = gpu, .queue = queue, .bytes = bytes, .surface = av_frame_alloc()};
    size_t room = LOT_BYTES / bytes;
    p->room = (int)(room < 1 ? 1 : room > BL_READBACK_BATCH_MAX ? BL_READBACK_BATCH_MAX : room);
    int code = p->surface ? BL_OK : bl_error_memory(e);
    for (int i = 0; i < BL_READBACK_BATCHES && !code; i++) {
        void *drawn = NULL, *arrived = NULL;
        code = readback_alloc(p, BL_GPU_OWN, bytes * (size_t)p->room, &drawn, e);
        if (!code)
            code = readback_alloc(p, BL_GPU_PINNED, bytes * (size_t)p->room, &arrived, e);
        p->batch[i].drawn = drawn;
        p->batch[i].arrived = arrived;
    }
    if (code)
        bl_readback_close(p);
    return code;
}

void bl_readback_close(struct bl_readback *p)
{
    bl_readback_abandon(p);
    for (int i = 0; i < BL_READBACK_BATCHES; i++) {
        p->gpu->free(p->queue, BL_GPU_OWN, p->batch[i].drawn);
        p->gpu->free(p->queue, BL_GPU_PINNED, p->batch[i].arrived);
    }
    p->gpu->free(p->queue, BL_GPU_OWN, p->tables);
    bl_nv12_free(&p->filters);
    av_frame_free(&p->surface);
}

/* --- filters ---------------------------------------------------------------------------------------------------- */

static size_t filter_bytes(const struct bl_filter *filter)
{
    return (size_t)filter->count * (sizeof *filter->first + (size_t)filter->taps * sizeof *filter->weight);
}

/* Copies a filter's tables to *at, and advances it. */
static int filter_upload(const struct bl_readback *p, const struct bl_filter *filter, uint8_t **at,
                         struct bl_nv12_axis *axis, struct bl_error *e)
{
    size_t firsts = (size_t)filter->count * sizeof *filter->first;
    *axis = bl_nv12_axis(filter);
    axis->first = (const int32_t *)(void *)*at;
    axis->weight = (const float *)(void *)(*at + firsts);
    int code = p->gpu->upload(p->queue, *at, filter->first, firsts, e);
    if (!code)
        code = p->gpu->upload(p->queue, *at + firsts, filter->weight, filter_bytes(filter) - firsts, e);
    *at += filter_bytes(filter);
    return code;
}

/* Needs no wait for drawings with the old tables: the queue runs in order. */
static int readback_upload_filters(struct bl_readback *p, struct bl_error *e)
{
    const struct bl_nv12 *f = &p->filters;
    size_t bytes = filter_bytes(&f->across[0]) + filter_bytes(&f->across[1]) + filter_bytes(&f->down[0]) +
                   filter_bytes(&f->down[1]);
    int code = BL_OK;
    if (bytes > p->tables_bytes) {
        p->gpu->free(p->queue, BL_GPU_OWN, p->tables);
        p->tables = NULL;
        p->tables_bytes = 0;
        code = readback_alloc(p, BL_GPU_OWN, bytes, &p->tables, e);
        p->tables_bytes = code ? 0 : bytes;
    }
    uint8_t *at = p->tables;
    for (int i = 0; i < 2 && !code; i++) {
        code = filter_upload(p, &f->across[i], &at, &p->across[i], e);
        if (!code)
            code = filter_upload(p, &f->down[i], &at, &p->down[i], e);
    }
    if (code)
        bl_nv12_free(&p->filters); /* so that they are made again */
    return code;
}

/* --- batches ---------------------------------------------------------------------------------------------------- */

/* Waits for a batch if it was sent, and copies its pictures to their places. */
static int batch_deliver(struct bl_readback *p, int number, struct bl_error *e)
{
    struct bl_readback_batch *batch = &p->batch[number];
    if (!batch->sent)
        return BL_OK;
    int code = p->gpu->wait(p->queue, number, e);
    for (int i = 0; i < batch->count && !code; i++) {
        for (int64_t k = 0; k < batch->target[i].times; k++)
            memcpy(batch->target[i].out + (size_t)k * p->bytes, batch->arrived + (size_t)i * p->bytes, p->bytes);
    }
    batch->count = 0;
    batch->sent = false;
    return code;
}

/* Sends the current batch, and empties the next one. */
static int batch_send(struct bl_readback *p, struct bl_error *e)
{
    struct bl_readback_batch *batch = &p->batch[p->at];
    int code = p->gpu->download(p->queue, batch->arrived, batch->drawn, (size_t)batch->count * p->bytes, e);
    if (!code)
        code = p->gpu->record(p->queue, p->at, e);
    batch->sent = !code;
    p->at = (p->at + 1) % BL_READBACK_BATCHES;
    if (code)
        return code;
    return batch_deliver(p, p->at, e);
}

/* Releases the last surface when it is drawn, and holds this one. */
static int readback_keep_surface(struct bl_readback *p, const AVFrame *frame, struct bl_error *e)
{
    int code = p->surface->buf[0] ? p->gpu->wait(p->queue, EVENT_DRAWN, e) : BL_OK;
    av_frame_unref(p->surface);
    if (code)
        return code;
    if (av_frame_ref(p->surface, frame) < 0)
        return bl_error_memory(e);
    return BL_OK;
}

static enum AVPixelFormat surface_format(const AVFrame *frame)
{
    const AVHWFramesContext *frames = frame->hw_frames_ctx ? (const void *)frame->hw_frames_ctx->data : NULL;
    return frames ? frames->sw_format : (enum AVPixelFormat)frame->format;
}

static int readback_draw(struct bl_readback *p, const AVFrame *frame, const struct bl_geometry *g, uint8_t *to,
                         struct bl_error *e)
{
    struct bl_nv12_rgb picture = {0};
    enum AVPixelFormat format = surface_format(frame);
    ptrdiff_t origin;
    bool made;
    if (format != AV_PIX_FMT_NV12 && format != AV_PIX_FMT_P010LE && format != AV_PIX_FMT_P016LE)
        return bl_error_set(e, BL_EFAIL, "the GPU's decoder gave frames of an unknown format");
    int code = bl_nv12_describe(&picture, g, format, frame, &origin, e);
    if (code)
        return code;
    code = readback_keep_surface(p, frame, e);
    if (code)
        return code;
    code = bl_nv12_prepare(&p->filters, g, frame->chroma_location, &made, e);
    if (code)
        return code;
    if (made)
        code = readback_upload_filters(p, e);
    if (code)
        return code;
    if ((int64_t)g->scaled_width * g->scaled_height != (int64_t)g->width * g->height)
        code = p->gpu->clear(p->queue, to, p->bytes, e);
    if (code)
        return code;
    bl_nv12_set_surface(&picture, frame);
    for (int i = 0; i < 2; i++) {
        picture.across[i] = p->across[i];
        picture.down[i] = p->down[i];
    }
    picture.rgb = to + origin;
    code = p->gpu->draw(p->queue, &picture, e);
    if (code)
        return code;
    return p->gpu->record(p->queue, EVENT_DRAWN, e);
}

int bl_readback_add(struct bl_readback *p, const AVFrame *frame, const struct bl_geometry *g, uint8_t *out,
                    int64_t times, struct bl_error *e)
{
    struct bl_readback_batch *batch = &p->batch[p->at];
    if ((size_t)g->width * (size_t)g->height * 3 != p->bytes)
        return bl_error_set(e, BL_EFAIL, "a picture of another size than the others");
    int code = readback_draw(p, frame, g, batch->drawn + (size_t)batch->count * p->bytes, e);
    if (code)
        return code;
    batch->target[batch->count++] = (struct bl_readback_target){out, times};
    return batch->count < p->room ? BL_OK : batch_send(p, e);
}

int bl_readback_finish(struct bl_readback *p, struct bl_error *e)
{
    int code = p->batch[p->at].count ? batch_send(p, e) : BL_OK;
    for (int i = 0; i < BL_READBACK_BATCHES && !code; i++)
        code = batch_deliver(p, i, e);
    if (code)
        bl_readback_abandon(p);
    av_frame_unref(p->surface); /* it was drawn before the last event */
    return code;
}

void bl_readback_abandon(struct bl_readback *p)
{
    struct bl_error none = {0};
    for (int i = 0; i < BL_READBACK_BATCHES; i++) {
        if (p->batch[i].sent)
            (void)p->gpu->wait(p->queue, i, &none);
        p->batch[i].count = 0;
        p->batch[i].sent = false;
    }
    if (p->surface && p->surface->buf[0]) {
        (void)p->gpu->wait(p->queue, EVENT_DRAWN, &none);
        av_frame_unref(p->surface);
    }
}
