/* The limits of a block, and of the search for blocks. */
#ifndef BL_LIMITS_H
#define BL_LIMITS_H

#include <stdint.h>

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

struct bl_limits {
    int64_t T;          /* units in a block, at most BL_T_MAX */
    uint32_t sequences; /* maximum per block, at least 1; UINT32_MAX: no limit */
    int64_t work;       /* operations of one search; best fit packs what it does not finish */
    int64_t *used;      /* NULL, or raised by the operations done */
    uint32_t without;   /* 0, or a set of enum bl_search_part */
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

#endif
