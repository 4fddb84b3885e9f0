/* Computes features of speech, as features.h defines them: windows of samples, their power spectrum, mel filters over
 * it, logarithms.
 *
 * The sections stand in this order, and each one is usable alone: the unit tests compare each with a reference in
 * double precision. Loops over arrays take whole lanes of four values (lanes.h), and so read up to three floats more
 * than there are: all arrays have room for them. */
#include "kind/audio/features.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/audio/lanes.h"

#define BL_FEATURES_MELS_MAX 512

/* --- elementary functions ----------------------------------------------------------------------------------------- */

/* ln(m 2^k) = 2 artanh((m - 1) / (m + 1)) + k ln(2), with m between sqrt(1/2) and sqrt(2). The series of artanh up to
 * s^21 leaves an error below 1e-17, as |s| is at most 0.172. */
double bl_elementary_log(double x)
{
    int exponent;
    double m = frexp(x, &exponent);
    if (m < M_SQRT1_2) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1), t = s * s, sum = 0;
    for (int k = 21; k > 0; k -= 2)
        sum = sum * t + 1.0 / k;
    return 2 * s * sum + exponent * M_LN2;
}

/* The result is a power of 2, times the Taylor series of the rest, which is at most ln(2) / 2. */
double bl_elementary_exp(double x)
{
    double power = rint(x / M_LN2), rest = x - power * M_LN2, sum = 1;
    for (int k = 16; k > 0; k--)
        sum = 1 + sum * rest / k;
    return ldexp(sum, (int)power);
}

/* Returns the cosine, 1 - x^2/2 (1 - x^2/12 (...)), with first = 0; the sine, x (1 - x^2/6 (...)), with first = 1. x is
 * at most pi / 4. */
static double cosine_series(double x, int first)
{
    double sum = 1;
    for (int k = 20 + first; k > first; k -= 2)
        sum = 1 - sum * x * x / (k * (k - 1));
    return first ? x * sum : sum;
}

double bl_elementary_cos(double turns)
{
    double part = turns - floor(turns);
    part = part > 0.5 ? 1 - part : part; /* the cosine is even */
    double sign = part > 0.25 ? -1 : 1;
    part = part > 0.25 ? 0.5 - part : part;
    return sign * (part > 0.125 ? cosine_series(2 * M_PI * (0.25 - part), 1) : cosine_series(2 * M_PI * part, 0));
}

/* --- power spectrum ----------------------------------------------------------------------------------------------- */

#define PREEMPHASIS 0.97f /* Kaldi's default */

/* Allocates zeros, with room for whole lanes after them. */
static float *spectrum_alloc_floats(int count)
{
    return calloc((size_t)count + 2 * BL_LANES, sizeof(float));
}

int bl_spectrum_open(struct bl_spectrum *s, int window, int fft, bool preemphasized, struct bl_error *e)
{
    int bins = fft / 2 + 1;
    *s = (struct bl_spectrum){.window = window, .fft = fft, .preemphasized = preemphasized};
    s->shape = spectrum_alloc_floats(window);
    s->centred = spectrum_alloc_floats(window);
    s->in = spectrum_alloc_floats(fft);
    s->bin = (kiss_fft_cpx *)(void *)spectrum_alloc_floats(2 * (BL_LANES + bins));
    s->power = spectrum_alloc_floats(bins);
    s->cosine = spectrum_alloc_floats(bins);
    s->sine = spectrum_alloc_floats(bins);
    s->plan = kiss_fft_alloc(fft / 2, 0, NULL, NULL);
    if (!s->shape || !s->centred || !s->in || !s->bin || !s->power || !s->cosine || !s->sine || !s->plan)
        return bl_error_memory(e);
    for (int k = 0; k < bins; k++) {
        double turns = (double)k / fft;
        s->cosine[k] = (float)bl_elementary_cos(turns);
        s->sine[k] = (float)bl_elementary_cos(turns + 0.75); /* the sine is the cosine a quarter turn before */
    }
    return BL_OK;
}

