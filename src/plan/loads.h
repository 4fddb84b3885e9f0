/* Loads: what each block of a draft holds of everything that a block has a limited amount of: steps, sequences, and the
 * columns of --max-column. */
#ifndef BL_LOADS_H
#define BL_LOADS_H

#include "plan/draft.h"
#include "plan/needs.h"
#include "plan/random.h"

#define BL_LOADS_NONE UINT32_MAX /* no piece */

/* Kinds of load: units, then the columns, then sequences if their number is limited. */
enum { BL_LOADS_MAX = 2 + BL_PLAN_COLUMNS_MAX };

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
    int kinds;                   /* of load */
    struct bl_load most;         /* of a block */
    struct bl_load weight;       /* of one unit too many: all kinds count alike, as a part of what a block has */
    uint32_t *id;                /* [pieces] */
    uint32_t *next;              /* [pieces] the next piece of the same block */
    uint32_t *amount;            /* [pieces][kinds] what each piece has */
    size_t pieces;               /* those with a block come first */
    size_t unplaced;             /* of these: without a block */
    struct bl_load_block *block; /* [blocks] */
    size_t blocks, capacity;
    struct bl_random random;
    int64_t work; /* operations done */
};

/* Makes the loads of the blocks of a draft from `first` on, which may be too much. Free it in any case. BL_EFAIL, here
 * and below: out of memory. */
int bl_loads_make(struct bl_loads *l, const struct bl_draft *d, size_t first, const struct bl_lengths *lengths,
                  const struct bl_needs *needs, const struct bl_limits *limits, struct bl_error *e);
void bl_loads_free(struct bl_loads *l);

/* Adds a piece without a block. All pieces together are at most those of the lengths. */
void bl_loads_leave(struct bl_loads *l, uint32_t id);

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
