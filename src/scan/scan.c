#include "scan/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run/pipeline.h"
#include "scan/forms.h"
#include "scan/spill.h"
#include "scan/chunks.h"
#include "store/row_reader.h"
#include "kind/input_stat.h"

/* Chunks per worker under way: small files are done in half a millisecond, so a few keep everybody busy. */
#define SLOTS_PER_WORKER 16

/* Of one stretch, so many faults are told, and so many rows that are empty; the others are counted. */
#define FAULTS_MAX 1000
#define EMPTY_FAULTS_MAX 10

#define PARTS 1000 /* of a file: enough for a bar */

struct fault {
    enum bl_row_status status;
    int64_t length;
    char *id, *path, *reason;
};

/* One stretch and what came of it. */
struct job {
    struct bl_chunk_files files;
    struct bl_part_chunk place; /* its number, where it begins and ends */
    const struct bl_scan *scan;
    const char *sampling;
    const char *columns;              /* names of extra columns, a tab before each */
    const char *missing;              /* a tab for each */
    bool counted;                     /* by the kind: there is something to be kept */
    bool silent;                      /* the table is there already */
    bool partial;                     /* rows go to a part */
    struct bl_attributes *attributes; /* or NULL */
    struct bl_scan_progress found;
    struct bl_buffer id;
    struct bl_buffer joined; /* values of a row's extra columns and its attributes */
    struct bl_buffer lack;   /* why it is skipped without these */
    struct bl_spill rows;    /* lines of the table */
    struct bl_spill taken;   /* of a part: lines of attributes that the rows took */
    struct bl_row held;      /* whose form is to be compared with the first's when its turn comes */
    char *form, *reason, *extra;
    struct fault *fault;
    size_t faults;
    struct bl_meter pace;
};

struct scanning {
    const struct bl_scan *scan;
    struct bl_output *out;       /* of the table, or NULL */
    struct bl_part_writer *part; /* or NULL */
    struct bl_chunks chunks;
    int64_t number; /* of the next stretch */
    struct bl_scan_progress *progress;
    struct bl_buffer sampling;
    struct bl_buffer columns; /* the extra ones, a tab before each */
    struct bl_buffer missing; /* what a row says in extra columns that has nothing to say */
    struct bl_forms forms;
    atomic_llong parts; /* thousandths of files: workers add them, as files may take long */
};

/* The kind may have no counter. */
struct worker {
    const struct bl_kind *kind;
    struct bl_counter *counter;
};

static void scan_discard(void *context, void *job_)
{
    (void)context;
    struct job *job = job_;
    for (size_t f = 0; f < job->faults; f++) {
        free(job->fault[f].id);
        free(job->fault[f].path);
        free(job->fault[f].reason);
    }
    free(job->fault);
    free(job->form);
    free(job->reason);
    free(job->extra);
    bl_buffer_free(&job->id);
    bl_buffer_free(&job->joined);
    bl_buffer_free(&job->lack);
    bl_spill_free(&job->rows);
    bl_spill_free(&job->taken);
    bl_chunk_files_free(&job->files);
    free(job);
}

static struct bl_part_place chunks_place(const struct bl_chunks *s)
{
    return (struct bl_part_place){(int64_t)s->next, s->lines ? s->line : s->begin};
}

/* The next stretch that is this scan's: 1, 0 or a code. Those of other tasks are passed over. */
static int scan_next_chunk(struct scanning *s, struct job *job, struct bl_error *e)
{
    const struct bl_scan *scan = s->scan;
    for (;;) {
        job->place = (struct bl_part_chunk){.number = s->number, .begin = chunks_place(&s->chunks)};
        int more = bl_cancelled(scan->env->cancel) ? BL_ECANCEL : bl_chunks_next(&s->chunks, &job->files, e);
        if (more <= 0)
            return more;
        job->place.end = chunks_place(&s->chunks);
        if (!scan->tasks || s->number++ % scan->tasks == scan->task)
            return 1;
        bl_chunk_files_free(&job->files);
    }
}

