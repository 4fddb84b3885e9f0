/* Draws pictures, as the kernel and as a loop; see nv12_rgb.h. A thread makes one pixel: for each plane the weighted
 * sum over the rows and columns that its filters reach, then the colour. Neighbouring threads read nearly the same
 * samples, which are then in the cache. */
#include "kind/video/nv12_rgb.h"

#ifdef __CUDACC__
#define BOTH static __host__ __device__ __forceinline__
#else
#include <math.h>
#define BOTH static inline
#endif

/* The rows and columns of a plane that make one pixel. */
struct window {
    size_t place, pitch;        /* bytes from the plane's first sample to the window's; from row to row */
    int32_t words, step;        /* samples are words; bytes from one to the next */
    const float *across, *down; /* weights, each `count` apart */
    int32_t across_count, down_count, columns, rows;
};

BOTH float sample(const uint8_t *at, int32_t words)
{
    return words ? (float)*(const uint16_t *)(const void *)at : (float)*at;
}

BOTH struct window window_at(const struct bl_nv12_axis *across, const struct bl_nv12_axis *down, size_t pitch,
                             int32_t words, int32_t step, int x, int y)
{
    struct window w;
    w.place = (size_t)down->first[y] * pitch + (size_t)across->first[x] * (size_t)step;
    w.pitch = pitch;
    w.words = words;
    w.step = step;
    w.across = across->weight + x;
    w.down = down->weight + y;
    w.across_count = across->count;
    w.down_count = down->count;
    w.columns = across->taps;
    w.rows = down->taps;
    return w;
}

BOTH float luma_at(const struct window *w, const uint8_t *plane)
{
    float sum = 0;
    for (int32_t j = 0; j < w->rows; j++) {
        const uint8_t *at = plane + w->place + (size_t)j * w->pitch;
        float row = 0;
        for (int32_t i = 0; i < w->columns; i++, at += w->step)
            row = fmaf(w->across[(size_t)i * (size_t)w->across_count], sample(at, w->words), row);
        sum = fmaf(w->down[(size_t)j * (size_t)w->down_count], row, sum);
    }
    return sum;
}

BOTH void chroma_at(const struct window *w, const uint8_t *const plane[2], float *u, float *v)
{
    *u = *v = 0;
    for (int32_t j = 0; j < w->rows; j++) {
        size_t place = w->place + (size_t)j * w->pitch;
        const uint8_t *at_u = plane[0] + place, *at_v = plane[1] + place;
        float row_u = 0, row_v = 0, down = w->down[(size_t)j * (size_t)w->down_count];
        for (int32_t i = 0; i < w->columns; i++, at_u += w->step, at_v += w->step) {
            float across = w->across[(size_t)i * (size_t)w->across_count];
            row_u = fmaf(across, sample(at_u, w->words), row_u);
            row_v = fmaf(across, sample(at_v, w->words), row_v);
        }
        *u = fmaf(down, row_u, *u);
        *v = fmaf(down, row_v, *v);
    }
}

BOTH void pixel(const struct bl_nv12_rgb *p, int x, int y)
{
    struct window w = window_at(&p->across[0], &p->down[0], p->luma_pitch, p->words, 1 + p->words, x, y);
    float luma = luma_at(&w, p->luma), u, v;
    w = window_at(&p->across[1], &p->down[1], p->chroma_pitch, p->words, p->chroma_step, x, y);
    chroma_at(&w, p->chroma, &u, &v);
    uint8_t *to = p->rgb + (ptrdiff_t)y * p->step_y + (ptrdiff_t)x * p->step_x;
    for (int c = 0; c < 3; c++) {
        float level = fmaf(p->v[c], v, fmaf(p->u[c], u, fmaf(p->gain, luma, p->base[c])));
        level = level < 0 ? 0 : level > 255 ? 255 : level;
        to[c] = (uint8_t)level; /* truncates; base includes the half that rounds */
    }
}

#ifdef __CUDACC__

extern "C" __global__ void __launch_bounds__(BL_NV12_RGB_ACROSS *BL_NV12_RGB_DOWN)
    bl_nv12_rgb_kernel(const struct bl_nv12_rgb p)
{
    int x = (int)(blockIdx.x * BL_NV12_RGB_ACROSS + threadIdx.x),
        y = (int)(blockIdx.y * BL_NV12_RGB_DOWN + threadIdx.y);
    if (x < p.across[0].count && y < p.down[0].count)
        pixel(&p, x, y);
}

#else

void bl_nv12_rgb_host(const struct bl_nv12_rgb *picture)
{
    for (int y = 0; y < picture->down[0].count; y++) {
        for (int x = 0; x < picture->across[0].count; x++)
            pixel(picture, x, y);
    }
}

#endif
