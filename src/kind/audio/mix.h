/* From decoded frames to the samples that are packed: channels mixed, then resampled, by libswresample, in float.
 *
 * The result does not depend on how the samples come in frames. n samples give ceil(n * rate / source rate): the
 * resampler is given what comes before the first and after the last sample as their mirror image, as swresample does
 * itself, but as much of it as its filter is wide, so that the number is the same for every file. Where a stream
 * changes its rate or channels, each part is resampled by itself. */
#ifndef BL_MIX_H
#define BL_MIX_H

#include <libavutil/frame.h>
#include <libswresample/swresample.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* A part of a stream: samples of one rate and number of channels. */
struct bl_mix_part {
    int rate, channels; /* 0: none yet */
    int64_t samples;    /* of each channel */
};

/* Whether the frame goes on with the part. */
bool bl_mix_part_continues(const struct bl_mix_part *part, const AVFrame *frame);

/* Samples that n samples at a rate of from give at a rate of to. n is at most 2^40, rates are within 2^22. */
int64_t bl_mix_length(int64_t n, int from, int to);

struct bl_mix {
    int rate, channels;
    bool floats; /* F32, else I16 */

    SwrContext *mixer;      /* to the wanted channels, as floats or, where there is nothing to resample, as wanted */
    AVChannelLayout layout; /* of the mixer's source */
    int format;             /* of the mixer's source; -1: there is no mixer */
    bool direct;            /* what the mixer gives is the result */
    SwrContext *resampler;  /* of mixed floats */
    int resampled_rate;     /* the resampler's source; 0: there is none */

    struct bl_mix_part part; /* under way */
    int64_t emitted;         /* samples that it gave so far */
    float *mixed;            /* the part's last samples and, behind them, those that the mixer gave last */
    int tail, capacity;      /* samples: how many of the last, and all that there is room for */
};

void bl_mix_init(struct bl_mix *m, int rate, int channels, bool floats);
void bl_mix_free(struct bl_mix *m);

/* Begins another stream, forgetting what is under way; contexts and memory are kept. */
void bl_mix_begin(struct bl_mix *m);

/* Appends to out what can be given after this frame, whole samples; and what is left at the end of the stream.
 * Errors: BL_EFAIL, BL_EDATA for channels that cannot be mixed. */
int bl_mix_push(struct bl_mix *m, const AVFrame *frame, struct bl_buffer *out, struct bl_error *e);
int bl_mix_end(struct bl_mix *m, struct bl_buffer *out, struct bl_error *e);

#endif
