#include "scan/chunk_rows.h"

#include <stdlib.h>
#include <string.h>

#include "kind/input_stat.h"
#include "store/row_reader.h"

#define BL_BATCH_MAX 16 /* chunks */

/* --- forms of steps ----------------------------------------------------------------------------------------------- */

int bl_forms_check(struct bl_forms *forms, const char *form, struct bl_row *row, struct bl_buffer *text,
                   struct bl_error *e)
{
    if (!forms->form) {
        forms->form = strdup(form);
        forms->id = strdup(row->id);
        if (!forms->form || !forms->id)
            return bl_error_memory(e);
    }
    if (strcmp(forms->form, form) == 0)
        return BL_OK;
    bl_buffer_clear(text);
    bl_buffer_printf(text, "its steps are %s, those of the first (%s) %s", form, forms->id, forms->form);
    row->status = BL_ROW_SKIPPED;
    row->length = 0;
    row->reason = text->data;
    return bl_buffer_check(text, e);
}

void bl_forms_free(struct bl_forms *forms)
{
    free(forms->form);
    free(forms->id);
    *forms = (struct bl_forms){0};
}

/* --- rows of a chunk ---------------------------------------------------------------------------------------------- */

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

/* A bl_row_emit; sink: the rows. */
static int bl_chunk_rows_emit(void *sink, int input, const struct bl_row *given, struct bl_error *e)
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

/* --- batches of chunks -------------------------------------------------------------------------------------------- */

#define BATCHES_PER_WORKER 32 /* at least: the last ones must not keep a worker for long when the others have ended */

struct bl_batch *bl_batch_make(int capacity)
{
    struct bl_batch *batch = NULL;
    return calloc(1, sizeof *batch + (size_t)capacity * sizeof *batch->chunk);
}

void bl_batch_drop_last(struct bl_batch *batch)
{
    struct bl_batch_chunk *last = &batch->chunk[--batch->chunks];
    bl_chunk_rows_free(&last->rows);
    bl_chunk_files_free(&last->files);
}

void bl_batch_free(struct bl_batch *batch)
{
    while (batch && batch->chunks)
        bl_batch_drop_last(batch);
    free(batch);
}

/* Chunks of several files are large enough, and so are those of lists. */
int bl_batch_capacity(const struct bl_scan *scan)
{
    size_t each = scan->files->count / (size_t)BATCHES_PER_WORKER / (size_t)(scan->workers > 1 ? scan->workers : 1);
    if (scan->tasks)
        each /= (size_t)scan->tasks;
    if (each < 1 || scan->kind->scan->chunk_bytes || bl_files_have_list(scan->files, scan->kind))
        return 1;
    return each < BL_BATCH_MAX ? (int)each : BL_BATCH_MAX;
}

/* --- counting --------------------------------------------------------------------------------------------------- */

/* Chunks that the kind counts at once: if there are several, each is one file, with one row. */
struct batch_run {
    struct bl_batch_chunk *chunk[BL_BATCH_MAX];
    int chunks;
    int rows; /* what keeps the run from its end is due to the chunk after so many */
    struct bl_input input[BL_BATCH_MAX];
    struct bl_meter meter;
    long long milliseconds; /* that counting took */
};

static int batch_chunk_emit(struct bl_batch_chunk *c, int input, const struct bl_row *row, struct bl_error *e)
{
    return c->files.chunk.again ? BL_OK : bl_chunk_rows_emit(&c->rows, input, row, e);
}

static int batch_run_emit(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    struct batch_run *run = sink;
    if (run->chunks == 1)
        return batch_chunk_emit(run->chunk[0], input, row, e);
    run->rows++;
    return batch_chunk_emit(run->chunk[input], 0, row, e);
}

/* Whether the kind has to count the chunk. Otherwise its row exists already: the file is unusable, or it holds one
 * sequence, which is excluded. */
static int batch_chunk_check(struct bl_batch_chunk *c, const struct bl_scan *scan, bool *usable, struct bl_error *e)
{
    struct bl_row row = {.stream = -1, .offset = -1};
    *usable = true;
    if (!c->files.is_checked) {
        int code = bl_input_stat_content(scan->kind, c->files.input, &row.reason, e);
        if (code)
            return code;
        *usable = !row.reason;
        row.status = *usable ? BL_ROW_OK : BL_ROW_SKIPPED;
    }
    if (*usable && scan->exclusion && !scan->kind->scan->chunk_bytes && !c->files.chunk.list)
        *usable = !bl_exclusion_has(scan->exclusion, c->files.file->id, NULL);
    return *usable ? BL_OK : batch_chunk_emit(c, 0, &row, e);
}

/* Sets what the run weighs: its share of a file, or its files. The lines of a list may name any files: they count when
 * they are done. */
