#include "kind/audio/cut.h"

#include <math.h>
#include <stdlib.h>

#define SECONDS_MAX 1e9

const struct bl_cut bl_cut_whole = {.duration = -1, .channel = -1};

/* Parses all of the text as a number from 0 to max. */
static bool cut_number_parse(const char *text, double max, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && *value >= 0 && *value <= max;
}

bool bl_cut_parse(struct bl_cut *cut, const struct bl_row *row)
{
    double channel;
    *cut = bl_cut_whole;
    cut->begin = row->clip_begin;
    cut->end = row->clip_end;
    if (cut->end || !row->start || !*row->start)
        return true;
    if (!cut_number_parse(row->start, SECONDS_MAX, &cut->start))
        return false;
    if (row->duration && *row->duration &&
        (!cut_number_parse(row->duration, SECONDS_MAX, &cut->duration) || cut->duration == 0))
        return false;
    if (!row->channel || !*row->channel)
        return true;
    if (!cut_number_parse(row->channel, 1000, &channel) || channel != floor(channel))
        return false;
    cut->channel = (int)channel;
    return true;
}

bool bl_cut_is_whole(const struct bl_cut *cut)
{
    return cut->start == 0 && cut->duration < 0 && !cut->end;
}

/* Rounded to eight decimals first: 0.29 s of 100 samples are 28.999..., which must become 29. */
int64_t bl_cut_samples(double seconds, int rate)
{
    double samples = seconds * rate, whole = floor(samples);
    return (int64_t)whole + (rint((samples - whole) * 1e8) >= 5e7);
}

void bl_cut_range(const struct bl_cut *cut, int rate, int64_t *begin, int64_t *end)
{
    if (cut->end) {
        *begin = cut->begin;
        *end = cut->end;
        return;
    }
    *begin = bl_cut_samples(cut->start, rate);
    *end = cut->duration < 0 ? INT64_MAX : *begin + bl_cut_samples(cut->duration, rate);
}
