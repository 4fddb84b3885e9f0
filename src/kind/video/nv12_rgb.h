/* Draws a decoder's surface as packed RGB in one pass: crop, scale, convert colours, rotate.
 *
 * nv12_rgb.cu is compiled twice: by nvcc as the kernel, and by the C compiler as a loop over the pixels, for tests
 * without a GPU. Both give the same bytes on every GPU and processor: all arithmetic is in single precision, in one
 * order, and multiply-adds are written out (fmaf). Only plain C types occur here, so that both compilers can read the
 * header. */
#ifndef BL_NV12_RGB_H
#define BL_NV12_RGB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One axis of a plane: a struct bl_filter with its tables in the memory of the device that draws. */
struct bl_nv12_axis {
    const int32_t *first; /* [count] */
    const float *weight;  /* [taps, count] */
    int32_t count, taps;
};

/* A surface, and how to draw it. Its chroma is either one plane of interleaved U and V with half as many rows and
 * columns as luma (NV12, P010, P016), or two planes of luma's size (YUV444). The axes of chroma hold the difference. */
struct bl_nv12_rgb {
    const uint8_t *luma, *chroma[2];        /* the first samples of Y, of U and V */
    size_t luma_pitch, chroma_pitch;        /* bytes from row to row */
    int32_t words;                          /* samples are 16-bit words, whose upper bits count, not bytes */
    int32_t chroma_step;                    /* bytes from a sample of U, and of V, to the next one of its row */
    struct bl_nv12_axis across[2], down[2]; /* of luma, of chroma; the count is that of the scaled picture */

    /* Levels from samples, before clamping to 0...255: R = base[0] + gain Y + u[0] U + v[0] V, likewise G and
     * B; base has the half that rounds. */
    float gain, base[3], u[3], v[3];

    uint8_t *rgb;             /* where the scaled picture's first pixel goes */
    ptrdiff_t step_x, step_y; /* bytes from there to its next pixel, next row */
};

/* Draws the picture on the processor. */
void bl_nv12_rgb_host(const struct bl_nv12_rgb *picture);

/* The kernel, compiled for several generations of GPUs, and its name. Its only argument is the picture, with all
 * pointers in the device's memory. It needs one thread for each pixel, in blocks of this size. Only builds with CUDA
 * have it. */
extern const unsigned char bl_nv12_rgb_image[];
#define BL_NV12_RGB_KERNEL "bl_nv12_rgb_kernel"
#define BL_NV12_RGB_ACROSS 32 /* a warp makes a row */
#define BL_NV12_RGB_DOWN 8

#ifdef __cplusplus
}
#endif

#endif
