/* Which alignment the starts of a plan follow, where only the starts are known.
 *
 * Every start is a multiple of it, and the first that is not before the end of the piece before. The greatest common
 * divisor of all starts has both properties if anything has: the gaps of an alignment are shorter than it, so no
 * multiple lies inside one. It may be a multiple of the one that the plan was made with: a plan over the same lengths,
 * by the same alignment, need not follow it. */
#ifndef BL_ALIGNMENT_H
#define BL_ALIGNMENT_H

#include <stdbool.h>
#include <stdint.h>

struct bl_alignment {
    int64_t divisor; /* of all starts so far */
    int64_t gap;     /* the widest */
};

/* A piece at `start` after one that ends at `end` (0: the first). False when it begins too early. */
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

/* Whether they follow this alignment, of which the greatest divisor may be a multiple. */
static inline bool bl_alignment_is(const struct bl_alignment *a, int64_t align)
{
    return a->gap < align && a->divisor % align == 0;
}

/* The alignment, 1 for none; 0 when there are gaps that none explains. */
static inline int64_t bl_alignment_value(const struct bl_alignment *a)
{
    if (a->gap == 0)
        return 1;
    return a->gap < a->divisor ? a->divisor : 0;
}

#endif
