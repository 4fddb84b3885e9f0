/* Pictures on their way from a GPU into a block: each decoded surface is drawn into the GPU's memory, some dozens at a
 * time are copied to memory of the machine's that the GPU can write to, and from there to their places. While one lot
 * is copied the next is decoded and drawn. */
#ifndef BL_PICTURES_H
#define BL_PICTURES_H

#include "kind/video/gpu.h"
#include "kind/video/nv12.h"

#define BL_PICTURES_LOTS 3
#define BL_PICTURES_LOT 32 /* pictures of a lot, at most */

/* Where a picture goes: to `times` places one after the other. */
struct bl_picture {
    uint8_t *out;
    int64_t times;
};

struct bl_picture_lot {
    uint8_t *drawn, *arrived; /* [room, bytes]: the GPU's, pinned */
    struct bl_picture picture[BL_PICTURES_LOT];
    int count;
    bool sent;
};

struct bl_pictures {
    const struct bl_gpu_functions *gpu;
    struct bl_lane *lane;
    size_t bytes; /* of a picture */
    int room;     /* pictures of a lot */
    struct bl_picture_lot lot[BL_PICTURES_LOTS];
    int at; /* the lot that is being filled */
    struct bl_nv12 filters;
    struct bl_nv12_axis across[2], down[2]; /* their tables in the GPU's memory */
    void *tables;
    size_t tables_bytes;
    AVFrame *surface; /* which was drawn last: the decoder may have it back when that is done */
};

/* Pictures of this many bytes each. After a failure there is nothing to close. */
int bl_pictures_open(struct bl_pictures *pictures, const struct bl_gpu_functions *gpu, struct bl_lane *lane,
                     size_t bytes, struct bl_error *e);
void bl_pictures_close(struct bl_pictures *pictures);

/* Has the frame drawn and brought to out, to `times` places one after the other, before bl_pictures_finish returns.
 * BL_EDATA as bl_nv12_describe; BL_EFAIL, also for a frame that is no surface. */
int bl_pictures_add(struct bl_pictures *pictures, const AVFrame *frame, const struct bl_geometry *geometry,
                    uint8_t *out, int64_t times, struct bl_error *e);

/* Waits until all pictures are where they go. */
int bl_pictures_finish(struct bl_pictures *pictures, struct bl_error *e);

/* Forgets those under way: nothing is written from now on. */
void bl_pictures_abandon(struct bl_pictures *pictures);

#endif
