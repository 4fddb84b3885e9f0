/* Elements of every type as numbers. */
#include "kind/row.h"

#include <math.h>

#include "unit.h"

static double half(uint16_t bits)
{
    return bl_element_number(BL_F16, (const uint8_t *)&bits);
}

static double brain(uint16_t bits)
{
    return bl_element_number(BL_BF16, (const uint8_t *)&bits);
}

/* Known values of IEEE 754's binary16. */
UNIT_TEST(halves)
{
    ck_assert(half(0x3c00) == 1);
    ck_assert(half(0xc000) == -2);
    ck_assert(half(0x3555) == 0x1.554p-2);
    ck_assert(half(0x7bff) == 65504);
    ck_assert(half(0x0400) == 0x1p-14);
    ck_assert(half(0x0001) == 0x1p-24); /* subnormal */
    ck_assert(half(0x83ff) == -0x1.ff8p-15);
    ck_assert(half(0x0000) == 0 && !signbit(half(0x0000)));
    ck_assert(half(0x8000) == 0 && signbit(half(0x8000)));
    ck_assert(half(0x7c00) == INFINITY);
    ck_assert(half(0xfc00) == -INFINITY);
    ck_assert(isnan(half(0x7c01)) && isnan(half(0xffff)));
}

/* Every half is greater than the one before, of each sign. */
UNIT_TEST(halves_rise)
{
    for (uint16_t bits = 0; bits < 0x7c00; bits++) {
        ck_assert(half(bits) < half(bits + 1));
        ck_assert(half(0x8000 | bits) > half(0x8000 | (bits + 1)));
    }
}

UNIT_TEST(brain_floats)
{
    ck_assert(brain(0x3f80) == 1);
    ck_assert(brain(0xc040) == -3);
    ck_assert(brain(0x0001) == 0x1p-133); /* subnormal, of a binary32 too */
    ck_assert(brain(0x7f7f) == 0x1.fep127);
    ck_assert(brain(0x7f80) == INFINITY);
    ck_assert(brain(0xff80) == -INFINITY);
    ck_assert(isnan(brain(0x7fc0)));
}

UNIT_TEST(floats)
{
    static const float single[] = {1.5F, -0x1p-149F, INFINITY};
    static const double number[] = {-0.1, 0x1p-1074, -INFINITY};
    for (int i = 0; i < 3; i++) {
        ck_assert(bl_element_number(BL_F32, (const uint8_t *)&single[i]) == (double)single[i]);
        ck_assert(bl_element_number(BL_F64, (const uint8_t *)&number[i]) == number[i]);
    }
    const float none = NAN;
    ck_assert(isnan(bl_element_number(BL_F32, (const uint8_t *)&none)));
}

/* The least and the greatest of each type of integers, and one that is not aligned. */
UNIT_TEST(integers)
{
    static const struct {
        enum bl_dtype dtype;
        int64_t least, greatest;
    } known[] = {{BL_U8, 0, UINT8_MAX},          {BL_I8, INT8_MIN, INT8_MAX},    {BL_BOOL, 0, 1},
                 {BL_I16, INT16_MIN, INT16_MAX}, {BL_U16, 0, UINT16_MAX},        {BL_I32, INT32_MIN, INT32_MAX},
                 {BL_U32, 0, UINT32_MAX},        {BL_I64, INT64_MIN, INT64_MAX}, {BL_U64, 0, -1}};
    for (size_t i = 0; i < COUNT(known); i++) {
        uint8_t bytes[9] = {0};
        for (int greatest = 0; greatest < 2; greatest++) {
            int64_t value = greatest ? known[i].greatest : known[i].least;
            memset(bytes, 0xa5, sizeof bytes); /* what is behind the element does not count */
            memcpy(bytes + 1, &value, bl_dtype_size(known[i].dtype));
            ck_assert_int_eq(bl_element_integer(known[i].dtype, bytes + 1), value);
            ck_assert(bl_element_number(known[i].dtype, bytes + 1) ==
                      (known[i].dtype == BL_U64 ? (double)(uint64_t)value : (double)value));
        }
    }
}

UNIT_TEST(one_integer_a_step)
{
    for (enum bl_dtype dtype = BL_U8; dtype <= BL_F64; dtype++) {
        bool is_float = dtype == BL_F16 || dtype == BL_BF16 || dtype == BL_F32 || dtype == BL_F64;
        ck_assert_int_eq(bl_element_is_integer(&(struct bl_field){.dtype = dtype}), !is_float);
        ck_assert(!bl_element_is_integer(&(struct bl_field){.dtype = dtype, .rank = 1, .shape = {1}}));
    }
}