void bl_spectrum_close(struct bl_spectrum *s)
{
    free(s->shape);
    free(s->centred);
    free(s->in);
    free(s->bin);
    free(s->power);
    free(s->cosine);
    free(s->sine);
    kiss_fft_free(s->plan);
    *s = (struct bl_spectrum){0};
}

/* Fills s->in with the window's samples, from which the mean is subtracted, then PREEMPHASIS times the sample before.
 * The first sample counts as its own predecessor, as in Kaldi. */
static void spectrum_preemphasize(struct bl_spectrum *s, const float *samples)
{
    double sum[BL_LANES] = {0};
    int whole = s->window - s->window % BL_LANES;
    for (int i = 0; i < whole; i += BL_LANES) {
        for (int k = 0; k < BL_LANES; k++)
            sum[k] += samples[i + k];
    }
    for (int i = whole; i < s->window; i++)
        sum[0] += samples[i];
    float mean = (float)((sum[0] + sum[1] + (sum[2] + sum[3])) / s->window), *centred = s->centred + 1;
    for (int i = 0; i < s->window; i += BL_LANES)
        bl_lanes_store(centred + i, bl_lanes_load(samples + i) - mean);
    s->centred[0] = centred[0];
    for (int i = 0; i < s->window; i += BL_LANES)
        bl_lanes_store(s->in + i, (bl_lanes_load(centred + i) - PREEMPHASIS * bl_lanes_load(s->centred + i)) *
                                      bl_lanes_load(s->shape + i));
}

/* Loads four complex values, and separates their real and imaginary parts. */
static void spectrum_load_bins(const kiss_fft_cpx *at, bl_lanes *real, bl_lanes *imaginary)
{
    const float *values = (const float *)(const void *)at;
    bl_lanes a = bl_lanes_load(values), b = bl_lanes_load(values + BL_LANES);
    *real = BL_SHUFFLE(a, b, 0, 2, 4, 6);
    *imaginary = BL_SHUFFLE(a, b, 1, 3, 5, 7);
}

void bl_spectrum_compute(struct bl_spectrum *s, const float *samples)
{
    int half = s->fft / 2;
    kiss_fft_cpx *bin = s->bin + BL_LANES; /* lanes before and after are read, but not used */
    /* Behind the window s->in stays 0, as the shape is 0 there. */
    if (s->preemphasized) {
        spectrum_preemphasize(s, samples);
    } else {
        for (int i = 0; i < s->window; i += BL_LANES)
            bl_lanes_store(s->in + i, bl_lanes_load(samples + i) * bl_lanes_load(s->shape + i));
    }
    /* The FFT takes pairs of samples for complex numbers, and so has half the length. The spectrum of the samples
     * follows from it: their even part E and odd part O, each doubled, are in bins k and half - k, and bin k is
     * E + O (cos - i sin). kiss_fftr does the same, but not four bins at a time. */
    kiss_fft(s->plan, (const kiss_fft_cpx *)(const void *)s->in, bin);
    bin[half] = bin[0];
    for (int k = 0; k <= half; k += BL_LANES) {
        bl_lanes ar, ai, br, bi, cosine = bl_lanes_load(s->cosine + k), sine = bl_lanes_load(s->sine + k);
        spectrum_load_bins(bin + k, &ar, &ai);
        spectrum_load_bins(bin + half - k - (BL_LANES - 1), &br, &bi);
        br = BL_SHUFFLE(br, br, 3, 2, 1, 0);
        bi = BL_SHUFFLE(bi, bi, 3, 2, 1, 0);
        bl_lanes odd_r = ai + bi, odd_i = br - ar;
        bl_lanes real = ar + br + (odd_r * cosine + odd_i * sine);
        bl_lanes imaginary = ai - bi + (odd_i * cosine - odd_r * sine);
        bl_lanes_store(s->power + k, (real * real + imaginary * imaginary) * 0.25f);
    }
    bl_lanes_store(s->power + half + 1, (bl_lanes){0});
}

