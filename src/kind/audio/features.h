/* Computes features of speech in frames of 10 ms: Whisper's log-mel and Kaldi's filter bank, of one channel of samples
 * in -1 to 1.
 *
 * All arithmetic is in float, in one order, so that the numbers do not depend on the processor. */
#ifndef BL_FEATURES_H
#define BL_FEATURES_H

#include <kiss_fft.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- elementary functions ----------------------------------------------------------------------------------------- */

/* Functions for tables, made of additions, multiplications and divisions alone: those of the C library differ in the
 * last bit from processor to processor. The error is below 1e-13, far less than a float resolves. */

/* Returns the natural logarithm of a positive normal number. */
double bl_elementary_log(double x);

/* Returns e^x, for |x| up to 700. */
double bl_elementary_exp(double x);

/* Returns the cosine of an angle in turns, at least 0: 0.25 is a right angle. */
double bl_elementary_cos(double turns);

/* --- power spectrum ----------------------------------------------------------------------------------------------- */

/* The power spectrum of a window of samples, by kissfft, and logarithms of many values.
 *
 * Four values at a time (lanes.h), in one order and without fused multiplication: every processor gives the same. */

struct bl_spectrum {
    int window, fft;      /* samples; fft is even and at least as long as the window */
    bool preemphasized;   /* the mean is removed and preemphasis applied before the FFT */
    float *shape;         /* [window] factors of the samples; the caller fills it in */
    float *centred;       /* [1 + window] the samples without their mean, after a copy of the first one */
    float *cosine, *sine; /* [fft / 2 + 1] of k / fft turns */
    kiss_fft_cfg plan;    /* for fft / 2 complex samples */
    float *in;            /* [fft] the input of the FFT; zeros behind the window */
    kiss_fft_cpx *bin;    /* [fft / 2 + 1] its output, with room for lanes at both ends */
    float *power;         /* [fft / 2 + 1] the result, and BL_LANES zeros */
};

/* Allocates the arrays and computes the tables. Call bl_spectrum_close after failures, too. BL_EFAIL: out of memory. */
int bl_spectrum_open(struct bl_spectrum *s, int window, int fft, bool preemphasized, struct bl_error *e);
void bl_spectrum_close(struct bl_spectrum *s);

/* Computes s->power of a window of samples. It reads up to three floats more, so that it can take all samples in lanes;
 * these may be any finite numbers. */
void bl_spectrum_compute(struct bl_spectrum *s, const float *samples);

/* Replaces each value by scale * ln(max(value, min)); NaN counts as min, a normal positive number. count is rounded up
 * to a multiple of BL_LANES. Returns the maximum of the results. The error is below 1e-7, plus rounding to a float. */
float bl_spectrum_log(float *value, int count, float min, float scale);

/* --- mel filters -------------------------------------------------------------------------------------------------- */

/* A mel filter is a triangle over the bins of a power spectrum. */

struct bl_mel_filter {
    int first, count; /* the bins with weights other than 0 */
    float *weight;    /* [count], within the weights of struct bl_mel */
};

struct bl_mel {
    int filters, bins;            /* bins: fft / 2 + 1 */
    int row;                      /* floats from one filter's row of weights to the next one's */
    struct bl_mel_filter *filter; /* [filters], owned */
    float *weights;               /* [filters, row], owned */
};

/* Both functions make filters for a spectrum of fft samples at this rate, in Hz. BL_EFAIL: out of memory; *m needs no
 * free then.
 *
 * Slaney's scale is linear below 1 kHz; its triangles have the area 1, and lie from 0 Hz to half the rate. Source:
 * librosa's default. */
int bl_mel_slaney(struct bl_mel *m, int filters, int fft, int rate, struct bl_error *e);

/* Kaldi's scale is 1127 ln(1 + f / 700); its triangles have the height 1 on that scale, and lie from low to high Hz. */
int bl_mel_kaldi(struct bl_mel *m, int filters, int fft, int rate, double low, double high, struct bl_error *e);

void bl_mel_free(struct bl_mel *m);

/* Sets out[f] to the sum of power weighted by filter f. power has bins floats, then BL_LANES zeros. out has room for
 * filters, rounded up to a multiple of BL_LANES. */
void bl_mel_apply(const struct bl_mel *m, const float *power, float *out);

/* --- features ----------------------------------------------------------------------------------------------------- */

/* whisperN (80, 128) takes 400 samples every 160 at 16 kHz, around each frame's centre, with reflected ends, and leaves
 * the last frame out. The steps are: a periodic Hann window; power; Slaney's mel filters; log10 of at least 1e-10; at
 * least the utterance's maximum less 8; plus 4, divided by 4. Source: OpenAI's whisper/audio.py.
 *
 * fbankN takes 25 ms every 10 ms. The steps are: subtract the mean; preemphasis of 0.97; a symmetric Hann window to the
 * power of 0.85; FFT of the next power of two; power; triangles on Kaldi's mel scale from 20 Hz; natural log of at
 * least FLT_EPSILON. Frames cover the utterance with mirrored ends, (n + 80) / 160 of them at 16 kHz, or with snip only
 * where they fit, 1 + (n - 400) / 160. Source: Kaldi's feature-fbank, feature-window. */

struct bl_features_spec {
    bool whisper;   /* Whisper's features, otherwise Kaldi's */
    int mels, rate; /* mels: values of a frame; rate: Hz */
    int high;       /* the upper end of Kaldi's filters, Hz; 0 or less: relative to half the rate */
    bool snip;      /* Kaldi: only frames with a complete window */
};

/* Parses "whisper80", "whisper128", "fbank1" to "fbank512"; sets whisper and mels. BL_EUSAGE. */
int bl_features_parse(const char *text, struct bl_features_spec *spec, struct bl_error *e);

/* Checks rate and high. BL_EUSAGE. */
int bl_features_check(const struct bl_features_spec *spec, struct bl_error *e);

/* Returns the number of frames that so many samples give. */
int64_t bl_features_frames(const struct bl_features_spec *spec, int64_t samples);

struct bl_features; /* the window, filters and FFT of one worker */

int bl_features_open(struct bl_features **f, const struct bl_features_spec *spec, struct bl_error *e);
void bl_features_close(struct bl_features *f);

/* These three compute the features of one utterance: begin, push any number of samples, end. Frames (mels floats each)
 * are appended to out as soon as their samples are there. After end the values are final, and their number is that of
 * bl_features_frames. BL_EFAIL: out of memory. */
void bl_features_begin(struct bl_features *f);
int bl_features_push(struct bl_features *f, const float *samples, int64_t count, struct bl_buffer *out,
                     struct bl_error *e);
int bl_features_end(struct bl_features *f, struct bl_buffer *out, struct bl_error *e);

#endif
