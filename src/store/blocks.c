/* Reading the blocks and the stored sequences of a dataset or a view.
 *
 * A composed block is read by the view, and every other block by the dataset: each function of the first part below
 * chooses between the two. */
#include "store/blocks.h"

#include <inttypes.h>
#include <stdlib.h>

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Allocates and opens a view of dir, which holds a view, or a dataset that becomes a view of itself. */
static int blocks_open_view(struct bl_view **out, const char *dir, struct bl_error *e)
{
    struct bl_view *view = calloc(1, sizeof *view);
    int code = view ? bl_view_open(view, dir, e) : bl_error_memory(e);
    if (code)
        free(view);
    *out = code ? NULL : view;
    return code;
}

/* Closes and frees a view that blocks_open_view made. NULL is allowed. */
static void blocks_close_view(struct bl_view *view)
{
    if (!view)
        return;
    bl_view_close(view);
    free(view);
}

/* The manifest is read twice, here and by the dataset or the view: it tells which of the two the directory holds. */
int bl_blocks_open(struct bl_blocks *blocks, const char *dir, struct bl_error *e)
{
    struct bl_manifest manifest;
    *blocks = (struct bl_blocks){.is_view = false};
    BL_TRY(bl_manifest_read(&manifest, dir, e));
    bool is_view = bl_manifest_is_view(&manifest);
    bl_manifest_free(&manifest);
    int code = is_view ? blocks_open_view(&blocks->view, dir, e) : bl_dataset_open(&blocks->dataset, dir, e);
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
    /* A dataset becomes a view of itself when a later epoch is first selected; the view is kept. */
    if (!view && epoch)
        code = blocks_open_view(&view, blocks->dataset.dir, e);
    if (!code && view)
        code = bl_view_set_epoch(view, epoch, e);
    if (code && !blocks->view)
        blocks_close_view(view);
    BL_TRY(code);
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

/* For a view, rows are the sum over all sources. */
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
    BL_TRY(bl_dataset_sequences(&blocks->dataset, &sequences, e));
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

/* --- stored sequences --------------------------------------------------------------------------------------------- */

int bl_stored_sequence_begin(struct bl_stored_sequence *s, struct bl_view *view, int64_t row, int field,
                             const struct bl_step_range *range, struct bl_error *e)
{
    const struct bl_row *known;
    BL_TRY(bl_view_row(view, row, &known, e));
    if (known->status != BL_ROW_OK)
        return bl_error_set(e, BL_EUSAGE, "%s: %s is not stored: it %s%s%s", view->dir, known->id,
                            known->status == BL_ROW_FAILED    ? "failed while packing"
                            : known->status == BL_ROW_DROPPED ? "was dropped"
                                                              : "was skipped",
                            known->reason[0] ? ": " : "", known->reason);
    if (!bl_places_steps(&view->places, row))
        return bl_error_set(e, BL_EUSAGE, "%s: %s is not stored: no block has it", view->dir, known->id);
    const struct bl_fields *fields = &view->manifest.format.fields;
    const int64_t begin = bl_places_begin(&view->places, row), stop = begin + bl_places_steps(&view->places, row);
    const bool own = fields->field[field].own;
    const int64_t length =
        own ? bl_places_own(&view->places, row, bl_fields_own_number(fields, field)).length : known->length;
    *s = (struct bl_stored_sequence){.view = view, .row = row, .field = field, .checked_block = -1};
    s->next = range->is_given ? range->first : 0;
    s->end = range->is_given && range->end >= 0 ? range->end : length;
    if ((s->next >= s->end && (range->is_given || !own)) || s->end > length)
        return bl_error_set(e, BL_EUSAGE,
                            "%s: %s has %" PRId64 " steps%s%s, 0..%" PRId64 ": it has no steps %" PRId64 "..%" PRId64,
                            view->dir, known->id, length, own ? " of " : "", own ? fields->field[field].name : "",
                            length, s->next, s->end);
    if (own)
        return BL_OK;
    if (s->next < begin || s->end > stop)
        return bl_error_set(e, BL_EUSAGE,
                            "%s: of the %" PRId64 " steps of %s only %" PRId64 "..%" PRId64
                            " are stored: --steps %" PRId64 "..%" PRId64 " gives them",
                            view->dir, known->length, known->id, begin, stop, begin, stop);
    return BL_OK;
}

/* Finds the own steps that are read next, `most` at most, and compares their place with the tables of the shard. row:
 * in the source. BL_EDATA: they differ. */
static int stored_find_own(const struct bl_stored_sequence *s, int64_t row, int64_t most, struct bl_view_steps *at,
                           struct bl_error *e)
{
    const struct bl_manifest *m = &s->view->manifest;
    const struct bl_own_place place =
        bl_places_own(&s->view->places, s->row, bl_fields_own_number(&m->format.fields, s->field));
    const size_t source = m->sources ? (size_t)(bl_view_source_of_row(m->source, m->sources, s->row) - m->source) : 0;
    const struct bl_block *tables = NULL;
    bool has = false;
    *at = (struct bl_view_steps){.source = &s->view->source[source],
                                 .block = place.block,
                                 .first = place.start + s->next,
                                 .end = place.start + s->next + most};
    const int its = bl_view_field_of(s->view, at->source, s->field);
    int code = bl_dataset_tables(at->source, at->block, &tables, e);
    for (int32_t i = 0; !code && its >= 0 && i < tables->num_sequences && !has; i++) {
        const int32_t *own = tables->own[its];
        has = tables->sequence[i] == row && own[i] == place.start && own[i + 1] == (int64_t)place.start + place.length;
    }
    if (!code && !has)
        code = bl_error_set(e, BL_EDATA,
                            "%s is damaged: in its shard, block %" PRId64 " does not hold the steps of %s of sequence "
                            "%" PRId64 " where the index says",
                            at->source->dir, at->block, m->format.fields.field[s->field].name, row);
    return code;
}

/* A place is compared with the tables of its shard: by them, its steps must belong to the row, and begin with the step
 * that is read next. Its block is compared with the checksum in the index, unless it was verified just before. */
int bl_stored_sequence_read(struct bl_stored_sequence *s, int64_t most, void *out, int64_t *steps, struct bl_error *e)
{
    const struct bl_manifest *m = &s->view->manifest;
    /* Rows of a view count through all sources, rows in the tables of a shard from the first row of its source. */
    const int64_t first_row = m->sources ? bl_view_source_of_row(m->source, m->sources, s->row)->first_row : 0;
    const int64_t left = s->end - s->next, row = s->row - first_row;
    struct bl_view_steps at;
    const struct bl_block *tables = NULL;
    bool has = false;
    *steps = 0;
    if (!left)
        return BL_OK;
    const bool own = m->format.fields.field[s->field].own;
    int code = own ? stored_find_own(s, row, left < most ? left : most, &at, e)
                   : bl_view_find(s->view, s->row, s->next, left < most ? left : most, &at, e);
    if (!code && !own)
        code = bl_dataset_tables(at.source, at.block, &tables, e);
    has = own;
    for (int32_t i = 0; !code && !has && i < tables->num_sequences; i++) {
        int64_t begin = tables->cu_seqlens[i];
        has = tables->sequence[i] == row && begin <= at.first && at.end <= begin + tables->length[i] &&
              tables->source_start[i] + (at.first - begin) == s->next;
    }
    if (!code && !has)
        code = bl_error_set(e, BL_EDATA,
                            "%s is damaged: in its shard, block %" PRId64 " does not hold step %" PRId64
                            " of sequence %" PRId64 " where the index says",
                            at.source->dir, at.block, s->next, row);
    const int its = code ? 0 : bl_view_field_of(s->view, at.source, s->field);
    if (!code && (s->checked != at.source || s->checked_block != at.block)) {
        s->checked = at.source;
        s->checked_block = at.block;
        code = bl_dataset_check_block(at.source, at.block, its, e);
    }
    if (!code)
        code = bl_dataset_read_steps(at.source, at.block, its, at.first, at.end, out, e);
    if (code == BL_EUSAGE) /* the place names a block or steps that do not exist: damage, not a wrong request */
        code = e->code = BL_EDATA;
    BL_TRY(code);
    *steps = at.end - at.first;
    s->next += *steps;
    return BL_OK;
}