/* Returns scale * ln(x) of four normal numbers: ln(x) = exponent ln(2) + ln(m), with m between sqrt(1/2) and sqrt(2),
 * and ln(m) = 2 artanh((m - 1) / (m + 1)). The C library's logarithm differs with the processor. */
static bl_lanes spectrum_log_lanes(bl_lanes x, float scale)
{
    const int32_t root = 0x3f3504f3; /* sqrt(1/2) */
    bl_lanes_bits bits = (bl_lanes_bits)x, exponent = (bits - root) >> 23;
    bl_lanes m = (bl_lanes)(bits - (exponent << 23)), s = (m - 1) / (m + 1), t = s * s;
    bl_lanes sum = 1 + t * (1.0f / 3 + t * (1.0f / 5 + t * (1.0f / 7 + t * (1.0f / 9))));
    return s * sum * (2 * scale) + __builtin_convertvector(exponent, bl_lanes) * ((float)M_LN2 * scale);
}

float bl_spectrum_log(float *value, int count, float min, float scale)
{
    bl_lanes mins = {min, min, min, min}, max = {-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX};
    for (int i = 0; i < count; i += BL_LANES) {
        bl_lanes log = spectrum_log_lanes(bl_lanes_max(bl_lanes_load(value + i), mins), scale);
        bl_lanes_store(value + i, log);
        max = bl_lanes_max(log, max);
    }
    return fmaxf(fmaxf(max[0], max[1]), fmaxf(max[2], max[3]));
}

/* --- mel filters -------------------------------------------------------------------------------------------------- */

/* Slaney's scale has 3 mel for 200 Hz below 1000 Hz, and above it 27 mel for a factor of 6.4. */
static double mel_slaney_to_hz(double mel)
{
    return mel < 15 ? mel * 200 / 3 : 1000 * bl_elementary_exp((mel - 15) * bl_elementary_log(6.4) / 27);
}

static double mel_slaney_from_hz(double hz)
{
    return hz < 1000 ? hz * 3 / 200 : 15 + bl_elementary_log(hz / 1000) * 27 / bl_elementary_log(6.4);
}

/* Kaldi uses the scale of O'Shaughnessy, 1127 ln(1 + f / 700). */
static double mel_kaldi_from_hz(double hz)
{
    return 1127 * bl_elementary_log(1 + hz / 700);
}

/* Allocates weights of 0. Each filter has a row of all bins, with zeros after it for whole lanes. */
static int mel_alloc(struct bl_mel *m, int filters, int fft, struct bl_error *e)
{
    *m = (struct bl_mel){.filters = filters, .bins = fft / 2 + 1};
    m->row = m->bins + BL_LANES;
    m->filter = calloc((size_t)filters + BL_LANES, sizeof *m->filter);
    m->weights = calloc((size_t)filters * (size_t)m->row, sizeof *m->weights);
    if (m->filter && m->weights)
        return BL_OK;
    bl_mel_free(m);
    return bl_error_memory(e);
}

void bl_mel_free(struct bl_mel *m)
{
    free(m->filter);
    free(m->weights);
    *m = (struct bl_mel){0};
}

/* Returns the height at a place of the triangle over left, centre and right, whose top is 1; 0 beside the triangle. */
static double mel_triangle(double left, double centre, double right, double at)
{
    double up = (at - left) / (centre - left), down = (right - at) / (right - centre);
    return fmax(0, fmin(up, down));
}

/* Sets the range of bins of a filter, which leaves out the zeros at both ends of its row. */
static void mel_filter_trim(struct bl_mel *m, int f)
{
    float *row = m->weights + (size_t)f * (size_t)m->row;
    int first = 0, end = m->bins;
    while (first < end && row[first] == 0)
        first++;
    while (end > first && row[end - 1] == 0)
        end--;
    m->filter[f] = (struct bl_mel_filter){first, end - first, row + first};
}

