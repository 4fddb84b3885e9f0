/* Measures of a plan: which sequences share a block, how many of the pairs share one again in another plan, what ranks
 * lose by waiting for each other, and how fairly the waits sample the blocks. */
#ifndef BL_PAIR_REPEAT_H
#define BL_PAIR_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/draft.h"
#include "plan/limits.h"
#include "plan/needs.h"
#include "plan/order.h"
#include "plan/plan.h"
#include "plan/strategy.h"

/* --- partitions --------------------------------------------------------------------------------------------------- */

/* Partitions: which pieces share a block, whatever the order of the blocks and in them. The epochs of a dataset must
 * have different partitions, or the same pairs of sequences share a block again. */

/* The partitions of earlier plans. Zero-initialized: none. */
struct bl_partitions {
    uint64_t *hash; /* [count] in the order of the plans */
    size_t count, capacity;
};

/* BL_EFAIL: out of memory. */
int bl_partitions_add(struct bl_partitions *taken, uint64_t hash, struct bl_error *e);
bool bl_partitions_have(const struct bl_partitions *taken, uint64_t hash);
void bl_partitions_free(struct bl_partitions *taken);

/* What pieces are called in hashes. */
struct bl_piece_names {
    const struct bl_pieces *pieces;
    const uint32_t *sequence; /* their sequences' names; NULL: a piece's number is its name */
};

/* Returns the hash of a block; 0 if it is empty. The hash of a partition is their sum. */
uint64_t bl_partition_hash_block(const uint32_t *piece, size_t size, const struct bl_piece_names *names);

/* Returns the hash of a draft's partition. Empty blocks change nothing. */
uint64_t bl_partition_hash(const struct bl_draft *d, const struct bl_piece_names *names);

/* The same for a plan over whole sequences: block_ptr: [blocks + 1]; piece i has the name i. */
uint64_t bl_partition_hash_stored(const int64_t *block_ptr, size_t blocks);

struct bl_repartition {
    const struct bl_piece_names *names;
    const struct bl_limits *limits;
    const struct bl_needs *needs;
    const struct bl_partitions *taken;
    uint64_t seed;
};

/* Packs the pieces of some blocks of a draft anew, into as many blocks, so that its partition is not among those that
 * are taken. Tries all partitions of few pieces; of many, those of a few blocks at a time. *hash: of the draft's
 * partition, before and after. BL_EFAIL: out of memory. */
int bl_repartition(struct bl_draft *d, const struct bl_repartition *r, uint64_t *hash, struct bl_error *e);

/* --- company ------------------------------------------------------------------------------------------------------ */

/* Of the pairs of sequences that share a block in one plan, how many share one in another plan of the same sequences.
 * Pieces of cut sequences count as sequences of their own, known by their sequence and first step: two pieces of one
 * sequence are a pair, too. */

struct bl_pair_repeat {
    bool is_measured;
    uint64_t pairs; /* that share a block in the first plan */
    uint64_t again; /* of these, that share one in the second plan */
    double random;  /* the share expected if the second were drawn: a uniformly random partition into blocks of its
                       numbers of pieces, whatever their lengths and groups */
};

/* Returns the number of pairs that share a block. */
uint64_t bl_pair_repeat_count_pairs(const struct bl_plan *plan);

/* Returns the share that meets again, 0 to 1; 0 without pairs. */
static inline double bl_pair_repeat_share(const struct bl_pair_repeat *pair_repeat)
{
    return pair_repeat->pairs ? (double)pair_repeat->again / (double)pair_repeat->pairs : 0;
}

/* Where the pieces of a plan lie, to compare other plans with it. */
struct bl_pair_repeat_places {
    size_t count;                       /* sequences */
    uint32_t *place;                    /* [count + 1] the sequence's block, or UINT32_MAX; if sequences are cut, the
                                           first of its pieces below, then the number of pieces */
    struct bl_pair_repeat_piece *piece; /* by sequence, then by start; NULL if none is cut */
    uint32_t *met;                      /* [blocks] 0, except while a block is compared */
    double random;                      /* as above */
};

/* Finds the pieces of a plan of `count` sequences. 4 bytes for each sequence and block, and 16 for each piece if
 * sequences are cut; the plan is not needed afterwards. BL_EDATA: the plan has other sequences. BL_EFAIL: out of
 * memory. Free with bl_pair_repeat_free_places, also after errors. */
int bl_pair_repeat_find_places(struct bl_pair_repeat_places *places, const struct bl_plan *plan, size_t count,
                               struct bl_error *e);
void bl_pair_repeat_free_places(struct bl_pair_repeat_places *places);

/* Counts the pairs of a plan, and those that share a block in the other plan. Linear in time. BL_EDATA: as above. */
int bl_pair_repeat_count(struct bl_pair_repeat *pair_repeat, const struct bl_plan *plan,
                         struct bl_pair_repeat_places *other, struct bl_error *e);

/* Both: the share of the first plan's pairs that meet again in the second. */
int bl_pair_repeat_measure(struct bl_pair_repeat *pair_repeat, const struct bl_plan *first,
                           const struct bl_plan *second, size_t count, struct bl_error *e);

/* --- loss --------------------------------------------------------------------------------------------------------- */

/* What ranks must lose by waiting for each other. */

/* Proves what every plan of the draft's pieces into as many blocks loses at least, as in struct bl_plan_balance. */
int bl_loss_bound(double *bound, const struct bl_draft *d, const struct bl_cost *cost, const struct bl_ranks *ranks,
                  const struct bl_plan_options *options, int64_t T, struct bl_error *e);

#endif
