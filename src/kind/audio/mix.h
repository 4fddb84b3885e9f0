/* From decoded frames to samples as they are packed: channels mixed, by libswresample, then resampled (resampler.h), in
 * float.
 *
 * As many channels as wanted are copied. More than two channels without a layout (AV_CHANNEL_ORDER_UNSPEC) are mixed to
 * their mean alone, those with one by swresample's coefficients.
 *
 * The result does not depend on how samples are divided into frames. n samples give ceil(n * rate / source rate). Where
 * a stream changes its rate or channels, each part is resampled by itself. */
#ifndef BL_MIX_H
#define BL_MIX_H

#include <libavutil/frame.h>
#include <libswresample/swresample.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/audio/resampler.h"

#define BL_MIX_PLACED_MAX 8 /* more channels than these can only be copied, or be mixed to one */

/* A part of a stream: samples of one rate and number of channels. */
struct bl_mix_part {
    int rate, channels; /* 0: none yet */
    int64_t samples;    /* of each channel */
};

/* Whether the frame belongs to the part. */
bool bl_mix_part_continues(const struct bl_mix_part *part, const AVFrame *frame);

/* How many samples at the rate `to` n samples at the rate `from` give. n is at most 2^40, rates are at most 2^22. */
int64_t bl_mix_length(int64_t n, int from, int to);

struct bl_mix {
    int rate, channels;
    enum AVSampleFormat output; /* FLT or S16 */
    size_t step_bytes;          /* of a sample of all channels, as output */

    SwrContext *mixer;      /* to the wanted channels, as floats or, where there is nothing to resample, as wanted */
    AVChannelLayout layout; /* of the mixer's source */
    int format;             /* of the mixer's source; -1: no mixer */
    bool direct;            /* the mixer's output is the result */
    struct bl_resampler resampler; /* of mixed floats */

    struct bl_mix_part part; /* in progress */
    float *mixed;            /* the part's last samples, and after them the mixer's last output */
    int tail;                /* samples: of the first of these */
    size_t capacity;         /* of mixed */
};

/* floats: the output is F32, else I16. */
void bl_mix_init(struct bl_mix *m, int rate, int channels, bool floats, enum bl_resampler_engine engine);
void bl_mix_free(struct bl_mix *m);

/* Begins another stream and forgets the part in progress; contexts and memory are kept. */
void bl_mix_begin(struct bl_mix *m);

/* Whether the frame's channels can be mixed. BL_EDATA: they cannot; BL_EFAIL. */
int bl_mix_check(struct bl_mix *m, const AVFrame *frame, struct bl_error *e);

/* push appends the whole samples that are complete with this frame to out, end those that are left at the end of the
 * stream. BL_EFAIL; BL_EDATA for channels that cannot be mixed. */
int bl_mix_push(struct bl_mix *m, const AVFrame *frame, struct bl_buffer *out, struct bl_error *e);
int bl_mix_end(struct bl_mix *m, struct bl_buffer *out, struct bl_error *e);

#endif
