/* Sound by its timestamps: frames of any time, against their places counted here. */
#include "kind/audio/marks.h"

#include <libavutil/frame.h>

#include "unit.h"

static const struct bl_rational usual = {1, 100};

static int64_t place(struct bl_gaps *t, int64_t pts, int rate, int samples)
{
    OWNED(av_frame_free) AVFrame *frame = av_frame_alloc();
    ck_assert_ptr_nonnull(frame);
    frame->pts = pts;
    frame->sample_rate = rate;
    frame->nb_samples = samples;
    int64_t answer = bl_gaps_place(t, frame);
    return answer;
}

/* Milliseconds of frames of 1024 samples at 44.1 kHz, for an hour: none is more than half of one away. */
UNIT_TEST(rounded_times_are_no_gaps)
{
    struct bl_gaps t;
    bl_gaps_begin(&t, (struct bl_rational){1, 500}, (AVRational){1, 1000});
    for (int64_t i = 0; i < 155000; i++)
        ck_assert_int_eq(place(&t, 7 + (i * 1024 * 1000 + 22050) / 44100, 44100, 1024), 0);
    ck_assert_int_eq(bl_gaps_events(&t), 0);
}

UNIT_TEST(a_gap_is_filled_to_the_sample)
{
    struct bl_gaps t;
    bl_gaps_begin(&t, usual, (AVRational){1, 90000});
    ck_assert_int_eq(place(&t, 9000, 48000, 480), 0);
    ck_assert_int_eq(place(&t, 9000 + 900 + 900, 48000, 480), 0); /* 480 samples: no more than the limit */
    ck_assert_int_eq(place(&t, 9000 + 1800 + 2700, 48000, 480), 1440);
    ck_assert_int_eq(place(&t, 9000 + 1800 + 3600, 48000, 480), 0);
    ck_assert_int_eq(t.gaps, 1);
    ck_assert_double_eq_tol(t.filled, 0.03, 1e-12);
}

UNIT_TEST(an_overlap_is_cut_over_several_frames)
{
    struct bl_gaps t;
    bl_gaps_begin(&t, usual, (AVRational){1, 8000});
    ck_assert_int_eq(place(&t, 0, 8000, 1000), 0);
    ck_assert_int_eq(place(&t, 300, 8000, 300), -300);
    ck_assert_int_eq(place(&t, 600, 8000, 300), -300);
    ck_assert_int_eq(place(&t, 900, 8000, 300), -100);
    ck_assert_int_eq(place(&t, 1200, 8000, 300), 0);
    ck_assert_int_eq(t.overlaps, 1);
    ck_assert_int_eq(t.gaps, 0);
    ck_assert_double_eq_tol(t.cut, 700 / 8000.0, 1e-12);
}

/* A tenth of a second at 8 kHz, then at 16 kHz, with a gap of as much between them. */
UNIT_TEST(parts_of_other_rates_follow)
{
    struct bl_gaps t;
    bl_gaps_begin(&t, usual, (AVRational){1, 1000});
    ck_assert_int_eq(place(&t, 50, 8000, 800), 0);
    ck_assert_int_eq(place(&t, 150, 16000, 1600), 0);
    ck_assert_int_eq(place(&t, 350, 44100, 441), 4410);
    ck_assert_int_eq(place(&t, 360, 8000, 80), 0);
    ck_assert_int_eq(t.gaps, 1);
}

UNIT_TEST(what_is_unknown_or_far_away_is_not_followed)
{
    struct bl_gaps t;
    bl_gaps_begin(&t, usual, (AVRational){1, 1000});
    ck_assert_int_eq(place(&t, AV_NOPTS_VALUE, 8000, 80), 0);
    ck_assert_int_eq(place(&t, 5000, 8000, 80), 0); /* the first that is known */
    ck_assert_int_eq(place(&t, AV_NOPTS_VALUE, 8000, 8000), 0);
    ck_assert_int_eq(place(&t, 6010, 8000, 80), 0);
    ck_assert_int_eq(place(&t, 6010, 8000, 800), 0); /* repeated */
    ck_assert_int_eq(bl_gaps_events(&t), 0);
    ck_assert_int_eq(place(&t, 6120 + 3700000, 8000, 80), 0);
    ck_assert_int_eq(place(&t, 6130 + 3700000, 8000, 80), 0);
    ck_assert_int_eq(place(&t, 10, 8000, 80), 0);
    ck_assert_int_eq(place(&t, INT64_MAX, 8000, 80), 0);
    ck_assert_int_eq(place(&t, INT64_MIN + 1, 8000, 80), 0);
    ck_assert_int_eq(t.jumps, 4);
    ck_assert_int_eq(t.gaps + t.overlaps, 0);
    bl_gaps_begin(&t, (struct bl_rational){0, 1}, (AVRational){1, 1000});
    ck_assert_int_eq(place(&t, 0, 8000, 80), 0);
    ck_assert_int_eq(place(&t, 5000, 8000, 80), 0);
    ck_assert_int_eq(bl_gaps_events(&t), 0);
}
