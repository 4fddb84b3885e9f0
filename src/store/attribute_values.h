/* The values of attributes: columns of sequences.tsv as numbers.
 *
 * A number is a decimal such as 12, -3, +.5 or 1e-3, or one of nan, inf and infinity in upper or lower case. A text
 * that loses digits or overflows as I64 or F64 (an integer with too many digits, 1e999) is not a number. */
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

/* The type of a column, detected from all of its values. */
struct bl_column_type {
    bool numeric;
    enum bl_dtype dtype; /* valid if numeric: BL_I64 if every value is an integer; BL_F64 otherwise */
    int64_t empty;       /* rows without a value */
    size_t row;          /* first row whose value is no number or is not exact as F64; SIZE_MAX: there is none */
};

/* Detects the types of the columns name[0] to name[count - 1] and stores them in type, [count]. All rows that have
 * steps are read. BL_EUSAGE: the table lacks a column. */
int bl_column_type_detect(const struct bl_sequences *table, const char *const *name, int count,
                          struct bl_column_type *type, struct bl_error *e);

/* Reads the attributes of a format from the table. An empty value of F64 becomes NaN. BL_EDATA: the table lacks a
 * column, or a value does not have the attribute's type; the message names row and column. Free the values with
 * bl_attribute_values_free. */
int bl_attribute_values_read(struct bl_attribute_values *values, const struct bl_sequences *table,
                             const struct bl_format *format, struct bl_error *e);
void bl_attribute_values_free(struct bl_attribute_values *values);

/* Returns the memory, in bytes, of the values of that many rows. */
int64_t bl_attribute_values_memory(const struct bl_format *format, size_t rows);

#endif
