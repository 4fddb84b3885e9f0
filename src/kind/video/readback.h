/* Pictures on their way from a GPU into a block: each decoded surface is drawn into the GPU's memory, some dozens at a
 * time are copied to memory of the machine's that the GPU can write to, and from there to their places. While one batch
 * is copied the next is decoded and drawn. */
#ifndef BL_READBACK_H
#define BL_READBACK_H

#include "kind/video/gpu.h"
#include "kind/video/nv12.h"

#define BL_READBACK_BATCHES 3
#define BL_READBACK_BATCH_MAX 32 /* pictures of a batch, at most */

/* Where a picture goes: to `times` places one after the other. */
struct bl_readback_target {
    uint8_t *out;
    int64_t times;
};

struct bl_readback_batch {
    uint8_t *drawn, *arrived; /* [room, bytes]: the GPU's, pinned */
    struct bl_readback_target picture[BL_READBACK_BATCH_MAX];
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
    AVFrame *surface; /* which was drawn last: the decoder may have it back when that is done */
};

/* Pictures of this many bytes each. After a failure there is nothing to close. */
int bl_readback_open(struct bl_readback *pictures, const struct bl_gpu_functions *gpu, struct bl_gpu_queue *queue,
                     size_t bytes, struct bl_error *e);
void bl_readback_close(struct bl_readback *pictures);

/* Has the frame drawn and brought to out, to `times` places one after the other, before bl_readback_finish returns.
 * BL_EDATA as bl_nv12_describe; BL_EFAIL, also for a frame that is no surface. */
int bl_readback_add(struct bl_readback *pictures, const AVFrame *frame, const struct bl_geometry *geometry,
                    uint8_t *out, int64_t times, struct bl_error *e);

/* Waits until all pictures are where they go. */
int bl_readback_finish(struct bl_readback *pictures, struct bl_error *e);

/* Forgets those under way: nothing is written from now on. */
void bl_readback_abandon(struct bl_readback *pictures);

#endif
