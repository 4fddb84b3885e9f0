/* Segments: the rows [begin, end) of an array, as a line of a list names them. */
#ifndef BL_SEGMENTS_H
#define BL_SEGMENTS_H

#include <stdint.h>

#include "base/option.h"
#include "kind/kind.h"

/* Returns the row whose beginning is nearest to this time, the later one of two that are equally near; row 0 begins at
 * 0 s. */
int64_t bl_segment_row(double seconds, struct bl_rational rate);

/* Opens the counter of struct bl_kind_scan. It is a struct bl_list_counter, so it counts lists only. */
bl_counter_open bl_segments_counter_open;

#endif
