/* The format of shards: its checks, the names and shapes of tables, and the layout of a file.
 *
 * A layout is made in two passes. The first collects the tensors and sorts them; the second places them and writes the
 * header. The second runs again when the sizes of JPEG tensors are known, and fills the spare bytes with spaces. */
#include "store/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* --- format ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum bl_dtype dtype;
} tables[BL_TABLES] = {
    [BL_TABLE_CU_SEQLENS] = {"cu_seqlens", BL_I32},
    [BL_TABLE_NUM_SEQUENCES] = {"num_sequences", BL_I32},
    [BL_TABLE_SEQUENCE] = {"sequence", BL_I64},
    [BL_TABLE_LENGTH] = {"length", BL_I32},
    [BL_TABLE_SOURCE_START] = {"source_start", BL_I64},
    [BL_TABLE_SEGMENT_IDS] = {"segment_ids", BL_I32},
    [BL_TABLE_CU_SEQLENS_PADDED] = {"cu_seqlens_padded", BL_I32},
};

int bl_format_version(const struct bl_format *format, bool is_view)
{
    bool own = bl_fields_count_own(&format->fields) > 0;
    int version = format->padded_to ? BL_FORMAT_CP : own ? BL_FORMAT_OWN : BL_FORMAT_VERSION;
    return version + is_view; /* the version of a view follows that of a dataset */
}

/* Formats the name of the places of own field f. */
static char *cu_seqlens_name(const struct bl_format *format, int f, char out[BL_TENSOR_NAME_MAX])
{
    snprintf(out, BL_TENSOR_NAME_MAX, "%s_cu_seqlens", format->fields.field[f].name);
    return out;
}

const char *bl_format_table_name(const struct bl_format *format, int table, char out[BL_TENSOR_NAME_MAX])
{
    if (table >= BL_TABLE_OWN)
        return cu_seqlens_name(format, table - BL_TABLE_OWN, out);
    return table < BL_TABLES ? tables[table].name : format->attribute[table - BL_TABLES].name;
}

enum bl_dtype bl_format_table_dtype(const struct bl_format *format, int table)
{
    if (table >= BL_TABLE_OWN)
        return BL_I32;
    return table < BL_TABLES ? tables[table].dtype : format->attribute[table - BL_TABLES].dtype;
}

int64_t bl_format_table_width(const struct bl_format *format, int table)
{
    if (table == BL_TABLE_NUM_SEQUENCES)
        return 1;
    if (table == BL_TABLE_SEGMENT_IDS)
        return format->T;
    bool has_end = table == BL_TABLE_CU_SEQLENS || table == BL_TABLE_CU_SEQLENS_PADDED || table >= BL_TABLE_OWN;
    return has_end ? format->S + 1 : format->S;
}

