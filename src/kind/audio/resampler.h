/* Another rate for mixed samples: by soxr or by libswresample, in float.
 *
 * soxr: its quality for 20 bits without a roll-off, in single precision. That code is the same on every x86-64 (SSE2)
 * and every AArch64; its double precision is not: with AVX, where there is some, it gives other bytes
 * (bl_media_set_environment). Before the first
 * and after the last sample lie zeros. swresample: its own filter of 32 taps, 1 dB down at 0.45 of the lower rate. At
 * either end lies the mirror image. */
#ifndef BL_RESAMPLER_H
#define BL_RESAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

enum bl_resampler_engine { BL_RESAMPLER_SOXR, BL_RESAMPLER_SWR };

struct bl_resampler {
    enum bl_resampler_engine engine;
    int to, channels;
    bool floats; /* the output is F32, else I16 */
    size_t step_bytes;
    int from; /* what the contexts are for; 0: there are none */
    struct SwrContext *swr;
    struct soxr *soxr;
    int64_t emitted; /* samples since the beginning */
};

/* Start from {0}, with engine, to, channels, floats and step_bytes set. */
void bl_resampler_free(struct bl_resampler *r);

/* Begins a signal at the rate `from`. BL_EDATA: it cannot be changed to the other one. */
int bl_resampler_begin(struct bl_resampler *r, int from, struct bl_error *e);

/* Appends what so many further samples, interleaved, give to out. */
int bl_resampler_push(struct bl_resampler *r, const float *in, int count, struct bl_buffer *out, struct bl_error *e);

/* Ends the signal: appends what is left of so many samples in all. tail: its last samples, at least one, and as many as
 * bl_resampler_reach or all. */
int bl_resampler_end(struct bl_resampler *r, const float *tail, int count, int64_t length, struct bl_buffer *out,
                     struct bl_error *e);

/* At least as many samples as swresample's filter reaches to either side, at this rate. */
int bl_resampler_reach(const struct bl_resampler *r, int from);

#endif
