/* Drafts of plans: patterns that fill blocks, drafts that say which sequences share a block, and loads that count what
 * each block holds. */
#ifndef BL_DRAFT_H
#define BL_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"
#include "plan/limits.h"
#include "plan/needs.h"
#include "plan/random.h"
#include "plan/strategy.h"

/* --- patterns ----------------------------------------------------------------------------------------------------- */

/* Patterns: how to fill blocks, without regard to which sequence goes where.
 *
 * A pattern is a multiset of lengths that together fit into a block, and the number of blocks filled that way. Every
 * fill makes patterns from a histogram; a draft turns them into blocks. The memory is bounded by the number of
 * sequences: every entry stands for at least one. */

struct bl_patterns {
    size_t count;
    uint32_t *use;    /* [count] number of blocks with this pattern, at least 1 */
    uint32_t *first;  /* [count+1] first entry of each; the last is the number of entries */
    uint32_t *bucket; /* [entries] lengths, as buckets of the histogram, repeated if used several times */
    size_t blocks;    /* sum of use */
    size_t entries;   /* including those of the unfinished pattern */
    size_t use_capacity, first_capacity, entry_capacity;
};

/* Makes a pattern: push its lengths one by one, then close it. BL_EFAIL: out of memory. */
int bl_patterns_push(struct bl_patterns *p, uint32_t bucket, struct bl_error *e);
int bl_patterns_close(struct bl_patterns *p, uint32_t use, struct bl_error *e);

/* Adds the patterns `first` to end - 1 of another set. as: maps its buckets to those of *p; NULL: they are the same. */
int bl_patterns_append(struct bl_patterns *p, const struct bl_patterns *from, size_t first, size_t end,
                       const uint32_t *as, struct bl_error *e);

/* Removes the patterns from `count` on, and the unfinished one. */
void bl_patterns_truncate(struct bl_patterns *p, size_t count);

/* Keeps in *best the set with fewer blocks and frees the other; a set without patterns does not count. */
void bl_patterns_keep_fewer(struct bl_patterns *best, struct bl_patterns *other);

/* Returns the most entries in any pattern. */
uint32_t bl_patterns_widest(const struct bl_patterns *p);
void bl_patterns_free(struct bl_patterns *p);

/* --- drafts ------------------------------------------------------------------------------------------------------- */

/* A draft says which sequences share a block, before the blocks have an order.
 *
 * Groups of sequences are drafted one after the other. Then blocks are split, added or removed until their number suits
 * the ranks. Finally they are ordered, and the draft becomes the plan's tables. */

struct bl_draft {
    uint32_t *sequence; /* [pieces] ids, block by block; allocated for all pieces */
    size_t pieces;
    uint32_t *first; /* [blocks+1] first piece of each block, then `pieces` */
    size_t blocks, capacity;
    bool is_shuffled; /* the blocks are already in random order */
};

/* Allocates room for this number of pieces. Errors here and below: BL_EFAIL, out of memory; the draft must still be
 * freed. */
int bl_draft_make(struct bl_draft *d, size_t pieces, struct bl_error *e);
void bl_draft_free(struct bl_draft *d);

/* Makes a block of the `size` ids that the caller has written behind those of the last block. */
int bl_draft_close(struct bl_draft *d, size_t size, struct bl_error *e);

/* Makes room for this number of additional blocks. */
int bl_draft_reserve(struct bl_draft *d, size_t blocks, struct bl_error *e);

/* Returns the number of pieces of a block. */
static inline size_t bl_draft_size(const struct bl_draft *d, size_t block)
{
    return d->first[block + 1] - d->first[block];
}

/* A block as one number, for tables that are shuffled or sorted: its first piece and its size, 32 bits each. */
static inline int64_t bl_draft_entry(const struct bl_draft *d, size_t block)
{
    return (int64_t)((uint64_t)d->first[block] << 32 | bl_draft_size(d, block));
}

static inline size_t bl_entry_first(int64_t entry)
{
    return (uint64_t)entry >> 32;
}

static inline size_t bl_entry_size(int64_t entry)
{
    return (uint64_t)entry & UINT32_MAX;
}

/* The drafting methods. Each adds blocks for all the lengths; the seed decides the order inside every block. */

