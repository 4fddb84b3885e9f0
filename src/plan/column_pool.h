/* Columns that one relaxation found and the next ones may start from, though they are over other remaining lengths. */
#ifndef BL_COLUMN_POOL_H
#define BL_COLUMN_POOL_H

#include "plan/colgen.h"
#include "plan/remainder.h"

/* Adds to the pool, which has the buckets of the full histogram, the columns of a relaxation of `rest` from number
 * `from` on. The oldest are dropped if there are too many. Errors here and below: BL_EFAIL, out of memory. */
int bl_column_pool_keep(struct bl_patterns *pool, const struct bl_remainder *rest, const struct bl_master *m,
                        size_t from, struct bl_error *e);

/* Offers to a relaxation of `rest` all columns of the pool that are still possible with left[], the remaining counts of
 * the full histogram. */
int bl_column_pool_offer(const struct bl_patterns *pool, const struct bl_remainder *rest, const uint32_t *left,
                         struct bl_colgen *g, struct bl_error *e);

#endif
