/* Resampling: tones against the tones that they should be, for both engines, and what their samples must not depend on.
 */
#include "kind/audio/mix.h"

#include <math.h>

#include "kind/media/module.h"
#include "unit.h"

static const int pairs[][2] = {{44100, 16000}, {48000, 16000}, {16000, 44100}, {8000, 16000}, {11025, 16000}};
#define PAIRS COUNT(pairs)
#define TONE 0.9 /* of full scale */

/* All of a signal, pushed in portions of these lengths in turn, to out. */
static void resample(struct bl_resampler *r, int from, const float *in, int count, const int *portion, int portions,
                     struct bl_buffer *out)
{
    struct bl_error e = {0};
    int64_t length = ((int64_t)count * r->to + from - 1) / from;
    bl_buffer_clear(out);
    ck_assert_int_eq(bl_resampler_begin(r, from, &e), BL_OK);
    for (int at = 0, i = 0; at < count; i++) {
        int next = portion[i % portions] < count - at ? portion[i % portions] : count - at;
        ck_assert_int_eq(bl_resampler_push(r, in + (ptrdiff_t)at * r->channels, next, out, &e), BL_OK);
        at += next;
    }
    int reach = bl_resampler_reach(r, from), tail = reach < count ? reach : count;
    ck_assert_int_eq(bl_resampler_end(r, in + (ptrdiff_t)(count - tail) * r->channels, tail, length, out, &e), BL_OK);
    ck_assert_int_eq(out->size / r->step_bytes, length);
}

static struct bl_resampler make(enum bl_resampler_engine engine, int to, int channels, bool floats)
{
    return (struct bl_resampler){.engine = engine,
                                 .to = to,
                                 .channels = channels,
                                 .floats = floats,
                                 .step_bytes = (size_t)channels * (floats ? sizeof(float) : sizeof(int16_t))};
}

/* Half a second of a tone, resampled: decibels of the tone over what differs from the tone as it should be, in the
 * middle half, where no end matters; or with `image`, of all that is left of it. */
static double tone_decibels(enum bl_resampler_engine engine, int from, int to, double hertz, bool floats, bool image)
{
    OWNED(bl_resampler_free) struct bl_resampler r = make(engine, to, 1, floats);
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    int count = from / 2;
    FREED float *in = malloc((size_t)count * sizeof *in);
    ck_assert_ptr_nonnull(in);
    for (int i = 0; i < count; i++)
        in[i] = (float)(TONE * sin(2 * M_PI * hertz * i / from + 0.3));
    resample(&r, from, in, count, (const int[]){1024}, 1, &out);
    int got = (int)(out.size / r.step_bytes);
    double error = 0, scale = floats ? 1 : 32768;
    for (int i = got / 4; i < got * 3 / 4; i++) {
        double is = floats ? ((const float *)(void *)out.data)[i] : ((const int16_t *)(void *)out.data)[i];
        double right = image ? 0 : TONE * sin(2 * M_PI * hertz * i / to + 0.3);
        error += (is / scale - right) * (is / scale - right);
    }
    error /= got / 2;
    return 10 * log10(TONE * TONE / 2 / error);
}

/* All tones up to 0.45 of the lower rate stay what they are: in 16 bits as far as those go. */
UNIT_TEST(soxr_keeps_tones)
{
    static const double places[] = {0.01, 0.1, 0.25, 0.33, 0.4, 0.44, 0.45};
    for (size_t p = 0; p < PAIRS; p++) {
        int from = pairs[p][0], to = pairs[p][1], lower = from < to ? from : to;
        for (size_t i = 0; i < COUNT(places); i++) {
            double floats = tone_decibels(BL_RESAMPLER_SOXR, from, to, places[i] * lower, true, false);
            double shorts = tone_decibels(BL_RESAMPLER_SOXR, from, to, places[i] * lower, false, false);
            ck_assert_msg(floats > 125, "%d to %d at %g: %g dB", from, to, places[i], floats);
            ck_assert_msg(shorts > 96, "%d to %d at %g: %g dB in 16 bits", from, to, places[i], shorts);
        }
    }
}

