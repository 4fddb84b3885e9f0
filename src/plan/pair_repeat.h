/* Measures which sequences share a block, how many of these pairs share one again in another plan, and what ranks must
 * lose by waiting for each other.
 *
 * Training on the same sequences side by side in every epoch gives less varied batches. So the plans of later epochs
 * must have other partitions, and the pair repeat rate reports how different they are. */
#ifndef BL_PAIR_REPEAT_H
#define BL_PAIR_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/cost.h"
#include "plan/draft.h"
#include "plan/limits.h"
#include "plan/needs.h"
#include "plan/order.h"
#include "plan/plan.h"
#include "plan/strategy.h"

/* --- partitions --------------------------------------------------------------------------------------------------- */

/* A partition says which pieces share a block, whatever the order of the blocks and in them. The epochs of a dataset
 * must have different partitions; otherwise the same pairs of sequences share a block again. */

/* The partitions of earlier plans, as hashes of 64 bits. {0} has none. */
struct bl_partitions {
    uint64_t *hash; /* [count] in the order of the plans */
    size_t count, capacity;
};

/* Adds the partition of a plan. BL_EFAIL: out of memory. */
int bl_partitions_add(struct bl_partitions *taken, uint64_t hash, struct bl_error *e);
/* Returns whether a plan with this hash was added before. */
bool bl_partitions_have(const struct bl_partitions *taken, uint64_t hash);
/* Frees the hashes; *taken is then {0}. */
void bl_partitions_free(struct bl_partitions *taken);

/* The names of pieces in hashes. Plans of different subsets can be compared if a sequence has the same name in both. */
struct bl_piece_names {
    const struct bl_pieces *pieces;
    const uint32_t *sequence; /* names by sequence; NULL: the number of a piece is its name */
};

/* Returns the hash of a block; 0 if it is empty. The hash of a partition is the sum of the hashes of its blocks. */
uint64_t bl_partition_hash_block(const uint32_t *piece, size_t size, const struct bl_piece_names *names);

/* Returns the hash of a draft's partition. Empty blocks change nothing. */
uint64_t bl_partition_hash(const struct bl_draft *d, const struct bl_piece_names *names);

/* Returns the hash of a block of the pieces begin .. end - 1, whose names are their numbers; 0 if it is empty. */
uint64_t bl_partition_hash_range(size_t begin, size_t end);

/* What bl_repartition reads; all pointers are the caller's. */
struct bl_repartition {
    const struct bl_piece_names *names;
    const struct bl_limits *limits;
    const struct bl_needs *needs;
    const struct bl_partitions *taken;
    uint64_t seed;
};

/* Packs the pieces of some blocks of a draft in another way, into as many blocks, so that the draft has a partition
 * that is not taken. Tries all partitions of few pieces; of many pieces, those of a few blocks at a time. *hash: of the
 * draft's partition, before and after; it stays unchanged if no other partition is found. BL_EFAIL: out of memory. */
int bl_repartition(struct bl_draft *d, const struct bl_repartition *r, uint64_t *hash, struct bl_error *e);

/* --- pair repeats ------------------------------------------------------------------------------------------------- */

/* Of the pairs of sequences that share a block in one plan, how many share one in another plan of the same sequences. A
 * piece of a cut sequence counts as a sequence, identified by its sequence and first step: two pieces of one sequence
 * are a pair, too. Example: {1 2 3} {4} has the pairs 12, 13 and 23; of these, {1 2} {3 4} has 12, so the rate is 1 /
 * 3. */

struct bl_pair_repeat {
    bool is_measured;
    uint64_t pairs; /* that share a block in the first plan */
    uint64_t again; /* pairs that share a block in both plans */
    double random;  /* the share expected if the second were drawn: a uniformly random partition into blocks of its
                       numbers of pieces, whatever their lengths and groups */
};

/* Returns the number of pairs that share a block. */
uint64_t bl_pair_repeat_count_pairs(const struct bl_plan *plan);

/* Leaves out the pairs that share a block in both plans because they must: those of bundles. */
static inline void bl_pair_repeat_leave_out(struct bl_pair_repeat *pair_repeat, int64_t bundle_pairs)
{
    uint64_t pairs = (uint64_t)bundle_pairs < pair_repeat->again ? (uint64_t)bundle_pairs : pair_repeat->again;
    pair_repeat->pairs -= pairs;
    pair_repeat->again -= pairs;
}

/* Returns the pair repeat rate, 0 to 1; 0 without pairs. */
static inline double bl_pair_repeat_share(const struct bl_pair_repeat *pair_repeat)
{
    return pair_repeat->pairs ? (double)pair_repeat->again / (double)pair_repeat->pairs : 0;
}

/* The blocks of the pieces of a plan, to compare other plans with it. */
struct bl_pair_repeat_places {
    size_t count;                       /* sequences */
    uint32_t *place;                    /* [count + 1] the sequence's block, or UINT32_MAX; if sequences are cut, the
                                           first of its pieces below, then the number of pieces */
    struct bl_pair_repeat_piece *piece; /* by sequence, then by start; NULL if none is cut */
    uint32_t *met;                      /* [blocks] 0, except while a block is compared */
    double random;                      /* as above */
};

/* Finds the blocks of the pieces of a plan of `count` sequences. Memory: 4 bytes for each sequence and block, and 16
 * for each piece if sequences are cut; the plan is not needed afterwards. The caller frees *places with
 * bl_pair_repeat_free_places, also after errors. BL_EDATA: the plan has other sequences. BL_EFAIL: out of memory. */
int bl_pair_repeat_find_places(struct bl_pair_repeat_places *places, const struct bl_plan *plan, size_t count,
                               struct bl_error *e);
void bl_pair_repeat_free_places(struct bl_pair_repeat_places *places);

/* Counts the pairs of a plan, and those that share a block in the other plan, in linear time. *other is changed while
 * the function runs, so threads cannot share it. BL_EDATA: the plan has other sequences. */
int bl_pair_repeat_count(struct bl_pair_repeat *pair_repeat, const struct bl_plan *plan,
                         struct bl_pair_repeat_places *other, struct bl_error *e);

/* Finds the places of the second plan and counts the pairs of the first in them. Errors are those of the two
 * functions. */
int bl_pair_repeat_measure(struct bl_pair_repeat *pair_repeat, const struct bl_plan *first,
                           const struct bl_plan *second, size_t count, struct bl_error *e);

/* --- loss --------------------------------------------------------------------------------------------------------- */

/* The imbalance that no plan avoids: one expensive sequence may keep all other ranks waiting. */

/* Sets balance->bound, and that of each point, to an imbalance that every plan of these pieces into as many blocks has
 * at least; 0 if nothing is proven. max_sequences: of a block. BL_EFAIL: out of memory. */
int bl_loss_bound(struct bl_plan_balance *balance, const struct bl_draft *d, const struct bl_cost *cost,
                  const struct bl_ranks *ranks, int64_t max_sequences, struct bl_error *e);

#endif
