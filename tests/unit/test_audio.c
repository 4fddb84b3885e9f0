/* Sound: the arithmetic of lengths, mixing, elementary functions, filters and features, against computations of their
 * own here. */
#include <math.h>

#include "kind/audio/features.h"
#include "kind/audio/mix.h"
#include "unit.h"

/* --- elementary functions --------------------------------------------------------------------------------------- */

UNIT_TEST(elementary_functions_are_those_of_the_library)
{
    for (int i = 1; i < 200000; i += 7) {
        double x = i * 0.003;
        ck_assert_double_le(fabs(bl_elementary_log(x) - log(x)), 2e-15 * (1 + fabs(log(x))));
        double y = (i - 100000) * 0.001;
        ck_assert_double_le(fabs(bl_elementary_exp(y) / exp(y) - 1), 3e-14);
        double turns = i / 65536.0;
        ck_assert_double_le(fabs(bl_elementary_cos(turns) - cos(2 * M_PI * (turns - floor(turns)))), 2e-15);
    }
    ck_assert_double_eq(bl_elementary_cos(0), 1);
    ck_assert_double_eq(bl_elementary_cos(0.25), 0);
    ck_assert_double_eq(bl_elementary_cos(0.5), -1);
    ck_assert_double_eq(bl_elementary_exp(0), 1);
    ck_assert_double_eq(bl_elementary_log(1), 0);
}

/* --- lengths ---------------------------------------------------------------------------------------------------- */

UNIT_TEST(lengths_are_rounded_up)
{
    ck_assert_int_eq(bl_mix_length(0, 44100, 16000), 0);
    ck_assert_int_eq(bl_mix_length(1, 44100, 16000), 1);
    ck_assert_int_eq(bl_mix_length(441, 44100, 16000), 160);
    ck_assert_int_eq(bl_mix_length(442, 44100, 16000), 161);
    ck_assert_int_eq(bl_mix_length((int64_t)1 << 40, 8000, 16000), (int64_t)1 << 41);
}

/* A frame of samples of two channels: a ramp, and its negative half. */
static AVFrame *stereo(int rate, int count)
{
    AVFrame *frame = av_frame_alloc();
    frame->format = AV_SAMPLE_FMT_S16;
    frame->sample_rate = rate;
    frame->nb_samples = count;
    av_channel_layout_default(&frame->ch_layout, 2);
    ck_assert_int_eq(av_frame_get_buffer(frame, 0), 0);
    int16_t *data = (int16_t *)(void *)frame->data[0];
    for (int i = 0; i < count; i++) {
        data[2 * i] = (int16_t)(i * 20);
        data[2 * i + 1] = (int16_t)(-i * 10);
    }
    return frame;
}

/* Mixes frames of these lengths, in turn. */
static void mix_all(struct bl_mix *mix, int rate, const int *count, int frames, struct bl_buffer *out)
{
    struct bl_error e = {0};
    bl_buffer_clear(out);
    bl_mix_begin(mix);
    for (int f = 0; f < frames; f++) {
        OWNED(av_frame_free) AVFrame *frame = stereo(rate, count[f]);
        ck_assert_int_eq(bl_mix_push(mix, frame, out, &e), BL_OK);
    }
    ck_assert_int_eq(bl_mix_end(mix, out, &e), BL_OK);
}

UNIT_TEST(two_channels_are_mixed_to_their_mean)
{
    struct bl_mix mix;
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_mix_init(&mix, 16000, 1, true, BL_RESAMPLER_SOXR);
    mix_all(&mix, 16000, (const int[]){1000}, 1, &out);
    ck_assert_uint_eq(out.size, 1000 * sizeof(float));
    const float *sample = (const float *)(void *)out.data;
    for (int i = 0; i < 1000; i++)
        ck_assert_float_eq_tol(sample[i], (float)(i * 5) / 32768, 1e-7f);
    bl_mix_free(&mix);
}

UNIT_TEST(as_many_samples_as_the_length_says)
{
    static const int rates[] = {8000, 11025, 22050, 44100, 48000, 96000};
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    for (size_t r = 0; r < COUNT(rates); r++) {
        struct bl_mix mix;
        bl_mix_init(&mix, 16000, 1, false, BL_RESAMPLER_SOXR);
        for (int n = 1; n < 3000; n = n * 3 + 1) {
            mix_all(&mix, rates[r], &n, 1, &out);
            ck_assert_int_eq((int64_t)(out.size / sizeof(int16_t)), bl_mix_length(n, rates[r], 16000));
        }
        bl_mix_free(&mix);
    }
}

/* --- features --------------------------------------------------------------------------------------------------- */

