/* Draws the surfaces that a GPU decoded, and copies the resulting pictures into a block. */
#ifndef BL_READBACK_H
#define BL_READBACK_H

#include <libavutil/frame.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/video/geometry.h"
#include "kind/video/gpu.h"
#include "kind/video/nv12_rgb.h"

/* --- filter tables ------------------------------------------------------------------------------------------------ */

/* The tables that scale one axis: which samples, with which weights, make each output sample.
 *
 * The filters are zimg's, which the converter uses (convert.h): a kernel around the centre of an output sample, widened
 * by the scale when shrinking, with normalised weights; positions beyond the picture are mirrored at its edge. Pure
 * arithmetic, in double until the weights are stored. */

/* Output i is the sum over t of weight[t * count + i] times sample first[i] + t; all of these samples exist. The
 * weights of a tap are contiguous, since neighbouring outputs are computed together. size: samples of the axis. */
struct bl_filter {
    int count, taps, size;
    int32_t *first; /* [count] */
    float *weight;  /* [taps, count] */
};

/* --- surfaces ----------------------------------------------------------------------------------------------------- */

/* Prepares the drawing of surfaces by nv12_rgb.h: filters, colours and places, with the same geometry, tags and rules
 * as the converter (convert.h). Independent of any device. */

/* What filters are made for. Compared as bytes: no padding. */
struct bl_nv12_key {
    int width, height, scaled_width, scaled_height, phase_w, phase_h;
    int64_t resize; /* enum bl_resize */
    double x, y, source_width, source_height;
};

/* The filters of luma and of chroma. Must be zeroed before its first use. */
struct bl_nv12 {
    struct bl_nv12_key key;
    struct bl_filter across[2], down[2];
};

/* Makes the filters for pictures of this geometry and chroma location; *made: they were not the current ones. BL_EFAIL:
 * out of memory. */
int bl_nv12_prepare(struct bl_nv12 *nv12, const struct bl_geometry *geometry, enum AVChromaLocation location,
                    bool *made, struct bl_error *e);
void bl_nv12_free(struct bl_nv12 *nv12);

/* Fills in a picture by the frame's tags, except for its surface, tables and rgb. format: of the surface: NV12, P010 or
 * P016. *origin: the offset of the scaled picture in the RGB picture. BL_EDATA as bl_colour_make. */
int bl_nv12_describe(struct bl_nv12_rgb *picture, const struct bl_geometry *geometry, enum AVPixelFormat format,
                     const AVFrame *frame, ptrdiff_t *origin, struct bl_error *e);

/* An axis with the filter's tables in host memory. */
struct bl_nv12_axis bl_nv12_axis(const struct bl_filter *filter);

/* Points the picture to a frame's surface, cropped at the left and the top, which the decoder leaves to us. */
void bl_nv12_set_surface(struct bl_nv12_rgb *picture, const AVFrame *frame);

/* --- readback ----------------------------------------------------------------------------------------------------- */

/* Draws each decoded surface into the GPU's memory, copies a batch of some dozen pictures to pinned host memory, and
 * from there to their places. While one batch is copied, the next one is decoded and drawn. */

#define BL_READBACK_BATCHES 3
#define BL_READBACK_BATCH_MAX 32 /* pictures */

/* Where a picture goes: `times` copies of it, one after the other. */
struct bl_readback_target {
    uint8_t *out;
    int64_t times;
};

struct bl_readback_batch {
    uint8_t *drawn, *arrived; /* [room, bytes]: in the GPU's memory, in pinned memory */
    struct bl_readback_target target[BL_READBACK_BATCH_MAX];
    int count;
    bool sent;
};

struct bl_readback {
    const struct bl_gpu_functions *gpu;
    struct bl_gpu_queue *queue;
    size_t bytes; /* of a picture */
    int room;     /* pictures of a batch */
    struct bl_readback_batch batch[BL_READBACK_BATCHES];
    int at; /* the batch that is being filled */
    struct bl_nv12 filters;
    struct bl_nv12_axis across[2], down[2]; /* their tables in the GPU's memory */
    void *tables;
    size_t tables_bytes;
    AVFrame *surface; /* the last one, held until it is drawn */
};

/* bytes: of each picture. Needs no close after a failure. */
int bl_readback_open(struct bl_readback *readback, const struct bl_gpu_functions *gpu, struct bl_gpu_queue *queue,
                     size_t bytes, struct bl_error *e);
void bl_readback_close(struct bl_readback *readback);

/* Draws the frame; `times` copies of it are at out when bl_readback_finish returns. BL_EDATA as bl_nv12_describe;
 * BL_EFAIL, also for a frame that is not a surface. */
int bl_readback_add(struct bl_readback *readback, const AVFrame *frame, const struct bl_geometry *geometry,
                    uint8_t *out, int64_t times, struct bl_error *e);

/* Waits until all pictures are in their places. */
int bl_readback_finish(struct bl_readback *readback, struct bl_error *e);

/* Drops the pending pictures: nothing is written any more. */
void bl_readback_abandon(struct bl_readback *readback);

#endif
