#include "scan/scan.h"

#include <stdlib.h>
#include <string.h>

#include "kind/input_stat.h"
#include "kind/reservation.h"
#include "run/pipeline.h"
#include "scan/chunk_rows.h"
#include "store/row_reader.h"

/* Chunks per worker under way: small files are done in half a millisecond, so a few keep all workers busy. */
#define SLOTS_PER_WORKER 16

#define PARTS 1000 /* of a file: enough for a progress bar */

/* A chunk and what was found in it. */
struct job {
    struct bl_chunk_files files;
    struct bl_part_chunk place; /* its number, where it begins and ends */
    struct bl_chunk_rows rows;
    bool counted; /* by the kind: there is something to be kept in the spool */
    struct bl_meter meter;
    int64_t needed; /* bytes, by the worker's reservation */
};

struct scanning {
    const struct bl_scan *scan;
    struct bl_output *out;       /* of the table, or NULL */
    struct bl_part_writer *part; /* or NULL. Neither: the rows are in a table already */
    struct bl_row_rules rules;
    struct bl_chunks chunks;
    int64_t number; /* of the next chunk */
    struct bl_forms forms;
    struct bl_scan_progress *progress;
    atomic_llong parts; /* thousandths of files: workers add them, as files may take long */
};

/* The kind may have no counter. */
struct worker {
    const struct bl_kind *kind;
    struct bl_kind_env env;
    struct bl_reservation reservation; /* notes what packing will need; little is decoded here */
    struct bl_counter *counter;
};

static void scan_discard(void *context, void *job_)
{
    (void)context;
    struct job *job = job_;
    bl_chunk_rows_free(&job->rows);
    bl_chunk_files_free(&job->files);
    free(job);
}

static struct bl_part_place chunks_place(const struct bl_chunks *c)
{
    return (struct bl_part_place){(int64_t)c->next, c->lines ? c->line : c->begin};
}

/* The next chunk of this scan; chunks of other tasks are skipped. */
static int scan_next_chunk(struct scanning *s, struct job *job, bool *found, struct bl_error *e)
{
    const struct bl_scan *scan = s->scan;
    for (;;) {
        if (bl_cancelled(scan->env->cancel))
            return BL_ECANCEL;
        job->place = (struct bl_part_chunk){.number = s->number, .begin = chunks_place(&s->chunks)};
        int code = bl_chunks_next(&s->chunks, &job->files, found, e);
        if (code || !*found)
            return code;
        job->place.end = chunks_place(&s->chunks);
        if (!scan->tasks || s->number++ % scan->tasks == scan->task)
            return BL_OK;
        bl_chunk_files_free(&job->files);
    }
}

static int scan_produce(void *context, void **job_, struct bl_error *e)
{
    struct scanning *s = context;
    struct job *job = calloc(1, sizeof *job);
    bool found = false;
    if (!job)
        return bl_error_memory(e);
    bl_chunk_rows_init(&job->rows, &s->rules, &job->files);
    int code = scan_next_chunk(s, job, &found, e);
    if (code || !found) {
        scan_discard(s, job);
        return code;
    }
    job->files.chunk.again = !s->out && !s->part;
    *job_ = job;
    return BL_OK;
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
    w->env = *scan->env;
    w->env.reservation = &w->reservation;
    w->reservation = (struct bl_reservation){.cancel = scan->env->cancel, .included = scan->kind->read->memory};
    int code = scan->kind->scan->open ? scan->kind->scan->open(scan->config, &w->env, &w->counter, e) : BL_OK;
    if (code)
        worker_close(w);
    else
        *worker = w;
    return code;
}

static int job_emit(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    struct job *job = sink;
    return job->files.chunk.again ? BL_OK : bl_chunk_rows_emit(&job->rows, input, row, e);
}

/* Sets which share of its files the chunk is. The lines of a list may name any files: they count when they are done. */
static void job_set_meter(struct job *job)
{
    struct bl_chunk *chunk = &job->files.chunk;
    int64_t bytes = 0;
    for (int i = 0; i < chunk->inputs; i++)
        bytes += chunk->input[i].bytes;
    int64_t end = chunk->end < bytes ? chunk->end : bytes;
    job->meter.whole = end - chunk->begin;
    job->meter.weight = PARTS * chunk->inputs;
    if (chunk->inputs == 1 && bytes > 0)
        job->meter.weight = (int64_t)((double)PARTS * (double)job->meter.whole / (double)bytes + 0.5);
    chunk->meter = chunk->list ? NULL : &job->meter;
}

static int job_count(const struct bl_scan *scan, const struct worker *w, struct job *job, struct bl_error *e)
{
    struct bl_row row = {.stream = -1, .offset = -1};
    if (!job->files.is_checked) {
        const char *unusable = NULL;
        int code = bl_input_stat_content(scan->kind, job->files.input, &unusable, e);
        if (code)
            return code;
        if (unusable) {
            row.status = BL_ROW_SKIPPED;
            row.reason = unusable;
            return job_emit(job, 0, &row, e);
        }
    }
    /* A file with one sequence that is excluded need not be read. */
    if (scan->exclusion && !scan->kind->scan->chunk_bytes && !job->files.chunk.list &&
        bl_exclusion_has(scan->exclusion, job->files.file->id, NULL))
        return job_emit(job, 0, &row, e);
    job->counted = true;
    job_set_meter(job);
    int code = scan->kind->scan->count(scan->config, &w->env, w->counter, &job->files.chunk, job_emit, job, e);
    for (int i = 0; i < job->files.chunk.inputs && !code; i++)
        code = bl_input_recheck(scan->kind, &job->files.input[i], e);
    return code;
}

