/* Fields, elements and rows: what the kinds have in common about a block and about the table of sequences.
 *
 * A field describes a tensor, and a row describes a sequence. The values of a row's further columns are not parsed when
 * the table is read: `columns` and `extra` hold the text "\tname\tname" and "\tvalue\tvalue", and a function here walks
 * both in step to find one value. Most runs ask for few values of many rows, so that this costs less than parsing. */
#include "kind/row.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* The names are those of safetensors, which the headers of shards contain. */
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

/* Returns an enum bl_dtype, or -1 for a name that safetensors has not. */
int bl_dtype_parse(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(dtypes[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

int bl_fields_own_number(const struct bl_fields *fields, int f)
{
    int number = 0;
    for (int i = 0; i < f; i++)
        number += fields->field[i].own;
    return number;
}

int bl_fields_count_own(const struct bl_fields *fields)
{
    return bl_fields_own_number(fields, fields->count);
}

size_t bl_field_step_bytes(const struct bl_field *field)
{
    size_t bytes = bl_dtype_size(field->dtype);
    for (int i = 0; i < field->rank; i++)
        bytes *= (size_t)field->shape[i];
    return bytes;
}

/* Fills steps of the field with its padding. The filled part doubles with each copy, so that the loop runs log2(n)
 * times and memcpy moves large parts. */
static void field_pad(const struct bl_field *field, uint8_t *out, size_t steps)
{
    size_t bytes = steps * bl_field_step_bytes(field), element = bl_dtype_size(field->dtype);
    if (!field->pad || !bytes) {
        memset(out, 0, bytes);
        return;
    }
    /* The machine is little-endian, so that the low bytes of pad are its first ones. */
    memcpy(out, &field->pad, element); /* the low bytes come first */
    for (size_t done = element; done < bytes;) {
        size_t more = bytes - done < done ? bytes - done : done;
        memcpy(out + done, out, more);
        done += more;
    }
}

/* Fills the steps from..to of a block. With repeat, the last step before them is copied instead of the padding value.
 */
void bl_field_pad_between(const struct bl_field *field, uint8_t *block, size_t from, size_t to, bool repeat)
{
    size_t step = bl_field_step_bytes(field);
    uint8_t *end = block + from * step;
    if (!repeat || from == 0) {
        field_pad(field, end, to - from);
        /* Each step is copied from the step before it, which is filled already. */
        return;
    }
    for (size_t t = from; t < to; t++, end += step)
        memcpy(end, end - step, step);
}

/* --- trained steps ---------------------------------------------------------------------------------------------- */

#define IGNORED (-100) /* the default ignore_index of PyTorch's cross entropy, which other losses have adopted */

static bool field_is_loss_mask(const struct bl_field *field)
{
    return strcmp(field->name, "loss_mask") == 0;
}

/* Returns whether the field says of each step if it is trained: the labels or the loss mask of a text. Labels of
 * type U8 or U16 cannot hold -100, so they are no mask. */
static bool field_is_mask(const struct bl_field *field)
{
    bool is_labels = strcmp(field->name, "labels") == 0 && field->dtype != BL_U8 && field->dtype != BL_U16;
    return !field->own && strcmp(field->kind, "text") == 0 && !field->rank && (is_labels || field_is_loss_mask(field));
}

/* Texts without labels train every step, and counting them would tell nothing. */
bool bl_fields_have_mask(const struct bl_fields *fields)
{
    bool found = false;
    for (int f = 0; f < fields->count; f++)
        found |= field_is_mask(&fields->field[f]);
    return found;
}

/* Returns whether a step's value says that nothing is learned there: 0 in a loss mask, -100 in labels. */
static bool value_is_ignored(const struct bl_field *field, const uint8_t *at)
{
    const int64_t ignored = field_is_loss_mask(field) ? 0 : IGNORED;
    float real;
    if (field->dtype != BL_F32)
        return memcmp(at, &ignored, bl_dtype_size(field->dtype)) == 0; /* the low bytes come first */
    memcpy(&real, at, sizeof real);
    /* The comparison with == is written as two, because compilers warn of == between floating point numbers. */
    return real >= (float)ignored && real <= (float)ignored;
}

/* Returns how many of the steps are trained. With several masks, all of them must allow a step. */
int64_t bl_fields_count_trained(const struct bl_fields *fields, const uint8_t *const data[BL_FIELDS_MAX], int64_t steps)
{
    const struct bl_field *mask[BL_FIELDS_MAX];
    const uint8_t *value[BL_FIELDS_MAX];
    int masks = 0;
    int64_t trained = 0;
    for (int f = 0; f < fields->count; f++) {
        /* A sequence may have both masks; the pointers are gathered once, and not for each step. */
        if (field_is_mask(&fields->field[f])) {
            mask[masks] = &fields->field[f];
            value[masks++] = data[f];
        }
    }
    /* A step is trained only if each mask allows it. */
    for (int64_t t = 0; t < steps; t++) {
        bool is_trained = masks > 0;
        for (int m = 0; m < masks && is_trained; m++)
            is_trained = !value_is_ignored(mask[m], value[m] + (size_t)t * bl_dtype_size(mask[m]->dtype));
        trained += is_trained;
    }
    return trained;
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

static bool dtype_is_float(enum bl_dtype dtype)
{
    return dtype == BL_F16 || dtype == BL_BF16 || dtype == BL_F32 || dtype == BL_F64;
}

/* Scalars per step, which a subset can filter by, such as the class of a frame. */
bool bl_element_is_integer(const struct bl_field *field)
{
    return !field->rank && !dtype_is_float(field->dtype);
}

/* Returns an element as an integer. Signed types are extended by their sign bit: I8 ff becomes -1. */
int64_t bl_element_integer(enum bl_dtype dtype, const uint8_t *element)
{
    uint64_t bits = 0;
    size_t size = bl_dtype_size(dtype);
    memcpy(&bits, element, size);
    bool is_signed = dtype == BL_I8 || dtype == BL_I16 || dtype == BL_I32;
    bool is_negative = is_signed && bits >> (size * 8 - 1) != 0;
    return (int64_t)(is_negative ? bits | UINT64_MAX << size * 8 : bits);
}

/* Returns the value of a binary16 of IEEE 754: a sign, 5 bits of exponent and 10 of fraction. Exponent 31 holds
 * infinities and NaNs; exponent 0 holds zero and the subnormal numbers, fraction * 2^-24. */
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
        /* F32 reads four bytes, and BF16 and F16 two. */
        return number;
    }
    memcpy(&half, element, sizeof half);
    if (dtype == BL_F16)
        return half_number(half);
    uint32_t wide = (uint32_t)half << 16; /* the upper half of a binary32 */
    memcpy(&single, dtype == BL_F32 ? (const void *)element : &wide, sizeof single);
    return (double)single;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* The names are the values of the column status. */
const char *bl_row_status_name(enum bl_row_status status)
{
    static const char *const name[] = {"ok", "skipped", "dropped", "failed"};
    return name[status];
}

int bl_row_status_parse(const char *name)
{
    for (int s = BL_ROW_OK; s <= BL_ROW_FAILED; s++) {
        if (strcmp(name, bl_row_status_name((enum bl_row_status)s)) == 0)
            return s;
    }
    return -1;
}

/* A document without text is skipped, and its file is sound. */
bool bl_row_is_empty(const struct bl_row *row)
{
    return row->status == BL_ROW_SKIPPED && strcmp(row->reason, BL_REASON_EMPTY) == 0;
}

bool bl_row_is_held(const struct bl_row *row)
{
    return row->status == BL_ROW_DROPPED && strcmp(row->reason, BL_REASON_HELD) == 0;
}

bool bl_row_is_damaged(const struct bl_row *row)
{
    static const char damaged[] = "damaged: ";
    return strncmp(row->reason, damaged, sizeof damaged - 1) == 0;
}

/* Appends a further reason after "; ". A reason that does not fit is cut, and size counts the NUL. */
void bl_row_append_reason(char *reason, size_t size, const char *format, ...)
{
    size_t used = strlen(reason);
    va_list arguments;
    if (used)
        used += (size_t)snprintf(reason + used, size - used, "; ");
    /* snprintf returns the length that the text would have, which may exceed the room. */
    if (used >= size)
        return;
    va_start(arguments, format);
    vsnprintf(reason + used, size - used, format, arguments);
    va_end(arguments);
}

/* Returns the offset of a document, which follows the last # of its id ("docs.txt#4096"), or -1. */
int64_t bl_row_offset(const struct bl_row *row)
{
    size_t id = strlen(row->id), path = strlen(row->path);
    const char *mark = strrchr(row->id, '#');
    int64_t offset;
    /* A file's name may be "a#1": the id of a file is the end of its path. */
    if (!mark || (id <= path && strcmp(row->path + path - id, row->id) == 0) ||
        !bl_text_to_int(mark + 1, strlen(mark + 1), 0, INT64_MAX, &offset))
        return -1;
    return offset;
}

/* Returns the bytes of a name or value, which ends at the next tab or at the end of the text. */
static size_t column_size(const char *text)
{
    return strcspn(text, "\t");
}

/* Moves both texts behind their next tab. Returns false if one of them has ended. */
static bool column_next(const char **name, const char **value)
{
    *name = strchr(*name, '\t');
    *value = strchr(*value, '\t');
    if (!*name || !*value)
        return false;
    (*name)++;
    (*value)++;
    return true;
}

/* Appends a column's value without its escapes. False: the row has no such column, or memory ran out. */
bool bl_row_get_value(const struct bl_row *row, const char *wanted, struct bl_buffer *out)
{
    const char *name = row->columns ? row->columns : "", *value = row->extra ? row->extra : "";
    while (column_next(&name, &value)) {
        if (column_size(name) != strlen(wanted) || memcmp(name, wanted, strlen(wanted)) != 0)
            continue;
        size_t before = out->size;
        bl_buffer_append(out, value, column_size(value));
        int64_t size = out->failed || !out->data ? -1 : bl_text_unescape(out->data + before, out->size - before);
        if (size < 0)
            return false;
        out->size = before + (size_t)size;
        out->data[out->size] = '\0';
        return true;
    }
    return false;
}

/* Compares the escaped text, which is enough for values without tabs, line ends or backslashes. With an empty value the
 * question is whether the column has any value. */
bool bl_row_has_value(const struct bl_row *row, const char *wanted, const char *value)
{
    const char *name = row->columns ? row->columns : "", *there = row->extra ? row->extra : "";
    while (column_next(&name, &there)) {
        if (column_size(name) == strlen(wanted) && memcmp(name, wanted, strlen(wanted)) == 0)
            return *value ? column_size(there) == strlen(value) && memcmp(there, value, strlen(value)) == 0
                          : column_size(there) > 0;
    }
    return false;
}

/* Values that are no numbers count as 0, since totals add up whatever is there. */
int64_t bl_row_get_number(const struct bl_row *row, const char *name)
{
    struct bl_buffer text = {0};
    int64_t number;
    bool found = bl_row_get_value(row, name, &text) && bl_text_to_int(text.data, text.size, 0, INT64_MAX, &number);
    bl_buffer_free(&text);
    return found ? number : 0;
}

/* Returns whether a column's name consists of the first size bytes of stem and of end. */
static bool column_is_named(const char *name, const char *stem, size_t size, const char *end)
{
    return column_size(name) == size + strlen(end) && memcmp(name, stem, size) == 0 &&
           memcmp(name + size, end, strlen(end)) == 0;
}

/* Returns whether the name's first size bytes are those of an own field, which the sampling lists: "25/1; patches: own
 * axis=0". */
static bool column_is_own(const char *sampling, const char *name, size_t size)
{
    static const char own[] = ": own";
    for (const char *at = sampling ? strstr(sampling, "; ") : NULL; at; at = strstr(at + 2, "; ")) {
        if (strncmp(at + 2, name, size) == 0 && strncmp(at + 2 + size, own, strlen(own)) == 0)
            return true;
    }
    return false;
}

/* Returns whether a field that follows another one had another length in its own file. Such a field has three columns
 * in a row, for example audio.path, audio.bytes, audio.length; the last one differs from the row's length. */
bool bl_row_is_adjusted(const struct bl_row *row)
{
    static const char end[] = ".length";
    const char *name = row->columns ? row->columns : "", *value = row->extra ? row->extra : "";
    const char *before[] = {"", ""}, *value_before[] = {"", ""};
    while (column_next(&name, &value)) {
        size_t size = column_size(name) < strlen(end) ? 0 : column_size(name) - strlen(end);
        int64_t length;
        if (column_is_named(name, name, size, end) && column_is_named(before[0], name, size, ".path") &&
            column_is_named(before[1], name, size, ".bytes") && column_size(value_before[0]) > 0 &&
            bl_text_to_int(value, column_size(value), 0, INT64_MAX, &length) && length != row->length &&
            !column_is_own(row->sampling, name, size))
            return true;
        before[0] = before[1];
        before[1] = name;
        value_before[0] = value_before[1]; /* without a path the row has no such file */
        value_before[1] = value;
    }
    return false;
}

/* --- sequences left out ------------------------------------------------------------------------------------------- */

const char *bl_left_out_option(enum bl_left_out by)
{
    static const char *const name[] = {"exclude",  "extend", "where", "min-trained", "dedup",
                                       "dedup-by", "take",   "share", "first"};
    return name[by];
}

/* Counts a reason such as "left out by --where: ..." under its option, here "where". The comparison covers the size of
 * the name, because "dedup" is also the beginning of "dedup-by". */
void bl_left_out_count(struct bl_left_out_counts *counts, const char *reason)
{
    size_t begin = sizeof BL_LEFT_OUT - 1;
    if (strncmp(reason, BL_LEFT_OUT, begin) != 0)
        return;
    size_t size = strcspn(reason + begin, " :");
    for (int by = 0; by < BL_LEFT_OUT_OPTIONS; by++) {
        const char *name = bl_left_out_option((enum bl_left_out)by);
        counts->by[by] += strlen(name) == size && memcmp(reason + begin, name, size) == 0;
    }
}
