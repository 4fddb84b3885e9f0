/* The array kind: sequences from NPY files, and from one array of each NPZ archive. A step is an entry along one axis
 * of the array. */
#ifndef BL_ARRAY_H
#define BL_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "kind/kind.h"
#include "kind/npy.h"
#include "kind/row.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

/* The option values of the array kind. */

enum bl_array_dtype { BL_ARRAY_SAME, BL_ARRAY_F32 };

struct bl_array_config {
    struct bl_kind_config common; /* dtype: enum bl_array_dtype */
    const char *member;           /* of NPZ archives; NULL: the only one */
    const char *name;             /* of the field */
    int64_t time_axis;            /* below 0: counted from the last */
    bool squeeze;
    struct bl_rational step_rate; /* steps per second; den 0: not known */
    bool listed;                  /* expand was called: it knows whether */
    bool decodes;                 /* some inputs may be HDF5 files */
    bool takes_empty;             /* an array without steps is a sequence of length 0, and not unusable */

    struct bl_inflated *inflated; /* owned, from prepare to release */
};

/* --- layout ------------------------------------------------------------------------------------------------------- */

/* Layout: where the elements of an array belong in its steps. A pure function of the array's header and the options. */

/* An axis as the file has it. */
struct bl_array_axis {
    int64_t size;
    int64_t stride; /* elements from one of its entries to the next, in consecutive steps in C order */
};

struct bl_array_layout {
    enum bl_dtype stored, dtype; /* of an element in the file, and in the field */
    bool swap;                   /* the file's elements are big-endian */
    int64_t steps;
    int rank; /* of a step */
    int64_t shape[BL_FIELD_RANK_MAX];
    int64_t elements; /* of a step */
    /* The file's axes, outermost first. Axes of size 1 are left out, and axes that are neighbours in a step too are
     * merged. */
    int axes, time; /* time: the index of the steps' axis */
    struct bl_array_axis axis[BL_NPY_RANK_MAX];
    int64_t outer, inner; /* products of the sizes before and after time */
    bool contiguous;      /* the file has consecutive steps in C order */
};

/* BL_EDATA: the array has no such axis, no steps, or steps that no field can have. Of an array without steps that the
 * config takes, only steps is set. */
int bl_array_layout_make(struct bl_array_layout *layout, const struct bl_npy *npy, const struct bl_array_config *config,
                         struct bl_error *e);

/* Finds the layout of the array in a file, and the number of bytes that follow it. bytes: the size that the file must
 * have, or -1. Codes as of bl_array_file_open (npz.h) and bl_array_layout_make. */
int bl_array_file_layout(const struct bl_array_config *config, const struct bl_kind_env *env, const char *path,
                         int64_t bytes, struct bl_array_layout *layout, int64_t *trailing, struct bl_error *e);

/* Copies elements to their places. from: count elements of size bytes, in the file's order from number first on. out
 * begins with the step `start`; none of the elements belongs to a step before. */
void bl_array_scatter(const struct bl_array_layout *layout, int64_t first, int64_t count, int64_t start, size_t size,
                      const uint8_t *from, uint8_t *out);

/* --- segments ----------------------------------------------------------------------------------------------------- */

/* Segments: the rows [begin, end) of an array, as a line of a list names them (segments.c). */

/* Returns the row whose beginning is nearest to this time, the later one of two that are equally near; row 0 begins at
 * 0 s. */
int64_t bl_segment_row(double seconds, struct bl_rational rate);

/* Opens the counter of struct bl_kind_scan. It is a struct bl_list_counter, so it counts lists only. */
bl_counter_open bl_segments_counter_open;

/* --- kind --------------------------------------------------------------------------------------------------------- */

extern const struct bl_kind bl_kind_array;

#endif
