/* Partitions: which pieces share a block, whatever the order of the blocks and in them. The epochs of a dataset must
 * have different partitions, or the same pairs of sequences share a block again. */
#ifndef BL_PARTITION_H
#define BL_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/draft.h"
#include "plan/limits.h"
#include "plan/needs.h"
#include "plan/piece.h"

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

#endif
