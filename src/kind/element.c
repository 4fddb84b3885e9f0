#include "kind/element.h"

#include <math.h>
#include <string.h>

static bool dtype_is_float(enum bl_dtype dtype)
{
    return dtype == BL_F16 || dtype == BL_BF16 || dtype == BL_F32 || dtype == BL_F64;
}

bool bl_element_is_integer(const struct bl_field *field)
{
    return !field->rank && !dtype_is_float(field->dtype);
}

int64_t bl_element_integer(enum bl_dtype dtype, const uint8_t *element)
{
    uint64_t bits = 0;
    size_t size = bl_dtype_size(dtype);
    memcpy(&bits, element, size);
    bool is_signed = dtype == BL_I8 || dtype == BL_I16 || dtype == BL_I32;
    bool is_negative = is_signed && bits >> (size * 8 - 1) != 0;
    return (int64_t)(is_negative ? bits | UINT64_MAX << size * 8 : bits);
}

/* IEEE 754's binary16. */
static double half_number(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

double bl_element_number(enum bl_dtype dtype, const uint8_t *element)
{
    float single;
    double number;
    uint16_t half;
    if (!dtype_is_float(dtype)) {
        int64_t integer = bl_element_integer(dtype, element);
        return dtype == BL_U64 ? (double)(uint64_t)integer : (double)integer;
    }
    if (dtype == BL_F64) {
        memcpy(&number, element, sizeof number);
        return number;
    }
    memcpy(&half, element, sizeof half);
    if (dtype == BL_F16)
        return half_number(half);
    uint32_t wide = (uint32_t)half << 16; /* the upper half of a binary32 */
    memcpy(&single, dtype == BL_F32 ? (const void *)element : &wide, sizeof single);
    return (double)single;
}
