/* The option values of the array kind. */
#ifndef BL_ARRAY_CONFIG_H
#define BL_ARRAY_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum bl_array_dtype { BL_ARRAY_SAME, BL_ARRAY_F32 };

struct bl_array_config {
    const char *member; /* of NPZ archives; NULL: the only one */
    const char *name;   /* of the field */
    int64_t time_axis;  /* below 0: counted from the last */
    bool squeeze;
    int dtype; /* enum bl_array_dtype */

    struct bl_inflated *inflated; /* owned, from prepare to release */
};

#endif
