/* Who goes where: blocks from pieces. Each function makes plan->sequence (as indices into the lengths, in
 * bl_lengths order), block_ptr, blocks, pieces and max_sequences, with the order of the blocks and the order inside
 * each block drawn by seed. Errors: BL_EFAIL, no memory; what was made is then freed with the plan. */
#ifndef BL_PLACE_H
#define BL_PLACE_H

#include <stdint.h>

#include "plan/histogram.h"
#include "plan/pattern.h"
#include "plan/plan.h"

/* Every length alone in a block. */
int bl_place_alone(struct bl_plan *plan, const struct bl_lengths *lengths, uint64_t seed, struct bl_error *e);

/* By patterns that use every length of the histogram as often as it occurs. */
int bl_place_patterns(struct bl_plan *plan, const struct bl_patterns *patterns, const struct bl_histogram *h,
                      const struct bl_lengths *lengths, uint64_t seed, struct bl_error *e);

/* BLoad's own rule (arXiv 2310.10879): while any remaining sequence fits into the block, one of those that fit, each
 * equally likely; then the next block. O(N log D). */
int bl_place_paper(struct bl_plan *plan, const struct bl_histogram *h, const struct bl_lengths *lengths, int64_t T,
                   uint64_t seed, struct bl_error *e);

#endif
