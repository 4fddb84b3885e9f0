#include "store/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (table == BL_TABLE_CU_SEQLENS)
        tensor_add_dimension(&out->tensor, format->S + 1);
    else if (table == BL_TABLE_SEGMENT_IDS)
        tensor_add_dimension(&out->tensor, format->T);
    else if (table != BL_TABLE_NUM_SEQUENCES)
        tensor_add_dimension(&out->tensor, format->S);
}

static void layout_add_offsets(struct bl_layout *layout, const struct bl_format *format, int f)
{
    struct bl_shard_tensor *out = &layout->tensor[layout->tensors++];
    *out = (struct bl_shard_tensor){.table = -1, .field = f, .offsets = true, .tensor.dtype = BL_I64};
    bl_format_tensor_name(format, f, true, out->tensor.name, sizeof out->tensor.name);
    tensor_add_dimension(&out->tensor, layout->blocks);
    tensor_add_dimension(&out->tensor, format->T + 1);
}

static void layout_add_field(struct bl_layout *layout, const struct bl_format *format, int f)
{
    const struct bl_field *field = &format->fields.field[f];
    struct bl_shard_tensor *out = &layout->tensor[layout->tensors++];
    *out = (struct bl_shard_tensor){.table = -1, .field = f, .tensor.dtype = field->dtype};
    bl_format_tensor_name(format, f, false, out->tensor.name, sizeof out->tensor.name);
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

/* Tables, then attributes, then fields: verifying an attribute needs the table "sequence". Fields whose size varies
 * come last. */
static int tensor_rank(const struct bl_shard_tensor *tensor)
{
    if (tensor->table < 0)
        return tensor->varies ? 3 : 2;
    return tensor->table >= BL_TABLES;
}

/* Large elements first, since torch requires aligned tensors; then by the order above; then by name. */
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

/* Fills the entries of __metadata__, at most METADATA_MAX; their strings are stored in text. Returns their number. */
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
    int code = bl_safetensors_place(tensor, layout->tensors, e);
    if (code)
        return code;
    for (int i = 0; i < layout->tensors; i++)
        layout->tensor[i].row_bytes =
            layout->tensor[i].varies ? 0 : (tensor[i]->end - tensor[i]->begin) / layout->blocks;
    struct metadata_text text = {0};
    struct bl_metadata metadata[METADATA_MAX];
    int pairs = layout_make_metadata(layout, format, metadata, &text);
    bl_buffer_clear(&layout->header);
    code = bl_safetensors_header((const struct bl_tensor *const *)tensor, layout->tensors, metadata, pairs,
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

/* The layout of one shard with all blocks, none encoded, gives the size of a block, and a header as long as any.
 * Encoding thus does not change which blocks share a shard. */
int bl_layout_divide(struct bl_format *format, int64_t shard_size, struct bl_error *e)
{
    int code = bl_format_check(format, e);
    if (code)
        return code;
    struct bl_layout all;
    struct bl_format raw = *format;
    memset(raw.encoding, 0, sizeof raw.encoding);
    code = layout_make(&all, &raw, 0, format->blocks, e);
    if (code)
        return code;
    int64_t header = (int64_t)all.header.size;
    int64_t per_block = (all.file_size - header) / format->blocks;
    int64_t fit = (shard_size - header) / per_block;
    format->blocks_per_shard = fit < 1 ? 1 : fit < format->blocks ? fit : format->blocks;
    bl_layout_free(&all);
    return BL_OK;
}