/* Nothing of tones above half the lower rate is left. */
UNIT_TEST(soxr_has_no_aliases)
{
    static const double places[] = {0.5, 0.52, 0.55, 0.6, 0.7, 1, 1.2};
    for (size_t p = 0; p < 2; p++) {
        int from = pairs[p][0], to = pairs[p][1];
        for (size_t i = 0; i < COUNT(places); i++) {
            double below = tone_decibels(BL_RESAMPLER_SOXR, from, to, places[i] * to, true, true);
            ck_assert_msg(below > 125, "%d to %d at %g: %g dB", from, to, places[i], below);
        }
    }
}

/* What docs/media.md says of the other engine; were it better, soxr would be for nothing. */
UNIT_TEST(swresample_is_what_it_is_said_to_be)
{
    double middle = tone_decibels(BL_RESAMPLER_SWR, 44100, 16000, 0.25 * 16000, true, false);
    double high = tone_decibels(BL_RESAMPLER_SWR, 44100, 16000, 0.45 * 16000, true, false);
    double alias = tone_decibels(BL_RESAMPLER_SWR, 44100, 16000, 0.52 * 16000, true, true);
    ck_assert_msg(middle > 70, "%g dB", middle);
    ck_assert_msg(high > 15 && high < 25, "%g dB", high);
    ck_assert_msg(alias > 12 && alias < 25, "%g dB", alias);
}

/* Noise of two channels: the same bytes however it is divided, and after other signals. */
UNIT_TEST(portions_do_not_matter)
{
    static const int odd[] = {1, 4096, 77, 1153, 3, 20000};
    enum { COUNT = 30011 };
    FREED float *in = malloc(2 * COUNT * sizeof *in);
    ck_assert_ptr_nonnull(in);
    uint32_t x = 1;
    for (int i = 0; i < 2 * COUNT; i++, x = x * 1664525 + 1013904223)
        in[i] = (float)((int32_t)x >> 8) / 8388608;
    for (int engine = 0; engine < 2; engine++) {
        for (size_t p = 0; p < PAIRS; p++) {
            OWNED(bl_resampler_free)
            struct bl_resampler r = make((enum bl_resampler_engine)engine, pairs[p][1], 2, true);
            OWNED(bl_buffer_free) struct bl_buffer once = {0}, parts = {0};
            resample(&r, pairs[p][0], in, COUNT, (const int[]){COUNT}, 1, &once);
            resample(&r, pairs[p][0] + 1, in, 500, odd, 6, &parts);
            resample(&r, pairs[p][0], in, COUNT, odd, 6, &parts);
            ck_assert_uint_eq(once.size, parts.size);
            ck_assert_mem_eq(once.data, parts.data, once.size);
        }
    }
}

/* Lengths are rounded up, of signals that are shorter than any filter, and at the rates' bounds. */
UNIT_TEST(lengths_are_exact)
{
    static const int rates[][2] = {{44100, 16000}, {16000, 44100}, {44099, 16001}, {3072000, 100}, {100, 768000}};
    float in[3000] = {0.5F};
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    for (int engine = 0; engine < 2; engine++) {
        for (size_t p = 0; p < COUNT(rates); p++) {
            OWNED(bl_resampler_free)
            struct bl_resampler r = make((enum bl_resampler_engine)engine, rates[p][1], 1, false);
            for (int n = 1; n < (p < 3 ? 3000 : 30); n = n * 3 + 1)
                resample(&r, rates[p][0], in, n, (const int[]){100}, 1, &out); /* checks it */
        }
    }
}

/* What the environment says of soxr is not heard, once it was set. */
UNIT_TEST(the_environment_does_not_matter)
{
    float in[4000];
    struct bl_buffer out[2] = {{0}, {0}};
    for (int i = 0; i < 4000; i++)
        in[i] = (float)sin(i * i * 1e-4);
    for (int i = 0; i < 2; i++) {
        setenv("SOXR_USE_SIMD", i ? "0" : "1", 1);
        setenv("SOXR_USE_SIMD32", i ? "0" : "1", 1);
        setenv("SOXR_LARGE_DFT_SIZE", i ? "9" : "17", 1);
        bl_media_set_environment();
        OWNED(bl_resampler_free) struct bl_resampler r = make(BL_RESAMPLER_SOXR, 16000, 1, true);
        resample(&r, 44100, in, 4000, (const int[]){4000}, 1, &out[i]);
    }
    ck_assert_mem_eq(out[0].data, out[1].data, out[0].size);
    bl_buffer_free(&out[0]);
    bl_buffer_free(&out[1]);
}
