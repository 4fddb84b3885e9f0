/* Finds the alignment of a plan from its starts only.
 *
 * Every start is a multiple of the alignment, and the first such multiple at or after the end of the previous piece. If
 * any number has both properties, the greatest common divisor of all starts does: gaps are shorter than the alignment,
 * so no multiple of it lies in one. It may be a multiple of the alignment that the plan was made with; a plan over the
 * same lengths by that smaller alignment can differ. */
#ifndef BL_ALIGNMENT_H
#define BL_ALIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

struct bl_alignment {
    int64_t divisor; /* of all starts so far */
    int64_t gap;     /* the widest gap */
};

/* Adds a piece at `start` after one that ends at `end` (0: the first). False: it starts too early. */
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

/* Whether the starts fit this alignment. Their greatest divisor may be a multiple of it. */
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
