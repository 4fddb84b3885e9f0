/* Reading a view: opening its sources and plans, and composing blocks of stored sequences.
 *
 * A block of a view is its row of the plan, with its steps looked up piece by piece: piece -> row and steps -> places
 * (store/places.h) -> block and steps of a source. Values of the plan and of places are checked where they are used. */
#include "store/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "store/dataset_file.h"
#include "store/epochs.h"

/* --- opening ------------------------------------------------------------------------------------------------------ */

/* Opens the dataset of a source, and checks that it is the dataset that the view was made of. A path without a dataset
 * is BL_EFAIL, with advice in the message. */
static int view_source_open(const struct bl_manifest *view, const struct bl_view_source *source, const char *dir,
                            struct bl_dataset *dataset, int field_of[BL_FIELDS_MAX], struct bl_error *e)
{
    char *path = bl_path_join(dir, source->path);
    int code = path ? bl_dataset_open(dataset, path, e) : bl_error_memory(e);
    if (code == BL_EUSAGE) {
        struct bl_error why = *e;
        bl_error_clear(e);
        code = bl_error_set(e, BL_EFAIL,
                            "%s: put it back, or make the view again (the same bload view command with its new path)",
                            why.text);
    }
    if (!code)
        code = bl_view_source_compare(source, &dataset->manifest, path, e);
    if (!code && !bl_format_map_fields(&view->format, &dataset->manifest.format, field_of))
        code = bl_error_set(e, BL_EDATA, "its fields are not those of the view");
    if (code)
        bl_error_prefix(e, "%s: the source %s", dir, source->name);
    free(path);
    return code;
}

int bl_view_check_sources(const struct bl_manifest *manifest, const char *dir, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t s = 0; s < manifest->sources && !code; s++) {
        struct bl_dataset dataset = {.shard = -1, .index.fd = -1, .file.fd = -1};
        int field_of[BL_FIELDS_MAX];
        code = view_source_open(manifest, &manifest->source[s], dir, &dataset, field_of, e);
        bl_dataset_close(&dataset);
    }
    if (code && bl_far_failed())
        return code;
    return code ? e->code = BL_EDATA : BL_OK;
}

void bl_view_close_sources(struct bl_dataset *sources, size_t count)
{
    for (size_t s = 0; sources && s < count; s++)
        bl_dataset_close(&sources[s]);
    free(sources);
}

/* Allocates the sources, all closed. */
static int view_make_sources(struct bl_view *view, size_t count, struct bl_error *e)
{
    view->source = calloc(count, sizeof *view->source);
    view->field_of = calloc(count, sizeof *view->field_of);
    view->sources = count;
    for (size_t s = 0; view->source && s < count; s++)
        view->source[s] = (struct bl_dataset){.shard = -1, .index.fd = -1, .file.fd = -1};
    return view->source && view->field_of ? BL_OK : bl_error_memory(e);
}

/* Opens the sources of a view and its places. A dataset is opened as a view of itself: it is the only source, and its
 * index gives the places. */
static int view_open_sources(struct bl_view *view, struct bl_error *e)
{
    struct bl_manifest *m = &view->manifest;
    if (bl_manifest_is_view(m)) {
        BL_TRY(bl_places_open(&view->places, view->dir, m, e));
        BL_TRY(view_make_sources(view, m->sources, e));
        for (size_t s = 0; s < m->sources; s++)
            BL_TRY(view_source_open(m, &m->source[s], view->dir, &view->source[s], view->field_of[s], e));
        return BL_OK;
    }
    BL_TRY(view_make_sources(view, 1, e));
    BL_TRY(bl_dataset_open(view->source, view->dir, e));
    for (int f = 0; f < m->format.fields.count; f++)
        view->field_of[0][f] = f;
    BL_TRY(bl_dataset_sequences(view->source, &view->table, e));
    const int64_t first_row[] = {0, (int64_t)view->table->count};
    m->rows = first_row[1];
    BL_TRY(bl_places_collect(&view->places, &view->source->index, first_row, 1, &view->source->index.own, e));
    return bl_attribute_values_read(&view->values, view->table, &m->format, e);
}

