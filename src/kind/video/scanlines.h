/* Reads the scanlines of a decoded frame for the scaler, as 16-bit words, one line per component, and upsamples chroma
 * to the size of luma.
 *
 * A word is the component's value shifted up to 16 bits (8 bits: times 256), in limited and in full range alike;
 * components of less than 8 bits are widened to 8 first. Chroma is upsampled bilinearly from the location that the
 * frame states (left if it states none). Height and width are upsampled by separate calls, so that the caller can scale
 * one of them in between, whichever order is less work. Lines are made on demand: no copy of a frame is ever held.
 * Alpha is read on request. */
#ifndef BL_SCANLINES_H
#define BL_SCANLINES_H

#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media_options.h"

/* Words beyond both ends of a row that the functions may read, and beyond its right end that they may write. */
#define BL_SCANLINES_SLACK 32

enum bl_family { BL_FAMILY_GREY, BL_FAMILY_RGB, BL_FAMILY_YUV };

/* The properties of a pixel format that matter here. */
struct bl_pixels {
    enum AVPixelFormat format;
    enum bl_family family;
    int planes;       /* 1 for grey, otherwise 3: R G B or Y U V */
    int depth;        /* bits per component, 8 to 16 */
    int sub_w, sub_h; /* log2 of the chroma subsampling, 0 to 2 */
    int full_range;   /* the format implies it: yuvj */
    int alpha;        /* bits of transparency, 0: the format has none */
};

/* Describes a pixel format. BL_EDATA: the format belongs to none of the families (Bayer, XYZ, floating point, surfaces
 * of a device). */
int bl_pixels_make(struct bl_pixels *pixels, enum AVPixelFormat format, struct bl_error *e);

/* The position of a block's first luma sample relative to its chroma sample, in eighths of a chroma sample; at most 0.
 * An axis without subsampling has phase 0; chroma of unspecified location is sited left. */
void bl_scanlines_phases(const struct bl_pixels *pixels, enum AVChromaLocation location, int *phase_w, int *phase_h);

/* A cached part of a line of chroma: the next line of luma usually needs it, too. */
struct bl_scanlines_kept {
    uint16_t *words;
    int row, from, to; /* columns from...to - 1 of line `row`; row -1: nothing is cached */
};

struct bl_scanlines {
    const struct bl_scanlines_kernels *kernels; /* the loops of the SIMD level */
    struct bl_pixels pixels;
    const AVFrame *frame;
    const AVPixFmtDescriptor *desc;
    int chroma_width, chroma_height;
    int phase_w, phase_h;                /* see bl_scanlines_phases */
    struct bl_scanlines_kept kept[2][2]; /* [component - 1][row & 1] */
    uint16_t *words;                     /* a line as FFmpeg's reader outputs it */
    void *room;                          /* the memory of words and kept; reused for the next frame */
    size_t room_bytes;
};

/* Prepares for reading a frame of these pixels (whose format may be another one of the same layout), which must outlive
 * the last read. Initialize *lines with zeros; bl_scanlines_free frees it. BL_EFAIL: out of memory; BL_EDATA: the frame
 * has no data. */
int bl_scanlines_begin(struct bl_scanlines *lines, const struct bl_pixels *pixels, const AVFrame *frame,
                       enum bl_simd simd, struct bl_error *e);
void bl_scanlines_free(struct bl_scanlines *lines);

/* Reads columns from...to - 1 of component c for line y of luma into out[from...]; chroma has luma's height, but its
 * own width. */
void bl_scanlines_read(struct bl_scanlines *lines, int c, int y, int from, int to, uint16_t *out);

/* Reads columns from...to - 1 of the transparency of line y into out[from...]: 0 is transparent. */
void bl_scanlines_read_alpha(struct bl_scanlines *lines, int y, int from, int to, uint16_t *out);

/* These two do the same in two steps, between which the caller can scale the width. The first reads columns
 * from...to - 1 of a line of chroma in its own height. The second makes columns left...right - 1 for line y of luma
 * from all lines of chroma, which are stride bytes apart. */
void bl_scanlines_read_chroma(struct bl_scanlines *lines, int c, int row, int from, int to, uint16_t *out);
void bl_scanlines_upsample_height(const struct bl_scanlines *lines, const uint8_t *all, ptrdiff_t stride, int y,
                                  int left, int right, uint16_t *out);

/* Returns whether component c is narrower than luma. */
bool bl_scanlines_is_narrow(const struct bl_scanlines *lines, int c);

/* Upsamples a whole line of chroma, in[0...chroma_width - 1], to luma's width, and writes columns left...right - 1 to
 * out[left...]. left is rounded down to a multiple of 16. It writes the words before and after the line in `in`. */
void bl_scanlines_upsample_width(const struct bl_scanlines *lines, uint16_t *in, int left, int right, uint16_t *out);

#endif
