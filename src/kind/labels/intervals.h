/* Intervals: labels of stretches of time, painted onto the steps of another kind's sequences. */
#ifndef BL_INTERVALS_H
#define BL_INTERVALS_H

#include "kind/kind.h"
#include "kind/labels/annotations.h"

enum bl_intervals_unit { BL_INTERVALS_SECONDS, BL_INTERVALS_STEPS };

struct bl_intervals_config {
    const char *annotations, *mapping; /* files */
    int unit;
    struct bl_rational rate; /* steps a second; den 0: those of the sequences */
    bool multi;              /* one number for each label instead of the label */
    int64_t background;      /* the label of steps that have none */
    /* Once they are read: */
    struct bl_mapping names;
    struct bl_annotations all;
    int64_t classes; /* labels, from 0 */
    char text[160];  /* the warning */
};

extern const struct bl_kind bl_kind_intervals;

#endif