static int scan_produce(void *context, void **job_, struct bl_error *e)
{
    struct scanning *s = context;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    bl_spill_init(&job->rows, s->scan->temporary);
    bl_spill_init(&job->taken, s->scan->temporary);
    int more = scan_next_chunk(s, job, e);
    if (more <= 0) {
        scan_discard(s, job);
        return more;
    }
    job->silent = !s->out && !s->part;
    job->partial = s->part;
    job->attributes = s->scan->attributes;
    job->files.stretch.again = job->silent;
    job->columns = s->columns.data;
    job->missing = s->missing.data;
    job->scan = s->scan;
    job->sampling = s->sampling.data;
    *job_ = job;
    return 1;
}

static void scan_tick(void *context)
{
    struct scanning *s = context;
    s->progress->parts = atomic_load_explicit(&s->parts, memory_order_relaxed);
    if (s->scan->tick)
        s->scan->tick(s->scan->sink, s->progress);
}

/* --- workers ---------------------------------------------------------------------------------------------------- */

static void worker_close(void *worker)
{
    struct worker *w = worker;
    if (w->counter)
        w->kind->scan->close(w->counter);
    free(w);
}

static int worker_open(void *context, void **worker, struct bl_error *e)
{
    const struct bl_scan *scan = ((struct scanning *)context)->scan;
    struct worker *w = calloc(1, sizeof *w);
    if (!w)
        return bl_error_memory(e);
    w->kind = scan->kind;
    int code = scan->kind->scan->open ? scan->kind->scan->open(scan->config, scan->env, &w->counter, e) : BL_OK;
    if (code)
        worker_close(w);
    else
        *worker = w;
    return code;
}

static int job_add_fault(struct job *job, const struct bl_row *row, struct bl_error *e)
{
    struct fault *fault = realloc(job->fault, (job->faults + 1) * sizeof *fault);
    if (!fault)
        return bl_error_memory(e);
    job->fault = fault;
    struct fault *last = &job->fault[job->faults];
    /* Of a list's lines, whose paths are their own, as many are told as of a file's. */
    const char *path = job->files.stretch.list ? job->files.file->path : row->path;
    *last = (struct fault){row->status, row->length, strdup(row->id), strdup(path), strdup(row->reason)};
    job->faults++;
    return last->id && last->path && last->reason ? BL_OK : bl_error_memory(e);
}

static int job_note(struct job *job, const struct bl_row *row, struct bl_error *e)
{
    struct bl_scan_progress *found = &job->found;
    bool empty = bl_row_is_empty(row);
    found->rows++;
    found->steps += row->status == BL_ROW_OK ? row->length : 0;
    found->skipped += row->status == BL_ROW_SKIPPED;
    found->empty += empty;
    bool damaged = row->status == BL_ROW_OK && *row->reason;
    found->damaged += damaged;
    found->excluded += row->status == BL_ROW_DROPPED;
    found->adjusted += row->status == BL_ROW_OK && bl_row_is_adjusted(row);
    if (row->status == BL_ROW_OK)
        bl_kind_add_totals(job->scan->kind, row, &found->totals);
    if ((row->status == BL_ROW_OK && !damaged) || row->status == BL_ROW_DROPPED)
        return BL_OK;
    if (empty ? found->empty <= EMPTY_FAULTS_MAX : job->faults < FAULTS_MAX)
        return job_add_fault(job, row, e);
    found->suppressed += !empty;
    return BL_OK;
}

static int job_put(struct job *job, const struct bl_row *row, struct bl_error *e)
{
    bl_row_format(row, &job->rows.tail);
    int code = job_note(job, row, e);
    return code ? code : bl_spill_flush(&job->rows, e);
}

static int job_hold(struct job *job, const struct bl_row *row, struct bl_error *e)
{
    job->held = *row;
    job->form = strdup(row->form);
    job->reason = strdup(row->reason);
    job->extra = strdup(row->extra ? row->extra : "");
    return job->form && job->reason && job->extra ? BL_OK : bl_error_memory(e);
}

