#include "store/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "plan/plan.h"

/* --- format ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum bl_dtype dtype;
} tables[BL_TABLES] = {
    [BL_TABLE_CU_SEQLENS] = {"cu_seqlens", BL_I32},     [BL_TABLE_NUM_SEQUENCES] = {"num_sequences", BL_I32},
    [BL_TABLE_SEQUENCE] = {"sequence", BL_I64},         [BL_TABLE_LENGTH] = {"length", BL_I32},
    [BL_TABLE_SOURCE_START] = {"source_start", BL_I64}, [BL_TABLE_SEGMENT_IDS] = {"segment_ids", BL_I32},
};

const char *bl_format_table_name(const struct bl_format *format, int table)
{
    return table < BL_TABLES ? tables[table].name : format->attribute[table - BL_TABLES].name;
}

enum bl_dtype bl_format_table_dtype(const struct bl_format *format, int table)
{
    return table < BL_TABLES ? tables[table].dtype : format->attribute[table - BL_TABLES].dtype;
}

int64_t bl_format_table_width(const struct bl_format *format, int table)
{
    switch (table) {
    case BL_TABLE_CU_SEQLENS:
        return format->S + 1;
    case BL_TABLE_NUM_SEQUENCES:
        return 1;
    case BL_TABLE_SEGMENT_IDS:
        return format->T;
    default:
        return format->S;
    }
}

bool bl_format_has_table(const struct bl_format *format, int table)
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

/* Formats the name of the tensor that holds the steps of field f, or their offsets. */
static void format_tensor_name(const struct bl_format *format, int f, bool offsets, char *out, size_t size)
{
    static const char *const suffix[] = {
        [BL_ENCODING_RAW] = "", [BL_ENCODING_JPEG] = "_jpeg", [BL_ENCODING_DELTA] = "_delta"};
    snprintf(out, size, "%s%s", format->fields.field[f].name, offsets ? "_offsets" : suffix[format->encoding[f].kind]);
}

/* Returns true if the name is that of field f or of one of its tensors. */
static bool format_field_uses_name(const struct bl_format *format, int f, const char *name)
{
    char tensor[2 * BL_FIELD_NAME_MAX];
    if (strcmp(name, format->fields.field[f].name) == 0)
        return true;
    for (int offsets = format->encoding[f].kind == BL_ENCODING_JPEG; offsets >= 0; offsets--) {
        format_tensor_name(format, f, offsets, tensor, sizeof tensor);
        if (strcmp(name, tensor) == 0)
            return true;
    }
    return false;
}

/* Returns true if one of the first `tables_before` tables and `fields_before` fields has the name, or if the name is
 * reserved. */
static bool format_name_is_taken(const struct bl_format *format, const char *name, int tables_before, int fields_before)
{
    if (!*name || strcmp(name, "__metadata__") == 0)
        return true;
    for (int t = 0; t < tables_before; t++) {
        if (strcmp(name, bl_format_table_name(format, t)) == 0)
            return true;
    }
    for (int f = 0; f < fields_before; f++) {
        if (format_field_uses_name(format, f, name))
            return true;
    }
    return false;
}

bool bl_format_has(const struct bl_format *format, const char *name)
{
    return format_name_is_taken(format, name, BL_TABLES + format->attributes, format->fields.count);
}

int64_t bl_format_step_bytes(const struct bl_format *format)
{
    int64_t bytes = 0;
    for (int f = 0; f < format->fields.count; f++)
        bytes += (int64_t)bl_field_step_bytes(&format->fields.field[f]);
    return bytes;
}

int bl_format_set_S(struct bl_format *format, int64_t most, int64_t slots, struct bl_error *e)
{
    format->S = slots ? slots : most;
    format->has_source_start |= slots > 0;
    if (slots && slots < most)
        return bl_error_set(e, BL_EUSAGE,
                            "--sequence-slots %" PRId64 " are too few: a block has %" PRId64
                            " sequences; give --sequence-slots %" PRId64 ", or plan with --max-sequences %" PRId64,
                            slots, most, most, slots);
    if (slots > format->T)
        return bl_error_set(e, BL_EUSAGE,
                            "--sequence-slots %" PRId64 " are more than T = %" PRId64
                            ", which no block can have sequences for: give fewer",
                            slots, format->T);
    return BL_OK;
}

