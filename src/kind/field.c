#include "kind/field.h"

#include <string.h>

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

void bl_field_pad(const struct bl_field *field, uint8_t *out, size_t steps)
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