static void batch_run_set_meter(struct batch_run *run, struct bl_chunk *chunk, struct bl_weights *weights)
{
    int64_t bytes = 0, opens = chunk->begin ? 0 : chunk->inputs;
    for (int i = 0; i < chunk->inputs; i++)
        bytes += chunk->input[i].bytes;
    int64_t end = chunk->end < bytes ? chunk->end : bytes;
    run->meter.whole = end - chunk->begin;
    run->meter.weight = bl_weights_of(weights, run->meter.whole, opens);
    if (opens)
        bl_weights_begin(weights, bl_weights_of(weights, bytes, opens), opens);
    chunk->meter = chunk->list ? NULL : &run->meter;
    if (run->meter.item && !chunk->list) {
        atomic_store(&run->meter.item->since, bl_meter_clock());
        atomic_store(&run->meter.item->name, run->chunk[0]->files.file->path);
    }
}

static int batch_run_count(struct batch_run *run, const struct bl_scan *scan, const struct bl_kind_env *env,
                           struct bl_counter *counter, struct bl_weights *weights, struct bl_error *e)
{
    struct bl_chunk *first = &run->chunk[0]->files.chunk, chunk = *first;
    for (int i = 0; i < run->chunks; i++) {
        run->chunk[i]->counted = true;
        run->input[i] = *run->chunk[i]->files.input;
    }
    if (run->chunks > 1) {
        chunk.input = run->input;
        chunk.inputs = run->chunks;
    }
    batch_run_set_meter(run, &chunk, weights);
    long long begun = bl_meter_clock();
    int code = scan->kind->scan->count(scan->config, env, counter, &chunk, batch_run_emit, run, e);
    run->milliseconds = bl_meter_clock() - begun;
    first->receipt = chunk.receipt;
    first->drained = chunk.drained;
    for (int i = 0; i < chunk.inputs && !code; i++) {
        code = bl_input_recheck(scan->kind, &chunk.input[i], e);
        run->rows = code ? i : run->rows;
    }
    bl_meter_end(&run->meter);
    return code;
}

/* Files that are not counted are finished. */
static void batch_pass_over(const struct bl_batch_chunk *c, struct bl_meter *meter, struct bl_weights *weights)
{
    const struct bl_chunk *chunk = &c->files.chunk;
    int64_t weight = bl_weights_of(weights, 0, chunk->begin ? 0 : chunk->inputs);
    bl_weights_begin(weights, weight, chunk->begin ? 0 : chunk->inputs);
    atomic_fetch_add_explicit(meter->sum, weight, memory_order_relaxed);
}

/* Takes up chunks, from `first` on, that are to be counted at once. *next: what follows them. */
static int batch_run_fill(struct batch_run *run, struct bl_batch *b, const struct bl_scan *scan, int *next,
                          struct bl_weights *weights, struct bl_error *e)
{
    int most = scan->kind->scan->inputs_max > 1 ? scan->kind->scan->inputs_max : 1;
    while (*next < b->chunks && run->chunks < most) {
        bool usable;
        int code = batch_chunk_check(&b->chunk[*next], scan, &usable, e);
        if (code)
            return code;
        if (usable)
            run->chunk[run->chunks++] = &b->chunk[*next];
        else
            batch_pass_over(&b->chunk[*next], &run->meter, weights);
        ++*next;
    }
    return BL_OK;
}

static void batch_note_slowest(struct bl_batch *b, const struct batch_run *run)
{
    double seconds = (double)run->milliseconds / 1000;
    if (run->chunks != 1 || run->chunk[0]->files.chunk.inputs != 1 || seconds <= b->slowest_seconds)
        return;
    b->slowest = run->chunk[0]->files.file->path;
    b->slowest_seconds = seconds;
}

static int batch_count_run(struct bl_batch *b, const struct bl_scan *scan, const struct bl_kind_env *env,
                           struct bl_counter *counter, const struct bl_meter *meter, struct bl_weights *weights)
{
    struct batch_run run = {.meter = *meter};
    struct bl_error unchecked = {0};
    int next = b->done;
    bl_error_memory_watch();
    int checked = batch_run_fill(&run, b, scan, &next, weights, &unchecked);
    int code = run.chunks ? batch_run_count(&run, scan, env, counter, weights, &b->error) : BL_OK;
    batch_note_slowest(b, &run);
    b->done = code ? (int)(run.chunk[run.rows < run.chunks ? run.rows : run.chunks - 1] - b->chunk) : next;
    if (!code && checked)
        code = bl_error_set(&b->error, checked, "%s", unchecked.text);
    if (bl_error_memory_seen() && code != BL_ECANCEL) {
        b->done = b->done < b->chunks ? b->done : b->chunks - 1;
        code = bl_error_memory(&b->error);
        bl_error_prefix(&b->error, "%s", b->chunk[b->done].files.file->path);
    }
    return code;
}

void bl_batch_count(struct bl_batch *b, const struct bl_scan *scan, const struct bl_kind_env *env,
                    struct bl_counter *counter, const struct bl_meter *meter, struct bl_weights *weights)
{
    while (b->done < b->chunks && !b->code)
        b->code = bl_cancelled(env->cancel) ? BL_ECANCEL : batch_count_run(b, scan, env, counter, meter, weights);
}
