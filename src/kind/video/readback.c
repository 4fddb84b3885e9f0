/* Computes filter tables, fills in pictures for the kernel, and brings the drawn pictures into blocks.
 *
 * The order of work for a picture is: bl_readback_add queues its drawing into the batch that is being filled; a full
 * batch is sent (batch_send), and before a batch is filled again, its pictures go to their places (batch_deliver). With
 * three batches, one is filled, one is copied from the GPU, and one is delivered. */
#include "kind/video/readback.h"

#include <libavutil/pixdesc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kind/video/colour.h"
#include "kind/video/options.h"
#include "kind/video/scanlines.h"

/* --- filter tables ------------------------------------------------------------------------------------------------ */

/* An axis of a plane: samples [start, start + length) of `size` become `count`. For chroma with half as many samples as
 * luma, rounded up, the weights include the bilinear upsampling to luma's size, clamped at the edges. phase is the
 * position of a block's first luma sample relative to its chroma sample, in chroma samples; 0: cosited, -0.25: a
 * quarter before it. Chroma of 4:4:4 has luma's axes. */
struct axis {
    enum bl_resize resize;
    int size, count, chroma_size; /* chroma_size 0: luma, and chroma of 4:4:4 */
    double start, length, phase;
};

/* The weights of one output at consecutive positions. */
struct weights {
    double *weight; /* [room] */
    int first;      /* position of weight[0] */
    int taps, room;
};

/* Each kernel reaches as far to both sides of its centre. */
static const double kernel_reach[] = {
    [BL_RESIZE_BILINEAR] = 1, [BL_RESIZE_BICUBIC] = 2, [BL_RESIZE_LANCZOS] = 3, [BL_RESIZE_NEAREST] = 0};

/* Returns the kernel at x. The cubic is that of Keys, "Cubic convolution interpolation for digital image processing",
 * 1981, with a = -1/2; Lanczos's is sinc(x) sinc(x / 3). */
static double kernel_at(enum bl_resize resize, double x)
{
    x = fabs(x);
    if (resize == BL_RESIZE_NEAREST)
        return 1;
    if (x >= kernel_reach[resize])
        return 0;
    if (resize == BL_RESIZE_BILINEAR)
        return 1 - x;
    if (resize == BL_RESIZE_BICUBIC)
        return x < 1 ? (1.5 * x - 2.5) * x * x + 1 : ((-0.5 * x + 2.5) * x - 4) * x + 2;
    double third = x / 3;
    return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x) * (sin(M_PI * third) / (M_PI * third));
}

/* Returns the number of positions that the kernel may reach; *step: from one to the next, in the kernel's unit. */
static int kernel_positions(enum bl_resize resize, double length, int count, double *step)
{
    *step = fmin(count / length, 1);
    int positions = 2 * (int)ceil(kernel_reach[resize] / *step);
    return positions > 1 ? positions : 1;
}

/* Mirrors a position that lies beyond the picture at its edge; one that is still beyond becomes the edge. */
static int position_mirror(int position, int size)
{
    if (position < 0)
        position = -1 - position;
    if (position >= size)
        position = 2 * size - 1 - position;
    return position < 0 ? 0 : position >= size ? size - 1 : position;
}

static void weights_add(struct weights *weights, int position, double weight)
{
    weights->weight[position - weights->first] += weight;
}

static void filter_free(struct bl_filter *filter)
{
    free(filter->first);
    free(filter->weight);
    *filter = (struct bl_filter){0};
}

/* Makes the weights of output i at luma's positions. Mirroring moves a weight by at most the kernel's width. */
static void weights_make_luma(struct weights *weights, const struct axis *axis, int i)
{
    double step;
    int size = axis->size, wide = kernel_positions(axis->resize, axis->length, axis->count, &step);
    double middle = axis->start + (i + 0.5) * (axis->length / axis->count), total = 0;
    int begin = (int)floor(middle - wide / 2.0 + 0.5); /* halves round up, below zero too: the grid is uniform */
    for (int j = 0; j < wide; j++)
        total += kernel_at(axis->resize, (begin + j + 0.5 - middle) * step);
    weights->first = position_mirror(begin, size);
    for (int j = 0; j < wide; j++) {
        int at = position_mirror(begin + j, size);
        weights->first = at < weights->first ? at : weights->first;
    }
    memset(weights->weight, 0, (size_t)weights->room * sizeof *weights->weight);
    weights->taps = 0;
    for (int j = 0; j < wide; j++) {
        int at = position_mirror(begin + j, size);
        weights_add(weights, at, kernel_at(axis->resize, (begin + j + 0.5 - middle) * step) / total);
        weights->taps = at - weights->first + 1 > weights->taps ? at - weights->first + 1 : weights->taps;
    }
}

