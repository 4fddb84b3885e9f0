/* Layout: which element of an array belongs to which step. A pure function of the array's header and the options. */
#ifndef BL_ARRAY_LAYOUT_H
#define BL_ARRAY_LAYOUT_H

#include "base/error.h"
#include "kind/array/config.h"
#include "kind/field.h"
#include "kind/npy.h"

/* An axis as the file has it. */
struct bl_array_axis {
    int64_t size;
    int64_t stride; /* elements from one of its entries to the next where steps follow on each other in C order */
};

struct bl_array_layout {
    enum bl_dtype stored, dtype; /* of an element in the file, and in the field */
    bool swap;                   /* the file's elements are big-endian */
    int64_t steps;
    int rank; /* of a step, its shape, its elements */
    int64_t shape[BL_FIELD_RANK_MAX];
    int64_t elements;
    /* The file's axes, the one that lies furthest apart first; those of size 1 are left out, and neighbours that are
     * neighbours in a step too are one. */
    int axes, time; /* which of them is time */
    struct bl_array_axis axis[BL_NPY_RANK_MAX];
    int64_t outer, inner; /* elements of the axes before time, and of those behind it */
    bool contiguous;      /* the file has the steps as they are wanted, one after the other */
};

/* BL_EDATA: the array has no such axis, no steps, or a form that no field can have. */
int bl_array_layout_make(struct bl_array_layout *layout, const struct bl_npy *npy, const struct bl_array_config *config,
                         struct bl_error *e);

/* What all sequences of a dataset must have in common, in words: "F32 [25, 3]". Returns out. */
#define BL_ARRAY_FORM_MAX 128
char *bl_array_form_print(char out[BL_ARRAY_FORM_MAX], enum bl_dtype dtype, int rank, const int64_t *shape);

/* Puts elements of the file (count of them from first on, in the file's order, of size bytes each, all of them between
 * the steps `start` and `end`) where they belong: out begins with step `start`. */
void bl_array_scatter(const struct bl_array_layout *layout, int64_t first, int64_t count, int64_t start, size_t size,
                      const uint8_t *from, uint8_t *out);

#endif
