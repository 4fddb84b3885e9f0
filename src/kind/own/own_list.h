/* An array as the value of a column: a JSON list of numbers, or of lists of one shape, such as [[1, 2], [3, 4]]. */
#ifndef BL_OWN_LIST_H
#define BL_OWN_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/row.h"

struct bl_own_list {
    int64_t steps;
    int rank; /* of a step: 0 for a list of numbers */
    int64_t shape[BL_FIELD_RANK_MAX];
};

/* Reads a list. out NULL: it is only checked and measured; otherwise the list has been measured, and out gets its
 * elements in the type. BL_EDATA: no list, lists of different lengths, or an element that the type cannot hold; an
 * integer type holds no fractions. An empty list has 0 steps. */
int bl_own_list_read(struct bl_own_list *list, const char *text, size_t size, enum bl_dtype dtype, uint8_t *out,
                     struct bl_error *e);

#endif
