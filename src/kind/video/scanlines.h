/* The scanlines of a decoded frame as the scaler reads them: 16-bit words, a line per component; and chroma upsampled
 * to the size of luma.
 *
 * A word is the component's value shifted up to 16 bits (8 bits: times 256), in limited and in full range alike;
 * components of less than 8 bits are widened to 8 first. Chroma is upsampled bilinearly from where the frame sites it
 * (left if it does not say): its height as lines are read, its width by a call of its own, since it is cheaper to
 * reduce the height in between; or the other way round, whichever is less work. Lines are made on demand: no copy of a
 * frame is ever held. Alpha is dropped. */
#ifndef BL_SCANLINES_H
#define BL_SCANLINES_H

#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media_options.h"

/* Words beyond either end of a row that may be read, and beyond its right end written. */
#define BL_SCANLINES_SLACK 32

enum bl_family { BL_FAMILY_GREY, BL_FAMILY_RGB, BL_FAMILY_YUV };

/* The properties of a pixel format that matter here. */
struct bl_pixels {
    enum bl_family family;
    int planes;       /* 1 for grey, else 3: R G B or Y U V */
    int depth;        /* bits per component, 8 to 16 */
    int sub_w, sub_h; /* log2 of the chroma subsampling, 0 to 2 */
    int full_range;   /* the format implies it: yuvj */
};

/* BL_EDATA for formats of no such family (Bayer, XYZ, floating point, frames on a device). */
int bl_pixels_make(struct bl_pixels *pixels, enum AVPixelFormat format, struct bl_error *e);

/* The position of a block's first luma sample relative to its chroma sample, in eighths of a chroma sample; at most 0.
 * An axis without subsampling has phase 0; chroma of unspecified location is sited left. */
void bl_scanlines_phases(const struct bl_pixels *pixels, enum AVChromaLocation location, int *phase_w, int *phase_h);

/* A line of a chroma component, kept because the next line of luma mostly needs it, too. */
struct bl_scanlines_kept {
    uint16_t *words;
    int row, from, to; /* which part of which line; row -1: none */
};

struct bl_scanlines {
    const struct bl_scanlines_kernels *kernels; /* the loops of the SIMD level */
    struct bl_pixels pixels;
    const AVFrame *frame;
    const AVPixFmtDescriptor *desc;
    int chroma_width, chroma_height;
    int phase_w, phase_h;
    struct bl_scanlines_kept kept[2][2];
    uint16_t *words; /* the output of FFmpeg's reader */
    void *room;      /* the memory of all of these; kept from frame to frame */
    size_t room_bytes;
};

/* Begins a frame, which must outlive the last read. lines must be zeroed before its first use and freed after its last.
 * BL_EFAIL: out of memory; BL_EDATA: a frame without data. */
int bl_scanlines_begin(struct bl_scanlines *lines, const struct bl_pixels *pixels, const AVFrame *frame,
                       enum bl_simd simd, struct bl_error *e);
void bl_scanlines_free(struct bl_scanlines *lines);

/* Reads columns from...to - 1 of component c for line y of luma into out[from...]; chroma has luma's height, but its
 * own width. */
void bl_scanlines_read(struct bl_scanlines *lines, int c, int y, int from, int to, uint16_t *out);

/* The same in two steps, between which the width can be scaled: reads columns from...to - 1 of a line of chroma; and
 * makes columns left...right - 1 for line y of luma, from all lines of chroma, stride bytes apart. */
void bl_scanlines_read_chroma(struct bl_scanlines *lines, int c, int row, int from, int to, uint16_t *out);
void bl_scanlines_upsample_height(const struct bl_scanlines *lines, const uint8_t *all, ptrdiff_t stride, int y,
                                  int left, int right, uint16_t *out);

/* Whether component c is narrower than luma. */
bool bl_scanlines_is_narrow(const struct bl_scanlines *lines, int c);

/* Makes columns left...right - 1 at luma's width, in out[left...], from a whole line of chroma, in[0...chroma_width -
 * 1]; left is rounded down to a multiple of 16. */
void bl_scanlines_upsample_width(const struct bl_scanlines *lines, uint16_t *in, int left, int right, uint16_t *out);

#endif