int bl_format_check_overlap(const struct bl_format *format, int64_t overlap, struct bl_error *e)
{
    if (!overlap || !bl_format_has(format, BL_REPEATED_NAME))
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE,
                        "with --overlap, blocks say in \"" BL_REPEATED_NAME
                        "\" which steps are repeated: rename the field or column of this name");
}

static int format_check_attributes(const struct bl_format *format, struct bl_error *e)
{
    if (format->attributes < 0 || format->attributes > BL_ATTRIBUTES_MAX)
        return bl_error_set(e, BL_EUSAGE, "a dataset has at most %d attributes, not %d", BL_ATTRIBUTES_MAX,
                            format->attributes);
    for (int a = 0; a < format->attributes; a++) {
        const struct bl_attribute *attribute = &format->attribute[a];
        if (format_name_is_taken(format, attribute->name, BL_TABLES + a, format->fields.count))
            return bl_error_set(e, BL_EUSAGE,
                                "attribute name \"%s\" is taken by a tensor of the shards (rename the "
                                "column, or leave it out with --attributes-columns)",
                                attribute->name);
        if (attribute->dtype != BL_I64 && attribute->dtype != BL_F64)
            return bl_error_set(e, BL_EUSAGE, "attribute \"%s\" is %s, not I64 or F64", attribute->name,
                                bl_dtype_name(attribute->dtype));
    }
    return BL_OK;
}

/* Returns true if the name of a tensor of field f is too long, or if another field has the name. */
static bool format_tensor_name_is_taken(const struct bl_format *format, int f, bool offsets)
{
    char name[2 * BL_FIELD_NAME_MAX];
    format_tensor_name(format, f, offsets, name, sizeof name);
    if (strlen(name) >= BL_FIELD_NAME_MAX)
        return true;
    for (int i = 0; i < format->fields.count; i++) {
        if (i != f && strcmp(name, format->fields.field[i].name) == 0)
            return true;
    }
    return false;
}

/* Returns true if the size of a block of the field is positive, and small enough for sums over all fields in int64_t.
 */
static bool format_field_has_size(const struct bl_format *format, const struct bl_field *field)
{
    struct bl_tensor block = {.dtype = field->dtype, .rank = field->rank + 1, .shape = {format->T}};
    if (field->rank < 0 || field->rank > BL_FIELD_RANK_MAX)
        return false;
    memcpy(block.shape + 1, field->shape, (size_t)field->rank * sizeof *field->shape);
    int64_t bytes = bl_tensor_bytes(&block);
    return bytes > 0 && bytes < INT64_MAX / (4 * BL_FIELDS_MAX);
}

static int format_check_encoding(const struct bl_format *format, int f, struct bl_error *e)
{
    const struct bl_field *field = &format->fields.field[f];
    enum bl_encoding_kind kind = format->encoding[f].kind;
    if (kind == BL_ENCODING_RAW)
        return BL_OK;
    if (!bl_encoding_takes(kind, field))
        return bl_error_set(e, BL_EUSAGE,
                            "field \"%s\": only pictures, U8 [H, W, 3] or grey frames, U8 [H, W, 1], can be encoded",
                            field->name);
    int64_t most = INT64_MAX / (4 * BL_FIELDS_MAX) / format->T;
    if (kind == BL_ENCODING_JPEG && (int64_t)bl_jpeg_max_size(field->shape, &format->encoding[f]) > most)
        return bl_error_set(e, BL_EUSAGE, "field \"%s\": the JPEG files of a block could be too large", field->name);
    if (format->compressed != (kind == BL_ENCODING_DELTA))
        return bl_error_set(e, BL_EUSAGE, "field \"%s\": jpeg needs shards without compression, delta with",
                            field->name);
    if (format_tensor_name_is_taken(format, f, false) ||
        (kind == BL_ENCODING_JPEG && format_tensor_name_is_taken(format, f, true)))
        return bl_error_set(e, BL_EUSAGE,
                            "field \"%s\" cannot be encoded: the names of its tensors are taken or too long",
                            field->name);
    return BL_OK;
}

