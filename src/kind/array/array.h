/* Arrays: NPY files, and one array of an NPZ archive; a step is an entry along one axis. */
#ifndef BL_ARRAY_H
#define BL_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/kind.h"

enum bl_array_dtype { BL_ARRAY_SAME, BL_ARRAY_F32 };

struct bl_array_config {
    const char *member; /* of NPZ archives; NULL: the only one */
    const char *name;   /* of the field */
    int64_t time_axis;  /* below 0: counted from the last */
    bool squeeze;
    int dtype; /* enum bl_array_dtype */

    struct bl_inflated *inflated; /* owned, from prepare to release */
};

extern const struct bl_kind bl_kind_array;

#endif
