/* Plans the sequences of several sources: as blends, whose blocks hold sequences of one source each, and as mixtures,
 * which draw sequences from the sources by weight and pack them together.
 *
 * A blend takes whole blocks from each source, so each batch has the shares to within one block. A mixture takes
 * sequences, so a block may hold several sources. Calls: make, then draw once for each epoch, then free. */
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
 * batch has floor(n / batches) or one more of the n blocks of a source. */

struct bl_blend_source {
    size_t first, count; /* the source has the sequences first .. first + count - 1 */
    double weight;       /* above 0; 0: no source has a weight */
};

struct bl_blend_options {
    int64_t epoch_steps; /* steps of all blocks of an epoch; 0: as described above */
    int64_t repeat_max;  /* most passes of a source over all epochs; 0: no limit */
    int64_t epochs;      /* number of epochs that will be drawn */
};

struct bl_blend {
    struct bl_plan_options options;
    struct bl_blend_options blend;
    const int64_t *length; /* [count] the caller's */
    size_t count, sources;
    int64_t T;     /* steps of a block */
    size_t blocks; /* of an epoch */
    struct bl_blend_stream {
        struct bl_blend_source source;
        struct bl_plan_options options; /* its group and columns begin with the first sequence of the source */
        struct bl_planner planner;
        struct bl_plan pass;         /* the present pass, as a plan of the source alone */
        struct bl_partitions former; /* partitions of the passes so far */
        size_t each;                 /* blocks of a pass */
        size_t taken;                /* blocks of an epoch */
        size_t next;                 /* the next block of the pass to take */
        int64_t passes;              /* begun so far */
    } * stream;                      /* [sources] */
    int64_t epoch;                   /* epochs drawn so far */
    bool is_repeated;                /* in the last epoch, a source's sequences share blocks as in an earlier pass */
};

/* Makes a blend, which the caller frees with bl_blend_free. length: [count]; it must outlive the blend, as must the
 * arrays that the options point to. The sequences of the sources follow each other. A source without weight and without
 * sequences gives no blocks. BL_EUSAGE: options that a blend does not have (a balance, an order), or a source would be
 * gone through more often than repeat_max. Other errors are those of bl_planner_make. *at: the number of the source
 * that an error is about, whose name the caller adds, or `sources` if the error is about none. On error *blend is
 * empty. */
int bl_blend_make(struct bl_blend *blend, const int64_t *length, size_t count, const struct bl_blend_source *source,
                  size_t sources, const struct bl_plan_options *options, const struct bl_blend_options *given,
                  size_t *at, struct bl_error *e);

/* Draws the plan of the next epoch, which the caller frees. With weights, its steps and sequences are those in the
 * plan, repetitions included; without weights, they are those of the sources. Errors are those of bl_planner_draw. */
int bl_blend_draw(struct bl_blend *blend, struct bl_plan *plan, struct bl_error *e);

/* Frees the planners and tables; {0} is accepted. */
void bl_blend_free(struct bl_blend *blend);

/* --- mixtures ----------------------------------------------------------------------------------------------------- */

/* A mixture draws sequences from several sources by weight and packs them together.
 *
 * Each source is gone through at its own pace: an epoch takes so many of its next sequences, in random order, that
 * their steps come nearest to its share; after the last sequence, a pass in another order begins. Any option of a plan
 * is allowed, as one planner packs all that was drawn. All epochs have the same number of blocks. */

struct bl_mixture {
    struct bl_plan_options options;
    struct bl_blend_options blend;
    const int64_t *length;
    size_t count, sources;
    size_t blocks;      /* of an epoch; 0: as few as its sequences need */
    int64_t epoch;      /* epochs drawn so far */
    double epoch_steps; /* steps that one epoch takes from all sources */
    struct bl_mixture_stream {
        struct bl_blend_source source;
        double share;      /* of the steps of an epoch: weight / sum of the weights */
        int64_t steps;     /* sum of the lengths of its sequences */
        int64_t taken;     /* steps that all epochs so far have taken */
        uint32_t *row;     /* [rows] the sequences of the present pass, in order, of bundles the first ones; owned */
        size_t rows, next; /* next: the index in row[] of the next sequence */
        int64_t passes;
    } * stream; /* [sources] */
    /* The sequences that the present epoch has drawn; one may be there several times. */
    size_t items, capacity, bundle_capacity;
    uint32_t *item;
    uint32_t *bundle;           /* [items] the first item of its bundle, or BL_ALONE; NULL without --together */
    uint32_t *next;             /* [count] the next sequence of the same bundle, or BL_ALONE; NULL without --together */
    uint8_t *follows;           /* [count] the sequence is not the first one of its bundle; NULL without --together */
    struct bl_partitions taken; /* partitions of the epochs so far */
    bool is_repeated;           /* in the last epoch, sequences share blocks as in an earlier one */
};

/* Makes a mixture, with the arguments and errors of bl_blend_make; every source has a weight. BL_EFAIL also: a source
 * has no sequences. With several epochs, it draws all of them once to find their number of blocks, so it takes their
 * time. */
int bl_mixture_make(struct bl_mixture *mixture, const int64_t *length, size_t count,
                    const struct bl_blend_source *source, size_t sources, const struct bl_plan_options *options,
                    const struct bl_blend_options *given, size_t *at, struct bl_error *e);

/* Draws the plan of the next epoch, which the caller frees. Its counts are those of the pieces in it, repetitions
 * included. BL_EFAIL also: the epoch needs more blocks than the others have. */
int bl_mixture_draw(struct bl_mixture *mixture, struct bl_plan *plan, struct bl_error *e);

/* Frees the rows, items and partitions; {0} is accepted. */
void bl_mixture_free(struct bl_mixture *mixture);

#endif