bool bl_format_encodes(const struct bl_format *format, enum bl_encoding_kind kind)
{
    for (int f = 0; f < format->fields.count; f++) {
        if (format->encoding[f].kind == kind)
            return true;
    }
    return false;
}

int bl_format_check(const struct bl_format *format, struct bl_error *e)
{
    if (format->T < 1 || format->T > BL_T_MAX || format->S < 1 || format->S >= BL_T_MAX || format->blocks < 1)
        return bl_error_set(e, BL_EUSAGE,
                            "a dataset cannot have %" PRId64 " blocks of T = %" PRId64 " steps and S = %" PRId64
                            " sequences per block",
                            format->blocks, format->T, format->S);
    if (format->frame_size && (!format->compressed || format->frame_size > BL_FRAME_MAX))
        return bl_error_set(e, BL_EUSAGE,
                            "frames of %zu bytes: only compressed shards have frames, of at most %zu bytes",
                            format->frame_size, BL_FRAME_MAX);
    if (format->fields.count < 1 || format->fields.count > BL_FIELDS_MAX)
        return bl_error_set(e, BL_EUSAGE, "a dataset has 1 to %d fields, not %d", BL_FIELDS_MAX, format->fields.count);
    for (int f = 0; f < format->fields.count; f++) {
        const struct bl_field *field = &format->fields.field[f];
        if (format_name_is_taken(format, field->name, BL_TABLES, f))
            return bl_error_set(e, BL_EUSAGE, "field name \"%s\" is taken", field->name);
        if (!format_field_has_size(format, field))
            return bl_error_set(e, BL_EUSAGE, "field \"%s\": the size of a block is out of range", field->name);
        BL_TRY(format_check_encoding(format, f, e));
    }
    return format_check_attributes(format, e);
}

/* --- shards ----------------------------------------------------------------------------------------------------- */

size_t bl_format_block_bytes(const struct bl_format *format, int f)
{
    return (size_t)format->T * bl_field_step_bytes(&format->fields.field[f]);
}

size_t bl_format_frame_size(const struct bl_format *format)
{
    return format->frame_size ? format->frame_size : BL_FRAME_MAX;
}

static bool fields_are_same(const struct bl_field *a, const struct bl_field *b)
{
    bool same = strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && a->rank == b->rank;
    for (int i = 0; i < a->rank && same; i++)
        same = a->shape[i] == b->shape[i];
    return same;
}

bool bl_format_has_same_fields(const struct bl_format *a, const struct bl_format *b)
{
    bool same = a->fields.count == b->fields.count;
    for (int f = 0; f < a->fields.count && same; f++)
        same = fields_are_same(&a->fields.field[f], &b->fields.field[f]) && a->encoding[f].kind == b->encoding[f].kind;
    return same;
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
    snprintf(out, BL_SHARD_NAME_MAX, "shards/%05" PRId64 "/shard-%08" PRId64 ".safetensors%s",
             shard / BL_SHARDS_PER_FOLDER, shard, format->compressed ? ".zst" : "");
    return out;
}

/* --- layout ------------------------------------------------------------------------------------------------------- */

#define SPARE                                                                                                          \
    ((size_t)BL_SAFETENSORS_ALIGN) /* spare bytes of a header, for the digits of sizes that vary: up to 57 per field   \
                                    */

/* Strings that entries of __metadata__ point to. */
#define METADATA_MAX (3 + BL_FIELDS_MAX)

struct metadata_text {
    char version[16], first[24];
    char name[BL_FIELDS_MAX][BL_FIELD_NAME_MAX + 16];
    char encoding[BL_FIELDS_MAX][BL_ENCODING_NAME_MAX];
};

static void tensor_add_dimension(struct bl_tensor *tensor, int64_t size)
{
    tensor->shape[tensor->rank++] = size;
}

