/* The values of an extra field of text: a JSON array with one number for each token. */
#ifndef BL_FIELD_VALUES_H
#define BL_FIELD_VALUES_H

#include "base/json.h"
#include "kind/field.h"

/* Appends the elements of the array in the type: whole numbers that fit it, also written as 1.0 or 1e3, and true and
 * false as 1 and 0; for F32 any number that stays finite. *count: how many they are. False: an element is none of
 * these; *odd is this element, number *count. */
bool bl_field_values_append(struct bl_buffer *out, enum bl_dtype dtype, const struct bl_json_value *array,
                            size_t *count, struct bl_json_value *odd);

/* Reads a value as F64: a finite number, or true and false as 1 and 0. False: it is none, or a whole number that F64
 * would change. */
bool bl_field_value_read_number(const struct bl_json_value *value, double *number);

/* Makes a number of the text of a value of a row, or true or false where it is that in any case; others stay a text. */
void bl_field_value_of_text(struct bl_json_value *value);

#endif