/* Opens and checks the plan of an epoch; 0 is the first plan. Only the plan says which sequences a composed block
 * holds, so that a damaged plan would give wrong blocks without an error: its file is compared with its checksum in the
 * manifest. BL_EUSAGE: the epoch has no plan. On error *index is closed. */
static int view_open_plan(const struct bl_view *view, int64_t epoch, struct bl_index *index, struct bl_error *e)
{
    const struct bl_manifest *m = &view->manifest;
    char name[BL_EPOCHS_NAME_MAX] = BL_INDEX_FILE;
    *index = (struct bl_index){.fd = -1};
    if (epoch && (epoch < 0 || !bl_manifest_find_file(m, bl_epochs_name(epoch, name))))
        return bl_error_set(e, BL_EUSAGE, "%s has no plan of an epoch %" PRId64, view->dir, epoch);
    const struct bl_manifest_file *file = bl_manifest_find_file(m, name);
    int64_t bytes = 0;
    uint64_t checksum = 0;
    char *path = bl_path_join(view->dir, name);
    int code = !path   ? bl_error_memory(e)
               : epoch ? bl_index_open_plan(index, path, e)
                       : bl_index_open(index, view->dir, m->format.blocks, bl_manifest_index_fields(m), e);
    if (!code && epoch && index->blocks != m->format.blocks)
        code = bl_error_set(e, BL_EDATA, "%s has %" PRId64 " blocks, the manifest says %" PRId64, path, index->blocks,
                            m->format.blocks);
    if (!code && !epoch)
        code = bl_index_check_plan(index, m->format.plan_digest, e);
    if (!code)
        code = bl_index_check_own(index, &m->format.fields, e);
    /* The index of a dataset is compared with its checksum by bload verify; its blocks have checksums of their own. */
    const bool is_compared = epoch || bl_manifest_is_view(m);
    if (!code && is_compared)
        code = bl_dataset_file_checksum(path, &bytes, &checksum, e);
    if (!code && is_compared && (!file || file->bytes != bytes || file->checksum != checksum))
        code = bl_error_set(e, BL_EDATA,
                            "%s: its checksum differs from the manifest: the plan is damaged, or another one", path);
    free(path);
    if (code)
        bl_index_close(index);
    return code;
}

int bl_view_set_epoch(struct bl_view *view, int64_t epoch, struct bl_error *e)
{
    struct bl_index index;
    BL_TRY(view_open_plan(view, epoch, &index, e));
    bl_index_close(&view->index);
    view->index = index;
    return BL_OK;
}

int bl_view_open(struct bl_view *view, const char *dir, struct bl_error *e)
{
    *view = (struct bl_view){.index.fd = -1};
    view->dir = strdup(dir);
    int code = view->dir ? bl_manifest_read(&view->manifest, dir, e) : bl_error_memory(e);
    if (!code)
        code = view_open_sources(view, e);
    if (!code)
        code = view_open_plan(view, 0, &view->index, e);
    if (!code)
        code = bl_block_make(&view->block, 1, &view->manifest.format, false, e);
    if (code)
        bl_view_close(view);
    return code;
}

void bl_view_close(struct bl_view *view)
{
    bl_view_close_sources(view->source, view->sources);
    free(view->field_of);
    bl_places_free(&view->places);
    bl_attribute_values_free(&view->values);
    bl_index_close(&view->index);
    bl_manifest_free(&view->manifest);
    bl_block_free(&view->block);
    bl_buffer_free(&view->id);
    free(view->dir);
    *view = (struct bl_view){.index.fd = -1};
}