UNIT_TEST(every_bin_below_the_top_is_under_one_or_two_of_kaldis_filters)
{
    OWNED(bl_mel_free) struct bl_mel mel;
    ck_assert_int_eq(bl_mel_kaldi(&mel, 40, 512, 16000, 20, 7600, &e), BL_OK);
    double sum[257] = {0};
    for (int f = 0; f < mel.filters; f++) {
        for (int b = 0; b < mel.filter[f].count; b++) {
            double weight = mel.filter[f].weight[b];
            ck_assert(weight > 0 && weight <= 1);
            sum[mel.filter[f].first + b] += weight;
        }
    }
    /* Between the first centre and the last the triangles add up to 1. */
    for (int b = 4; b < 225; b++)
        ck_assert_double_eq_tol(sum[b], 1, 1e-6);
    ck_assert_double_eq(sum[256], 0);
}

UNIT_TEST(each_of_slaneys_filters_has_the_area_1)
{
    OWNED(bl_mel_free) struct bl_mel mel;
    ck_assert_int_eq(bl_mel_slaney(&mel, 20, 16000, 16000, &e), BL_OK); /* 1 Hz a bin */
    for (int f = 0; f < mel.filters; f++) {
        double area = 0;
        for (int b = 0; b < mel.filter[f].count; b++)
            area += mel.filter[f].weight[b];
        ck_assert_double_eq_tol(area, 1, 1e-3);
    }
}

/* Whisper's frame of a spectrum computed by definition, before what depends on the utterance's maximum. */
static double log_power(const float *sample, int n, int frame, const struct bl_mel *mel, int filter)
{
    double sum = 0;
    for (int b = 0; b < mel->filter[filter].count; b++) {
        double re = 0, im = 0;
        int bin = mel->filter[filter].first + b;
        for (int i = 0; i < 400; i++) {
            int at = abs(frame * 160 - 200 + i);
            at = at >= n ? 2 * n - 2 - at : at;
            double value = sample[at] * (0.5 - 0.5 * cos(2 * M_PI * i / 400));
            re += value * cos(2 * M_PI * bin * i / 400);
            im -= value * sin(2 * M_PI * bin * i / 400);
        }
        sum += mel->filter[filter].weight[b] * (re * re + im * im);
    }
    return log10(fmax(sum, 1e-10));
}

static void make_sound(float *sample, int n)
{
    uint32_t state = 1;
    for (int i = 0; i < n; i++) {
        state = state * 1664525 + 1013904223;
        sample[i] = (float)(0.4 * sin(i * 0.05) + (double)(state >> 8) / (1 << 24) * 0.1);
    }
}

UNIT_TEST(features_of_whisper_by_definition)
{
    enum { N = 1600, FRAMES = 10, MELS = 80 };
    float sample[N];
    static double expected[FRAMES][MELS];
    double most = -100;
    struct bl_features_spec spec = {.whisper = true, .mels = MELS, .rate = 16000};
    struct bl_features *features;
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    OWNED(bl_mel_free) struct bl_mel mel;
    make_sound(sample, N);
    ck_assert_int_eq(bl_mel_slaney(&mel, MELS, 400, 16000, &e), BL_OK);
    ck_assert_int_eq(bl_features_open(&features, &spec, &e), BL_OK);
    for (int t = 0; t < FRAMES; t++) {
        for (int m = 0; m < MELS; m++) {
            expected[t][m] = log_power(sample, N, t, &mel, m);
            most = fmax(most, expected[t][m]);
        }
    }
    /* In chunks of any size, twice. */
    for (int chunk = 1; chunk < 3000; chunk = chunk * 37 + 3) {
        bl_buffer_clear(&out);
        bl_features_begin(features);
        for (int at = 0; at < N; at += chunk)
            ck_assert_int_eq(bl_features_push(features, sample + at, at + chunk < N ? chunk : N - at, &out, &e), BL_OK);
        ck_assert_int_eq(bl_features_end(features, &out, &e), BL_OK);
        ck_assert_uint_eq(out.size, FRAMES * MELS * sizeof(float));
        const float *value = (const float *)(void *)out.data;
        for (int t = 0; t < FRAMES; t++) {
            for (int m = 0; m < MELS; m++)
                ck_assert_double_eq_tol(value[t * MELS + m], (fmax(expected[t][m], most - 8) + 4) / 4, 1e-4);
        }
    }
    bl_features_close(features);
}

UNIT_TEST(frames_that_so_many_samples_give)
{
    static const struct bl_features_spec whisper = {.whisper = true, .mels = 80, .rate = 16000},
                                         whole = {.mels = 80, .rate = 16000},
                                         snip = {.mels = 80, .rate = 16000, .snip = true};
    ck_assert_int_eq(bl_features_frames(&whisper, 159), 0);
    ck_assert_int_eq(bl_features_frames(&whisper, 160), 1);
    ck_assert_int_eq(bl_features_frames(&whole, 79), 0);
    ck_assert_int_eq(bl_features_frames(&whole, 80), 1);
    ck_assert_int_eq(bl_features_frames(&whole, 16000), 100);
    ck_assert_int_eq(bl_features_frames(&snip, 399), 0);
    ck_assert_int_eq(bl_features_frames(&snip, 400), 1);
    ck_assert_int_eq(bl_features_frames(&snip, 16000), 98);
}
