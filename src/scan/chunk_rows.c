#include "scan/chunk_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "store/row_reader.h"

/* Of one chunk, at most this many faults and empty sequences are reported, and a damaged file besides; the others are
 * only counted. */
#define FAULTS_MAX 1000
#define EMPTY_FAULTS_MAX 10

void bl_chunk_rows_init(struct bl_chunk_rows *r, const struct bl_row_rules *rules, const struct bl_chunk_files *files)
{
    *r = (struct bl_chunk_rows){.rules = rules, .files = files};
    bl_spill_init(&r->lines, rules->temporary);
    bl_spill_init(&r->claims, rules->temporary);
}

void bl_chunk_rows_free(struct bl_chunk_rows *r)
{
    for (size_t f = 0; f < r->faults; f++) {
        free(r->fault[f].id);
        free(r->fault[f].path);
        free(r->fault[f].reason);
    }
    free(r->fault);
    free(r->form);
    free(r->reason);
    free(r->extra);
    bl_spill_free(&r->lines);
    bl_spill_free(&r->claims);
    bl_buffer_free(&r->id);
    bl_buffer_free(&r->joined);
    bl_buffer_free(&r->extra_text);
    bl_buffer_free(&r->text);
}

static int chunk_rows_add_fault(struct bl_chunk_rows *r, const struct bl_row *row, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(r->fault, r->capacity, r->faults + 1, e);
    if (code)
        return code;
    struct bl_chunk_fault *fault = &r->fault[r->faults++];
    /* A list's lines name paths of their own: reported under the list, they share its limit. */
    const char *path = r->files->chunk.list ? r->files->file->path : row->path;
    *fault = (struct bl_chunk_fault){row->status, row->length, strdup(row->id), strdup(path), strdup(row->reason)};
    return fault->id && fault->path && fault->reason ? BL_OK : bl_error_memory(e);
}

static int chunk_rows_count(struct bl_chunk_rows *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_scan_progress *found = &r->found;
    bool ok = row->status == BL_ROW_OK, damaged = ok && *row->reason, empty = bl_row_is_empty(row);
    bl_scan_progress_count(found, r->rules->kind, row);
    if (row->status == BL_ROW_DROPPED || (ok && !damaged))
        return BL_OK;
    if (empty ? found->empty <= EMPTY_FAULTS_MAX : r->faults < FAULTS_MAX + (size_t)bl_row_is_damaged(row))
        return chunk_rows_add_fault(r, row, e);
    found->suppressed += !empty;
    return BL_OK;
}

static int chunk_rows_add(struct bl_chunk_rows *r, const struct bl_row *row, struct bl_error *e)
{
    bl_row_format(row, &r->lines.tail);
    int code = chunk_rows_count(r, row, e);
    if (code)
        return code;
    return bl_spill_flush(&r->lines, e);
}

static int chunk_rows_hold(struct bl_chunk_rows *r, const struct bl_row *row, struct bl_error *e)
{
    r->held = *row;
    r->form = strdup(row->form);
    r->reason = strdup(row->reason);
    r->extra = strdup(row->extra ? row->extra : "");
    return r->form && r->reason && r->extra ? BL_OK : bl_error_memory(e);
}

int bl_chunk_rows_release(struct bl_chunk_rows *r, struct bl_forms *forms, struct bl_error *e)
{
    struct bl_buffer reason = {0};
    struct bl_row row = r->held;
    int code = BL_OK;
    if (!r->form)
        return BL_OK;
    row.reason = r->reason;
    row.extra = r->extra;
    if (forms)
        code = bl_forms_check(forms, r->form, &row, &reason, e);
    if (!code)
        code = chunk_rows_add(r, &row, e);
    bl_buffer_free(&reason);
    return code;
}

