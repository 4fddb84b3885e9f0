#include "kind/audio/steps.h"

#include "kind/audio/cut.h"

#define TOLERANCE 0.5      /* seconds by which the tracks of one recording may end apart */
#define SAMPLES_MAX 0x1p53 /* no sound is that long */

static int64_t place_clamp(int64_t place, int64_t length)
{
    return place < 0 ? 0 : place > length ? length : place;
}

int64_t bl_steps_samples(int64_t rate, int64_t num, int64_t den)
{
    __int128 samples = ((__int128)rate * den + num - 1) / num;
    return samples > INT64_MAX ? INT64_MAX : (int64_t)samples;
}

int64_t bl_steps_begin(const struct bl_steps *steps, double time)
{
    double samples = (time + steps->lead) * steps->rate;
    if (samples >= SAMPLES_MAX || samples <= -SAMPLES_MAX)
        return samples > 0 ? (int64_t)SAMPLES_MAX : -(int64_t)SAMPLES_MAX;
    return bl_cut_samples(time + steps->lead, steps->rate);
}

void bl_steps_add(struct bl_steps_sum *sum, const struct bl_steps *steps, double time)
{
    int64_t first = bl_steps_begin(steps, time);
    int64_t begin = place_clamp(first, steps->length), end = place_clamp(first + steps->samples, steps->length);
    sum->left_out += begin > sum->passed ? begin - sum->passed : 0;
    sum->passed = end > sum->passed ? end : sum->passed;
    sum->filled += steps->samples - (end - begin);
    sum->silent = first >= steps->length ? sum->silent + 1 : 0;
    sum->last = first;
}

void bl_steps_end(struct bl_steps_sum *sum, const struct bl_steps *steps)
{
    sum->left_out += steps->length - sum->passed;
    sum->passed = steps->length;
}

bool bl_steps_is_short(const struct bl_steps_sum *sum, const struct bl_steps *steps, int64_t tolerance)
{
    if (tolerance >= 0)
        return sum->silent > tolerance;
    return (double)(sum->last - steps->length) > TOLERANCE * steps->rate;
}