/* Next fit, in input order: starts a new block if the next piece exceeds T units, the number of sequences or a need, or
 * is of another group. No plan that keeps the order has fewer blocks. */
int bl_draft_keep(struct bl_draft *d, const struct bl_pieces *pieces, const struct bl_limits *limits,
                  const struct bl_needs *needs, struct bl_error *e);

/* Uses patterns that cover the histogram exactly, in random order. */
int bl_draft_patterns(struct bl_draft *d, const struct bl_patterns *patterns, const struct bl_histogram *h,
                      const struct bl_lengths *lengths, uint64_t seed, struct bl_error *e);

/* Best fit decreasing without a histogram: as many blocks as bl_search_bestfit. Takes 8 bytes of temporary memory per
 * length, and 16 per open block. */
int bl_draft_bestfit(struct bl_draft *d, const struct bl_lengths *lengths, const struct bl_limits *limits,
                     uint64_t seed, struct bl_error *e);

/* --- loads -------------------------------------------------------------------------------------------------------- */

/* Loads: what each block of a draft holds of everything that a block has a limited amount of: steps, sequences, and the
 * columns of --max-column. */

#define BL_LOADS_NONE UINT32_MAX /* no piece */

/* Kinds of load: units, then the columns, then sequences if their number is limited. */
enum { BL_LOADS_MAX = 2 + BL_NEEDS_MAX };

struct bl_load {
    int64_t of[BL_LOADS_MAX];
};

struct bl_load_block {
    uint32_t head, size; /* the first piece; pieces */
    struct bl_load load;
};

struct bl_loads {
    const struct bl_lengths *lengths;
    const struct bl_needs *needs;
    const struct bl_limits *limits;
    int kinds;             /* of load */
    struct bl_load most;   /* of a block */
    struct bl_load weight; /* of one unit too many: all kinds count alike, as a part of what a block has */
    uint32_t *id;          /* [pieces] */
    uint32_t *next;        /* [pieces] the next piece of the same block */
    uint32_t *amount;      /* [pieces][kinds] what each piece has */
    size_t pieces;
    struct bl_load_block *block; /* [blocks] */
    size_t blocks, capacity;
    struct bl_random random;
    int64_t work; /* operations done */
};

/* Makes the loads of the blocks first .. end - 1 of a draft, which may be too much. Free it in any case. BL_EFAIL, here
 * and below: out of memory. */
int bl_loads_make(struct bl_loads *l, const struct bl_draft *d, size_t first, size_t end,
                  const struct bl_lengths *lengths, const struct bl_needs *needs, const struct bl_limits *limits,
                  struct bl_error *e);
void bl_loads_free(struct bl_loads *l);

/* Writes what a sequence has of each kind of load. amount: [l->kinds] */
void bl_loads_measure(const struct bl_loads *l, uint32_t id, uint32_t *amount);

/* Lets pieces that have the same of everything change places at random. */
int bl_loads_shuffle_equal(struct bl_loads *l, struct bl_error *e);

/* Returns what a piece has of a kind of load. piece: its index in `id`. */
static inline int64_t bl_loads_piece(const struct bl_loads *l, uint32_t piece, int kind)
{
    return l->amount[piece * (size_t)l->kinds + (size_t)kind];
}

/* Adds a piece to a block, or removes it. */
void bl_loads_add(struct bl_loads *l, struct bl_load_block *block, uint32_t piece);
void bl_loads_remove(struct bl_loads *l, struct bl_load_block *block, uint32_t piece);

/* Adds an empty block at the end. */
int bl_loads_open(struct bl_loads *l, struct bl_error *e);

/* Returns what a load has too much, 0 for nothing, all kinds together; or a number of at least `limit`. */
int64_t bl_loads_excess(const struct bl_loads *l, const struct bl_load *load, int64_t limit);

/* Returns how full a load makes a block, all kinds together. */
int64_t bl_loads_fullness(const struct bl_loads *l, const struct bl_load *load);

/* Writes the blocks to a draft, after its present ones, with room for their pieces. */
int bl_loads_write(const struct bl_loads *l, struct bl_draft *d, struct bl_error *e);

#endif