/* Distributes each luma weight to the two chroma positions around it. */
static void weights_make_chroma(struct weights *chroma, const struct weights *luma, int chroma_size, double phase)
{
    memset(chroma->weight, 0, (size_t)chroma->room * sizeof *chroma->weight);
    chroma->taps = 0;
    for (int t = 0; t < luma->taps; t++) {
        double at = fmin(fmax((luma->first + t) / 2.0 + phase, 0), chroma_size - 1);
        int low = (int)floor(at), high = low + 1 < chroma_size ? low + 1 : low;
        if (t == 0)
            chroma->first = low;
        weights_add(chroma, low, luma->weight[t] * (1 - (at - low)));
        weights_add(chroma, high, luma->weight[t] * (at - low));
        chroma->taps = high - chroma->first + 1;
    }
}

/* Removes zeros at both ends, so that an axis that keeps its size takes one tap. */
static void weights_trim(struct weights *weights)
{
    int begin = 0;
    while (begin < weights->taps - 1 && weights->weight[begin] == 0)
        begin++;
    while (weights->taps > begin + 1 && weights->weight[weights->taps - 1] == 0)
        weights->taps--;
    memmove(weights->weight, weights->weight + begin, (size_t)(weights->taps - begin) * sizeof *weights->weight);
    weights->taps -= begin;
    weights->first += begin;
}

/* Makes the weights of output i for the axis; returns `chroma` for an axis of chroma, or else `luma`. */
static const struct weights *weights_make(const struct axis *axis, int i, struct weights *luma, struct weights *chroma)
{
    weights_make_luma(luma, axis, i);
    weights_trim(luma);
    if (!axis->chroma_size)
        return luma;
    weights_make_chroma(chroma, luma, axis->chroma_size, axis->phase);
    weights_trim(chroma);
    return chroma;
}

/* Makes the table of an axis, in two passes: the first finds the largest number of taps, the second stores the weights,
 * padded with zeros to as many taps within the axis. BL_EFAIL: out of memory. */
static int filter_build(struct bl_filter *filter, const struct axis *axis, struct bl_error *e)
{
    double step;
    int count = axis->count, size = axis->chroma_size ? axis->chroma_size : axis->size, code = BL_OK;
    int room = kernel_positions(axis->resize, axis->length, count, &step) + 2;
    struct weights luma = {.weight = calloc((size_t)room, sizeof(double)), .room = room};
    struct weights chroma = {.weight = calloc((size_t)room, sizeof(double)), .room = room};
    struct bl_filter f = {.count = count, .size = size};
    for (int i = 0; luma.weight && chroma.weight && i < count; i++) {
        const struct weights *made = weights_make(axis, i, &luma, &chroma);
        f.taps = FFMAX(made->taps, f.taps);
    }
    f.first = calloc((size_t)count, sizeof *f.first);
    f.weight = calloc((size_t)count * (size_t)f.taps, sizeof *f.weight);
    if (!luma.weight || !chroma.weight || !f.first || !f.weight) {
        code = bl_error_memory(e);
        filter_free(&f);
        goto out;
    }
    for (int i = 0; i < count; i++) {
        const struct weights *made = weights_make(axis, i, &luma, &chroma);
        int first = FFMIN(made->first, size - f.taps);
        f.first[i] = first;
        for (int t = 0; t < f.taps; t++) {
            int from = first + t - made->first;
            double weight = from >= 0 && from < made->taps ? made->weight[from] : 0;
            f.weight[(size_t)t * (size_t)count + (size_t)i] = (float)weight;
        }
    }
out:
    *filter = f;
    free(luma.weight);
    free(chroma.weight);
    return code;
}

/* --- surfaces ----------------------------------------------------------------------------------------------------- */

bool bl_nv12_has_format(enum AVPixelFormat format)
{
    return format == AV_PIX_FMT_NV12 || format == AV_PIX_FMT_P010LE || format == AV_PIX_FMT_P016LE ||
           format == AV_PIX_FMT_YUV444P || format == AV_PIX_FMT_YUV444P16LE;
}

/* Describes the pixels of a surface of one of these formats. */
static struct bl_pixels surface_pixels(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    return (struct bl_pixels){.family = BL_FAMILY_YUV,
                              .planes = 3,
                              .depth = desc->comp[0].depth,
                              .sub_w = desc->log2_chroma_w,
                              .sub_h = desc->log2_chroma_h};
}

