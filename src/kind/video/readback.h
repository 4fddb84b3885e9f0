/* Brings pictures from a GPU into a block. Each decoded surface is drawn into the GPU's memory; a batch of some dozen
 * pictures is copied to pinned host memory, and from there to their places. While one batch is copied, the next one is
 * decoded and drawn. */
#ifndef BL_READBACK_H
#define BL_READBACK_H

#include "kind/video/gpu.h"
#include "kind/video/nv12.h"

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
