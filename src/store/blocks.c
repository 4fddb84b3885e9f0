#include "store/blocks.h"

#include <inttypes.h>
#include <stdlib.h>

/* Opens the directory as a view, or as a view of itself. */
static int blocks_open_view(struct bl_view **out, const char *dir, struct bl_error *e)
{
    struct bl_view *view = calloc(1, sizeof *view);
    int code = view ? bl_view_open(view, dir, e) : bl_error_memory(e);
    if (code)
        free(view);
    *out = code ? NULL : view;
    return code;
}

static void blocks_close_view(struct bl_view *view)
{
    if (!view)
        return;
    bl_view_close(view);
    free(view);
}

int bl_blocks_open(struct bl_blocks *blocks, const char *dir, struct bl_error *e)
{
    struct bl_manifest manifest;
    *blocks = (struct bl_blocks){.is_view = false};
    int code = bl_manifest_read(&manifest, dir, e);
    if (code)
        return code;
    bool is_view = bl_manifest_is_view(&manifest);
    bl_manifest_free(&manifest);
    code = is_view ? blocks_open_view(&blocks->view, dir, e) : bl_dataset_open(&blocks->dataset, dir, e);
    blocks->is_view = is_view && !code;
    return code;
}

void bl_blocks_close(struct bl_blocks *blocks)
{
    blocks_close_view(blocks->view);
    if (blocks->dataset.dir)
        bl_dataset_close(&blocks->dataset);
    *blocks = (struct bl_blocks){.is_view = false};
}

int bl_blocks_set_epoch(struct bl_blocks *blocks, int64_t epoch, struct bl_error *e)
{
    struct bl_view *view = blocks->view;
    int code = BL_OK;
    if (!view && epoch)
        code = blocks_open_view(&view, blocks->dataset.dir, e);
    if (!code && view)
        code = bl_view_set_epoch(view, epoch, e);
    if (code && !blocks->view)
        blocks_close_view(view);
    if (code)
        return code;
    blocks->view = view;
    blocks->epoch = epoch;
    return BL_OK;
}

bool bl_blocks_are_composed(const struct bl_blocks *blocks)
{
    return blocks->is_view || blocks->epoch;
}

const struct bl_manifest *bl_blocks_manifest(const struct bl_blocks *blocks)
{
    return blocks->is_view ? &blocks->view->manifest : &blocks->dataset.manifest;
}

const struct bl_format *bl_blocks_format(const struct bl_blocks *blocks)
{
    return &bl_blocks_manifest(blocks)->format;
}

const struct bl_index *bl_blocks_index(const struct bl_blocks *blocks)
{
    return bl_blocks_are_composed(blocks) ? &blocks->view->index : &blocks->dataset.index;
}

int bl_blocks_read(struct bl_blocks *blocks, int64_t b, int f, void *out, struct bl_error *e)
{
    return bl_blocks_are_composed(blocks) ? bl_view_read(blocks->view, b, f, out, e)
                                          : bl_dataset_read(&blocks->dataset, b, f, out, e);
}

int bl_blocks_tables(struct bl_blocks *blocks, int64_t b, const struct bl_block **block, struct bl_error *e)
{
    return bl_blocks_are_composed(blocks) ? bl_view_tables(blocks->view, b, block, e)
                                          : bl_dataset_tables(&blocks->dataset, b, block, e);
}

int bl_blocks_attribute(struct bl_blocks *blocks, int64_t b, int a, void *out, struct bl_error *e)
{
    return bl_blocks_are_composed(blocks) ? bl_view_attribute(blocks->view, b, a, out, e)
                                          : bl_dataset_attribute(&blocks->dataset, b, a, out, e);
}

int bl_blocks_rows(struct bl_blocks *blocks, int64_t *rows, struct bl_error *e)
{
    const struct bl_sequences *sequences = NULL;
    int code = blocks->is_view ? BL_OK : bl_dataset_sequences(&blocks->dataset, &sequences, e);
    *rows = code ? 0 : blocks->is_view ? blocks->view->manifest.rows : (int64_t)sequences->count;
    return code;
}

int bl_blocks_row(struct bl_blocks *blocks, int64_t row, const struct bl_row **out, struct bl_error *e)
{
    const struct bl_sequences *sequences = NULL;
    if (blocks->is_view)
        return bl_view_row(blocks->view, row, out, e);
    int code = bl_dataset_sequences(&blocks->dataset, &sequences, e);
    if (code)
        return code;
    if (row < 0 || (uint64_t)row >= sequences->count)
        return bl_error_set(e, BL_EUSAGE, "no sequence %" PRId64 ": the dataset has %zu", row, sequences->count);
    *out = &blocks->dataset.row.row;
    return bl_row_reader_read(sequences, (size_t)row, &blocks->dataset.row, e);
}

void bl_blocks_lend_rows(const struct bl_blocks *from, struct bl_blocks *to)
{
    if (!from->is_view)
        bl_dataset_lend_sequences(&from->dataset, &to->dataset);
    for (size_t s = 0; from->is_view && s < from->view->sources; s++)
        bl_dataset_lend_sequences(&from->view->source[s], &to->view->source[s]);
}
