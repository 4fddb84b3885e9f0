/* The values of attributes: columns of sequences.tsv as numbers.
 *
 * A number is a decimal such as 12, -3, +.5 or 1e-3, or nan, inf or infinity in any case. What I64 or F64 could hold
 * only as another number (an integer beyond their digits, 1e999) is none. */
#ifndef BL_ATTRIBUTE_VALUES_H
#define BL_ATTRIBUTE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"
#include "store/sequence_table.h"

struct bl_attribute_values {
    int count;      /* of attributes */
    int64_t *value; /* [rows][count] I64, or the bits of F64; 0 for rows without steps */
};

/* What a column could be. */
struct bl_column_type {
    bool numeric;
    enum bl_dtype dtype; /* BL_I64: integers all; BL_F64: numbers, or empty; where numeric */
    int64_t empty;       /* rows */
    size_t row; /* the first whose value is no number, or would be another as F64; SIZE_MAX: none, all are empty */
};

/* Looks at the columns of these names in all rows that have steps. BL_EUSAGE: the table has no such column. */
int bl_column_type_detect(const struct bl_sequences *table, const char *const *name, int count,
                          struct bl_column_type *sort, struct bl_error *e);

/* Reads the attributes of a format; empty values of F64 are NaN. BL_EDATA: the table lacks one, or a value is none of
 * its type, by row and name. Free with bl_attribute_values_free. */
int bl_attribute_values_read(struct bl_attribute_values *values, const struct bl_sequences *table,
                             const struct bl_format *format, struct bl_error *e);
void bl_attribute_values_free(struct bl_attribute_values *values);

/* Bytes of the values of so many rows. */
int64_t bl_attribute_values_memory(const struct bl_format *format, size_t rows);

#endif
