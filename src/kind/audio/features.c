#include "kind/audio/features.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "kind/audio/elementary.h"
#include "kind/audio/lanes.h"
#include "kind/audio/mel.h"
#include "kind/audio/spectrum.h"

#define WHISPER_RATE 16000
#define LOW 20.0         /* Hz, of Kaldi's lowest filter */
#define PADDING BL_LANES /* zeros after what is read by whole lanes */

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

/* --- specification ---------------------------------------------------------------------------------------------- */

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

bool bl_features_from_config(const struct bl_audio_config *config, struct bl_features_spec *spec)
{
    *spec =
        (struct bl_features_spec){.rate = (int)config->rate, .high = (int)config->mel_high, .snip = config->snip_edges};
    return config->features && bl_features_parse(config->features, spec, NULL) == BL_OK;
}

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

/* --- setting up ------------------------------------------------------------------------------------------------- */

static void features_make_shape(struct bl_features *f)
{
    int period = f->spec.whisper ? f->window : f->window - 1;
    for (int i = 0; i < f->window; i++) {
        double hann = 0.5 - 0.5 * bl_elementary_cos((double)i / period);
        bool raised = !f->spec.whisper && hann > 0;
        f->spectrum.shape[i] = (float)(raised ? bl_elementary_exp(0.85 * bl_elementary_log(hann)) : hann);
    }
}

static int features_make_tables(struct bl_features *f, struct bl_error *e)
{
    int fft = f->spec.whisper ? f->window : 2;
    while (fft < f->window)
        fft *= 2;
    int code = bl_spectrum_open(&f->spectrum, f->window, fft, !f->spec.whisper, e);
    f->edge = calloc((size_t)f->window + PADDING, sizeof *f->edge);
    f->values = calloc((size_t)f->spec.mels + PADDING, sizeof *f->values);
    if (code || !f->edge || !f->values)
        return bl_error_memory(e);
    features_make_shape(f);
    if (f->spec.whisper)
        return bl_mel_slaney(&f->mel, f->spec.mels, fft, f->spec.rate, e);
    return bl_mel_kaldi(&f->mel, f->spec.mels, fft, f->spec.rate, LOW, spec_high(&f->spec), e);
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
    int code = features_make_tables(f, e);
    if (code) {
        bl_features_close(f);
        return code;
    }
    *out = f;
    bl_features_begin(f);
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

/* --- a frame ---------------------------------------------------------------------------------------------------- */

/* The sample at a place that may lie outside the utterance: there is its mirror image, without (Whisper) or with the
 * sample at the edge. */
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

/* The window's samples, mirrored where it reaches beyond the utterance. */
static const float *features_window_at(struct bl_features *f, int64_t from)
{
    if (from >= 0 && from + f->window <= f->samples)
        return f->held + (from - f->held_from);
    for (int i = 0; i < f->window; i++)
        f->edge[i] = features_sample_at(f, from + i);
    return f->edge;
}

static void features_make_frame(struct bl_features *f, float *out)
{
    bool whisper = f->spec.whisper;
    bl_spectrum_compute(&f->spectrum, features_window_at(f, f->frames * f->shift - f->lead));
    bl_mel_apply(&f->mel, f->spectrum.power, f->values);
    float max = bl_spectrum_log(f->values, f->spec.mels, whisper ? 1e-10f : FLT_EPSILON, whisper ? (float)M_LOG10E : 1);
    f->max = max > f->max ? max : f->max;
    memcpy(out, f->values, (size_t)f->spec.mels * sizeof *out);
}

/* --- an utterance ----------------------------------------------------------------------------------------------- */

void bl_features_begin(struct bl_features *f)
{
    f->held_from = f->samples = f->frames = 0;
    f->max = -FLT_MAX;
    f->ended = false;
}

/* Makes the frames whose samples are all there. */
static int features_make_frames(struct bl_features *f, struct bl_buffer *out, struct bl_error *e)
{
    size_t bytes = (size_t)f->spec.mels * sizeof(float);
    int64_t all = f->ended ? bl_features_frames(&f->spec, f->samples) : INT64_MAX;
    while (f->frames < all && (f->ended || f->frames * f->shift - f->lead + f->window <= f->samples)) {
        /* The mirror image at the beginning may need all of a short utterance. */
        if (!f->ended && f->samples < 2 * f->window)
            return BL_OK;
        if (!bl_buffer_reserve(out, bytes))
            return bl_error_memory(e);
        features_make_frame(f, (float *)(void *)(out->data + out->size));
        out->size += bytes;
        f->frames++;
    }
    return BL_OK;
}

/* Drops samples that no further frame needs. */
static void features_drop_samples(struct bl_features *f)
{
    int64_t needed = f->frames * f->shift - f->lead - 2 * f->window;
    if (needed <= f->held_from)
        return;
    if (needed > f->samples)
        needed = f->samples;
    memmove(f->held, f->held + (needed - f->held_from), (size_t)(f->samples - needed) * sizeof *f->held);
    f->held_from = needed;
}

int bl_features_push(struct bl_features *f, const float *samples, int64_t count, struct bl_buffer *out,
                     struct bl_error *e)
{
    int64_t there = f->samples - f->held_from;
    int code = BL_ARRAY_RESERVE(f->held, f->capacity, (size_t)(there + count + PADDING), e);
    if (code)
        return code;
    if (count)
        memcpy(f->held + there, samples, (size_t)count * sizeof *samples);
    memset(f->held + there + count, 0, PADDING * sizeof *f->held);
    f->samples += count;
    code = features_make_frames(f, out, e);
    features_drop_samples(f);
    return code;
}

/* value = (max(value, maximum - 8) + 4) / 4. mels is a multiple of BL_LANES. */
static void whisper_normalize(const struct bl_features *f, float *value, size_t count)
{
    bl_lanes min = f->max - 8 + (bl_lanes){0};
    for (size_t i = 0; i < count; i += BL_LANES)
        bl_lanes_store(value + i, (bl_lanes_max(bl_lanes_load(value + i), min) + 4) * 0.25f);
}

int bl_features_end(struct bl_features *f, struct bl_buffer *out, struct bl_error *e)
{
    f->ended = true;
    int code = features_make_frames(f, out, e);
    size_t values = (size_t)f->frames * (size_t)f->spec.mels;
    if (code)
        return code;
    if (f->spec.whisper && values)
        whisper_normalize(f, (float *)(void *)(out->data + out->size - values * sizeof(float)), values);
    return BL_OK;
}
