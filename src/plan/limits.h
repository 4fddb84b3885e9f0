/* The limits of a block, and of the search for blocks. */
#ifndef BL_LIMITS_H
#define BL_LIMITS_H

#include <stdint.h>

struct bl_limits {
    int64_t T;          /* units in a block, at most BL_T_MAX */
    uint32_t sequences; /* maximum per block, at least 1; UINT32_MAX: no limit */
    int64_t work;       /* operations of one search; best fit packs what it does not finish */
    int64_t *used;      /* NULL, or raised by the operations done */
};

/* Returns the same limits with other work. */
static inline struct bl_limits bl_limits_with(const struct bl_limits *l, int64_t work)
{
    struct bl_limits other = *l;
    other.work = work;
    return other;
}

/* Returns the same limits with a fraction of the work. */
static inline struct bl_limits bl_limits_divide(const struct bl_limits *l, int64_t by)
{
    return bl_limits_with(l, l->work / by);
}

/* Accounts for operations done. */
static inline void bl_limits_use(const struct bl_limits *l, int64_t operations)
{
    if (l->used)
        *l->used += operations;
}

#endif
