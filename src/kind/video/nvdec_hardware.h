/* Keeps the hardware decoders of a queue from stream to stream.
 *
 * A decoder is created for the largest size that any stream of its kind had so far (codec, chroma format, depth),
 * within limits, and reconfigured for each stream of another size. The caller has entered the device. */
#ifndef BL_NVDEC_HARDWARE_H
#define BL_NVDEC_HARDWARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/video/nvdec_driver.h"

#define BL_HARDWARE_KEPT 3      /* decoders of different kinds that are kept */
#define BL_HARDWARE_SURFACES 64 /* the most decode surfaces of a decoder */

/* A hardware decoder. handle NULL: the slot is free. */
struct bl_hardware {
    CUvideodecoder handle;
    CUVIDDECODECREATEINFO made; /* how it was created */
    unsigned width, height;     /* the coded size that it is configured for */
    int mapped;                 /* pictures that are mapped */
    bool faulty;                /* one of its pictures could not be unmapped */
    uint64_t used;              /* the pool's clock when a stream last took it */
    /* An event for each decode surface, which passes when its last mapped picture has been copied from it; NULL: no
     * picture was mapped. */
    CUevent copied[BL_HARDWARE_SURFACES];
};

/* Set the first two members; the others begin as 0. */
struct bl_hardware_pool {
    const struct bl_device *device;
    struct bl_caps *caps;
    struct bl_hardware kept[BL_HARDWARE_KEPT];
    uint64_t clock;
};

/* Returns the depth of a sequence's samples, less 8. */
unsigned bl_format_depth(const CUVIDEOFORMAT *format);
bool bl_format_is_444(const CUVIDEOFORMAT *format);

/* Returns whether the decoder can be reconfigured for the sequence, which needs so many decode surfaces. */
bool bl_hardware_fits(const struct bl_hardware *hardware, const CUVIDEOFORMAT *format, unsigned surfaces);

/* Takes a decoder for the sequence, configured for its size: a kept one that has no picture mapped, or a new one, for
 * which others may be destroyed. The pool owns it. Errors: BL_GPU_FULL, BL_EFAIL; BL_EDATA if the GPU cannot decode the
 * format. */
int bl_hardware_take(struct bl_hardware_pool *pool, enum AVCodecID codec, const CUVIDEOFORMAT *format,
                     unsigned surfaces, struct bl_hardware **hardware, struct bl_error *e);

/* Destroys decoders: all; those that have no picture mapped; those whose pictures could not be unmapped. Returns their
 * number. */
enum bl_hardware_which { BL_HARDWARE_ALL, BL_HARDWARE_IDLE, BL_HARDWARE_FAULTY };

int bl_hardware_destroy(struct bl_hardware_pool *pool, enum bl_hardware_which which);

#endif