int bl_nv12_prepare(struct bl_nv12 *nv12, const struct bl_geometry *g, enum AVPixelFormat format,
                    enum AVChromaLocation location, bool *made, struct bl_error *e)
{
    const struct bl_pixels pixels = surface_pixels(format);
    struct bl_nv12_key k = {.width = g->coded_width,
                            .height = g->coded_height,
                            .scaled_width = g->scaled_width,
                            .scaled_height = g->scaled_height,
                            .sub = pixels.sub_w,
                            .resize = g->resize,
                            .x = g->source_x,
                            .y = g->source_y,
                            .source_width = g->source_width,
                            .source_height = g->source_height};
    bl_scanlines_phases(&pixels, location, &k.phase_w, &k.phase_h);
    *made = !nv12->across[0].first || memcmp(&nv12->key, &k, sizeof k) != 0;
    if (!*made)
        return BL_OK;
    struct bl_nv12 n = {.key = k};
    struct axis across = {g->resize, k.width, k.scaled_width, 0, k.x, k.source_width, k.phase_w / 8.0};
    struct axis down = {g->resize, k.height, k.scaled_height, 0, k.y, k.source_height, k.phase_h / 8.0};
    int code = BL_OK;
    for (int i = 0; i < 2 && !code; i++) {
        across.chroma_size = i && k.sub ? (k.width + 1) / 2 : 0;
        down.chroma_size = i && k.sub ? (k.height + 1) / 2 : 0;
        code = filter_build(&n.across[i], &across, e);
        if (!code)
            code = filter_build(&n.down[i], &down, e);
    }
    if (!code) {
        struct bl_nv12 old = *nv12;
        *nv12 = n;
        n = old;
    }
    bl_nv12_free(&n);
    return code;
}

void bl_nv12_free(struct bl_nv12 *nv12)
{
    for (int i = 0; i < 2; i++) {
        filter_free(&nv12->across[i]);
        filter_free(&nv12->down[i]);
    }
}

struct bl_nv12_axis bl_nv12_axis(const struct bl_filter *filter)
{
    return (struct bl_nv12_axis){filter->first, filter->weight, filter->count, filter->taps};
}

/* Converts the converter's factor, per word in units of 2^-15 with BL_COLOUR_SHIFT bits below a level, to one per
 * sample of `unit` words. */
static float nv12_factor(int16_t of_words, int unit)
{
    return (float)(of_words * (double)unit / (1 << (15 + BL_COLOUR_SHIFT)));
}

int bl_nv12_describe(struct bl_nv12_rgb *picture, const struct bl_geometry *geometry, enum AVPixelFormat format,
                     const AVFrame *frame, ptrdiff_t *origin, struct bl_error *e)
{
    const struct bl_pixels pixels = surface_pixels(format);
    struct bl_colour c;
    if (frame->colorspace == AVCOL_SPC_RGB && !pixels.sub_w)
        return bl_error_set(e, BL_EDATA,
                            "its planes are G, B and R, which only the processor converts (--decoder cpu)");
    BL_TRY(bl_colour_make(&c, &pixels, frame->colorspace, frame->color_range, e));
    const int16_t *chroma[3] = {c.red, c.green, c.blue};
    int unit = pixels.depth > 8 ? 1 : 256;
    picture->words = unit == 1;
    picture->chroma_step = av_pix_fmt_desc_get(format)->comp[1].step;
    picture->gain = nv12_factor(c.gain, unit);
    for (int i = 0; i < 3; i++) {
        /* The converter's factors apply to words less 32768, and its base lacks 128; here both are in the base. */
        double words = (double)c.gain + chroma[i][0] + chroma[i][1];
        picture->base[i] =
            (float)(128 + (double)c.base / (1 << BL_COLOUR_SHIFT) - words * 32768 / (1 << (15 + BL_COLOUR_SHIFT)));
        picture->u[i] = nv12_factor(chroma[i][0], unit);
        picture->v[i] = nv12_factor(chroma[i][1], unit);
    }
    *origin = bl_geometry_place(geometry, bl_channels_bytes(BL_CHANNELS_RGB), &picture->step_x, &picture->step_y);
    return BL_OK;
}

