/* The rows of a decoded frame as the scaler reads them: 16-bit words, a row per component; and chroma brought to
 * the size of luma.
 *
 * A word is the component's value shifted up to 16 bits (8 bits: times 256), in limited and in full range alike;
 * components of less than 8 bits are widened to 8 first. Chroma is brought to luma's size bilinearly, from where the
 * frame sites it (left where it does not say): its height as its rows are read, its width by a call of its own, for a
 * scaler does well to reduce the height in between; or the other way round, where that is less work. Rows are made when
 * they are asked for: no copy of a frame is ever held. Alpha is left behind. */
#ifndef BL_SCANLINES_H
#define BL_SCANLINES_H

#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/simd.h"

#define BL_SCANLINES_SLACK                                                                                             \
    32 /* words beyond either end of a row that may be read, and beyond its right end written                          \
        */

enum bl_family { BL_FAMILY_GREY, BL_FAMILY_RGB, BL_FAMILY_YUV };

/* What a pixel format comes to. */
struct bl_pixels {
    enum bl_family family;
    int planes;       /* 1 for grey, else 3: R G B or Y U V */
    int depth;        /* bits per component, 8 to 16 */
    int sub_w, sub_h; /* log2 of the chroma subsampling, 0 to 2 */
    int full_range;   /* the format itself says so: yuvj */
};

/* BL_EDATA for formats that are not pictures in these families (Bayer, XYZ, floating point, frames on a device). */
int bl_pixels_make(struct bl_pixels *pixels, enum AVPixelFormat format, struct bl_error *e);

/* Where a block's first sample of luma lies from its chroma, in eighths of a sample of chroma: not behind it. An axis
 * without subsampling has phase 0; where the location is not said, chroma is sited left. */
void bl_scanlines_phases(const struct bl_pixels *pixels, enum AVChromaLocation location, int *phase_w, int *phase_h);

/* A row of one chroma component, kept since the next row of luma mostly needs it too. */
struct bl_scanlines_kept {
    uint16_t *words;
    int row, from, to; /* which; row -1: nothing yet */
};

struct bl_scanlines {
    const struct bl_scanlines_kernels *kernels; /* the loops of the SIMD level */
    struct bl_pixels pixels;
    const AVFrame *frame;
    const AVPixFmtDescriptor *desc;
    int chroma_width, chroma_height;
    int phase_w, phase_h;
    struct bl_scanlines_kept kept[2][2];
    uint16_t *words; /* what FFmpeg's reader gives */
    void *room;      /* holds all of them; kept from frame to frame */
    size_t room_bytes;
};

/* Begins a frame, which must stay until the last row is read. rows is zeroed before its first use and freed after
 * its last. BL_EFAIL for no memory, BL_EDATA for a frame without data. */
int bl_scanlines_begin(struct bl_scanlines *rows, const struct bl_pixels *pixels, const AVFrame *frame,
                       enum bl_simd simd, struct bl_error *e);
void bl_scanlines_free(struct bl_scanlines *rows);

/* Columns from to to of component c in row y of luma, to out[from...]; the columns are the component's own. */
void bl_scanlines_read(struct bl_scanlines *rows, int c, int y, int from, int to, uint16_t *out);

/* The same in two steps, between which rows can be scaled to another width: columns from to to of a row of chroma, the
 * component's own; and columns left to right of row y of luma, from all of chroma's rows, which lie stride bytes apart.
 */
void bl_scanlines_read_chroma(struct bl_scanlines *rows, int c, int row, int from, int to, uint16_t *out);
void bl_scanlines_upsample_height(const struct bl_scanlines *rows, const uint8_t *all, ptrdiff_t stride, int y,
                                  int left, int right, uint16_t *out);

/* Whether bl_scanlines_read gives component c narrower than luma. */
int bl_scanlines_is_narrow(const struct bl_scanlines *rows, int c);

/* Columns left to right of luma's, to out[left...], from a whole row of chroma, in[0...chroma_width - 1]; left is made
 * a multiple of 16. */
void bl_scanlines_upsample_width(const struct bl_scanlines *rows, uint16_t *in, int left, int right, uint16_t *out);

#endif