/* A row's attributes follow its other columns; without them it is of no use. */
static int job_join(struct job *job, struct bl_row *row, struct bl_error *e)
{
    const char *values;
    int64_t line;
    int code = bl_attributes_claim(job->attributes, row->id, &values, &line, e);
    if (code)
        return code;
    if (values && job->partial) {
        bl_buffer_int(&job->taken.tail, line);
        bl_buffer_byte(&job->taken.tail, '\n');
        code = bl_spill_flush(&job->taken, e);
    }
    if (code)
        return code;
    bl_buffer_clear(&job->joined);
    bl_buffer_text(&job->joined, row->extra);
    if (values)
        bl_buffer_text(&job->joined, values);
    for (int c = 0; !values && c < bl_attributes_count(job->attributes); c++)
        bl_buffer_byte(&job->joined, '\t');
    row->extra = job->joined.data;
    code = bl_buffer_check(&job->joined, e);
    return code || values ? code : bl_attributes_missing(job->attributes, row, &job->lack, e);
}

static void row_exclude(struct bl_row *row)
{
    row->status = BL_ROW_DROPPED;
    row->length = 0;
    row->reason = BL_REASON_EXCLUDED;
    row->form = NULL;
}

/* Takes a row from the kind and says the rest of it. */
static int job_emit(void *sink, int input, const struct bl_row *given, struct bl_error *e)
{
    struct job *job = sink;
    struct bl_row row = *given;
    const struct bl_file *file = &job->files.file[input];
    if (job->silent)
        return BL_OK;
    if (!row.id)
        row.id = file->id;
    if (row.id == file->id && row.offset >= 0) {
        bl_buffer_clear(&job->id);
        bl_buffer_text(&job->id, file->id);
        bl_buffer_byte(&job->id, '#');
        bl_buffer_int(&job->id, row.offset);
        if (bl_buffer_check(&job->id, e))
            return BL_EFAIL;
        row.id = job->id.data;
    }
    row.kind = job->scan->kind->name;
    if (!row.path) {
        row.path = file->path;
        row.bytes = job->files.input[input].bytes;
        row.content = row.content ? row.content : job->files.input[input].content;
    }
    row.sampling = job->sampling;
    if (!row.reason)
        row.reason = "";
    if (!row.extra || !*row.extra)
        row.extra = job->missing;
    row.columns = job->columns;
    if (job->scan->exclusion && bl_exclusion_has(job->scan->exclusion, row.id, row.id == file->id ? NULL : file->id))
        row_exclude(&row);
    int code = job->attributes ? job_join(job, &row, e) : BL_OK;
    if (code)
        return code;
    return row.form ? job_hold(job, &row, e) : job_put(job, &row, e);
}

/* How much of their files the stretch is. The lines of a list may name anything: they count when they are done. */
static void job_set_pace(struct job *job)
{
    struct bl_chunk *stretch = &job->files.stretch;
    int64_t bytes = 0;
    for (int i = 0; i < stretch->inputs; i++)
        bytes += stretch->input[i].bytes;
    int64_t end = stretch->end < bytes ? stretch->end : bytes;
    job->pace.whole = end - stretch->begin;
    job->pace.weight = PARTS * stretch->inputs;
    if (stretch->inputs == 1 && bytes > 0)
        job->pace.weight = (int64_t)((double)PARTS * (double)job->pace.whole / (double)bytes + 0.5);
    stretch->pace = stretch->list ? NULL : &job->pace;
}

static int job_count(const struct bl_scan *scan, const struct worker *w, struct job *job, struct bl_error *e)
{
    const char *unusable = NULL;
    int code = job->files.looked ? BL_OK : bl_input_stat_content(scan->kind, job->files.input, &unusable, e);
    if (!code && unusable) {
        struct bl_row row = {.status = BL_ROW_SKIPPED, .reason = unusable, .stream = -1, .offset = -1};
        return job_emit(job, 0, &row, e);
    }
    /* A file that is one sequence does not have to be looked into. */
    if (!code && scan->exclusion && !scan->kind->scan->chunk_bytes && !job->files.stretch.list &&
        bl_exclusion_has(scan->exclusion, job->files.file->id, NULL)) {
        struct bl_row row = {.stream = -1, .offset = -1};
        return job_emit(job, 0, &row, e);
    }
    job->counted = true;
    job_set_pace(job);
    if (!code)
        code = scan->kind->scan->count(scan->config, scan->env, w->counter, &job->files.stretch, job_emit, job, e);
    for (int i = 0; i < job->files.stretch.inputs && !code; i++)
        code = bl_input_recheck(scan->kind, &job->files.input[i], e);
    return code;
}

