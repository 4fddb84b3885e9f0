/* Draws the surfaces that a GPU decoded, and copies the resulting pictures into a block.
 *
 * Drawing scales a surface and converts it to RGB on the GPU. The filters are computed here once for each geometry. */
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

/* A filter table scales one axis: it has the input samples and their weights for each output sample.
 *
 * The filters are those of zimg, which the converter uses (convert.h): a kernel around the centre of an output sample,
 * widened by the scale when shrinking, with normalised weights. Positions beyond the picture are mirrored at its edge.
 * The arithmetic is in double until the weights are stored. */

/* Output i is the sum over t of weight[t * count + i] times sample first[i] + t; all of these samples exist. The
 * weights of a tap are contiguous, since neighbouring outputs are computed together. size is the number of input
 * samples. */
struct bl_filter {
    int count, taps, size;
    int32_t *first; /* [count] */
    float *weight;  /* [taps, count] */
};

/* --- surfaces ----------------------------------------------------------------------------------------------------- */

/* These functions fill in struct bl_nv12_rgb (nv12_rgb.h) with the filters, colour factors and places of a picture, by
 * the same rules as the converter (convert.h). They do not depend on a device. */

/* The values that determine the filters. Compared as bytes, so it has no padding. */
struct bl_nv12_key {
    int width, height, scaled_width, scaled_height, phase_w, phase_h;
    int64_t resize; /* enum bl_resize */
    int64_t sub;    /* chroma has half as many rows and columns: 4:2:0, not 4:4:4 */
    double x, y, source_width, source_height;
};

/* The filters of luma [0] and of chroma [1]. Initialize it with zeros. */
struct bl_nv12 {
    struct bl_nv12_key key;
    struct bl_filter across[2], down[2];
};

/* The formats of surfaces: NV12, P010LE and P016LE for 4:2:0, YUV444P and YUV444P16LE for 4:4:4. Components of 10 and
 * 12 bits are the upper bits of 16-bit words. So surfaces of 4:4:4 with 10 or 12 bits are YUV444P16LE, not YUV444P10LE
 * or YUV444P12LE, and their white of full range is too dark by at most a quarter of a level. */
bool bl_nv12_has_format(enum AVPixelFormat format);

/* Makes the filters for pictures of this geometry, format and chroma location, unless *nv12 already has them; *made
 * tells whether it made them. BL_EFAIL: out of memory. */
int bl_nv12_prepare(struct bl_nv12 *nv12, const struct bl_geometry *geometry, enum AVPixelFormat format,
                    enum AVChromaLocation location, bool *made, struct bl_error *e);
void bl_nv12_free(struct bl_nv12 *nv12);

/* Fills in a picture from the frame's tags, except for its surface, tables and rgb pointer. format is the surface's.
 * *origin is the byte offset of the scaled picture in the RGB picture. BL_EDATA as bl_colour_make, or the planes of
 * 4:4:4 are G, B and R, which the processor converts. */
int bl_nv12_describe(struct bl_nv12_rgb *picture, const struct bl_geometry *geometry, enum AVPixelFormat format,
                     const AVFrame *frame, ptrdiff_t *origin, struct bl_error *e);

/* Returns an axis that points to the filter's tables in host memory. */
struct bl_nv12_axis bl_nv12_axis(const struct bl_filter *filter);

/* Points the picture to a frame's surface, and applies the crop at the left and the top, which the decoder does not. */
void bl_nv12_set_surface(struct bl_nv12_rgb *picture, const AVFrame *frame);

/* --- readback ----------------------------------------------------------------------------------------------------- */

/* A readback draws each decoded surface into the GPU's memory, copies a batch of up to some dozen pictures to pinned
 * host memory, and copies each picture from there to its place in the block. While one batch is copied, the GPU decodes
 * and draws the next. */

#define BL_READBACK_BATCHES 3
#define BL_READBACK_SURFACES 4
#define BL_READBACK_BATCH_MAX 32 /* pictures */

/* The destination of a picture: `times` consecutive copies at out. */
struct bl_readback_target {
    uint8_t *out;
    int64_t times;
};

struct bl_readback_batch {
    uint8_t *drawn, *arrived; /* [room, bytes] pictures in the GPU's memory, and their copies in pinned memory */
    struct bl_readback_target target[BL_READBACK_BATCH_MAX];
    int count; /* pictures in the batch */
    bool sent; /* the copy from the GPU is queued, and the pictures are not at their places yet */
};

struct bl_readback {
    const struct bl_gpu_functions *gpu;
    struct bl_gpu_queue *queue;
    size_t bytes; /* of a picture */
    int room;     /* pictures that fit into a batch */
    struct bl_readback_batch batch[BL_READBACK_BATCHES];
    int at; /* the batch that is being filled */
    struct bl_nv12 filters;
    struct bl_nv12_axis across[2], down[2]; /* the filters' tables in the GPU's memory */
    void *tables;                           /* the memory of these tables */
    size_t tables_bytes;
    AVFrame *surface[BL_READBACK_SURFACES]; /* references to the last surfaces, until they are drawn */
    int next_surface;                       /* the oldest of them */
};

/* Opens a readback for pictures of this many bytes. A failed open needs no close. */
int bl_readback_open(struct bl_readback *readback, const struct bl_gpu_functions *gpu, struct bl_gpu_queue *queue,
                     size_t bytes, struct bl_error *e);
void bl_readback_close(struct bl_readback *readback);

/* Queues the drawing of a frame. When bl_readback_finish returns, `times` copies of the picture are at out. BL_EDATA as
 * bl_nv12_describe; BL_EFAIL: the GPU failed, or the frame is no surface. */
int bl_readback_add(struct bl_readback *readback, const AVFrame *frame, const struct bl_geometry *geometry,
                    uint8_t *out, int64_t times, struct bl_error *e);

/* Waits until all pictures are at their places. */
int bl_readback_finish(struct bl_readback *readback, struct bl_error *e);

/* Drops the pending pictures. No place is written after it returns. */
void bl_readback_abandon(struct bl_readback *readback);

#endif
