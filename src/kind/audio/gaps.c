#include "kind/audio/gaps.h"

#include <libavutil/mathematics.h>

void bl_gaps_begin(struct bl_gaps *t, struct bl_rational limit, AVRational base)
{
    *t = (struct bl_gaps){.limit = limit, .base = base, .anchor = AV_NOPTS_VALUE, .last = AV_NOPTS_VALUE};
}

void bl_gaps_seek(struct bl_gaps *t, int64_t first, int64_t samples)
{
    t->anchor = first;
    t->counted = samples;
    t->cutting = 0;
}

int64_t bl_gaps_events(const struct bl_gaps *t)
{
    return t->gaps + t->overlaps + t->jumps;
}

static void gaps_set_rate(struct bl_gaps *t, int rate)
{
    if (t->rate && t->rate != rate) {
        t->counted = av_rescale(t->counted, rate, t->rate);
        t->cutting = av_rescale(t->cutting, rate, t->rate);
    }
    t->rate = rate;
}

/* By how many samples the frame is late. */
static int64_t gaps_find_delay(const struct bl_gaps *t, const AVFrame *frame)
{
    int64_t since = av_sat_sub64(frame->pts, t->anchor);
    int64_t place = av_rescale_q(since, t->base, (AVRational){1, frame->sample_rate});
    return place == INT64_MIN ? INT64_MAX : av_sat_sub64(place, t->counted);
}

/* Notes a delay that counts. Returns how much of it is to be filled or cut now. */
static int64_t gaps_follow(struct bl_gaps *t, const AVFrame *frame, int64_t delay)
{
    int64_t rate = frame->sample_rate;
    if (delay > BL_GAPS_AHEAD * rate || delay < -BL_GAPS_BACK * rate) {
        t->jumps++;
        t->anchor = frame->pts;
        t->counted = 0;
        return 0;
    }
    if (delay > 0) {
        t->gaps++;
        t->filled += (double)delay / (double)rate;
        return delay;
    }
    t->overlaps++;
    t->cutting = -delay;
    return 0;
}

static int64_t gaps_cut(struct bl_gaps *t, const AVFrame *frame)
{
    int64_t cut = t->cutting < frame->nb_samples ? t->cutting : frame->nb_samples;
    t->cutting -= cut;
    t->cut += (double)cut / frame->sample_rate;
    return cut;
}

int64_t bl_gaps_place(struct bl_gaps *t, const AVFrame *frame)
{
    if (!t->limit.num)
        return 0;
    gaps_set_rate(t, frame->sample_rate);
    bool known = frame->pts != AV_NOPTS_VALUE && frame->pts != t->last; /* some files repeat them */
    t->last = frame->pts;
    if (t->anchor == AV_NOPTS_VALUE && known) {
        t->anchor = frame->pts;
        t->counted = 0;
    }
    int64_t place = 0, delay = known ? gaps_find_delay(t, frame) : 0;
    int64_t limit = av_rescale(frame->sample_rate, t->limit.num, t->limit.den);
    if (t->cutting && known)
        delay = av_sat_add64(delay, t->cutting); /* what is known already */
    if (delay > limit || delay < -limit)
        place = gaps_follow(t, frame, delay);
    int64_t cut = gaps_cut(t, frame);
    t->counted += place + frame->nb_samples - cut;
    return place > 0 ? place : -cut;
}