static void layout_add_table(struct bl_layout *layout, const struct bl_format *format, int table)
{
    struct bl_shard_tensor *out = &layout->tensor[layout->tensors++];
    *out = (struct bl_shard_tensor){.table = table, .field = -1, .tensor.dtype = bl_format_table_dtype(format, table)};
    snprintf(out->tensor.name, sizeof out->tensor.name, "%s", bl_format_table_name(format, table));
    tensor_add_dimension(&out->tensor, layout->blocks);
    if (table != BL_TABLE_NUM_SEQUENCES)
        tensor_add_dimension(&out->tensor, bl_format_table_width(format, table));
}

static void layout_add_offsets(struct bl_layout *layout, const struct bl_format *format, int f)
{
    struct bl_shard_tensor *out = &layout->tensor[layout->tensors++];
    *out = (struct bl_shard_tensor){.table = -1, .field = f, .offsets = true, .tensor.dtype = BL_I64};
    format_tensor_name(format, f, true, out->tensor.name, sizeof out->tensor.name);
    tensor_add_dimension(&out->tensor, layout->blocks);
    tensor_add_dimension(&out->tensor, format->T + 1);
}

static void layout_add_field(struct bl_layout *layout, const struct bl_format *format, int f)
{
    const struct bl_field *field = &format->fields.field[f];
    struct bl_shard_tensor *out = &layout->tensor[layout->tensors++];
    *out = (struct bl_shard_tensor){.table = -1, .field = f, .tensor.dtype = field->dtype};
    format_tensor_name(format, f, false, out->tensor.name, sizeof out->tensor.name);
    if (format->encoding[f].kind == BL_ENCODING_JPEG) {
        out->varies = true;
        tensor_add_dimension(&out->tensor, 0);
        layout_add_offsets(layout, format, f);
        return;
    }
    tensor_add_dimension(&out->tensor, layout->blocks);
    tensor_add_dimension(&out->tensor, format->T);
    for (int i = 0; i < field->rank; i++)
        tensor_add_dimension(&out->tensor, field->shape[i]);
}

/* Returns the order of a tensor among those with elements of one size: tables, then attributes, then fields, since the
 * verification of an attribute needs the table "sequence". Tensors whose size varies come last, so that other offsets
 * are fixed. */
static int tensor_rank(const struct bl_shard_tensor *tensor)
{
    if (tensor->table < 0)
        return tensor->varies ? 3 : 2;
    return tensor->table >= BL_TABLES;
}

/* Compares two tensors for qsort: large elements come first, since torch requires aligned tensors; then tensor_rank
 * decides, and then the name. */
static int tensor_compare(const void *a, const void *b)
{
    const struct bl_shard_tensor *x = a, *y = b;
    size_t x_size = bl_dtype_size(x->tensor.dtype), y_size = bl_dtype_size(y->tensor.dtype);
    if (x_size != y_size)
        return x_size > y_size ? -1 : 1;
    if (tensor_rank(x) != tensor_rank(y))
        return tensor_rank(x) - tensor_rank(y);
    return strcmp(x->tensor.name, y->tensor.name);
}

/* Sets the entries of __metadata__, at most METADATA_MAX, and returns their number. text owns their strings. */
static int layout_make_metadata(const struct bl_layout *layout, const struct bl_format *format,
                                struct bl_metadata out[METADATA_MAX], struct metadata_text *text)
{
    int count = 0;
    snprintf(text->version, sizeof text->version, "%d", BL_FORMAT_VERSION);
    snprintf(text->first, sizeof text->first, "%" PRId64, layout->first_block);
    out[count++] = (struct bl_metadata){"bload_format", text->version};
    out[count++] = (struct bl_metadata){"first_block", text->first};
    out[count++] = (struct bl_metadata){"plan_digest", format->plan_digest};
    for (int f = 0; f < format->fields.count; f++) {
        if (format->encoding[f].kind == BL_ENCODING_RAW)
            continue;
        snprintf(text->name[f], sizeof text->name[f], "%s_encoding", format->fields.field[f].name);
        out[count++] = (struct bl_metadata){text->name[f], bl_encoding_name(&format->encoding[f], text->encoding[f])};
    }
    return count;
}

