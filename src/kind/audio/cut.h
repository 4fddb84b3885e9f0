/* A cut: the part of a recording that a sequence is, as a line of a manifest says it. */
#ifndef BL_CUT_H
#define BL_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/row.h"

/* Seconds by which a cut may end behind its recording without a word: durations in manifests are rounded, and decoders
 * differ on what belongs to the end. lhotse allows as much. */
#define BL_CUT_TOLERANCE 0.025

struct bl_cut {
    double start;    /* seconds */
    double duration; /* seconds; negative: to the end */
    int channel;     /* of the file; -1: all of them, mixed */
};

/* A cut that is all of a file. */
extern const struct bl_cut bl_cut_whole;

/* What the columns start, duration and channel say; without a start the row is all of its file. False when they say
 * nothing that can be. */
bool bl_cut_parse(struct bl_cut *cut, const struct bl_row *row);

bool bl_cut_is_whole(const struct bl_cut *cut);

/* Samples in so many seconds, halves rounded up: as lhotse's compute_num_samples. */
int64_t bl_cut_samples(double seconds, int rate);

/* Its first sample at the rate of the recording, and the one behind its last; INT64_MAX: to the end. */
void bl_cut_range(const struct bl_cut *cut, int rate, int64_t *begin, int64_t *end);

#endif
