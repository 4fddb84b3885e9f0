#include "store/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

#define FOLDER_SHARDS 1000 /* shards in a folder */

static const struct {
    const char *name;
    enum bl_dtype dtype;
} tables[BL_TABLES] = {
    [BL_TABLE_CU_SEQLENS] = {"cu_seqlens", BL_I32},     [BL_TABLE_NUM_SEQUENCES] = {"num_sequences", BL_I32},
    [BL_TABLE_SEQUENCE] = {"sequence", BL_I64},         [BL_TABLE_LENGTH] = {"length", BL_I32},
    [BL_TABLE_SOURCE_START] = {"source_start", BL_I64}, [BL_TABLE_SEGMENT_IDS] = {"segment_ids", BL_I32},
};

static const char *table_name(const struct bl_format *format, int table)
{
    return table < BL_TABLES ? tables[table].name : format->attribute[table - BL_TABLES].name;
}

static enum bl_dtype table_dtype(const struct bl_format *format, int table)
{
    return table < BL_TABLES ? tables[table].dtype : format->attribute[table - BL_TABLES].dtype;
}

static bool has_table(const struct bl_format *format, int table)
{
    switch (table) {
    case BL_TABLE_SOURCE_START:
        return format->has_source_start;
    case BL_TABLE_SEGMENT_IDS:
        return format->has_segment_ids;
    default:
        return true;
    }
}

/* --- checks ----------------------------------------------------------------------------------------------------- */

/* Whether one of the first tables and fields has the name, or none may have it. */
static bool name_is_taken(const struct bl_format *format, const char *name, int tables_before, int fields_before)
{
    if (!*name || strcmp(name, "__metadata__") == 0)
        return true;
    for (int t = 0; t < tables_before; t++) {
        if (strcmp(name, table_name(format, t)) == 0)
            return true;
    }
    for (int f = 0; f < fields_before; f++) {
        if (strcmp(name, format->fields.field[f].name) == 0)
            return true;
    }
    return false;
}

bool bl_format_has(const struct bl_format *format, const char *name)
{
    return name_is_taken(format, name, BL_TABLES + format->attributes, format->fields.count);
}

static int check_attributes(const struct bl_format *format, struct bl_error *e)
{
    if (format->attributes < 0 || format->attributes > BL_ATTRIBUTES_MAX)
        return bl_error_set(e, BL_EUSAGE, "a dataset has at most %d attributes, not %d", BL_ATTRIBUTES_MAX,
                            format->attributes);
    for (int a = 0; a < format->attributes; a++) {
        const struct bl_attribute *attribute = &format->attribute[a];
        if (name_is_taken(format, attribute->name, BL_TABLES + a, format->fields.count))
            return bl_error_set(e, BL_EUSAGE,
                                "no attribute can be named \"%s\": a tensor of the shards has that name (rename the "
                                "column, or leave it out with --attributes-columns)",
                                attribute->name);
        if (attribute->dtype != BL_I64 && attribute->dtype != BL_F64)
            return bl_error_set(e, BL_EUSAGE, "attribute \"%s\" is %s, not I64 or F64", attribute->name,
                                bl_dtype_name(attribute->dtype));
    }
    return BL_OK;
}

/* Bytes of one block of a field are an int64_t with room to spare, and not none. */
static bool field_has_size(const struct bl_format *format, const struct bl_field *field)
{
    struct bl_tensor block = {.dtype = field->dtype, .rank = field->rank + 1, .shape = {format->T}};
    if (field->rank < 0 || field->rank > BL_FIELD_RANK_MAX)
        return false;
    memcpy(block.shape + 1, field->shape, (size_t)field->rank * sizeof *field->shape);
    int64_t bytes = bl_tensor_bytes(&block);
    return bytes > 0 && bytes < INT64_MAX / (4 * BL_FIELDS_MAX);
}