static int layout_make_header(struct bl_layout *layout, const struct bl_format *format, struct bl_error *e)
{
    struct bl_tensor *tensor[BL_TENSORS_MAX];
    for (int i = 0; i < layout->tensors; i++)
        tensor[i] = &layout->tensor[i].tensor;
    BL_TRY(bl_safetensors_place(tensor, layout->tensors, e));
    for (int i = 0; i < layout->tensors; i++)
        layout->tensor[i].row_bytes =
            layout->tensor[i].varies ? 0 : (tensor[i]->end - tensor[i]->begin) / layout->blocks;
    struct metadata_text text = {0};
    struct bl_metadata metadata[METADATA_MAX];
    int pairs = layout_make_metadata(layout, format, metadata, &text);
    bl_buffer_clear(&layout->header);
    int code = bl_safetensors_header((const struct bl_tensor *const *)tensor, layout->tensors, metadata, pairs,
                                     &layout->header, e);
    layout->file_size = (int64_t)layout->header.size + tensor[layout->tensors - 1]->end;
    return code;
}

static int layout_make(struct bl_layout *layout, const struct bl_format *format, int64_t first_block, int64_t blocks,
                       struct bl_error *e)
{
    *layout = (struct bl_layout){.first_block = first_block, .blocks = blocks};
    for (int t = 0; t < BL_TABLES + format->attributes; t++) {
        if (bl_format_has_table(format, t))
            layout_add_table(layout, format, t);
    }
    for (int f = 0; f < format->fields.count; f++)
        layout_add_field(layout, format, f);
    qsort(layout->tensor, (size_t)layout->tensors, sizeof *layout->tensor, tensor_compare);
    int code = layout_make_header(layout, format, e);
    if (!code && bl_format_encodes(format, BL_ENCODING_JPEG)) {
        layout->file_size += (int64_t)SPARE;
        code = bl_safetensors_pad(&layout->header, layout->header.size + SPARE, e);
    }
    if (code)
        bl_layout_free(layout);
    return code;
}

int bl_layout_make(struct bl_layout *layout, const struct bl_format *format, int64_t shard, struct bl_error *e)
{
    return layout_make(layout, format, bl_format_first_block(format, shard), bl_format_blocks_of(format, shard), e);
}

int bl_layout_resolve(struct bl_layout *layout, const struct bl_format *format, const int64_t bytes[BL_FIELDS_MAX],
                      struct bl_error *e)
{
    size_t header = layout->header.size;
    for (int i = 0; i < layout->tensors; i++) {
        if (layout->tensor[i].varies)
            layout->tensor[i].tensor.shape[0] = bytes[layout->tensor[i].field];
    }
    int code = layout_make_header(layout, format, e);
    layout->file_size += (int64_t)header - (int64_t)layout->header.size;
    return code ? code : bl_safetensors_pad(&layout->header, header, e);
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
        if (layout->tensor[i].field == field && !layout->tensor[i].offsets)
            return &layout->tensor[i];
    }
    return NULL;
}

const struct bl_shard_tensor *bl_layout_offsets(const struct bl_layout *layout, int field)
{
    for (int i = 0; i < layout->tensors; i++) {
        if (layout->tensor[i].field == field && layout->tensor[i].offsets)
            return &layout->tensor[i];
    }
    return NULL;
}

int64_t bl_layout_offset(const struct bl_layout *layout, const struct bl_shard_tensor *tensor, int64_t row)
{
    return (int64_t)layout->header.size + tensor->tensor.begin + row * tensor->row_bytes;
}

/* The size of a block, and the maximum size of a header, come from the layout of a single shard with all blocks and
 * without encoding. So the encoding of fields does not change which blocks share a shard. */
int bl_layout_divide(struct bl_format *format, int64_t shard_size, struct bl_error *e)
{
    BL_TRY(bl_format_check(format, e));
    struct bl_layout all;
    struct bl_format raw = *format;
    memset(raw.encoding, 0, sizeof raw.encoding);
    BL_TRY(layout_make(&all, &raw, 0, format->blocks, e));
    int64_t header = (int64_t)all.header.size;
    int64_t per_block = (all.file_size - header) / format->blocks;
    int64_t fit = (shard_size - header) / per_block;
    format->blocks_per_shard = fit < 1 ? 1 : fit < format->blocks ? fit : format->blocks;
    bl_layout_free(&all);
    return BL_OK;
}
