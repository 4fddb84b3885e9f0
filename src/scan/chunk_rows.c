/* Completes the rows that a kind finds in a chunk, and keeps them as lines of the table until it is their turn.
 *
 * A row passes through the steps in this order: id, path, columns that the kind did not set, exclusion, attributes, the
 * columns that follow from all others. The order matters: exclusion and attributes look the id up, and an excluded row
 * is joined like any other. */
#include "scan/chunk_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/io.h"
#include "base/output.h"
#include "store/row_reader.h"

/* --- formats of steps --------------------------------------------------------------------------------------------- */

/* Returns the format of the first row for a field whose name has size bytes, or NULL: there is none yet. */
static const struct bl_step_format *formats_find(const struct bl_step_formats *forms, const char *field, size_t size)
{
    for (size_t i = 0; i < forms->count; i++) {
        if (strlen(forms->first[i].field) == size && memcmp(forms->first[i].field, field, size) == 0)
            return &forms->first[i];
    }
    return NULL;
}

/* Takes the format of a field as the one of the first row. */
static int formats_add(struct bl_step_formats *forms, const char *field, size_t field_size, const char *form,
                       size_t form_size, const char *id, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(forms->first, forms->capacity, forms->count + 1, e));
    struct bl_step_format *first = &forms->first[forms->count++];
    *first = (struct bl_step_format){strndup(field, field_size), strndup(form, form_size), strdup(id)};
    return first->field && first->form && first->id ? BL_OK : bl_error_memory(e);
}

/* Sets the next format of a row from *at, and advances *at: first the one of its steps, which may be empty, then
 * "NAME FORM" of own fields, each behind a tab. False: the end. */
static bool form_next(const char **at, const char **field, size_t *field_size, const char **form, size_t *form_size)
{
    bool own = **at == '\t';
    if (!**at)
        return false;
    *field = *at + own;
    *field_size = own ? strcspn(*field, " ") : 0;
    *form = *field + *field_size + (own && (*field)[*field_size]);
    *form_size = strcspn(*form, "\t");
    *at = *form + *form_size;
    return true;
}

/* Compares the formats of a row's steps with those of the first row. The first row decides, so that the chunks must
 * come in the order of the inputs. A row with another format is skipped, and decides nothing; its reason lies in text,
 * which must live as long as the row. */
int bl_step_formats_check(struct bl_step_formats *forms, const char *row_form, struct bl_row *row,
                          struct bl_buffer *text, struct bl_error *e)
{
    const char *field, *form;
    size_t field_size, form_size;
    for (const char *at = row_form; form_next(&at, &field, &field_size, &form, &form_size);) {
        const struct bl_step_format *first = formats_find(forms, field, field_size);
        /* The texts of formats are equal if and only if the steps have the same type and shape. */
        if (!first || (strlen(first->form) == form_size && memcmp(first->form, form, form_size) == 0))
            continue;
        bl_buffer_clear(text);
        bl_buffer_printf(text, "%.*s%sits steps are %.*s, those of the first (%s) %s", (int)field_size, field,
                         field_size ? ": " : "", (int)form_size, form, first->id, first->form);
        row->status = BL_ROW_SKIPPED;
        row->length = 0;
        row->reason = text->data;
        return bl_buffer_check(text, e);
    }
    for (const char *at = row_form; form_next(&at, &field, &field_size, &form, &form_size);) {
        if (!formats_find(forms, field, field_size))
            BL_TRY(formats_add(forms, field, field_size, form, form_size, row->id, e));
    }
    return BL_OK;
}

void bl_step_formats_free(struct bl_step_formats *forms)
{
    for (size_t i = 0; i < forms->count; i++) {
        free(forms->first[i].field);
        free(forms->first[i].form);
        free(forms->first[i].id);
    }
    free(forms->first);
    *forms = (struct bl_step_formats){0};
}

/* --- spilling rows to a file -------------------------------------------------------------------------------------- */

#define IN_MEMORY ((size_t)1 << 20)
#define WHAT "rows that wait to be written"

void bl_spill_init(struct bl_spill *spill, const char *dir)
{
    *spill = (struct bl_spill){.dir = dir, .fd = -1};
}

/* Writes the buffered lines to an unnamed file once they exceed 1 MiB. Each part that is written gets a checksum, as
 * the file may lie on a disk that fails; a chunk of small rows never leaves memory. */
int bl_spill_flush(struct bl_spill *spill, struct bl_error *e)
{
    int code = bl_buffer_check(&spill->tail, e);
    if (code || spill->tail.size < IN_MEMORY)
        return code;
    if (spill->fd < 0)
        spill->fd = bl_temporary_open(spill->dir, e);
    if (spill->fd < 0)
        return spill->fd;
    BL_TRY(BL_ARRAY_RESERVE(spill->part, spill->parts_capacity, spill->parts + 1, e));
    BL_TRY(bl_io_write(spill->fd, spill->tail.data, spill->tail.size, WHAT, e));
    /* The checksum is computed from memory, before the disk has the bytes. */
    spill->part[spill->parts++] =
        (struct bl_spill_part){spill->tail.size, bl_checksum(spill->tail.data, spill->tail.size)};
    spill->written += (int64_t)spill->tail.size;
    bl_buffer_clear(&spill->tail);
    return BL_OK;
}