/* Attributes follow the row's other columns. A row without any is skipped. */
static int chunk_rows_join(struct bl_chunk_rows *r, struct bl_row *row, struct bl_error *e)
{
    struct bl_attributes *attributes = r->rules->attributes;
    const char *values;
    int64_t line;
    int code = bl_attributes_claim(attributes, row->id, &values, &line, e);
    if (code)
        return code;
    if (values && r->rules->keeps_claims) {
        bl_buffer_int(&r->claims.tail, line);
        bl_buffer_byte(&r->claims.tail, '\n');
        code = bl_spill_flush(&r->claims, e);
        if (code)
            return code;
    }
    bl_buffer_clear(&r->joined);
    bl_buffer_text(&r->joined, row->extra);
    if (values)
        bl_buffer_text(&r->joined, values);
    for (int c = 0; !values && c < bl_attributes_count(attributes); c++)
        bl_buffer_byte(&r->joined, '\t');
    code = bl_buffer_check(&r->joined, e);
    if (code)
        return code;
    row->extra = r->joined.data;
    return values ? BL_OK : bl_attributes_missing(attributes, row, &r->text, e);
}

/* "FILE#OFFSET", where a file holds many sequences. */
static int chunk_rows_set_id(struct bl_chunk_rows *r, const struct bl_file *file, struct bl_row *row,
                             struct bl_error *e)
{
    if (row->id && row->id != file->id)
        return BL_OK;
    row->id = file->id;
    if (row->offset < 0)
        return BL_OK;
    bl_buffer_clear(&r->id);
    bl_buffer_text(&r->id, file->id);
    bl_buffer_byte(&r->id, '#');
    bl_buffer_int(&r->id, row->offset);
    row->id = r->id.data;
    return bl_buffer_check(&r->id, e);
}

/* Values that the row lacks, such as those of clips where it is all of a file, are empty. */
static int chunk_rows_fill_extra(struct bl_chunk_rows *r, struct bl_row *row, struct bl_error *e)
{
    const char *missing = r->rules->missing.data;
    size_t tabs = 0;
    row->extra = row->extra ? row->extra : "";
    for (const char *at = row->extra; *at; at++)
        tabs += *at == '\t';
    if (tabs >= r->rules->missing.size)
        return BL_OK;
    bl_buffer_clear(&r->extra_text);
    bl_buffer_text(&r->extra_text, row->extra);
    bl_buffer_text(&r->extra_text, missing + tabs);
    row->extra = r->extra_text.data;
    return bl_buffer_check(&r->extra_text, e);
}

int bl_chunk_rows_emit(void *sink, int input, const struct bl_row *given, struct bl_error *e)
{
    struct bl_chunk_rows *r = sink;
    const struct bl_row_rules *rules = r->rules;
    const struct bl_file *file = &r->files->file[input];
    struct bl_row row = *given;
    int code = chunk_rows_set_id(r, file, &row, e);
    if (code)
        return code;
    row.kind = rules->kind->name;
    if (!row.path) {
        row.path = file->path;
        row.bytes = r->files->input[input].bytes;
        row.content = row.content ? row.content : r->files->input[input].content;
    }
    row.sampling = rules->sampling.data;
    row.columns = rules->columns.data;
    if (!row.reason)
        row.reason = "";
    code = chunk_rows_fill_extra(r, &row, e);
    if (code)
        return code;
    if (rules->exclusion && bl_exclusion_has(rules->exclusion, row.id, row.id == file->id ? NULL : file->id))
        bl_exclusion_apply(&row);
    if (rules->attributes)
        code = chunk_rows_join(r, &row, e);
    if (code)
        return code;
    return row.form ? chunk_rows_hold(r, &row, e) : chunk_rows_add(r, &row, e);
}

int bl_chunk_rows_report(const struct bl_chunk_rows *r, bl_scan_fault *report, void *sink, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t f = 0; f < r->faults && !code; f++) {
        const struct bl_chunk_fault *fault = &r->fault[f];
        struct bl_row row = {.id = fault->id,
                             .length = fault->length,
                             .path = fault->path,
                             .kind = r->rules->kind->name,
                             .status = fault->status,
                             .reason = fault->reason};
        code = report(sink, &row, e);
    }
    return code;
}
