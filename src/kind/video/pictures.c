#include "kind/video/pictures.h"

#include <string.h>

#define LOT_BYTES ((size_t)2 << 20) /* copies of this size run at the bus's full speed */
#define MARK_DRAWN BL_PICTURES_LOTS /* behind the lots' own */

_Static_assert(MARK_DRAWN < BL_GPU_MARKS, "a mark for each lot, and one more");

static int full(struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "the GPU's memory does not suffice for pictures: a smaller -j takes less");
}

static int take(const struct bl_pictures *p, enum bl_gpu_memory kind, size_t bytes, void **memory, struct bl_error *e)
{
    int code = p->gpu->take(p->lane, kind, bytes, memory, e);
    return code == BL_GPU_FULL ? full(e) : code;
}

int bl_pictures_open(struct bl_pictures *p, const struct bl_gpu_functions *gpu, struct bl_lane *lane, size_t bytes,
                     struct bl_error *e)
{
    *p = (struct bl_pictures){.gpu = gpu, .lane = lane, .bytes = bytes, .surface = av_frame_alloc()};
    size_t room = LOT_BYTES / bytes;
    p->room = (int)(room < 1 ? 1 : room > BL_PICTURES_LOT ? BL_PICTURES_LOT : room);
    int code = p->surface ? BL_OK : bl_error_memory(e);
    for (int i = 0; i < BL_PICTURES_LOTS && !code; i++) {
        void *drawn = NULL, *arrived = NULL;
        code = take(p, BL_GPU_OWN, bytes * (size_t)p->room, &drawn, e);
        if (!code)
            code = take(p, BL_GPU_PINNED, bytes * (size_t)p->room, &arrived, e);
        p->lot[i].drawn = drawn;
        p->lot[i].arrived = arrived;
    }
    if (code)
        bl_pictures_close(p);
    return code;
}

void bl_pictures_close(struct bl_pictures *p)
{
    bl_pictures_abandon(p);
    for (int i = 0; i < BL_PICTURES_LOTS; i++) {
        p->gpu->drop(p->lane, BL_GPU_OWN, p->lot[i].drawn);
        p->gpu->drop(p->lane, BL_GPU_PINNED, p->lot[i].arrived);
    }
    p->gpu->drop(p->lane, BL_GPU_OWN, p->tables);
    bl_nv12_free(&p->filters);
    av_frame_free(&p->surface);
}

/* --- filters ---------------------------------------------------------------------------------------------------- */

static size_t table_bytes(const struct bl_filter *filter)
{
    return (size_t)filter->count * (sizeof *filter->first + (size_t)filter->taps * sizeof *filter->weight);
}

/* Copies a filter's tables to *at, which goes on behind them. */
static int table_upload(const struct bl_pictures *p, const struct bl_filter *filter, uint8_t **at,
                        struct bl_nv12_axis *axis, struct bl_error *e)
{
    size_t firsts = (size_t)filter->count * sizeof *filter->first;
    *axis = bl_nv12_axis(filter);
    axis->first = (const int32_t *)(void *)*at;
    axis->weight = (const float *)(void *)(*at + firsts);
    int code = p->gpu->upload(p->lane, *at, filter->first, firsts, e);
    if (!code)
        code = p->gpu->upload(p->lane, *at + firsts, filter->weight, table_bytes(filter) - firsts, e);
    *at += table_bytes(filter);
    return code;
}

/* Tables that were drawn with stay until that is done: what is queued happens in order. */
static int tables_upload(struct bl_pictures *p, struct bl_error *e)
{
    const struct bl_nv12 *f = &p->filters;
    size_t bytes =
        table_bytes(&f->across[0]) + table_bytes(&f->across[1]) + table_bytes(&f->down[0]) + table_bytes(&f->down[1]);
    int code = BL_OK;
    if (bytes > p->tables_bytes) {
        p->gpu->drop(p->lane, BL_GPU_OWN, p->tables);
        p->tables = NULL;
        p->tables_bytes = 0;
        code = take(p, BL_GPU_OWN, bytes, &p->tables, e);
        p->tables_bytes = code ? 0 : bytes;
    }
    uint8_t *at = p->tables;
    for (int i = 0; i < 2 && !code; i++) {
        code = table_upload(p, &f->across[i], &at, &p->across[i], e);
        if (!code)
            code = table_upload(p, &f->down[i], &at, &p->down[i], e);
    }
    if (code)
        bl_nv12_free(&p->filters); /* they are not at hand */
    return code;
}