bool bl_format_has_table(const struct bl_format *format, int table)
{
    if (table >= BL_TABLE_OWN)
        return table - BL_TABLE_OWN < format->fields.count && format->fields.field[table - BL_TABLE_OWN].own;
    if (table >= BL_TABLES)
        return table - BL_TABLES < format->attributes;
    if (table == BL_TABLE_SOURCE_START)
        return format->has_source_start;
    if (table == BL_TABLE_CU_SEQLENS_PADDED)
        return format->padded_to > 0;
    return table == BL_TABLE_SEGMENT_IDS ? format->has_segment_ids : true;
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* Formats the name of the tensor that holds the steps of field f, or their offsets. */
static void format_tensor_name(const struct bl_format *format, int f, bool offsets, char *out, size_t size)
{
    static const char *const suffix[] = {
        [BL_ENCODING_RAW] = "", [BL_ENCODING_JPEG] = "_jpeg", [BL_ENCODING_DELTA] = "_delta"};
    snprintf(out, size, "%s%s", format->fields.field[f].name, offsets ? "_offsets" : suffix[format->encoding[f].kind]);
}

/* Returns true if one of the first `tables_before` tables or `fields_before` fields has the name, if a tensor of such a
 * field has it, or if the name is reserved. The tensors of a JPEG field are NAME_jpeg and NAME_offsets, that of a delta
 * field is NAME_delta; NAME itself is taken in any case, since readers decode to an array of this name. An own field
 * has NAME_cu_seqlens, and NAME_offsets if it is flat. Names of tables are taken even in shards without the table,
 * except that of cu_seqlens_padded, which datasets of older versions may have used. */
static bool format_name_is_taken(const struct bl_format *format, const char *name, int tables_before, int fields_before)
{
    if (!*name || strcmp(name, "__metadata__") == 0)
        return true;
    char own[BL_TENSOR_NAME_MAX];
    for (int t = 0; t < tables_before; t++) {
        bool is_free = t == BL_TABLE_CU_SEQLENS_PADDED && !bl_format_has_table(format, t);
        if (!is_free && strcmp(name, bl_format_table_name(format, t, own)) == 0)
            return true;
    }
    for (int f = 0; f < fields_before; f++) {
        const struct bl_field *field = &format->fields.field[f];
        char tensor[2 * BL_FIELD_NAME_MAX];
        bool taken = strcmp(name, field->name) == 0;
        taken |= field->own && strcmp(name, cu_seqlens_name(format, f, own)) == 0;
        bool has_offsets = format->encoding[f].kind == BL_ENCODING_JPEG || (field->own && field->flat);
        for (int offsets = has_offsets; offsets >= 0 && !taken; offsets--) {
            format_tensor_name(format, f, offsets, tensor, sizeof tensor);
            taken = strcmp(name, tensor) == 0;
        }
        if (taken)
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
        bytes += format->fields.field[f].own ? 0 : (int64_t)bl_field_step_bytes(&format->fields.field[f]);
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
                            "--sequence-slots %" PRId64 " is more than T = %" PRId64
                            ", and a block cannot have more sequences than steps: give fewer",
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

int bl_format_check_cost(const struct bl_format *format, const struct bl_plan_cost *cost, struct bl_error *e)
{
    for (int i = 0; i < cost->fields; i++) {
        bool found = strcmp(cost->field[i].name, "T") == 0;
        for (int f = 0; f < format->fields.count; f++)
            found |= strcmp(cost->field[i].name, format->fields.field[f].name) == 0;
        if (!found)
            return bl_error_set(e, BL_EUSAGE,
                                "--cost: there is no field \"%s\" (T stands for the steps that fields have in common)",
                                cost->field[i].name);
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

/* Checks that the encoding of field f suits the field and the compression of shards, and that its tensors have names.
 * The limit of the JPEG files is that of bl_format_check. */
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
        return bl_error_set(e, BL_EUSAGE,
                            "field \"%s\": jpeg needs shards without compression, and delta needs compressed shards",
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

/* Checks an own field: its capacity, that it is not encoded, and that its tables have names. */
static int format_check_own(const struct bl_format *format, int f, struct bl_error *e)
{
    const struct bl_field *field = &format->fields.field[f];
    char table[BL_TENSOR_NAME_MAX], offsets[2 * BL_FIELD_NAME_MAX];
    cu_seqlens_name(format, f, table);
    format_tensor_name(format, f, true, offsets, sizeof offsets);
    if (field->capacity < 1 || field->capacity > BL_T_MAX)
        return bl_error_set(e, BL_EUSAGE, "field \"%s\": a capacity of %" PRId64 " steps is not between 1 and %" PRId64,
                            field->name, field->capacity, BL_T_MAX);
    if (format->encoding[f].kind != BL_ENCODING_RAW)
        return bl_error_set(e, BL_EUSAGE, "field \"%s\" has steps of its own, which cannot be encoded", field->name);
    const char *taken = format_name_is_taken(format, table, BL_TABLES, f)                    ? table
                        : field->flat && format_name_is_taken(format, offsets, BL_TABLES, f) ? offsets
                                                                                             : NULL;
    if (taken)
        return bl_error_set(e, BL_EUSAGE, "field \"%s\": the name \"%s\" of its table is taken", field->name, taken);
    return BL_OK;
}

/* Sums over the blocks of all fields must not overflow int64_t: each block may have a quarter of an equal share. */
int bl_format_check(const struct bl_format *format, struct bl_error *e)
{
    if (format->T < 1 || format->T > BL_T_MAX || format->S < 1 || format->S >= BL_T_MAX || format->blocks < 1)
        return bl_error_set(e, BL_EUSAGE,
                            "a dataset cannot have %" PRId64 " blocks of T = %" PRId64 " steps and S = %" PRId64
                            " sequences per block",
                            format->blocks, format->T, format->S);
    if (format->padded_to < 0 || (format->padded_to && format->T % format->padded_to))
        return bl_error_set(e, BL_EUSAGE, "T = %" PRId64 " is not a multiple of %" PRId64 ", as --cp needs", format->T,
                            format->padded_to);
    if (format->frame_size && (!format->compressed || format->frame_size > BL_FRAME_MAX))
        return bl_error_set(e, BL_EUSAGE,
                            "frames of %zu bytes: only compressed shards have frames, of at most %zu bytes",
                            format->frame_size, BL_FRAME_MAX);
    if (format->fields.count < 1 || format->fields.count > BL_FIELDS_MAX)
        return bl_error_set(e, BL_EUSAGE, "a dataset has 1 to %d fields, not %d", BL_FIELDS_MAX, format->fields.count);
    for (int f = 0; f < format->fields.count; f++) {
        const struct bl_field *field = &format->fields.field[f];
        struct bl_tensor block = {
            .dtype = field->dtype, .rank = field->rank + 1, .shape = {bl_format_steps(format, f)}};
        BL_TRY(field->own ? format_check_own(format, f, e) : BL_OK);
        if (format_name_is_taken(format, field->name, BL_TABLES, f))
            return bl_error_set(e, BL_EUSAGE, "field name \"%s\" is taken", field->name);
        bool has_rank = field->rank >= 0 && field->rank <= BL_FIELD_RANK_MAX;
        if (has_rank)
            memcpy(block.shape + 1, field->shape, (size_t)field->rank * sizeof *field->shape);
        int64_t bytes = has_rank ? bl_tensor_bytes(&block) : 0;
        if (bytes <= 0 || bytes >= INT64_MAX / (4 * BL_FIELDS_MAX))
            return bl_error_set(e, BL_EUSAGE, "field \"%s\": the size of a block is out of range", field->name);
        BL_TRY(format_check_encoding(format, f, e));
    }
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

/* --- shards ------------------------------------------------------------------------------------------------------- */

int64_t bl_format_steps(const struct bl_format *format, int f)
{
    const struct bl_field *field = &format->fields.field[f];
    return field->own ? field->capacity : format->T;
}

size_t bl_format_block_bytes(const struct bl_format *format, int f)
{
    return (size_t)bl_format_steps(format, f) * bl_field_step_bytes(&format->fields.field[f]);
}

size_t bl_format_frame_size(const struct bl_format *format)
{
    return format->frame_size ? format->frame_size : BL_FRAME_MAX;
}

bool bl_format_map_fields(const struct bl_format *view, const struct bl_format *source, int map[BL_FIELDS_MAX])
{
    int found = 0, before = -1; /* the last common field */
    for (int f = 0; f < view->fields.count; f++) {
        const struct bl_field *x = &view->fields.field[f];
        map[f] = -1;
        for (int g = 0; g < source->fields.count; g++) {
            const struct bl_field *y = &source->fields.field[g];
            if (strcmp(x->name, y->name) != 0)
                continue;
            if (x->dtype != y->dtype || x->rank != y->rank || view->encoding[f].kind != source->encoding[g].kind ||
                x->own != y->own || memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) != 0)
                return false;
            map[f] = g;
        }
        if (!x->own && map[f] <= before)
            return false;
        before = x->own ? before : map[f];
        found += map[f] >= 0;
    }
    return found == source->fields.count;
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

/* Spare bytes of a header, for the digits of sizes that vary: up to 57 per field. */
#define SPARE ((size_t)BL_SAFETENSORS_ALIGN)

/* Appends a dimension to the shape of a tensor. */
static void tensor_add_dimension(struct bl_tensor *tensor, int64_t size)
{
    tensor->shape[tensor->rank++] = size;
}

/* Adds a tensor of the shape [blocks] to a layout, without a name. */
static struct bl_shard_tensor *layout_add(struct bl_layout *layout, int table, int field, enum bl_dtype dtype)
{
    struct bl_shard_tensor *out = &layout->tensor[layout->tensors++];
    *out = (struct bl_shard_tensor){.table = table, .field = field, .tensor.dtype = dtype};
    tensor_add_dimension(&out->tensor, layout->blocks);
    return out;
}

/* Returns the order of a tensor among those with elements of one size: tables, then attributes, then fields, since the
 * verification of an attribute needs the table "sequence". Tensors whose size varies come last, so that other offsets
 * are fixed. */
static int tensor_rank(const struct bl_shard_tensor *tensor)
{
    if (tensor->table < 0)
        return tensor->varies ? 3 : 2;
    return tensor->table >= BL_TABLES && tensor->table < BL_TABLE_OWN;
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

/* Places the tensors, which are in file order, and writes the header with __metadata__: for example
 * {"bload_format": "1", "first_block": "0", "plan_digest": "0123456789abcdef", "frames_encoding": "jpeg:90"}. */
static int layout_make_header(struct bl_layout *layout, const struct bl_format *format, struct bl_error *e)
{
    struct bl_tensor *tensor[BL_TENSORS_MAX];
    for (int i = 0; i < layout->tensors; i++)
        tensor[i] = &layout->tensor[i].tensor;
    BL_TRY(bl_safetensors_place(tensor, layout->tensors, e));
    /* The first dimension of each tensor is the block, except where the size varies. */
    for (int i = 0; i < layout->tensors; i++) {
        bool is_even = !layout->tensor[i].varies && !layout->tensor[i].flat;
        layout->tensor[i].row_bytes = is_even ? (tensor[i]->end - tensor[i]->begin) / layout->blocks : 0;
    }
    char version[16], first[24], name[BL_FIELDS_MAX][BL_FIELD_NAME_MAX + 16];
    char encoding[BL_FIELDS_MAX][BL_ENCODING_NAME_MAX];
    snprintf(version, sizeof version, "%d", bl_format_version(format, false));
    snprintf(first, sizeof first, "%" PRId64, layout->first_block);
    struct bl_metadata metadata[3 + BL_FIELDS_MAX] = {
        {"bload_format", version}, {"first_block", first}, {"plan_digest", format->plan_digest}};
    int pairs = 3;
    for (int f = 0; f < format->fields.count; f++) {
        if (format->encoding[f].kind == BL_ENCODING_RAW)
            continue;
        snprintf(name[f], sizeof name[f], "%s_encoding", format->fields.field[f].name);
        metadata[pairs++] = (struct bl_metadata){name[f], bl_encoding_name(&format->encoding[f], encoding[f])};
    }
    bl_buffer_clear(&layout->header);
    int code = bl_safetensors_header((const struct bl_tensor *const *)tensor, layout->tensors, metadata, pairs,
                                     &layout->header, e);
    layout->file_size = (int64_t)layout->header.size + tensor[layout->tensors - 1]->end;
    return code;
}

/* Adds the tensors of own field f: [n, capacity, ...], or the steps of a flat field, [steps, ...], and its offsets,
 * [n + 1]. */
static void layout_add_own(struct bl_layout *layout, const struct bl_format *format, int f)
{
    const struct bl_field *field = &format->fields.field[f];
    struct bl_shard_tensor *out = layout_add(layout, -1, f, field->dtype);
    snprintf(out->tensor.name, sizeof out->tensor.name, "%s", field->name);
    out->flat = field->flat;
    out->step_bytes = (int64_t)bl_field_step_bytes(field);
    if (field->flat)
        out->tensor.shape[0] = 0;
    else
        tensor_add_dimension(&out->tensor, field->capacity);
    for (int i = 0; i < field->rank; i++)
        tensor_add_dimension(&out->tensor, field->shape[i]);
    if (!field->flat)
        return;
    out = layout_add(layout, -1, f, BL_I64);
    out->offsets = out->flat = true;
    out->tensor.shape[0] = layout->blocks + 1;
    snprintf(out->tensor.name, sizeof out->tensor.name, "%s_offsets", field->name);
}

/* Returns whether the sizes of some tensors do not follow from the format. */
static bool format_has_sizes(const struct bl_format *format)
{
    bool flat = false;
    for (int f = 0; f < format->fields.count; f++)
        flat |= format->fields.field[f].own && format->fields.field[f].flat;
    return flat || bl_format_encodes(format, BL_ENCODING_JPEG);
}

/* Makes the layout of blocks first_block to first_block + blocks - 1 as one shard. A field has one tensor, [n, T, ...],
 * and a JPEG field two: the files, [bytes], and the offsets of the steps, [n, T + 1]. On error the layout is empty. */
static int layout_make(struct bl_layout *layout, const struct bl_format *format, int64_t first_block, int64_t blocks,
                       struct bl_error *e)
{
    *layout = (struct bl_layout){.first_block = first_block, .blocks = blocks};
    for (int t = 0; t < BL_TABLES_ALL; t++) {
        char own[BL_TENSOR_NAME_MAX];
        if (!bl_format_has_table(format, t))
            continue;
        struct bl_tensor *tensor = &layout_add(layout, t, -1, bl_format_table_dtype(format, t))->tensor;
        snprintf(tensor->name, sizeof tensor->name, "%s", bl_format_table_name(format, t, own));
        if (t != BL_TABLE_NUM_SEQUENCES)
            tensor_add_dimension(tensor, bl_format_table_width(format, t));
    }
    for (int f = 0; f < format->fields.count; f++) {
        const struct bl_field *field = &format->fields.field[f];
        if (field->own) {
            layout_add_own(layout, format, f);
            continue;
        }
        struct bl_shard_tensor *out = layout_add(layout, -1, f, field->dtype);
        format_tensor_name(format, f, false, out->tensor.name, sizeof out->tensor.name);
        out->varies = format->encoding[f].kind == BL_ENCODING_JPEG;
        if (out->varies) {
            out->tensor.shape[0] = 0;
            out = layout_add(layout, -1, f, BL_I64);
            out->offsets = true;
            format_tensor_name(format, f, true, out->tensor.name, sizeof out->tensor.name);
        }
        tensor_add_dimension(&out->tensor, format->T + out->offsets);
        for (int i = 0; i < field->rank && !out->offsets; i++)
            tensor_add_dimension(&out->tensor, field->shape[i]);
    }
    qsort(layout->tensor, (size_t)layout->tensors, sizeof *layout->tensor, tensor_compare);
    int code = layout_make_header(layout, format, e);
    if (!code && format_has_sizes(format)) {
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

int bl_layout_resolve(struct bl_layout *layout, const struct bl_format *format, const int64_t size[BL_FIELDS_MAX],
                      struct bl_error *e)
{
    size_t header = layout->header.size;
    for (int i = 0; i < layout->tensors; i++) {
        struct bl_shard_tensor *tensor = &layout->tensor[i];
        const int64_t *steps = tensor->field >= 0 ? layout->steps[tensor->field] : NULL;
        if (tensor->varies || (tensor->flat && !tensor->offsets))
            tensor->tensor.shape[0] = steps ? steps[layout->blocks] : size[tensor->field];
    }
    int code = layout_make_header(layout, format, e);
    layout->file_size += (int64_t)header - (int64_t)layout->header.size;
    return code ? code : bl_safetensors_pad(&layout->header, header, e);
}

int bl_layout_set_steps(struct bl_layout *layout, const struct bl_format *format, int f, int64_t *steps,
                        struct bl_error *e)
{
    const struct bl_field *field = &format->fields.field[f];
    free(layout->steps[f]);
    layout->steps[f] = steps;
    bool sound = steps[0] == 0;
    for (int64_t b = 0; b < layout->blocks && sound; b++)
        sound = steps[b] <= steps[b + 1] && steps[b + 1] - steps[b] <= field->capacity;
    return sound ? BL_OK
                 : bl_error_set(e, BL_EDATA, "%s_offsets is damaged: a block does not have 0 to %" PRId64 " steps",
                                field->name, field->capacity);
}

void bl_layout_free(struct bl_layout *layout)
{
    for (int f = 0; f < BL_FIELDS_MAX; f++)
        free(layout->steps[f]);
    bl_buffer_free(&layout->header);
    *layout = (struct bl_layout){0};
}

/* Returns the tensor with these numbers; NULL: the shard has none. */
static const struct bl_shard_tensor *layout_find(const struct bl_layout *layout, int table, int field, bool offsets)
{
    for (int i = 0; i < layout->tensors; i++) {
        const struct bl_shard_tensor *tensor = &layout->tensor[i];
        if (tensor->table == table && tensor->field == field && tensor->offsets == offsets)
            return tensor;
    }
    return NULL;
}

const struct bl_shard_tensor *bl_layout_table(const struct bl_layout *layout, int table)
{
    return layout_find(layout, table, -1, false);
}

const struct bl_shard_tensor *bl_layout_field(const struct bl_layout *layout, int field)
{
    return layout_find(layout, -1, field, false);
}

const struct bl_shard_tensor *bl_layout_offsets(const struct bl_layout *layout, int field)
{
    return layout_find(layout, -1, field, true);
}

int64_t bl_layout_offset(const struct bl_layout *layout, const struct bl_shard_tensor *tensor, int64_t row)
{
    const int64_t *steps = tensor->flat && !tensor->offsets ? layout->steps[tensor->field] : NULL;
    int64_t before = steps ? steps[row] * tensor->step_bytes : row * tensor->row_bytes;
    return (int64_t)layout->header.size + tensor->tensor.begin + before;
}

int64_t bl_layout_block_bytes(const struct bl_layout *layout, const struct bl_shard_tensor *tensor, int64_t row)
{
    const int64_t *steps = tensor->flat && !tensor->offsets ? layout->steps[tensor->field] : NULL;
    return steps ? (steps[row + 1] - steps[row]) * tensor->step_bytes : tensor->row_bytes;
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
    int64_t per_block = (all.file_size - header + format->flat_bytes) / format->blocks;
    /* A block larger than shard_size gets a shard of its own. */
    int64_t fit = (shard_size - header) / per_block;
    format->blocks_per_shard = fit < 1 ? 1 : fit < format->blocks ? fit : format->blocks;
    bl_layout_free(&all);
    return BL_OK;
}
