/* Features of speech in frames of 10 ms: Whisper's log-mel and Kaldi's filter bank, of one channel of samples in -1
 * to 1.
 *
 * Arithmetic is in float, in one order, so that the numbers do not depend on the processor. */
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

/* The natural logarithm of a positive normal number. */
double bl_elementary_log(double x);

/* e^x, for |x| up to 700. */
double bl_elementary_exp(double x);

/* The cosine of an angle in turns, at least 0: 0.25 is a right angle. */
double bl_elementary_cos(double turns);

/* --- power spectrum ----------------------------------------------------------------------------------------------- */

/* The power spectrum of a window of samples, by kissfft, and logarithms of many values.
 *
 * Four values at a time (lanes.h), in one order and without fused multiplication: every processor gives the same. */

struct bl_spectrum {
    int window, fft;    /* samples; fft is even and at least as long */
    bool preemphasized; /* the mean removed, preemphasis applied before */
    float *shape;       /* of the window; the caller fills it in */
    float *centred;     /* the window without its mean, after a copy of its first value */
    float *cosine, *sine;
    kiss_fft_cfg plan; /* of half as many complex samples */
    float *in;
    kiss_fft_cpx *bin;
    float *power; /* fft / 2 + 1, and BL_LANES zeros */
};

/* After a failure, too, bl_spectrum_close frees what is there. */
int bl_spectrum_open(struct bl_spectrum *s, int window, int fft, bool preemphasized, struct bl_error *e);
void bl_spectrum_close(struct bl_spectrum *s);

/* Computes s->power of a window of samples. Up to whole lanes more are read, which may be any finite numbers. */
void bl_spectrum_compute(struct bl_spectrum *s, const float *samples);

/* Replaces each value by scale * ln(max(value, min)); NaN counts as min, a normal positive number. count is rounded up
 * to a multiple of BL_LANES. Returns the maximum. The error is below 1e-7, beside rounding to a float. */
float bl_spectrum_log(float *value, int count, float min, float scale);

/* --- mel filters -------------------------------------------------------------------------------------------------- */

/* Triangles over the bins of a power spectrum. */

/* One filter: weights of count bins from first on. */
struct bl_mel_filter {
    int first, count;
    float *weight;
};

struct bl_mel {
    int filters, bins; /* bins: fft / 2 + 1 */
    int row;           /* floats from one filter's weights to the next's in weights */
    struct bl_mel_filter *filter;
    float *weights; /* of all filters */
};

/* Slaney's scale (linear below 1 kHz), triangles of area 1, from 0 Hz to half the rate. Source: librosa's default. */
int bl_mel_slaney(struct bl_mel *m, int filters, int fft, int rate, struct bl_error *e);

/* Kaldi's scale, 1127 ln(1 + f / 700), triangles of height 1 on that scale, from low to high Hz. */
int bl_mel_kaldi(struct bl_mel *m, int filters, int fft, int rate, double low, double high, struct bl_error *e);

void bl_mel_free(struct bl_mel *m);

/* out[f] is the weighted sum of power by filter f. power: bins floats, then BL_LANES zeros. out: room for filters,
 * rounded up to a multiple of BL_LANES. */
void bl_mel_apply(const struct bl_mel *m, const float *power, float *out);

/* --- features ----------------------------------------------------------------------------------------------------- */

/* whisperN (80, 128): 400 samples every 160 at 16 kHz, centred, the ends reflected, the last frame left out; periodic
 * Hann; power; Slaney's mel filters; log10 of at least 1e-10, at least the utterance's maximum less 8, plus 4, over 4.
 * Source: OpenAI's whisper/audio.py.
 *
 * fbankN: 25 ms every 10 ms; the mean removed, preemphasis 0.97, symmetric Hann^0.85, FFT of the next power of two;
 * power; triangles on Kaldi's mel scale from 20 Hz; natural log of at least FLT_EPSILON. Frames lie on the whole
 * utterance with mirrored ends, (n + 80) / 160 of them at 16 kHz, or with snip only where they fit, 1 + (n - 400) /
 * 160. Source: Kaldi's feature-fbank, feature-window. */

struct bl_features_spec {
    bool whisper;
    int mels, rate;
    int high; /* Hz; 0 or less: counted from half the rate */
    bool snip;
};

/* Parses "whisper80", "whisper128", "fbank1" to "fbank512"; sets whisper and mels. BL_EUSAGE. */
int bl_features_parse(const char *text, struct bl_features_spec *spec, struct bl_error *e);

/* Checks rate and high. BL_EUSAGE. */
int bl_features_check(const struct bl_features_spec *spec, struct bl_error *e);

/* Frames that so many samples give. */
int64_t bl_features_frames(const struct bl_features_spec *spec, int64_t samples);

struct bl_features; /* windows, filters, FFT: of one worker */

int bl_features_open(struct bl_features **f, const struct bl_features_spec *spec, struct bl_error *e);
void bl_features_close(struct bl_features *f);

/* One utterance: begin, push any number of samples, end. Frames (mels floats each) are appended to out as soon as they
 * can be computed. After end they are final, and as many as bl_features_frames says. */
void bl_features_begin(struct bl_features *f);
int bl_features_push(struct bl_features *f, const float *samples, int64_t count, struct bl_buffer *out,
                     struct bl_error *e);
int bl_features_end(struct bl_features *f, struct bl_buffer *out, struct bl_error *e);

#endif