static int scan_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    struct scanning *s = context;
    struct job *job = job_;
    job->meter = (struct bl_meter){.sum = &s->parts};
    if (s->scan->workers <= 1) {
        job->meter.tick = scan_tick;
        job->meter.sink = s;
    }
    bl_error_memory_watch();
    struct worker *w = worker;
    int code = job_count(s->scan, w, job, e);
    job->needed = w->reservation.needed;
    bl_reservation_release(&w->reservation);
    bl_meter_end(&job->meter);
    if (bl_error_memory_seen() && code != BL_ECANCEL) {
        code = bl_error_memory(e);
        bl_error_prefix(e, "%s", job->files.file->path);
    }
    return code;
}

/* --- in order, on one thread ------------------------------------------------------------------------------------ */

static int output_write(void *out, const void *data, size_t size, struct bl_error *e)
{
    return bl_output_write(out, data, size, e);
}

static int scan_write_part(struct scanning *s, struct job *job, struct bl_error *e)
{
    job->place.bytes = bl_spill_size(&job->rows.lines);
    job->place.claimed = bl_spill_size(&job->rows.claims);
    job->place.form = job->rows.form;
    int code = bl_part_chunk(s->part, &job->place, e);
    if (code)
        return code;
    code = bl_spill_drain(&job->rows.lines, bl_part_write, s->part, e);
    if (code)
        return code;
    return bl_spill_drain(&job->rows.claims, bl_part_write, s->part, e);
}

static void scan_add_progress(struct scanning *s, const struct job *job)
{
    struct bl_scan_progress *all = s->progress;
    bl_scan_progress_add(all, &job->rows.found);
    all->totals.total = s->scan->kind->scan->totals;
    if (job->needed > all->needed)
        all->needed = job->needed;
    all->drained |= job->files.chunk.drained; /* at most one has it */
    all->files += job->files.is_last ? job->files.chunk.inputs : 0;
}

static int scan_consume(void *context, void *job_, struct bl_error *e)
{
    struct scanning *s = context;
    struct job *job = job_;
    const struct bl_kind *kind = s->scan->kind;
    /* A part does not know the form of the first row of all. */
    int code = bl_chunk_rows_release(&job->rows, s->part ? NULL : &s->forms, e);
    if (code)
        goto out;
    if (s->out)
        code = bl_spill_drain(&job->rows.lines, output_write, s->out, e);
    else if (s->part)
        code = scan_write_part(s, job, e);
    if (code)
        goto out;
    code = bl_chunk_rows_report(&job->rows, s->scan->fault, s->scan->sink, e);
    if (code)
        goto out;
    if (kind->spool && job->counted && s->scan->env->spool)
        code = kind->spool->add(s->scan->config, s->scan->env, &job->files.chunk, e);
out:
    scan_add_progress(s, job);
    scan_discard(NULL, job);
    return code;
}

static int scan_make_rules(struct scanning *s, struct bl_error *e)
{
    const struct bl_scan *scan = s->scan;
    struct bl_row_rules *r = &s->rules;
    *r = (struct bl_row_rules){.kind = scan->kind,
                               .attributes = scan->attributes,
                               .exclusion = scan->exclusion,
                               .keeps_claims = s->part,
                               .temporary = scan->temporary};
    scan->kind->scan->sampling(scan->config, &r->sampling);
    bl_buffer_text(&r->columns, "");
    if (scan->kind->scan->columns)
        scan->kind->scan->columns(scan->config, bl_files_have_list(scan->files, scan->kind), &r->columns);
    bl_buffer_text(&r->missing, "");
    for (const char *tab = r->columns.data; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_byte(&r->missing, '\t');
    if (scan->attributes)
        bl_attributes_columns(scan->attributes, &r->columns);
    int code = bl_buffer_check(&r->sampling, e);
    if (code)
        return code;
    code = bl_buffer_check(&r->columns, e);
    if (code)
        return code;
    return bl_buffer_check(&r->missing, e);
}

static int scan_write_header(struct scanning *s, struct bl_error *e)
{
    struct bl_buffer line = {0};
    bl_buffer_printf(&line, BL_SEQUENCES_COLUMNS "%s%s", s->rules.columns.data, s->part ? "" : "\n");
    int code = bl_buffer_check(&line, e);
    if (code)
        return code;
    if (s->part) {
        struct bl_part_head head = {.task = s->scan->task, .tasks = s->scan->tasks, .columns = line.data};
        if (s->scan->attributes) {
            head.attributes = bl_attributes_path(s->scan->attributes);
            head.attribute_rows = bl_attributes_rows(s->scan->attributes, &head.attribute_line);
        }
        code = bl_part_begin(s->part, &head, e);
    } else if (s->out) {
        code = bl_output_write(s->out, line.data, line.size, e);
    }
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
    int code = scan_make_rules(s, e);
    if (code)
        goto out;
    code = scan_write_header(s, e);
    if (!code)
        code = bl_pipeline_run(&stages, s, scan->workers, scan->workers * SLOTS_PER_WORKER, scan->env->cancel, e);
out:
    bl_chunks_close(&s->chunks);
    bl_buffer_free(&s->rules.sampling);
    bl_buffer_free(&s->rules.columns);
    bl_buffer_free(&s->rules.missing);
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
    if (code)
        return code;
    return bl_part_publish(part, s.number, progress, e);
}
