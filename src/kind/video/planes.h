/* The planes of a decoded frame, as the scaler can read them: one plane per component, 8 bits in a byte or 9 to 16 in
 * the low end of a word, rows that begin on 32 bytes, sides that the chroma subsampling divides.
 *
 * Most frames lie so already and are only pointed at. The others (packed, semi-planar, palette, big-endian, a few bits
 * per component, odd sides, rows out of line) are copied, without loss: components of less than 8 bits are widened to
 * 8, odd sides completed by repeating the last column and row. Alpha is left behind. */
#ifndef BL_PLANES_H
#define BL_PLANES_H

#include <libavutil/frame.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_PLANES_ALIGN 32 /* bytes: what zimg asks of rows on any processor */

enum bl_family { BL_FAMILY_GREY, BL_FAMILY_RGB, BL_FAMILY_YUV };

/* What a pixel format comes to. */
struct bl_layout {
    enum bl_family family;
    int planes;       /* 1 for grey, else 3: R G B or Y U V */
    int depth;        /* bits per component, 8 to 16 */
    int bytes;        /* per component: 1 or 2 */
    int sub_w, sub_h; /* log2 of the chroma subsampling */
    int full_range;   /* the format itself says so: yuvj */
};

/* BL_EDATA for formats that are not pictures in these families (Bayer, XYZ, floating point, frames on a device). */
int bl_layout_make(struct bl_layout *layout, enum AVPixelFormat format, struct bl_error *e);

struct bl_planes {
    const uint8_t *data[3];
    ptrdiff_t stride[3]; /* bytes */
    int width, height;   /* of the first plane, completed to a multiple of the subsampling */
    uint8_t *room;       /* for copies; kept from frame to frame */
    size_t room_bytes;
};

/* Points planes at the frame or at a copy; good until the next call, or until the frame goes. BL_EFAIL for no memory,
 * BL_EDATA for a frame without data. */
int bl_planes_read(struct bl_planes *planes, const struct bl_layout *layout, const AVFrame *frame, struct bl_error *e);
void bl_planes_free(struct bl_planes *planes);

#endif
