/* The problem of packing: the limits of a block and of the search, the lengths to plan, and the alignment of their
 * starts. */
#ifndef BL_LIMITS_H
#define BL_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* --- limits ------------------------------------------------------------------------------------------------------- */

/* Each part of a search gets a copy of the limits with its share of the work. A search counts operations,
 * never time, so that a plan is the same on every machine. */

/* Parts of the search that can be left out, to measure what they gain. */
enum bl_search_part {
    BL_SEARCH_GROUPED = 1 << 0,
    BL_SEARCH_MIN_SLACK = 1 << 1,
    BL_SEARCH_IMPROVE = 1 << 2,
    BL_SEARCH_COLUMNS = 1 << 3,
    BL_SEARCH_FIXING = 1 << 4, /* of columns, one by one */
    BL_SEARCH_COARSE = 1 << 5,
    BL_SEARCH_COMPLETE = 1 << 6,
    BL_SEARCH_DIVE = 1 << 7,
};

/* The limits of one search. */
struct bl_limits {
    int64_t T;                  /* units in a block, at most BL_T_MAX */
    uint32_t sequences;         /* maximum per block, at least 1; UINT32_MAX: no limit */
    int64_t work;               /* operations of one search; best fit packs what it does not finish */
    int64_t *used;              /* NULL, or a counter to which the search adds its operations */
    uint32_t without;           /* 0, or a set of enum bl_search_part */
    const volatile int *cancel; /* as in struct bl_plan_options */
};

/* Returns whether the caller has cancelled the plan. A search then ends as if its work were used up, and the planner,
 * which drops what the search has found, returns BL_ECANCEL. Cheap enough for every turn of a loop. */
static inline bool bl_limits_cancelled(const struct bl_limits *l)
{
    return l->cancel && __atomic_load_n(l->cancel, __ATOMIC_RELAXED) != 0;
}

/* Returns BL_ECANCEL if the caller has cancelled the plan. */
static inline int bl_limits_check(const struct bl_limits *l, struct bl_error *e)
{
    return bl_limits_cancelled(l) ? bl_error_set(e, BL_ECANCEL, "cancelled") : BL_OK;
}

/* Returns the same limits with other work. */
static inline struct bl_limits bl_limits_with(const struct bl_limits *l, int64_t work)
{
    struct bl_limits other = *l;
    other.work = work;
    return other;
}

/* Returns the same limits with the work divided by `by`. */
static inline struct bl_limits bl_limits_divide(const struct bl_limits *l, int64_t by)
{
    return bl_limits_with(l, l->work / by);
}

/* Adds operations to the counter, if there is one. */
static inline void bl_limits_use(const struct bl_limits *l, int64_t operations)
{
    if (l->used)
        *l->used += operations;
}

/* Returns the same limits for a part of a search that counts its operations in *used: a fraction of the work, or what
 * is left of it if that is less. */
static inline struct bl_limits bl_limits_share(const struct bl_limits *l, int64_t by, int64_t *used)
{
    struct bl_limits share = *l;
    int64_t left = l->work - *used;
    share.work = l->work / by < left ? l->work / by : left;
    share.used = used;
    return share;
}

/* --- lengths ------------------------------------------------------------------------------------------------------ */

/* Lengths are measured in units inside the search: with an alignment of 8, a sequence of 13 steps takes 2 units of 8
 * steps. */

/* The lengths to plan: those of length[0 .. count-1], or of length[index[0 .. count-1]], that lie between shortest and
 * longest; others are skipped. 1 <= shortest <= longest <= BL_T_MAX, count <= BL_SEQUENCES_MAX. Each length is rounded
 * up to units of `unit` steps, and is at most `cap` units. The arrays belong to the caller. */
struct bl_lengths {
    const int64_t *length;
    const uint32_t *index; /* or NULL: all lengths */
    size_t count;
    int64_t shortest;
    int64_t longest;
    int64_t unit; /* steps; at least 1 */
    int64_t cap;  /* units */
};

/* Returns the id of the i-th length: its index in length[]. */
static inline size_t bl_lengths_id(const struct bl_lengths *l, size_t i)
{
    return l->index ? l->index[i] : i;
}

/* Returns whether the i-th length is in the range. */
static inline bool bl_lengths_has(const struct bl_lengths *l, size_t i)
{
    int64_t length = l->length[bl_lengths_id(l, i)];
    return length >= l->shortest && length <= l->longest;
}

/* Returns the length of the sequence with this id, in units. */
static inline int64_t bl_lengths_units_of(const struct bl_lengths *l, size_t id)
{
    int64_t length = l->length[id];
    int64_t units = l->unit == 1 ? length : (length + l->unit - 1) / l->unit;
    return units < l->cap ? units : l->cap;
}

/* Returns the i-th length in units. */
static inline int64_t bl_lengths_units(const struct bl_lengths *l, size_t i)
{
    return bl_lengths_units_of(l, bl_lengths_id(l, i));
}

/* --- alignment ---------------------------------------------------------------------------------------------------- */

/* Finds the alignment of a plan from its starts only.
 *
 * Every start is a multiple of the alignment, and the first such multiple at or after the end of the previous piece. If
 * any number has both properties, the greatest common divisor of all starts does: gaps are shorter than the alignment,
 * so no multiple of it lies in one. It may be a multiple of the alignment that the plan was made with; a plan over the
 * same lengths by that smaller alignment can differ. */

/* What the starts have in common that were added so far; zeros at first. */
struct bl_alignment {
    int64_t divisor; /* of all starts so far */
    int64_t gap;     /* the widest gap */
};

/* Adds a piece at `start` after one that ends at `end` (0: the first piece of a block). Returns false if the piece
 * overlaps the one before, or the first one does not start at 0. Euclid's algorithm. */
static inline bool bl_alignment_add(struct bl_alignment *a, int64_t end, int64_t start)
{
    if (start < end || (end == 0 && start > 0))
        return false;
    a->gap = start - end > a->gap ? start - end : a->gap;
    for (int64_t b = start; b > 0;) {
        int64_t rest = a->divisor % b;
        a->divisor = b;
        b = rest;
    }
    return true;
}

/* Returns whether the starts fit this alignment. Their greatest divisor may be a multiple of it. */
static inline bool bl_alignment_is(const struct bl_alignment *a, int64_t align)
{
    return a->gap < align && a->divisor % align == 0;
}

/* Returns the alignment, 1 for none, 0 if no alignment explains the gaps. */
static inline int64_t bl_alignment_value(const struct bl_alignment *a)
{
    if (a->gap == 0)
        return 1;
    return a->gap < a->divisor ? a->divisor : 0;
}

#endif
