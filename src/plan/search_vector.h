/* The search for few blocks under several maxima ("vector bin packing"), from blocks that suit one of them. */
#ifndef BL_SEARCH_VECTOR_H
#define BL_SEARCH_VECTOR_H

#include "plan/loads.h"

/* Moves sequences until no block has too much of anything; then does without blocks, as long as there are more than the
 * bound. work: operations, which end the second part. BL_EFAIL: out of memory. */
int bl_search_vector(struct bl_loads *l, int64_t bound, int64_t work, struct bl_error *e);

#endif
