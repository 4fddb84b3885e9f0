#include "export/ids.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "store/jansson.h"

/* NULL: out of memory. */
static json_t *id_value(const char *id)
{
    size_t size = strlen(id);
    return bl_utf8_valid(id, size) == size ? json_stringn(id, size) : bl_jansson_escaped(id);
}

/* Sets size[row] to the bytes of each id, with its quotes. */
static int ids_measure(struct bl_blocks *blocks, int64_t rows, struct bl_cancel *cancel, uint32_t *size,
                       struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = BL_OK;
    for (int64_t i = 0; i < rows && !code; i++) {
        const struct bl_row *row;
        json_t *list = json_array();
        code = bl_cancelled(cancel) ? BL_ECANCEL : bl_blocks_row(blocks, i, &row, e);
        if (!code)
            bl_jansson_push(&list, id_value(row->id));
        bl_buffer_clear(&text);
        if (code)
            json_decref(list);
        else
            code = bl_jansson_append_compact(list, &text, e);
        size[i] = (uint32_t)text.size - 2;
    }
    bl_buffer_free(&text);
    return code;
}

/* The most bytes of a block of a plan: all places have a comma or a bracket behind them, and quotes. */
static int blocks_measure(const struct bl_plan *plan, int64_t rows, int64_t S, const uint32_t *size, size_t *most,
                          struct bl_error *e)
{
    *most = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        size_t bytes = 1 + 3 * (size_t)S;
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++) {
            if (plan->sequence[p] >= rows)
                return bl_error_set(e, BL_EDATA, "block %zu has sequence %u of a table of %" PRId64 " rows", b,
                                    plan->sequence[p], rows);
            bytes += size[plan->sequence[p]] - 2;
        }
        *most = bytes > *most ? bytes : *most;
    }
    return BL_OK;
}

int bl_export_ids_size(struct bl_blocks *blocks, struct bl_cancel *cancel, size_t *bytes, struct bl_error *e)
{
    struct bl_plan plan = {0};
    uint32_t *size = NULL;
    int64_t rows;
    int code = bl_blocks_rows(blocks, &rows, e);
    if (code)
        return code;
    size = malloc((size_t)rows * sizeof *size + 1);
    code = size ? ids_measure(blocks, rows, cancel, size, e) : bl_error_memory(e);
    if (!code)
        code = bl_index_read_members(bl_blocks_index(blocks), false, &plan, e);
    if (!code)
        code = blocks_measure(&plan, rows, bl_blocks_format(blocks)->S, size, bytes, e);
    bl_plan_free(&plan);
    free(size);
    return code;
}

int bl_export_ids_read(struct bl_blocks *blocks, const struct bl_block *tables, struct bl_buffer *text, void *out,
                       size_t bytes, struct bl_error *e)
{
    json_t *list = json_array();
    int code = BL_OK;
    for (int64_t i = 0; i < bl_blocks_format(blocks)->S && !code; i++) {
        const struct bl_row *row = NULL;
        if (tables->sequence[i] >= 0)
            code = bl_blocks_row(blocks, tables->sequence[i], &row, e);
        if (!code)
            bl_jansson_push(&list, id_value(row ? row->id : ""));
    }
    bl_buffer_clear(text);
    if (code)
        json_decref(list);
    else
        code = bl_jansson_append_compact(list, text, e);
    if (!code && text->size > bytes)
        code = bl_error_set(e, BL_EDATA, "block %" PRId64 ": its tables have other sequences than the plan",
                            tables->index);
    if (code)
        return code;
    memcpy(out, text->data, text->size);
    memset((char *)out + text->size, ' ', bytes - text->size);
    return BL_OK;
}