void bl_nv12_set_surface(struct bl_nv12_rgb *picture, const AVFrame *frame)
{
    size_t bytes = 1 + (size_t)picture->words, left = frame->crop_left, top = frame->crop_top;
    bool interleaved = (size_t)picture->chroma_step > bytes; /* 4:2:0 */
    picture->luma_pitch = (size_t)frame->linesize[0];
    picture->chroma_pitch = (size_t)frame->linesize[1];
    picture->luma = frame->data[0] + top * picture->luma_pitch + left * bytes;
    size_t place = (top >> interleaved) * picture->chroma_pitch + (left >> interleaved) * (size_t)picture->chroma_step;
    picture->chroma[0] = frame->data[1] + place;
    picture->chroma[1] = interleaved ? picture->chroma[0] + bytes : frame->data[2] + place;
}

/* --- readback ----------------------------------------------------------------------------------------------------- */

#define LOT_BYTES ((size_t)2 << 20)     /* copies of this size run at the bus's full speed */
#define EVENT_DRAWN BL_READBACK_BATCHES /* from here on: a surface is drawn; events before it: a batch has arrived */

_Static_assert(EVENT_DRAWN + BL_READBACK_SURFACES <= BL_GPU_EVENTS, "an event for each batch and each surface");

/* Allocates memory, and reports where the GPU has not enough. */
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
    int code = BL_OK;
    *p = (struct bl_readback){.gpu = gpu, .queue = queue, .bytes = bytes};
    for (int i = 0; i < BL_READBACK_SURFACES && !code; i++) {
        p->surface[i] = av_frame_alloc();
        code = p->surface[i] ? BL_OK : bl_error_memory(e);
    }
    size_t room = LOT_BYTES / bytes;
    p->room = (int)(room < 1 ? 1 : room > BL_READBACK_BATCH_MAX ? BL_READBACK_BATCH_MAX : room);
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
    for (int i = 0; i < BL_READBACK_SURFACES; i++)
        av_frame_free(&p->surface[i]);
}

/* Returns the bytes of a filter's tables. */
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

/* Copies the filters' tables to the GPU. Drawings with the old tables need no wait, as the queue runs in order. */
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

/* Waits until the surface is drawn, and releases it. */
static int surface_release(struct bl_readback *p, int slot, struct bl_error *e)
{
    int code = p->surface[slot]->buf[0] ? p->gpu->wait(p->queue, EVENT_DRAWN + slot, e) : BL_OK;
    av_frame_unref(p->surface[slot]);
    return code;
}

int bl_readback_add(struct bl_readback *p, const AVFrame *frame, const struct bl_geometry *g, uint8_t *out,
                    int64_t times, struct bl_error *e)
{
    struct bl_readback_batch *batch = &p->batch[p->at];
    struct bl_nv12_rgb picture = {0};
    enum AVPixelFormat format = (enum AVPixelFormat)frame->format;
    uint8_t *to = batch->drawn + (size_t)batch->count * p->bytes;
    ptrdiff_t origin;
    bool made;
    if ((size_t)g->width * (size_t)g->height * 3 != p->bytes)
        return bl_error_set(e, BL_EFAIL, "a picture of another size than the others");
    if (!bl_nv12_has_format(format))
        return bl_error_set(e, BL_EFAIL, "the GPU's decoder gave frames of an unknown format");
    BL_TRY(bl_nv12_describe(&picture, g, format, frame, &origin, e));
    /* A surface is held until it is drawn: otherwise the decoder might put the next picture into it. */
    int slot = p->next_surface;
    BL_TRY(surface_release(p, slot, e));
    if (av_frame_ref(p->surface[slot], frame) < 0)
        return bl_error_memory(e);
    p->next_surface = (slot + 1) % BL_READBACK_SURFACES;
    BL_TRY(bl_nv12_prepare(&p->filters, g, format, frame->chroma_location, &made, e));
    BL_TRY(made ? readback_upload_filters(p, e) : BL_OK);
    if ((int64_t)g->scaled_width * g->scaled_height != (int64_t)g->width * g->height) {
        BL_TRY(p->gpu->clear(p->queue, to, p->bytes, e));
    }
    bl_nv12_set_surface(&picture, frame);
    memcpy(picture.across, p->across, sizeof picture.across);
    memcpy(picture.down, p->down, sizeof picture.down);
    picture.rgb = to + origin;
    BL_TRY(p->gpu->draw(p->queue, &picture, e));
    BL_TRY(p->gpu->record(p->queue, EVENT_DRAWN + slot, e));
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
    for (int i = 0; i < BL_READBACK_SURFACES; i++)
        av_frame_unref(p->surface[i]); /* all were drawn before the last event */
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
    for (int i = 0; i < BL_READBACK_SURFACES && p->surface[i]; i++)
        (void)surface_release(p, i, &none);
}
