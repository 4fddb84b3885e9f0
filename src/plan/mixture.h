/* A mixture: plans of sequences that are drawn from several sources by weight, and packed together.
 *
 * Each source is gone through at its own pace: an epoch takes so many of its next sequences, in random order, that
 * their steps come nearest to its share; when all are taken, a pass in another order begins. Any option of a plan is
 * allowed, as one planner packs what was drawn. All epochs have the same number of blocks. See also plan/blend.h, whose
 * blocks hold sequences of one source each. */
#ifndef BL_MIXTURE_H
#define BL_MIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/blend.h"
#include "plan/partition.h"
#include "plan/plan.h"

struct bl_mixture {
    struct bl_plan_options options;
    struct bl_blend_options blend;
    const int64_t *length;
    size_t count, sources;
    size_t blocks; /* of an epoch; 0: as few as its sequences need */
    int64_t epoch; /* drawn so far */
    double epoch_steps;
    struct bl_mixture_stream {
        struct bl_blend_source source;
        double share;
        int64_t steps; /* of all its sequences */
        int64_t taken; /* steps, of all epochs */
        uint32_t *row; /* [rows] the sequences of the present pass, in order */
        size_t rows, next;
        int64_t passes;
    } * stream; /* [sources] */
    /* What the present epoch has drawn: [items] */
    size_t items, capacity;
    uint32_t *item;
    struct bl_partitions taken; /* of the epochs */
    bool is_repeated;           /* in the last epoch, sequences share blocks as in an earlier one */
};

/* Arguments and errors as of bl_blend_make; every source has a weight. BL_EFAIL also: a source has no sequences. */
int bl_mixture_make(struct bl_mixture *mixture, const int64_t *length, size_t count,
                    const struct bl_blend_source *source, size_t sources, const struct bl_plan_options *options,
                    const struct bl_blend_options *given, size_t *at, struct bl_error *e);

/* Draws the plan of the next epoch. Its counts are those of what it has, repetitions included. */
int bl_mixture_draw(struct bl_mixture *mixture, struct bl_plan *plan, struct bl_error *e);

void bl_mixture_free(struct bl_mixture *mixture);

#endif
