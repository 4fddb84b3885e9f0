/* From a decoder's surface to packed RGB in one pass: crop, scale, colours, turn.
 *
 * nv12_rgb.cu has it once, for two compilers: nvcc makes the kernel of it, the C compiler a loop over the pixels, by
 * which it is tested where there is no GPU. Both give the same bytes: all arithmetic is in single precision, in one
 * order, with fused multiplications and additions that are written out. Plain C types, so that both can read it. */
#ifndef BL_NV12_RGB_H
#define BL_NV12_RGB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One axis of a plane: a struct bl_filter, its tables where the code runs that reads them. */
struct bl_nv12_axis {
    const int32_t *first; /* [count] */
    const float *weight;  /* [taps, count] */
    int32_t count, taps;
};

/* A surface of luma, and one of chroma with half as many rows and columns, U and V in turns; and what becomes of it. */
struct bl_nv12_rgb {
    const uint8_t *luma, *chroma;
    size_t luma_pitch, chroma_pitch;        /* bytes from row to row */
    int32_t words;                          /* samples are 16-bit words (P010, P016), not bytes (NV12) */
    struct bl_nv12_axis across[2], down[2]; /* of luma, of chroma; the count is that of the scaled picture */

    /* Levels from samples, before they are cut down to 0...255: R = base[0] + gain Y + u[0] U + v[0] V, likewise G and
     * B; base has the half that rounds. */
    float gain, base[3], u[3], v[3];

    uint8_t *rgb;             /* where the scaled picture's first pixel goes */
    ptrdiff_t step_x, step_y; /* bytes from there to its next pixel, next row */
};

/* The loop. */
void bl_nv12_rgb_host(const struct bl_nv12_rgb *picture);

/* The kernel, for all the GPUs that it was compiled for, as the driver loads it; and its name there. Its one argument
 * is the picture, every pointer in the device's memory; threads are in blocks of this size, one for each pixel. Only in
 * builds with CUDA. */
extern const unsigned char bl_nv12_rgb_image[];
#define BL_NV12_RGB_KERNEL "bl_nv12_rgb_kernel"
#define BL_NV12_RGB_ACROSS 32 /* a warp makes a row */
#define BL_NV12_RGB_DOWN 8

#ifdef __cplusplus
}
#endif

#endif
