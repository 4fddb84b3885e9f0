/* Intervals: labels of periods of time, put on the steps of another kind's sequences. */
#ifndef BL_INTERVALS_H
#define BL_INTERVALS_H

#include "kind/kind.h"
#include "kind/labels/annotations.h"

enum bl_intervals_unit { BL_INTERVALS_SECONDS, BL_INTERVALS_STEPS };

struct bl_intervals_config {
    const char *annotations, *mapping; /* files */
    int unit;
    struct bl_rational rate; /* steps per second; den 0: that of the sequences */
    bool multi;              /* a number for each label, 0 or 1, instead of one label */
    int64_t background;      /* the label of steps in no interval */
    /* Set by prepare: */
    struct bl_mapping names;
    struct bl_annotations all;
    int64_t classes;   /* the largest label + 1 */
    char warning[160]; /* or "" */
};

extern const struct bl_kind bl_kind_intervals;

#endif
