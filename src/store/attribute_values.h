/* The values of attributes: columns of sequences.tsv as numbers.
 *
 * A number is a decimal such as 12, -3, +.5 or 1e-3, or nan, inf or infinity in any case. A text that I64 or F64 would
 * change (an integer with too many digits, 1e999) is not a number. */
#ifndef BL_ATTRIBUTE_VALUES_H
#define BL_ATTRIBUTE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"
#include "store/sequences.h"

struct bl_attribute_values {
    int count;      /* number of attributes */
    int64_t *value; /* [rows][count] I64, or the bits of F64; 0 for rows without steps */
};

/* The type that the values of a column have. */
struct bl_column_type {
    bool numeric;
    enum bl_dtype dtype; /* where numeric: BL_I64 if all values are integers, BL_F64 if they are numbers or empty */
    int64_t empty;       /* rows without a value */
    size_t row;          /* first row whose value is not a number, or would change as F64; SIZE_MAX: none */
};

/* Detects the types of columns, by all rows that have steps. type: [count]. BL_EUSAGE: the table lacks a column. */
int bl_column_type_detect(const struct bl_sequences *table, const char *const *name, int count,
                          struct bl_column_type *type, struct bl_error *e);

/* Reads the attributes of a format; empty values of F64 are NaN. BL_EDATA: the table lacks a column, or a value does
 * not have the attribute's type; the message names row and column. Free with bl_attribute_values_free. */
int bl_attribute_values_read(struct bl_attribute_values *values, const struct bl_sequences *table,
                             const struct bl_format *format, struct bl_error *e);
void bl_attribute_values_free(struct bl_attribute_values *values);

/* Bytes that the values of that many rows take. */
int64_t bl_attribute_values_memory(const struct bl_format *format, size_t rows);

#endif
