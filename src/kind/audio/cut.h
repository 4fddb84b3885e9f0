/* A cut: the part of a recording that is a sequence, by a line of a manifest. */
#ifndef BL_CUT_H
#define BL_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/row.h"

/* Seconds by which a cut may end after its recording without being reported: durations in manifests are rounded, and
 * decoders differ at the end. lhotse allows as much. */
#define BL_CUT_TOLERANCE 0.025

struct bl_cut {
    double start;    /* seconds */
    double duration; /* seconds; negative: to the end */
    int channel;     /* of the file, from 0; -1: all of them, mixed */
    /* Of a clip, instead of the times: the samples [begin, end) of the recording; end 0: no clip, INT64_MAX: up to the
     * recording's end. */
    int64_t begin, end;
};

/* All of a file. */
extern const struct bl_cut bl_cut_whole;

/* Reads the row's clip, or start, duration and channel; without a start the cut is all of the file. False: invalid
 * values. */
bool bl_cut_parse(struct bl_cut *cut, const struct bl_row *row);

bool bl_cut_is_whole(const struct bl_cut *cut);

/* Samples in so many seconds, halves rounded up. Source: lhotse's compute_num_samples. */
int64_t bl_cut_samples(double seconds, int rate);

/* The samples [begin, end) of the cut, at the rate of the recording. end INT64_MAX: up to its end. */
void bl_cut_range(const struct bl_cut *cut, int rate, int64_t *begin, int64_t *end);

#endif
