/* Ways of filling blocks: from a histogram whose lengths are all at most T to patterns that use every length as often
 * as it occurs. All are pure functions of histogram and T; chance comes later, with the identities.
 * Errors: BL_EFAIL, no memory; then *patterns is empty. */
#ifndef BL_FILL_H
#define BL_FILL_H

#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"
#include "plan/pattern.h"

/* Best fit decreasing: the longest first, each into the fullest block that has room. At most 11/9 of the optimum. */
int bl_fill_bestfit(struct bl_patterns *patterns, const struct bl_histogram *h, int64_t T, struct bl_error *e);

#endif
