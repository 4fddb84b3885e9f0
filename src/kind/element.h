/* Elements of fields as numbers. Fields are little-endian, as the machine is. */
#ifndef BL_ELEMENT_H
#define BL_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/field.h"

/* Whether steps of the field are one integer each. */
bool bl_element_is_integer(const struct bl_field *field);

/* An element of a type of integers; of U64 the bits. */
int64_t bl_element_integer(enum bl_dtype dtype, const uint8_t *element);

/* An element of any type; NaN and infinities as they are. */
double bl_element_number(enum bl_dtype dtype, const uint8_t *element);

#endif
