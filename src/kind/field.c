#include "kind/field.h"

#include <math.h>
#include <string.h>

/* --- field -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [BL_U8] = {"U8", 1},   [BL_I8] = {"I8", 1},   [BL_BOOL] = {"BOOL", 1}, [BL_I16] = {"I16", 2},
    [BL_U16] = {"U16", 2}, [BL_F16] = {"F16", 2}, [BL_BF16] = {"BF16", 2}, [BL_I32] = {"I32", 4},
    [BL_U32] = {"U32", 4}, [BL_F32] = {"F32", 4}, [BL_I64] = {"I64", 8},   [BL_U64] = {"U64", 8},
    [BL_F64] = {"F64", 8},
};

size_t bl_dtype_size(enum bl_dtype dtype)
{
    return dtypes[dtype].size;
}

const char *bl_dtype_name(enum bl_dtype dtype)
{
    return dtypes[dtype].name;
}

int bl_dtype_parse(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(dtypes[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

size_t bl_field_step_bytes(const struct bl_field *field)
{
    size_t bytes = bl_dtype_size(field->dtype);
    for (int i = 0; i < field->rank; i++)
        bytes *= (size_t)field->shape[i];
    return bytes;
}

/* Fills steps of the field with its padding. */
static void bl_field_pad(const struct bl_field *field, uint8_t *out, size_t steps)
{
    size_t bytes = steps * bl_field_step_bytes(field), element = bl_dtype_size(field->dtype);
    if (!field->pad || !bytes) {
        memset(out, 0, bytes);
        return;
    }
    memcpy(out, &field->pad, element); /* the low bytes come first */
    for (size_t done = element; done < bytes;) {
        size_t more = bytes - done < done ? bytes - done : done;
        memcpy(out + done, out, more);
        done += more;
    }
}

void bl_field_pad_between(const struct bl_field *field, uint8_t *block, size_t from, size_t to, bool repeat)
{
    size_t step = bl_field_step_bytes(field);
    uint8_t *end = block + from * step;
    if (!repeat || from == 0) {
        bl_field_pad(field, end, to - from);
        return;
    }
    for (size_t t = from; t < to; t++, end += step)
        memcpy(end, end - step, step);
}

/* --- trained steps ---------------------------------------------------------------------------------------------- */

#define IGNORED (-100) /* as loss functions skip it */

static bool field_is_loss_mask(const struct bl_field *field)
{
    return strcmp(field->name, "loss_mask") == 0;
}

static bool field_is_mask(const struct bl_field *field)
{
    bool is_labels = strcmp(field->name, "labels") == 0 && field->dtype != BL_U8 && field->dtype != BL_U16;
    return strcmp(field->kind, "text") == 0 && !field->rank && (is_labels || field_is_loss_mask(field));
}

bool bl_fields_have_mask(const struct bl_fields *fields)
{
    bool found = false;
    for (int f = 0; f < fields->count; f++)
        found |= field_is_mask(&fields->field[f]);
    return found;
}

/* Whether a step's value says that nothing is learned there. */
static bool value_is_ignored(const struct bl_field *field, const uint8_t *at)
{
    const int64_t ignored = field_is_loss_mask(field) ? 0 : IGNORED;
    float real;
    if (field->dtype != BL_F32)
        return memcmp(at, &ignored, bl_dtype_size(field->dtype)) == 0; /* the low bytes come first */
    memcpy(&real, at, sizeof real);
    return real >= (float)ignored && real <= (float)ignored;
}

int64_t bl_fields_count_trained(const struct bl_fields *fields, const uint8_t *const data[BL_FIELDS_MAX], int64_t steps)
{
    const struct bl_field *mask[BL_FIELDS_MAX];
    const uint8_t *value[BL_FIELDS_MAX];
    int masks = 0;
    int64_t trained = 0;
    for (int f = 0; f < fields->count; f++) {
        if (field_is_mask(&fields->field[f])) {
            mask[masks] = &fields->field[f];
            value[masks++] = data[f];
        }
    }
    for (int64_t t = 0; t < steps; t++) {
        bool is_trained = masks > 0;
        for (int m = 0; m < masks && is_trained; m++)
            is_trained = !value_is_ignored(mask[m], value[m] + (size_t)t * bl_dtype_size(mask[m]->dtype));
        trained += is_trained;
    }
    return trained;
}

/* --- element ------------------------------------------------------------------------------------------------------ */

/* Elements of fields as numbers. Fields are little-endian, as the machine is. */

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