/* Returns the number of the source that has a row of the view. *first: the first row of this source. */
static size_t view_source_of(const struct bl_view *view, int64_t row, int64_t *first)
{
    const struct bl_manifest *m = &view->manifest;
    *first = 0;
    if (!m->sources)
        return 0;
    const struct bl_view_source *source = bl_view_source_of_row(m->source, m->sources, row);
    *first = source->first_row;
    return (size_t)(source - m->source);
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Reads where the own steps of pieces first to first + n - 1 lie in their block. */
static int view_read_own(struct bl_view *view, int64_t first, int64_t n, struct bl_error *e)
{
    const struct bl_format *format = &view->manifest.format;
    for (int f = 0; f < format->fields.count; f++) {
        int32_t *start = view->block.own[f], last = 0;
        if (!start)
            continue;
        const int k = bl_fields_own_number(&format->fields, f);
        BL_TRY(bl_index_read(&view->index, bl_index_own_start(k), first, n, start, e));
        if (n)
            BL_TRY(bl_index_read(&view->index, bl_index_own_length(k), first + n - 1, 1, &last, e));
        int64_t end = n ? (int64_t)start[n - 1] + last : 0;
        for (int64_t i = n; i <= format->S; i++)
            start[i] = end >= 0 && end <= INT32_MAX ? (int32_t)end : INT32_MAX;
    }
    return BL_OK;
}

/* Reads the tables of block b from the plan and checks them. Failed sequences of a dataset are not marked yet. If the
 * end of the last piece exceeds INT32_MAX, the end is set to INT32_MAX, which contradicts the length of the piece, so
 * that bl_block_tables_are_sound rejects the block. */
static int view_read_block(struct bl_view *view, int64_t b, const struct bl_block **out, struct bl_error *e)
{
    const struct bl_format *format = &view->manifest.format;
    struct bl_block *block = &view->block;
    const struct bl_index_column columns[] = {{BL_INDEX_SEQUENCE, block->sequence},
                                              {BL_INDEX_SOURCE_START, block->source_start},
                                              {BL_INDEX_START, block->cu_seqlens},
                                              {BL_INDEX_LENGTH, block->length}};
    int64_t ptr[2];
    *out = NULL;
    if (b < 0 || b >= format->blocks)
        return bl_error_set(e, BL_EUSAGE, "no block %" PRId64 ": %s has %" PRId64, b, view->dir, format->blocks);
    BL_TRY(bl_index_read(&view->index, BL_INDEX_BLOCK_PTR, b, 2, ptr, e));
    if (ptr[0] < 0 || ptr[0] > ptr[1] || ptr[1] > view->index.pieces || ptr[1] - ptr[0] > format->S)
        return bl_error_set(e, BL_EDATA, "%s: block %" PRId64 " has invalid pieces", view->index.path, b);
    const int64_t n = ptr[1] - ptr[0];
    BL_TRY(bl_index_read_columns(&view->index, columns, 4, ptr[0], n, e));
    int64_t stop = n ? (int64_t)block->cu_seqlens[n - 1] + block->length[n - 1] : 0;
    block->num_sequences = (int32_t)n;
    /* Places that are not used have the values that the tables of shards have there. */
    for (int64_t i = n; i < format->S; i++) {
        block->sequence[i] = -1;
        block->length[i] = 0;
        block->source_start[i] = 0;
    }
    for (int64_t i = n; i <= format->S; i++)
        block->cu_seqlens[i] = stop <= INT32_MAX ? (int32_t)stop : INT32_MAX;
    BL_TRY(view_read_own(view, ptr[0], n, e));
    if (!bl_block_tables_are_sound(block, format))
        return bl_error_set(e, BL_EDATA, "%s: the pieces of block %" PRId64 " overlap or exceed it", view->index.path,
                            b);
    block->index = b;
    *out = block;
    return BL_OK;
}

/* Pieces of sequences that failed while packing are marked as failed, as the tables of the dataset's own shards do. */
int bl_view_tables(struct bl_view *view, int64_t b, const struct bl_block **out, struct bl_error *e)
{
    const struct bl_sequences *table = view->table;
    struct bl_block *block = &view->block;
    BL_TRY(view_read_block(view, b, out, e));
    for (int32_t i = 0; table && i < block->num_sequences; i++) {
        int64_t row = block->sequence[i];
        if (row >= 0 && row < (int64_t)table->count && table->length[row])
            continue;
        block->sequence[i] = -1;
        block->length[i] = 0;
        block->source_start[i] = 0;
    }
    return BL_OK;
}

/* With --overlap the next part of a row may store the step a second time, in front of its own steps. Then the next part
 * is preferred, because it also stores the steps that follow. */
int bl_view_find(struct bl_view *view, int64_t row, int64_t step, int64_t steps, struct bl_view_steps *found,
                 struct bl_error *e)
{
    if (row < 0 || row >= view->manifest.rows || step < 0 || step > INT64_MAX - steps)
        return bl_error_set(e, BL_EDATA, "%s: there is no step %" PRId64 " of a sequence %" PRId64, view->index.path,
                            step, row);
    int64_t first_row, part = bl_places_find(&view->places, row, step);
    if (part < 0)
        return bl_error_set(e, BL_EDATA,
                            "%s/" BL_PLACES_FILE ": step %" PRId64 " of sequence %" PRId64 " is not stored", view->dir,
                            step, row);
    struct bl_dataset *source = &view->source[view_source_of(view, row, &first_row)];
    const int64_t overlap = source->index.overlap;
    struct bl_place place = bl_places_get(&view->places, part);
    if (overlap && part + 1 < bl_places_end(&view->places, row)) {
        const struct bl_place next = bl_places_get(&view->places, part + 1);
        if (next.length > 0 && next.source_start > step && next.source_start - step <= overlap &&
            next.start >= next.source_start - step)
            place = next;
    }
    int64_t first = place.start + (step - place.source_start), left = place.length - (step - place.source_start);
    *found = (struct bl_view_steps){
        .source = source, .block = place.block, .first = first, .end = first + (left < steps ? left : steps)};
    return BL_OK;
}

/* A function that copies steps first to end - 1 of block b of field f: bl_dataset_read_steps or bl_dataset_copy_steps.
 */
typedef int steps_function(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end, void *out,
                           struct bl_error *e);

/* Copies `steps` steps of a row, from step `step` on, by the function `read`. The steps may be stored in several parts.
 */
static int view_read_steps(struct bl_view *view, int64_t row, int64_t step, int64_t steps, int f, steps_function *read,
                           void *out, struct bl_error *e)
{
    size_t bytes = bl_field_step_bytes(&view->manifest.format.fields.field[f]);
    uint8_t *to = out;
    while (steps > 0) {
        struct bl_view_steps at;
        BL_TRY(bl_view_find(view, row, step, steps, &at, e));
        BL_TRY(read(at.source, at.block, bl_view_field_of(view, at.source, f), at.first, at.end, to, e));
        to += (size_t)(at.end - at.first) * bytes;
        step += at.end - at.first;
        steps -= at.end - at.first;
    }
    return BL_OK;
}

int bl_view_copy_steps(struct bl_view *view, int64_t row, int64_t step, int64_t steps, int f, void *out,
                       struct bl_error *e)
{
    return view_read_steps(view, row, step, steps, f, bl_dataset_copy_steps, out, e);
}

int bl_view_copy_own(struct bl_view *view, int64_t row, int f, int64_t steps, void *out, struct bl_error *e)
{
    int64_t first_row;
    if (!steps)
        return BL_OK;
    const struct bl_field *field = &view->manifest.format.fields.field[f];
    if (row < 0 || row >= view->manifest.rows)
        return bl_error_set(e, BL_EDATA, "%s: there is no sequence %" PRId64, view->index.path, row);
    const struct bl_own_place place =
        bl_places_own(&view->places, row, bl_fields_own_number(&view->manifest.format.fields, f));
    struct bl_dataset *source = &view->source[view_source_of(view, row, &first_row)];
    const int its = bl_view_field_of(view, source, f);
    if (place.length != steps || its < 0)
        return bl_error_set(e, BL_EDATA,
                            "%s/" BL_PLACES_FILE ": sequence %" PRId64 " has %" PRId32
                            " stored steps of %s, the plan says %" PRId64,
                            view->dir, row, place.length, field->name, steps);
    return bl_dataset_read_steps(source, place.block, its, place.start, (int64_t)place.start + steps, out, e);
}

/* Copies a block of own field f: the own steps of each piece, then padding. */
static int view_read_own_block(struct bl_view *view, const struct bl_block *block, int f, void *out, struct bl_error *e)
{
    const struct bl_field *field = &view->manifest.format.fields.field[f];
    const int32_t *start = block->own[f];
    int code = BL_OK;
    for (int i = 0; !code && i < block->num_sequences; i++) {
        code = bl_view_copy_own(view, block->sequence[i], f, start[i + 1] - start[i],
                                (uint8_t *)out + (size_t)start[i] * bl_field_step_bytes(field), e);
        if (code == BL_EUSAGE) /* the place names a block or steps that do not exist: damage, not a wrong request */
            code = e->code = BL_EDATA;
    }
    if (!code)
        bl_field_pad_between(field, out, (size_t)start[view->manifest.format.S], (size_t)field->capacity, false);
    return code;
}

int bl_view_read(struct bl_view *view, int64_t b, int f, void *out, struct bl_error *e)
{
    const struct bl_format *format = &view->manifest.format;
    const struct bl_block *block;
    size_t at = 0;
    if (f < 0 || f >= format->fields.count)
        return bl_error_set(e, BL_EUSAGE, "no field %d: %s has %d", f, view->dir, format->fields.count);
    const struct bl_field *field = &format->fields.field[f];
    int code = view_read_block(view, b, &block, e);
    if (!code && field->own)
        return view_read_own_block(view, block, f, out, e);
    for (int i = 0; !code && i < block->num_sequences; i++) {
        size_t start = (size_t)block->cu_seqlens[i];
        bl_field_pad_between(field, out, at, start, format->pad_repeat);
        code = view_read_steps(view, block->sequence[i], block->source_start[i], block->length[i], f,
                               bl_dataset_read_steps, (uint8_t *)out + start * bl_field_step_bytes(field), e);
        if (code == BL_EUSAGE) /* the place names a block or steps that do not exist: damage, not a wrong request */
            code = e->code = BL_EDATA;
        at = start + (size_t)block->length[i];
    }
    if (!code)
        bl_field_pad_between(field, out, at, (size_t)format->T, format->pad_repeat);
    return code;
}

int bl_view_attribute(struct bl_view *view, int64_t b, int a, void *out, struct bl_error *e)
{
    const struct bl_format *format = &view->manifest.format;
    const struct bl_block *block;
    int64_t *value = out;
    if (a < 0 || a >= format->attributes)
        return bl_error_set(e, BL_EUSAGE, "no attribute %d: %s has %d", a, view->dir, format->attributes);
    int code = bl_view_tables(view, b, &block, e);
    for (int64_t i = 0; !code && i < format->S; i++) {
        int64_t row = block->sequence[i];
        if (row >= view->places.rows)
            return bl_error_set(e, BL_EDATA, "%s: there is no sequence %" PRId64, view->index.path, row);
        value[i] = row < 0              ? 0
                   : view->values.count ? view->values.value[row * view->values.count + a]
                                        : view->places.attribute[a][row];
    }
    return code;
}

int bl_view_row(struct bl_view *view, int64_t row, const struct bl_row **out, struct bl_error *e)
{
    const struct bl_manifest *m = &view->manifest;
    const struct bl_sequences *table;
    if (row < 0 || row >= m->rows)
        return bl_error_set(e, BL_EUSAGE, "no sequence %" PRId64 ": %s has %" PRId64, row, view->dir, m->rows);
    int64_t first_row, low = 0, high = view->places.renamed_count;
    size_t s = view_source_of(view, row, &first_row);
    struct bl_dataset *dataset = &view->source[s];
    BL_TRY(bl_dataset_sequences(dataset, &table, e));
    if (m->sources && (int64_t)table->count != m->source[s].rows)
        return bl_error_set(e, BL_EDATA, "%s has %zu rows, the view says %" PRId64, table->file[0].path, table->count,
                            m->source[s].rows);
    BL_TRY(bl_row_reader_read(table, (size_t)(row - first_row), &dataset->row, e));
    *out = &dataset->row.row;
    /* Find the first of the renamed rows, which are sorted, that is not less than this row. */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (view->places.renamed[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == view->places.renamed_count || view->places.renamed[low] != row)
        return BL_OK;
    bl_buffer_clear(&view->id);
    bl_buffer_printf(&view->id, "%s/%s", m->source[s].name, dataset->row.row.id);
    dataset->row.row.id = view->id.data;
    return bl_buffer_check(&view->id, e);
}