int bl_mel_slaney(struct bl_mel *m, int filters, int fft, int rate, struct bl_error *e)
{
    BL_TRY(mel_alloc(m, filters, fft, e));
    double step = mel_slaney_from_hz(rate / 2.0) / (filters + 1);
    for (int f = 0; f < filters; f++) {
        double left = mel_slaney_to_hz(step * f), centre = mel_slaney_to_hz(step * (f + 1));
        double right = mel_slaney_to_hz(step * (f + 2));
        for (int b = 0; b < m->bins; b++)
            m->weights[f * m->row + b] =
                (float)(mel_triangle(left, centre, right, (double)b * rate / fft) * 2 / (right - left));
        mel_filter_trim(m, f);
    }
    return BL_OK;
}

int bl_mel_kaldi(struct bl_mel *m, int filters, int fft, int rate, double low, double high, struct bl_error *e)
{
    BL_TRY(mel_alloc(m, filters, fft, e));
    double first = mel_kaldi_from_hz(low), step = (mel_kaldi_from_hz(high) - first) / (filters + 1);
    for (int f = 0; f < filters; f++) {
        /* Kaldi's spectrum is without the last bin. */
        for (int b = 0; b < m->bins - 1; b++)
            m->weights[f * m->row + b] =
                (float)mel_triangle(first + step * f, first + step * (f + 1), first + step * (f + 2),
                                    mel_kaldi_from_hz((double)b * rate / fft));
        mel_filter_trim(m, f);
    }
    return BL_OK;
}

/* Returns four partial sums of the power under a filter. Weights after the filter's end, up to whole lanes, are 0. */
static bl_lanes mel_filter_apply(const struct bl_mel_filter *filter, const float *power)
{
    bl_lanes sum = {0};
    for (int b = 0; b < filter->count; b += BL_LANES)
        sum += bl_lanes_load(filter->weight + b) * bl_lanes_load(power + filter->first + b);
    return sum;
}

void bl_mel_apply(const struct bl_mel *m, const float *power, float *out)
{
    for (int f = 0; f < m->filters; f += BL_LANES) {
        const struct bl_mel_filter *filter = m->filter + f;
        bl_lanes_store(out + f,
                       bl_lanes_sum_each(mel_filter_apply(filter, power), mel_filter_apply(filter + 1, power),
                                         mel_filter_apply(filter + 2, power), mel_filter_apply(filter + 3, power)));
    }
}

/* --- features ----------------------------------------------------------------------------------------------------- */

#define WHISPER_RATE 16000
#define LOW 20.0         /* Hz, of Kaldi's lowest filter */
#define PADDING BL_LANES /* zeros behind an array that is read in lanes */

struct bl_features {
    struct bl_features_spec spec;
    int window, shift; /* samples */
    int lead;          /* the first frame begins so many samples before the first sample */
    struct bl_spectrum spectrum;
    struct bl_mel mel;
    float *edge;   /* a window that reaches beyond the utterance */
    float *values; /* of the frame in progress */

    float *held;                /* samples of the utterance from held_from on */
    int64_t held_from, samples; /* samples: all so far */
    size_t capacity;            /* of held */
    int64_t frames;             /* made so far */
    float max;                  /* of all values so far: log10 of the power */
    bool ended;
};

int bl_features_parse(const char *text, struct bl_features_spec *spec, struct bl_error *e)
{
    int64_t mels = 0;
    spec->whisper = strncmp(text, "whisper", 7) == 0;
    size_t name = spec->whisper ? 7 : 5;
    if ((!spec->whisper && strncmp(text, "fbank", 5) != 0) ||
        !bl_text_to_int(text + name, strlen(text + name), 1, BL_FEATURES_MELS_MAX, &mels) ||
        (spec->whisper && mels != 80 && mels != 128))
        return bl_error_set(
            e, BL_EUSAGE, "--features expects whisper80, whisper128 or fbank1 to fbank%d, such as fbank80, not \"%s\"",
            BL_FEATURES_MELS_MAX, text);
    spec->mels = (int)mels;
    return BL_OK;
}