int bl_format_check(const struct bl_format *format, struct bl_error *e)
{
    if (format->T < 1 || format->T > BL_T_MAX || format->S < 1 || format->S >= BL_T_MAX || format->blocks < 1)
        return bl_error_set(e, BL_EUSAGE,
                            "no dataset can have %" PRId64 " blocks of T = %" PRId64 " steps and S = %" PRId64
                            " sequences at most",
                            format->blocks, format->T, format->S);
    if (format->fields.count < 1 || format->fields.count > BL_FIELDS_MAX)
        return bl_error_set(e, BL_EUSAGE, "a dataset has 1 to %d fields, not %d", BL_FIELDS_MAX, format->fields.count);
    for (int f = 0; f < format->fields.count; f++) {
        const struct bl_field *field = &format->fields.field[f];
        if (name_is_taken(format, field->name, BL_TABLES, f))
            return bl_error_set(e, BL_EUSAGE, "no field can be named \"%s\": the name is taken", field->name);
        if (!field_has_size(format, field))
            return bl_error_set(e, BL_EUSAGE, "field \"%s\": a block would have no size, or one too large",
                                field->name);
    }
    return check_attributes(format, e);
}

/* --- shards ----------------------------------------------------------------------------------------------------- */

size_t bl_format_block_bytes(const struct bl_format *format, int f)
{
    return (size_t)format->T * bl_field_step_bytes(&format->fields.field[f]);
}

int64_t bl_format_shards(const struct bl_format *format)
{
    return (format->blocks - 1) / format->blocks_per_shard + 1;
}

int64_t bl_format_first_block(const struct bl_format *format, int64_t shard)
{
    return shard * format->blocks_per_shard;
}

int64_t bl_format_blocks_of(const struct bl_format *format, int64_t shard)
{
    int64_t left = format->blocks - bl_format_first_block(format, shard);
    return left < format->blocks_per_shard ? left : format->blocks_per_shard;
}

char *bl_format_shard_name(const struct bl_format *format, int64_t shard, char out[BL_SHARD_NAME_MAX])
{
    snprintf(out, BL_SHARD_NAME_MAX, "shards/%05" PRId64 "/shard-%08" PRId64 ".safetensors%s", shard / FOLDER_SHARDS,
             shard, format->compressed ? ".zst" : "");
    return out;
}

/* --- layout ----------------------------------------------------------------------------------------------------- */

static void add_dimension(struct bl_tensor *tensor, int64_t size)
{
    tensor->shape[tensor->rank++] = size;
}

static void add_table(struct bl_layout *layout, const struct bl_format *format, int table)
{
    struct bl_shard_tensor *out = &layout->tensor[layout->tensors++];
    *out = (struct bl_shard_tensor){.table = table, .field = -1, .tensor.dtype = table_dtype(format, table)};
    snprintf(out->tensor.name, sizeof out->tensor.name, "%s", table_name(format, table));
    add_dimension(&out->tensor, layout->blocks);
    if (table == BL_TABLE_CU_SEQLENS)
        add_dimension(&out->tensor, format->S + 1);
    else if (table == BL_TABLE_SEGMENT_IDS)
        add_dimension(&out->tensor, format->T);
    else if (table != BL_TABLE_NUM_SEQUENCES)
        add_dimension(&out->tensor, format->S);
}

static void add_field(struct bl_layout *layout, const struct bl_format *format, int f)
{
    const struct bl_field *field = &format->fields.field[f];
    struct bl_shard_tensor *out = &layout->tensor[layout->tensors++];
    *out = (struct bl_shard_tensor){.table = -1, .field = f, .tensor.dtype = field->dtype};
    snprintf(out->tensor.name, sizeof out->tensor.name, "%s", field->name);
    add_dimension(&out->tensor, layout->blocks);
    add_dimension(&out->tensor, format->T);
    for (int i = 0; i < field->rank; i++)
        add_dimension(&out->tensor, field->shape[i]);
}

/* Tables, then attributes, then fields: verifying an attribute takes the table "sequence". */
static int sort_of(const struct bl_shard_tensor *tensor)
{
    return tensor->table < 0 ? 2 : tensor->table >= BL_TABLES;
}

