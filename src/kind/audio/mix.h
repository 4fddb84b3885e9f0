/* Turns decoded frames into the samples that are packed: mixes their channels, then changes their rate, in float.
 *
 * The result does not depend on how samples are divided into frames. n samples give ceil(n * rate / source rate): for
 * example, 441 samples at 44,100 Hz give 160 at 16,000 Hz, and 442 give 161. */
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

/* A resampler changes the rate of mixed samples by soxr or by libswresample, in float.
 *
 * soxr runs with its quality for 20 bits without a roll-off, in single precision. That code is the same on every x86-64
 * (SSE2) and every AArch64. Its double precision is not: on a processor with AVX it gives other bytes
 * (bl_media_set_environment). It extends the signal with zeros at both ends.
 *
 * swresample runs with its own filter of 32 taps, which is 1 dB down at 0.45 of the lower rate. The mirror image
 * extends the signal at both ends. */

enum bl_resampler_engine { BL_RESAMPLER_SOXR, BL_RESAMPLER_SWR };

/* Initialize it with zeros, then set the first five members. */
struct bl_resampler {
    enum bl_resampler_engine engine;
    int to, channels;       /* to: Hz */
    bool floats;            /* the output is F32, otherwise I16 */
    size_t step_bytes;      /* of an output sample of all channels */
    int from;               /* Hz, the rate for which a context was made; 0: there is none */
    struct SwrContext *swr; /* one of these two, by the engine; the resampler owns it */
    struct soxr *soxr;
    int64_t emitted; /* samples of each channel since bl_resampler_begin */
};

void bl_resampler_free(struct bl_resampler *r);

/* Begins a signal at the rate `from`, in Hz. BL_EDATA: swresample cannot change that rate; BL_EFAIL: out of memory. */
int bl_resampler_begin(struct bl_resampler *r, int from, struct bl_error *e);

/* Takes count further samples, interleaved, and appends the output that they complete. BL_EFAIL: out of memory. */
int bl_resampler_push(struct bl_resampler *r, const float *in, int count, struct bl_buffer *out, struct bl_error *e);

/* Ends the signal: appends the rest of its output, which then has `length` samples. tail has its last count samples: at
 * least one, and bl_resampler_reach of them, or all if there are fewer. */
int bl_resampler_end(struct bl_resampler *r, const float *tail, int count, int64_t length, struct bl_buffer *out,
                     struct bl_error *e);

/* Returns a number of samples, at the rate `from`, that is at least the reach of swresample's filter to a side. */
int bl_resampler_reach(const struct bl_resampler *r, int from);

/* --- mixing ------------------------------------------------------------------------------------------------------- */

/* A mix turns the channels of frames into the wanted number by libswresample, then resamples the result.
 *
 * If the file has as many channels as wanted, they are copied. More than two channels without a layout
 * (AV_CHANNEL_ORDER_UNSPEC) can only be mixed to one, their mean; those with a layout are mixed by swresample's
 * coefficients. Where a stream changes its rate or channels, each part is resampled by itself. */

/* A part of a stream: samples of one rate and number of channels. */
struct bl_mix_part {
    int rate, channels; /* rate: Hz; 0: there is no part yet */
    int64_t samples;    /* of each channel */
};

/* Returns whether the frame belongs to the part. */
bool bl_mix_part_continues(const struct bl_mix_part *part, const AVFrame *frame);

/* Returns the number of samples at the rate `to` that n samples at the rate `from` give. n is at most 2^40, rates are
 * at most 2^22. */
int64_t bl_mix_length(int64_t n, int from, int to);

struct bl_mix {
    int rate, channels;         /* the wanted ones; rate: Hz */
    enum AVSampleFormat output; /* FLT or S16 */
    size_t step_bytes;          /* of an output sample of all channels */

    SwrContext *mixer;             /* outputs the wanted channels, as `output` if direct, otherwise as floats; owned */
    AVChannelLayout layout;        /* of the mixer's source */
    int format;                    /* enum AVSampleFormat of the mixer's source; -1: there is no usable mixer */
    bool direct;                   /* the source has the wanted rate, and the mixer's output is the result */
    struct bl_resampler resampler; /* takes the mixed floats, if not direct */

    struct bl_mix_part part; /* in progress */
    float *mixed;            /* the part's last `tail` samples, and after them the mixer's last output; owned */
    int tail;
    size_t capacity; /* floats in mixed */
};

/* Initializes a mix that needs no memory yet. floats: the output is F32, otherwise I16. */
void bl_mix_init(struct bl_mix *m, int rate, int channels, bool floats, enum bl_resampler_engine engine);
void bl_mix_free(struct bl_mix *m);

/* Begins another stream, and drops the part in progress; contexts and memory are kept. */
void bl_mix_begin(struct bl_mix *m);

/* Checks that `channels` channels, which a choice has taken of a file, can be mixed to so many. One or two are mixed as
 * mono and stereo, and more have no layout. BL_EDATA: they cannot. */
int bl_mix_check_chosen(int channels, int wanted, struct bl_error *e);

/* Checks that the frame's channels can be mixed. BL_EDATA: they cannot (e has the reason); BL_EFAIL: out of memory. */
int bl_mix_check(struct bl_mix *m, const AVFrame *frame, struct bl_error *e);

/* bl_mix_push takes a frame, and appends the output samples that are complete; bl_mix_end ends the stream, and appends
 * the rest. BL_EFAIL: out of memory; BL_EDATA: the channels cannot be mixed. */
int bl_mix_push(struct bl_mix *m, const AVFrame *frame, struct bl_buffer *out, struct bl_error *e);
int bl_mix_end(struct bl_mix *m, struct bl_buffer *out, struct bl_error *e);

/* --- samples of a file -------------------------------------------------------------------------------------------- */

/* All samples of a file, or of a cut of it, in order: decoded, mixed, resampled. A step is a sample of all channels. */

struct bl_samples {
    struct bl_trim trim;
    struct bl_mix *mix;     /* the caller's, who keeps it from file to file */
    AVFrame *frame;         /* room for a decoded frame; owned */
    struct bl_buffer ready; /* steps that are made; those before `taken` were read */
    size_t taken;           /* bytes */
    size_t step_bytes;
    int64_t position; /* steps read or skipped so far */
    bool ended;       /* no further step can be made */
};

/* Opens a file. Arguments and errors are those of bl_trim_open. mix must outlive *s. A failed open needs no close. */
int bl_samples_open(struct bl_samples *s, struct bl_mix *mix, const char *path, int64_t bytes, int stream,
                    struct bl_rational gap, const struct bl_kind_env *env, struct bl_error *e);

/* Goes to the first step of a cut; see bl_trim_set. */
void bl_samples_begin(struct bl_samples *s, const struct bl_cut *cut, bool damaged);
void bl_samples_close(struct bl_samples *s);

/* Reads the next steps into out; out NULL: skips them. *got is less than wanted only at the end. Errors as bl_trim_next
 * and bl_mix_push. */
int bl_samples_read(struct bl_samples *s, uint8_t *out, int64_t wanted, int64_t *got, struct bl_error *e);

#endif