/* Returns the upper end of Kaldi's filters in Hz. */
static double spec_high(const struct bl_features_spec *spec)
{
    return spec->high > 0 ? spec->high : spec->rate / 2.0 + spec->high;
}

int bl_features_check(const struct bl_features_spec *spec, struct bl_error *e)
{
    if (spec->whisper && spec->rate != WHISPER_RATE)
        return bl_error_set(e, BL_EUSAGE, "--features whisper%d is for --rate 16000 alone", spec->mels);
    if (!spec->whisper && (spec_high(spec) <= LOW || spec_high(spec) > spec->rate / 2.0))
        return bl_error_set(e, BL_EUSAGE, "--mel-high %d: filters from 20 Hz must end below half the rate, %d Hz",
                            spec->high, spec->rate / 2);
    return BL_OK;
}

/* Returns the samples of a window, which lasts 25 ms; and those from one window to the next, 10 ms. */
static int spec_window(const struct bl_features_spec *spec)
{
    return spec->rate * 25 / 1000;
}

static int spec_shift(const struct bl_features_spec *spec)
{
    return spec->rate / 100;
}

int64_t bl_features_frames(const struct bl_features_spec *spec, int64_t samples)
{
    int window = spec_window(spec), shift = spec_shift(spec);
    if (spec->whisper)
        return samples / shift;
    if (spec->snip)
        return samples < window ? 0 : 1 + (samples - window) / shift;
    return (samples + shift / 2) / shift;
}

int bl_features_open(struct bl_features **out, const struct bl_features_spec *spec, struct bl_error *e)
{
    struct bl_features *f = calloc(1, sizeof *f);
    if (!f)
        return bl_error_memory(e);
    f->spec = *spec;
    f->window = spec_window(spec);
    f->shift = spec_shift(spec);
    f->lead = spec->whisper ? f->window / 2 : spec->snip ? 0 : f->window / 2 - f->shift / 2;
    /* Whisper's FFT has the window's length, Kaldi's the next power of two. */
    int fft = spec->whisper ? f->window : 2, period = spec->whisper ? f->window : f->window - 1;
    while (fft < f->window)
        fft *= 2;
    int code = bl_spectrum_open(&f->spectrum, f->window, fft, !spec->whisper, e);
    f->edge = calloc((size_t)f->window + PADDING, sizeof *f->edge);
    f->values = calloc((size_t)spec->mels + PADDING, sizeof *f->values);
    if (code || !f->edge || !f->values) {
        bl_features_close(f);
        return bl_error_memory(e);
    }
    /* The shape is Hann's window; Kaldi's "povey" window is its 0.85th power. */
    for (int i = 0; i < f->window; i++) {
        double hann = 0.5 - 0.5 * bl_elementary_cos((double)i / period);
        bool povey = !spec->whisper && hann > 0;
        f->spectrum.shape[i] = (float)(povey ? bl_elementary_exp(0.85 * bl_elementary_log(hann)) : hann);
    }
    if (spec->whisper)
        code = bl_mel_slaney(&f->mel, spec->mels, fft, spec->rate, e);
    else
        code = bl_mel_kaldi(&f->mel, spec->mels, fft, spec->rate, LOW, spec_high(spec), e);
    if (code) {
        bl_features_close(f);
        return code;
    }
    bl_features_begin(f);
    *out = f;
    return BL_OK;
}

void bl_features_close(struct bl_features *f)
{
    if (!f)
        return;
    bl_mel_free(&f->mel);
    bl_spectrum_close(&f->spectrum);
    free(f->edge);
    free(f->values);
    free(f->held);
    free(f);
}

/* Returns the sample at a place that may lie outside the utterance: there its mirror image stands, without (Whisper) or
 * with the sample at the edge. */
