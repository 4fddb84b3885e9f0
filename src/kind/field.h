/* A field: an array on the steps of sequences (frames, tokens, labels). */
#ifndef BL_FIELD_H
#define BL_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- field -------------------------------------------------------------------------------------------------------- */

enum bl_dtype {
    BL_U8,
    BL_I8,
    BL_BOOL,
    BL_I16,
    BL_U16,
    BL_F16,
    BL_BF16,
    BL_I32,
    BL_U32,
    BL_F32,
    BL_I64,
    BL_U64,
    BL_F64
};

/* Bytes of an element, and the name of the type in safetensors. */
size_t bl_dtype_size(enum bl_dtype dtype);
const char *bl_dtype_name(enum bl_dtype dtype);
/* The type of that name, or -1. */
int bl_dtype_parse(const char *name);

#define BL_FIELD_RANK_MAX 4
#define BL_FIELDS_MAX 8
#define BL_FIELD_NAME_MAX 48

struct bl_field {
    char name[BL_FIELD_NAME_MAX]; /* the tensor's name in the shards */
    char kind[16];                /* the kind that makes it: "video" */
    enum bl_dtype dtype;
    int rank;                         /* of one step: 0 for scalars */
    int64_t shape[BL_FIELD_RANK_MAX]; /* of one step: {H, W, 3} */
    int part;                         /* which part of a composite makes it; 0: the primary */
    int64_t pad;                      /* what the end of a block is filled with; other than 0 only for integers */
};

struct bl_fields {
    int count;
    struct bl_field field[BL_FIELDS_MAX];
};

/* Bytes of one step of the field. It cannot overflow: shapes are limited to 2^40 bytes per step. */
size_t bl_field_step_bytes(const struct bl_field *field);

/* Whether one of them says which steps of a text are trained: loss_mask, 0 where nothing is learned, or labels, -100
 * there. */
bool bl_fields_have_mask(const struct bl_fields *fields);

/* How many of the steps are trained: those that all such fields say so of. data: of each field. */
int64_t bl_fields_count_trained(const struct bl_fields *fields, const uint8_t *const data[BL_FIELDS_MAX],
                                int64_t steps);

/* Pads steps `from` to `to` - 1 of a block of the field: as bl_field_pad, or with repetitions of the step before. */
void bl_field_pad_between(const struct bl_field *field, uint8_t *block, size_t from, size_t to, bool repeat);

/* --- element ------------------------------------------------------------------------------------------------------ */

/* Elements of fields as numbers. Fields are little-endian, as the machine is. */

/* Whether steps of the field are one integer each. */
bool bl_element_is_integer(const struct bl_field *field);

/* An element of a type of integers; of U64 the bits. */
int64_t bl_element_integer(enum bl_dtype dtype, const uint8_t *element);

/* An element of any type; NaN and infinities as they are. */
double bl_element_number(enum bl_dtype dtype, const uint8_t *element);

#endif