int64_t bl_spill_size(const struct bl_spill *spill)
{
    return spill->written + (int64_t)spill->tail.size;
}

/* Passes all bytes to `write` in order, part by part, and compares the checksum of each part before it is used. */
int bl_spill_drain(struct bl_spill *spill, int (*write)(void *sink, const void *data, size_t size, struct bl_error *e),
                   void *sink, struct bl_error *e)
{
    int64_t at = 0;
    for (size_t i = 0; i < spill->parts; i++) {
        const struct bl_spill_part *part = &spill->part[i];
        /* A part is at least 1 MiB and is read as a whole: its checksum must be right before the first row is used. */
        char *data = malloc(part->bytes);
        if (!data)
            return bl_error_memory(e);
        int code = bl_io_pread(spill->fd, data, part->bytes, at, WHAT, e);
        if (!code && bl_checksum(data, part->bytes) != part->checksum)
            code = bl_error_set(e, BL_EFAIL, WHAT ": what was read is not what was written: the disk or memory fails");
        if (!code)
            code = write(sink, data, part->bytes, e);
        free(data);
        if (code)
            return code;
        at += (int64_t)part->bytes;
    }
    if (!spill->tail.size)
        return BL_OK;
    return write(sink, spill->tail.data, spill->tail.size, e);
}

void bl_spill_free(struct bl_spill *spill)
{
    if (spill->fd >= 0)
        close(spill->fd);
    free(spill->part);
    bl_buffer_free(&spill->tail);
    bl_spill_init(spill, NULL);
}

/* --- rows of a chunk ---------------------------------------------------------------------------------------------- */

/* A chunk reports at most this many faults and empty sequences, and a damaged file besides; all others are only
 * counted. A folder of a million unusable files must not fill the memory with reasons. */
#define FAULTS_MAX 1000
#define EMPTY_FAULTS_MAX 10

void bl_chunk_rows_init(struct bl_chunk_rows *r, const struct bl_row_rules *rules, const struct bl_chunk_files *files)
{
    *r = (struct bl_chunk_rows){.rules = rules, .files = files};
    bl_spill_init(&r->lines, rules->temporary);
    bl_spill_init(&r->claims, rules->temporary);
}

/* The rows that were held own copies of their texts; the strings of r->held point into them. */
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
    bl_buffer_free(&r->completion.extra);
    bl_buffer_free(&r->completion.reason);
    bl_buffer_free(&r->completion.form);
}

/* Appends the line of a row, counts it, and keeps a fault for the user: a row that is skipped, failed, or damaged
 * and used nevertheless. A dropped row was left out by request and is no fault. */
static int chunk_rows_add(struct bl_chunk_rows *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_scan_progress *found = &r->found;
    bool empty = bl_row_is_empty(row);
    bl_row_format(row, &r->lines.tail);
    bl_scan_progress_count(found, r->rules->kind, row);
    if (row->status == BL_ROW_DROPPED || (row->status == BL_ROW_OK && !*row->reason))
        return bl_spill_flush(&r->lines, e);
    /* One more fault is admitted for a damaged file, whose row may be the last one of the chunk. */
    if (empty ? found->empty <= EMPTY_FAULTS_MAX : r->faults < FAULTS_MAX + (size_t)bl_row_is_damaged(row)) {
        BL_TRY(BL_ARRAY_RESERVE(r->fault, r->capacity, r->faults + 1, e));
        struct bl_chunk_fault *fault = &r->fault[r->faults++];
        /* A list's lines name paths of their own: reported under the list, they share its limit. */
        const char *path = r->files->chunk.list ? r->files->file->path : row->path;
        *fault = (struct bl_chunk_fault){row->status, row->length, strdup(row->id), strdup(path), strdup(row->reason)};
        if (!fault->id || !fault->path || !fault->reason)
            return bl_error_memory(e);
    } else {
        found->suppressed += !empty;
    }
    return bl_spill_flush(&r->lines, e);
}

/* Completes the row that was held, now that all earlier chunks are written and forms has the format of the first
 * row. The function does nothing if no row is held. */
int bl_chunk_rows_release(struct bl_chunk_rows *r, struct bl_step_formats *forms, struct bl_error *e)
{
    struct bl_buffer reason = {0};
    struct bl_row row = r->held;
    int code = BL_OK;
    if (!r->form)
        return BL_OK;
    row.reason = r->reason;
    row.extra = r->extra;
    if (forms)
        code = bl_step_formats_check(forms, r->form, &row, &reason, e);
    if (!code)
        code = chunk_rows_add(r, &row, e);
    bl_buffer_free(&reason);
    return code;
}

