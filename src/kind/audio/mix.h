/* Turns decoded frames into the samples that are packed: mixes their channels, then changes their rate, in float.
 *
 * The result does not depend on how samples are divided into frames. n samples give ceil(n * rate / source rate). */
#ifndef BL_KIND_AUDIO_MIX_H
#define BL_KIND_AUDIO_MIX_H

#include <libavutil/frame.h>
#include <libswresample/swresample.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/audio/trim.h"

/* --- resampler ---------------------------------------------------------------------------------------------------- */

/* Changes the rate of mixed samples by soxr or by libswresample, in float.
 *
 * soxr: its quality for 20 bits without a roll-off, in single precision. That code is the same on every x86-64 (SSE2)
 * and every AArch64. Its double precision is not: on a processor with AVX it gives other bytes
 * (bl_media_set_environment). Before the first and after the last sample lie zeros.
 *
 * swresample: its own filter of 32 taps, 1 dB down at 0.45 of the lower rate. At either end lies the mirror image. */

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

/* --- mixing ------------------------------------------------------------------------------------------------------- */

/* Mixes the channels by libswresample, then resamples the result.
 *
 * If the file has as many channels as wanted, they are copied. More than two channels without a layout
 * (AV_CHANNEL_ORDER_UNSPEC) are mixed to their mean alone, those with one by swresample's coefficients. Where a stream
 * changes its rate or channels, each part is resampled by itself. */

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

/* --- samples of a file -------------------------------------------------------------------------------------------- */

/* All samples of a file, or of a cut of it, in order: decoded, mixed, resampled. A step is a sample of all channels. */

struct bl_samples {
    struct bl_trim trim;
    struct bl_mix *mix; /* the caller's: kept from file to file */
    AVFrame *frame;
    struct bl_buffer ready; /* steps that are made, and from `taken` on not read yet */
    size_t taken;           /* bytes */
    size_t step_bytes;
    int64_t position; /* steps read or skipped so far */
    bool ended;
};

/* Arguments and errors as bl_trim_open's. mix outlives it. */
int bl_samples_open(struct bl_samples *s, struct bl_mix *mix, const char *path, int64_t bytes, int stream,
                    struct bl_rational gap, const struct bl_kind_env *env, struct bl_error *e);

/* From now on steps are those of this cut, from its first on; see bl_trim_set. */
void bl_samples_begin(struct bl_samples *s, const struct bl_cut *cut, bool damaged);
void bl_samples_close(struct bl_samples *s);

/* Reads the next steps into out, or skips them where that is NULL. *got is less than wanted only at the end. */
int bl_samples_read(struct bl_samples *s, uint8_t *out, int64_t wanted, int64_t *got, struct bl_error *e);

#endif