static float features_sample_at(const struct bl_features *f, int64_t at)
{
    int64_t n = f->samples, edge = f->spec.whisper ? 1 : 0;
    while (at < 0 || at >= n) {
        at = at < 0 ? -at - 1 + edge : 2 * n - 1 - edge - at;
        if (n == 1)
            at = 0;
    }
    return f->held[at - f->held_from];
}

void bl_features_begin(struct bl_features *f)
{
    f->held_from = f->samples = f->frames = 0;
    f->max = -FLT_MAX;
    f->ended = false;
}

/* Appends the frames whose samples are all there; after the end of the utterance, all that are left. */
static int features_make_frames(struct bl_features *f, struct bl_buffer *out, struct bl_error *e)
{
    bool whisper = f->spec.whisper;
    size_t bytes = (size_t)f->spec.mels * sizeof(float);
    int64_t all = f->ended ? bl_features_frames(&f->spec, f->samples) : INT64_MAX;
    while (f->frames < all && (f->ended || f->frames * f->shift - f->lead + f->window <= f->samples)) {
        /* The mirror image at the beginning may need all of a short utterance. */
        if (!f->ended && f->samples < 2 * f->window)
            return BL_OK;
        if (!bl_buffer_reserve(out, bytes))
            return bl_error_memory(e);
        int64_t from = f->frames * f->shift - f->lead;
        bool inside = from >= 0 && from + f->window <= f->samples;
        for (int i = 0; !inside && i < f->window; i++)
            f->edge[i] = features_sample_at(f, from + i);
        bl_spectrum_compute(&f->spectrum, inside ? f->held + (from - f->held_from) : f->edge);
        bl_mel_apply(&f->mel, f->spectrum.power, f->values);
        float max =
            bl_spectrum_log(f->values, f->spec.mels, whisper ? 1e-10f : FLT_EPSILON, whisper ? (float)M_LOG10E : 1);
        f->max = max > f->max ? max : f->max;
        memcpy(out->data + out->size, f->values, bytes);
        out->size += bytes;
        f->frames++;
    }
    return BL_OK;
}

int bl_features_push(struct bl_features *f, const float *samples, int64_t count, struct bl_buffer *out,
                     struct bl_error *e)
{
    int64_t held = f->samples - f->held_from;
    BL_TRY(BL_ARRAY_RESERVE(f->held, f->capacity, (size_t)(held + count + PADDING), e));
    if (count)
        memcpy(f->held + held, samples, (size_t)count * sizeof *samples);
    memset(f->held + held + count, 0, PADDING * sizeof *f->held);
    f->samples += count;
    int code = features_make_frames(f, out, e);
    /* Samples that no further frame needs are dropped; the mirror image at the end reaches two windows back. */
    int64_t needed = f->frames * f->shift - f->lead - 2 * f->window;
    needed = needed > f->samples ? f->samples : needed;
    if (needed > f->held_from) {
        memmove(f->held, f->held + (needed - f->held_from), (size_t)(f->samples - needed) * sizeof *f->held);
        f->held_from = needed;
    }
    return code;
}

int bl_features_end(struct bl_features *f, struct bl_buffer *out, struct bl_error *e)
{
    f->ended = true;
    BL_TRY(features_make_frames(f, out, e));
    size_t values = (size_t)f->frames * (size_t)f->spec.mels;
    if (!f->spec.whisper || !values)
        return BL_OK;
    /* Whisper's values are (max(value, maximum - 8) + 4) / 4. Its number of mels is a multiple of BL_LANES. */
    float *value = (float *)(void *)(out->data + out->size - values * sizeof(float));
    bl_lanes min = f->max - 8 + (bl_lanes){0};
    for (size_t i = 0; i < values; i += BL_LANES)
        bl_lanes_store(value + i, (bl_lanes_max(bl_lanes_load(value + i), min) + 4) * 0.25f);
    return BL_OK;
}