/* --- lots ------------------------------------------------------------------------------------------------------- */

/* Waits for a lot that was sent, and takes its pictures to their places. */
static int lot_settle(struct bl_pictures *p, int number, struct bl_error *e)
{
    struct bl_picture_lot *lot = &p->lot[number];
    int code = lot->sent ? p->gpu->wait(p->lane, number, e) : BL_OK;
    for (int i = 0; lot->sent && i < lot->count && !code; i++) {
        for (int64_t k = 0; k < lot->picture[i].times; k++)
            memcpy(lot->picture[i].out + (size_t)k * p->bytes, lot->arrived + (size_t)i * p->bytes, p->bytes);
    }
    lot->count = 0;
    lot->sent = false;
    return code;
}

/* Sends the lot at hand, and makes the next one ready. */
static int lot_send(struct bl_pictures *p, struct bl_error *e)
{
    struct bl_picture_lot *lot = &p->lot[p->at];
    int code = p->gpu->download(p->lane, lot->arrived, lot->drawn, (size_t)lot->count * p->bytes, e);
    if (!code)
        code = p->gpu->mark(p->lane, p->at, e);
    lot->sent = !code;
    p->at = (p->at + 1) % BL_PICTURES_LOTS;
    return code ? code : lot_settle(p, p->at, e);
}

/* The surface goes back to the decoder when what is drawn of it is done, and this one is kept instead. */
static int surface_keep(struct bl_pictures *p, const AVFrame *frame, struct bl_error *e)
{
    int code = p->surface->buf[0] ? p->gpu->wait(p->lane, MARK_DRAWN, e) : BL_OK;
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

static int draw(struct bl_pictures *p, const AVFrame *frame, const struct bl_geometry *g, uint8_t *to,
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
    code = surface_keep(p, frame, e);
    if (code)
        return code;
    code = bl_nv12_prepare(&p->filters, g, frame->chroma_location, &made, e);
    if (code)
        return code;
    if (made)
        code = tables_upload(p, e);
    if (code)
        return code;
    if ((int64_t)g->scaled_width * g->scaled_height != (int64_t)g->width * g->height)
        code = p->gpu->clear(p->lane, to, p->bytes, e);
    if (code)
        return code;
    bl_nv12_point(&picture, frame);
    for (int i = 0; i < 2; i++) {
        picture.across[i] = p->across[i];
        picture.down[i] = p->down[i];
    }
    picture.rgb = to + origin;
    code = p->gpu->draw(p->lane, &picture, e);
    return code ? code : p->gpu->mark(p->lane, MARK_DRAWN, e);
}

int bl_pictures_add(struct bl_pictures *p, const AVFrame *frame, const struct bl_geometry *g, uint8_t *out,
                    int64_t times, struct bl_error *e)
{
    struct bl_picture_lot *lot = &p->lot[p->at];
    if ((size_t)g->width * (size_t)g->height * 3 != p->bytes)
        return bl_error_set(e, BL_EFAIL, "a picture of another size than the others");
    int code = draw(p, frame, g, lot->drawn + (size_t)lot->count * p->bytes, e);
    if (code)
        return code;
    lot->picture[lot->count++] = (struct bl_picture){out, times};
    return lot->count < p->room ? BL_OK : lot_send(p, e);
}

int bl_pictures_finish(struct bl_pictures *p, struct bl_error *e)
{
    int code = p->lot[p->at].count ? lot_send(p, e) : BL_OK;
    for (int i = 0; i < BL_PICTURES_LOTS && !code; i++)
        code = lot_settle(p, i, e);
    if (code)
        bl_pictures_abandon(p);
    av_frame_unref(p->surface); /* what was drawn of it stands before the last mark */
    return code;
}

void bl_pictures_abandon(struct bl_pictures *p)
{
    struct bl_error none = {0};
    for (int i = 0; i < BL_PICTURES_LOTS; i++) {
        if (p->lot[i].sent)
            (void)p->gpu->wait(p->lane, i, &none);
        p->lot[i].count = 0;
        p->lot[i].sent = false;
    }
    if (p->surface && p->surface->buf[0]) {
        (void)p->gpu->wait(p->lane, MARK_DRAWN, &none);
        av_frame_unref(p->surface);
    }
}