/* Large elements first, since torch insists on aligned tensors; then by sort; then by name. */
static int in_file_order(const void *a, const void *b)
{
    const struct bl_shard_tensor *x = a, *y = b;
    size_t x_size = bl_dtype_size(x->tensor.dtype), y_size = bl_dtype_size(y->tensor.dtype);
    if (x_size != y_size)
        return x_size > y_size ? -1 : 1;
    if (sort_of(x) != sort_of(y))
        return sort_of(x) - sort_of(y);
    return strcmp(x->tensor.name, y->tensor.name);
}

static int make_header(struct bl_layout *layout, const struct bl_format *format, struct bl_error *e)
{
    struct bl_tensor *tensor[BL_TABLES_ALL + BL_FIELDS_MAX];
    for (int i = 0; i < layout->tensors; i++)
        tensor[i] = &layout->tensor[i].tensor;
    int code = bl_safetensors_place(tensor, layout->tensors, e);
    if (code)
        return code;
    for (int i = 0; i < layout->tensors; i++)
        layout->tensor[i].row_bytes = (tensor[i]->end - tensor[i]->begin) / layout->blocks;
    char version[16], first[24];
    snprintf(version, sizeof version, "%d", BL_FORMAT_VERSION);
    snprintf(first, sizeof first, "%" PRId64, layout->first_block);
    const struct bl_metadata metadata[] = {
        {"bload_format", version}, {"first_block", first}, {"plan_digest", format->plan_digest}};
    code = bl_safetensors_header((const struct bl_tensor *const *)tensor, layout->tensors, metadata, 3, &layout->header,
                                 e);
    layout->file_size = (int64_t)layout->header.size + tensor[layout->tensors - 1]->end;
    return code;
}

static int make_layout(struct bl_layout *layout, const struct bl_format *format, int64_t first_block, int64_t blocks,
                       struct bl_error *e)
{
    *layout = (struct bl_layout){.first_block = first_block, .blocks = blocks};
    for (int t = 0; t < BL_TABLES + format->attributes; t++) {
        if (has_table(format, t))
            add_table(layout, format, t);
    }
    for (int f = 0; f < format->fields.count; f++)
        add_field(layout, format, f);
    qsort(layout->tensor, (size_t)layout->tensors, sizeof *layout->tensor, in_file_order);
    int code = make_header(layout, format, e);
    if (code)
        bl_layout_free(layout);
    return code;
}

int bl_layout_make(struct bl_layout *layout, const struct bl_format *format, int64_t shard, struct bl_error *e)
{
    return make_layout(layout, format, bl_format_first_block(format, shard), bl_format_blocks_of(format, shard), e);
}

void bl_layout_free(struct bl_layout *layout)
{
    bl_buffer_free(&layout->header);
    *layout = (struct bl_layout){0};
}

const struct bl_shard_tensor *bl_layout_table(const struct bl_layout *layout, int table)
{
    for (int i = 0; i < layout->tensors; i++) {
        if (layout->tensor[i].table == table)
            return &layout->tensor[i];
    }
    return NULL;
}

const struct bl_shard_tensor *bl_layout_field(const struct bl_layout *layout, int field)
{
    for (int i = 0; i < layout->tensors; i++) {
        if (layout->tensor[i].field == field)
            return &layout->tensor[i];
    }
    return NULL;
}

/* A shard of all the blocks tells what one block takes, and its header is as long as any. */
int bl_format_init(struct bl_format *format, int64_t shard_size, struct bl_error *e)
{
    int code = bl_format_check(format, e);
    if (code)
        return code;
    struct bl_layout all;
    code = make_layout(&all, format, 0, format->blocks, e);
    if (code)
        return code;
    int64_t header = (int64_t)all.header.size;
    int64_t per_block = (all.file_size - header) / format->blocks;
    int64_t fit = (shard_size - header) / per_block;
    format->blocks_per_shard = fit < 1 ? 1 : fit < format->blocks ? fit : format->blocks;
    bl_layout_free(&all);
    return BL_OK;
}
