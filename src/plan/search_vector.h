/* The search for few blocks under several maxima ("vector bin packing"), from blocks that suit one of them. */
#ifndef BL_SEARCH_VECTOR_H
#define BL_SEARCH_VECTOR_H

#include "plan/loads.h"

/* Moves sequences until no block has too much of anything, within l->work up to `work`; what then is too much, or was
 * in no block, goes where there is room, or into new blocks. BL_EFAIL, here and below: out of memory. */
int bl_search_mend(struct bl_loads *l, int64_t work, struct bl_error *e);

/* Does without blocks, as long as there are more than the bound, within l->work up to `work`. */
int bl_search_reduce(struct bl_loads *l, int64_t bound, int64_t work, struct bl_error *e);

#endif