static int scan_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    struct scanning *s = context;
    struct job *job = job_;
    job->pace = (struct bl_meter){.sum = &s->parts};
    if (s->scan->workers <= 1) {
        job->pace.tick = scan_tick;
        job->pace.sink = s;
    }
    bl_error_memory_watch();
    int code = job_count(s->scan, worker, job, e);
    bl_meter_end(&job->pace);
    if (bl_error_memory_seen() && code != BL_ECANCEL) {
        code = bl_error_memory(e);
        bl_error_prefix(e, "%s", job->files.file->path);
    }
    return code;
}

/* --- in order, on one thread ------------------------------------------------------------------------------------ */

/* A row that is held: the first one's form is that of all, which of a part it is not known. */
static int scan_release_held(struct scanning *s, struct job *job, struct bl_error *e)
{
    struct bl_buffer reason = {0};
    struct bl_row row = job->held;
    row.reason = job->reason;
    row.extra = job->extra;
    int code = s->part ? BL_OK : bl_forms_check(&s->forms, job->form, &row, &reason, e);
    if (!code)
        code = job_put(job, &row, e);
    bl_buffer_free(&reason);
    return code;
}

static int output_write(void *out, const void *data, size_t size, struct bl_error *e)
{
    return bl_output_write(out, data, size, e);
}

static int scan_write_part(struct scanning *s, struct job *job, struct bl_error *e)
{
    job->place.bytes = bl_spill_size(&job->rows);
    job->place.taken = bl_spill_size(&job->taken);
    job->place.form = job->form;
    int code = bl_part_chunk(s->part, &job->place, e);
    if (code)
        return code;
    code = bl_spill_drain(&job->rows, bl_part_write, s->part, e);
    if (code)
        return code;
    return bl_spill_drain(&job->taken, bl_part_write, s->part, e);
}

static int scan_report(struct scanning *s, const struct job *job, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t f = 0; f < job->faults && !code; f++) {
        const struct fault *fault = &job->fault[f];
        struct bl_row row = {.id = fault->id,
                             .length = fault->length,
                             .path = fault->path,
                             .kind = job->scan->kind->name,
                             .status = fault->status,
                             .reason = fault->reason};
        code = s->scan->fault(s->scan->sink, &row, e);
    }
    return code;
}

static void scan_add_progress(struct bl_scan_progress *all, const struct job *job)
{
    all->drained |= job->files.stretch.drained; /* at most one has it */
    all->files += job->files.last ? job->files.stretch.inputs : 0;
    all->rows += job->found.rows;
    all->steps += job->found.steps;
    all->skipped += job->found.skipped;
    all->damaged += job->found.damaged;
    all->adjusted += job->found.adjusted;
    all->empty += job->found.empty;
    all->excluded += job->found.excluded;
    all->suppressed += job->found.suppressed;
    all->totals.total = job->scan->kind->scan->totals;
    for (int t = 0; t < BL_TOTALS_MAX; t++)
        all->totals.sum[t] += job->found.totals.sum[t];
}

static int scan_consume(void *context, void *job_, struct bl_error *e)
{
    struct scanning *s = context;
    struct job *job = job_;
    const struct bl_kind *kind = s->scan->kind;
    int code = job->form ? scan_release_held(s, job, e) : BL_OK;
    if (code)
        goto out;
    if (s->out)
        code = bl_spill_drain(&job->rows, output_write, s->out, e);
    else if (s->part)
        code = scan_write_part(s, job, e);
    if (code)
        goto out;
    code = scan_report(s, job, e);
    if (code)
        goto out;
    if (kind->spool && job->counted && s->scan->env->spool)
        code = kind->spool->add(s->scan->config, s->scan->env, &job->files.stretch, e);
out:
    scan_add_progress(s->progress, job);
    scan_discard(NULL, job);
    return code;
}