/* Appends the attributes of the row's id to its other columns. A row without attributes is skipped and gets empty
 * values, so that each line of the table has all columns. */
static int chunk_rows_join(struct bl_chunk_rows *r, struct bl_row *row, struct bl_error *e)
{
    struct bl_attributes *attributes = r->rules->attributes;
    const char *values;
    int64_t line;
    BL_TRY(bl_attributes_claim(attributes, row->id, &values, &line, e));
    if (values && r->rules->keeps_claims) {
        /* The merge of the parts needs the claimed lines, to find a row of attributes that two tasks claimed. */
        bl_buffer_int(&r->claims.tail, line);
        bl_buffer_byte(&r->claims.tail, '\n');
        BL_TRY(bl_spill_flush(&r->claims, e));
    }
    bl_buffer_clear(&r->joined);
    bl_buffer_text(&r->joined, row->extra);
    if (values)
        bl_buffer_text(&r->joined, values);
    /* The values of all columns are empty: a tab each. */
    for (int c = 0; !values && c < bl_attributes_count(attributes); c++)
        bl_buffer_byte(&r->joined, '\t');
    BL_TRY(bl_buffer_check(&r->joined, e));
    row->extra = r->joined.data;
    return values ? BL_OK : bl_attributes_missing(attributes, row, &r->text, e);
}

/* Appends empty values for the columns that the kind did not set, such as those of clips where the row is its whole
 * file. rules->missing is as many tabs as there are columns. */
static int chunk_rows_fill_extra(struct bl_chunk_rows *r, struct bl_row *row, struct bl_error *e)
{
    const char *missing = r->rules->missing.data;
    size_t tabs = 0;
    row->extra = row->extra ? row->extra : "";
    /* Each value stands after a tab, so that tabs count the columns. */
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

/* Takes a row from the kind (a callback). The row's texts must live until the call returns. input: the number of the
 * file within the chunk. */
int bl_chunk_rows_emit(void *sink, int input, const struct bl_row *given, struct bl_error *e)
{
    struct bl_chunk_rows *r = sink;
    const struct bl_row_rules *rules = r->rules;
    const struct bl_file *file = &r->files->file[input];
    struct bl_row row = *given;
    if (!row.id || row.id == file->id) {
        row.id = file->id;
        if (row.offset >= 0) { /* the file holds many sequences: "FILE#OFFSET" */
            bl_buffer_clear(&r->id);
            bl_buffer_printf(&r->id, "%s#%" PRId64, file->id, row.offset);
            BL_TRY(bl_buffer_check(&r->id, e));
            row.id = r->id.data;
        }
    }
    row.kind = rules->kind->name;
    /* The kind may set the path of a clip, which lies in another file than the list. */
    if (!row.path) {
        row.path = file->path;
        row.bytes = r->files->input[input].bytes;
        row.content = row.content ? row.content : r->files->input[input].content;
    }
    row.sampling = rules->sampling.data;
    row.columns = rules->columns.data;
    if (!row.reason)
        row.reason = "";
    BL_TRY(chunk_rows_fill_extra(r, &row, e));
    if (rules->exclusion && bl_exclusion_has(rules->exclusion, row.id, row.id == file->id ? NULL : file->id))
        bl_exclusion_apply(&row);
    if (rules->attributes)
        BL_TRY(chunk_rows_join(r, &row, e));
    if (rules->kind->scan->complete)
        BL_TRY(rules->kind->scan->complete(rules->config, r->env, r->counter, &r->files->input[input], &row,
                                           &r->completion, e));
    /* Only one row of a chunk can wait. Where chunks have several, whoever reads them finds other formats. */
    if (!row.form || rules->kind->scan->chunk_bytes || r->files->chunk.list)
        return chunk_rows_add(r, &row, e);
    /* The format is compared when all earlier chunks are written, so the row keeps its own texts until then. */
    r->held = row;
    r->form = strdup(row.form);
    r->reason = strdup(row.reason);
    /* The row's texts end with this call, so that the chunk keeps copies. */
    r->extra = strdup(row.extra);
    return r->form && r->reason && r->extra ? BL_OK : bl_error_memory(e);
}

/* Passes the faults to the caller in order. Each row that is reported has only the members that messages need. */
int bl_chunk_rows_report(const struct bl_chunk_rows *r, bl_scan_fault *report, void *sink, struct bl_error *e)
{
    for (size_t f = 0; f < r->faults; f++) {
        const struct bl_chunk_fault *fault = &r->fault[f];
        struct bl_row row = {.id = fault->id,
                             .length = fault->length,
                             .path = fault->path,
                             .kind = r->rules->kind->name,
                             .status = fault->status,
                             .reason = fault->reason};
        BL_TRY(report(sink, &row, e));
    }
    return BL_OK;
}
