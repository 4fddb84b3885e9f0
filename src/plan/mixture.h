/* Plans over the sequences of several sources: blends, whose blocks hold sequences of one source each, and mixtures,
 * which draw sequences from the sources by weight and pack them together.
 *
 * The batches of a blend are dealt, not drawn: each has the shares to within one block, and each source its exact
 * number of blocks. */
#ifndef BL_MIXTURE_H
#define BL_MIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/pair_repeat.h"
#include "plan/plan.h"
#include "plan/planner.h"

/* --- blends ------------------------------------------------------------------------------------------------------- */

/* A blend: plans over the sequences of several sources in which each block holds sequences of one source, and each
 * global batch (world_size * batch_size blocks) the sources' shares, up to one block.
 *
 * Each source is packed alone, and gone through at its own pace: an epoch takes the next blocks of its present pass,
 * and then of a pass with another seed. So nothing is repeated before its source is exhausted. Without weights, an
 * epoch is one pass of every source. With weights, the shares of the blocks are those of the weights, and an epoch ends
 * before the first source would begin again, unless the number of blocks is given.
 *
 * The shares are exact: the epoch's blocks, one source after the other, are dealt out to the batches in turn, so a
 * batch gets floor(n / batches) or one more of the n blocks of a source. */

struct bl_blend_source {
    size_t first, count; /* of the sequences, these are the source's */
    double weight;       /* 0: no source has one */
};

struct bl_blend_options {
    int64_t epoch_steps; /* the steps of an epoch's blocks; 0: see above */
    int64_t repeat_max;  /* passes of a source at most; 0: any number */
    int64_t epochs;      /* that will be drawn */
};

struct bl_blend {
    struct bl_plan_options options;
    struct bl_blend_options blend;
    const int64_t *length;
    size_t count, sources;
    int64_t T;
    size_t blocks; /* of an epoch */
    struct bl_blend_stream {
        struct bl_blend_source source;
        struct bl_plan_options options; /* group and columns begin with the source's first sequence */
        struct bl_planner planner;
        struct bl_plan pass;         /* the present one */
        struct bl_partitions former; /* of the passes */
        size_t each;                 /* blocks of a pass */
        size_t taken;                /* blocks of an epoch */
        size_t next;                 /* block of the pass */
        int64_t passes;              /* begun so far */
    } * stream;                      /* [sources] */
    int64_t epoch;                   /* drawn so far */
    bool is_repeated;                /* in the last epoch, a source's sequences share blocks as in an earlier pass */
};

/* Without weights, a source without sequences gives no blocks. length: [count], must outlive the blend, as must what
 * the options point to. Sources follow each other. BL_EUSAGE: options that a blend does not have (a balance, an order),
 * or a source would be gone through more often than repeat_max. Else errors of bl_planner_make. *at: the number of the
 * source that an error is about, whose name is left to the caller, or sources: of none. On error *blend is empty. */
int bl_blend_make(struct bl_blend *blend, const int64_t *length, size_t count, const struct bl_blend_source *source,
                  size_t sources, const struct bl_plan_options *options, const struct bl_blend_options *given,
                  size_t *at, struct bl_error *e);

/* Draws the plan of the next epoch. Its counts are set: steps and sequences are those in the plan, repetitions
 * included, except without weights, where they are those of the sources. */
int bl_blend_draw(struct bl_blend *blend, struct bl_plan *plan, struct bl_error *e);

void bl_blend_free(struct bl_blend *blend);

/* --- mixtures ----------------------------------------------------------------------------------------------------- */

/* A mixture: plans of sequences that are drawn from several sources by weight, and packed together.
 *
 * Each source is gone through at its own pace: an epoch takes so many of its next sequences, in random order, that
 * their steps come nearest to its share; when all are taken, a pass in another order begins. Any option of a plan is
 * allowed, as one planner packs what was drawn. All epochs have the same number of blocks. */

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
