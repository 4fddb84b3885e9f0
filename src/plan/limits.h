/* The limits of a block, and of the search for blocks. */
#ifndef BL_LIMITS_H
#define BL_LIMITS_H

#include <stdint.h>

struct bl_limits {
    int64_t T;          /* units in a block, at most BL_T_MAX */
    uint32_t sequences; /* maximum per block, at least 1; UINT32_MAX: no limit */
    int64_t work;       /* operations of one search; best fit packs what it does not finish */
};

/* Returns the same limits with a fraction of the work. */
static inline struct bl_limits bl_limits_divide(const struct bl_limits *l, int64_t by)
{
    return (struct bl_limits){l->T, l->sequences, l->work / by};
}

#endif