/* The names of all columns. */
static int scan_name_columns(struct scanning *s, struct bl_error *e)
{
    const struct bl_scan *scan = s->scan;
    bl_buffer_text(&s->columns, "");
    if (scan->kind->scan->columns)
        scan->kind->scan->columns(scan->config, bl_files_have_list(scan->files, scan->kind), &s->columns);
    bl_buffer_text(&s->missing, "");
    for (const char *tab = s->columns.data; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_byte(&s->missing, '\t');
    if (scan->attributes)
        bl_attributes_columns(scan->attributes, &s->columns);
    int code = bl_buffer_check(&s->columns, e);
    return code ? code : bl_buffer_check(&s->missing, e);
}

static int scan_write_header(struct scanning *s, struct bl_error *e)
{
    struct bl_buffer line = {0};
    int code = scan_name_columns(s, e);
    if (!code)
        bl_buffer_printf(&line, BL_SEQUENCES_COLUMNS "%s%s", s->columns.data, s->part ? "" : "\n");
    if (!code)
        code = bl_buffer_check(&line, e);
    struct bl_part_head head = {.task = s->scan->task, .tasks = s->scan->tasks, .columns = line.data};
    if (s->scan->attributes) {
        head.attributes = bl_attributes_path(s->scan->attributes);
        head.attribute_rows = bl_attributes_rows(s->scan->attributes, &head.attribute_line);
    }
    if (!code)
        code = s->part ? bl_part_begin(s->part, &head, e) : bl_output_write(s->out, line.data, line.size, e);
    bl_buffer_free(&line);
    return code;
}

static int scan_run(struct scanning *s, struct bl_error *e)
{
    static const struct bl_stages stages = {.produce = scan_produce,
                                            .open = worker_open,
                                            .close = worker_close,
                                            .work = scan_work,
                                            .consume = scan_consume,
                                            .discard = scan_discard,
                                            .tick = scan_tick};
    const struct bl_scan *scan = s->scan;
    *s->progress = (struct bl_scan_progress){0};
    s->chunks = (struct bl_chunks){.files = scan->files,
                                   .base = scan->base,
                                   .kind = scan->kind,
                                   .config = scan->config,
                                   .cancel = scan->env->cancel};
    int code = s->out || s->part ? scan_write_header(s, e) : BL_OK;
    scan->kind->scan->sampling(scan->config, &s->sampling);
    code = code ? code : bl_buffer_check(&s->sampling, e);
    if (!code)
        code = bl_pipeline_run(&stages, s, scan->workers, scan->workers * SLOTS_PER_WORKER, scan->env->cancel, e);
    bl_chunks_close(&s->chunks);
    bl_buffer_free(&s->sampling);
    bl_buffer_free(&s->columns);
    bl_buffer_free(&s->missing);
    bl_forms_free(&s->forms);
    return code;
}

int bl_scan_run(const struct bl_scan *scan, struct bl_output *out, struct bl_scan_progress *progress,
                struct bl_error *e)
{
    struct scanning s = {.scan = scan, .out = out, .progress = progress};
    return scan_run(&s, e);
}

int bl_scan_part(const struct bl_scan *scan, struct bl_part_writer *part, struct bl_scan_progress *progress,
                 struct bl_error *e)
{
    struct scanning s = {.scan = scan, .part = part, .progress = progress};
    int code = scan_run(&s, e);
    const struct bl_part_total total = {.chunks = s.number,
                                        .rows = progress->rows,
                                        .steps = progress->steps,
                                        .skipped = progress->skipped,
                                        .empty = progress->empty,
                                        .damaged = progress->damaged,
                                        .adjusted = progress->adjusted,
                                        .excluded = progress->excluded};
    return code ? code : bl_part_publish(part, &total, e);
}
