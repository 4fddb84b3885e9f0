/* Runs a scan as a pipeline: one thread makes batches of chunks, workers count them, and one thread writes their rows
 * in order.
 *
 * An error in a chunk does not discard the chunks before it: the batch carries the error to the writing thread, which
 * first writes the rows that are valid. So the table ends at the same row whatever the number of workers. */
#include "scan/scan.h"

#include <stdlib.h>
#include <string.h>

#include "kind/input_stat.h"
#include "kind/isolated/isolation.h"
#include "kind/reservation.h"
#include "pool/pipeline.h"
#include "scan/chunk_rows.h"
#include "store/row_reader.h"

/* --- batches of chunks -------------------------------------------------------------------------------------------- */

/* A batch is the job of a worker: one or more chunks. Most batches have one chunk. If each file is a chunk, a batch has
 * several, since waking a worker and its decoder process takes as long as counting a short file.
 *
 * Chunks and their rows do not depend on the batch that they are in. */

#define BATCH_MAX 16 /* chunks */
/* Each worker gets at least this many batches, so that the last one does not keep a worker busy alone for long. */
#define BATCHES_PER_WORKER 32

/* A chunk and its rows. */
struct batch_chunk {
    struct bl_chunk_files files;
    struct bl_part_chunk place; /* its number, where it begins and ends */
    struct bl_chunk_rows rows;
    bool counted; /* the kind has counted it, so the spool may get data of it */
};

struct batch {
    int chunks;
    int done;            /* chunks that were counted */
    int code;            /* BL_OK, or why the next one was not */
    int64_t needed;      /* bytes, by the worker's reservation */
    const char *slowest; /* path of the file that took longest, of those that were counted alone; or NULL */
    double slowest_seconds;
    struct bl_error error;      /* of the code */
    struct batch_chunk chunk[]; /* [capacity] */
};

/* Frees the last chunk of the batch. */
static void batch_drop_last(struct batch *batch)
{
    struct batch_chunk *last = &batch->chunk[--batch->chunks];
    bl_chunk_rows_free(&last->rows);
    bl_chunk_files_free(&last->files);
}

/* Frees a batch, or NULL, with its chunks. */
static void batch_free(struct batch *batch)
{
    while (batch && batch->chunks)
        batch_drop_last(batch);
    free(batch);
}

/* --- counting --------------------------------------------------------------------------------------------------- */

/* Chunks that the kind counts at once: if there are several, each is one file, with one row. */
struct batch_run {
    struct batch_chunk *chunk[BATCH_MAX];
    int chunks;
    int rows; /* what keeps the run from its end is due to the chunk after so many */
    struct bl_input input[BATCH_MAX];
    struct bl_meter meter;
    long long milliseconds; /* that counting took */
};

/* Adds a row to the chunk's rows, unless the table has them already. */
static int batch_chunk_emit(struct batch_chunk *c, int input, const struct bl_row *row, struct bl_error *e)
{
    return c->files.chunk.again ? BL_OK : bl_chunk_rows_emit(&c->rows, input, row, e);
}

/* Passes a row on to the chunk of its input: a bl_row_emit whose sink is the run. */
static int batch_run_emit(void *sink, int input, const struct bl_row *row, struct bl_error *e)
{
    struct batch_run *run = sink;
    if (run->chunks == 1)
        return batch_chunk_emit(run->chunk[0], input, row, e);
    run->rows++;
    return batch_chunk_emit(run->chunk[input], 0, row, e);
}

/* Returns whether the kind has to count the chunk. Otherwise its row exists already: the file is unusable, or holds one
 * sequence, which is excluded. */
static int batch_chunk_check(struct batch_chunk *c, const struct bl_scan *scan, bool *usable, struct bl_error *e)
{
    struct bl_row row = {.stream = -1, .offset = -1};
    *usable = true;
    if (!c->files.is_checked) {
        BL_TRY(bl_input_stat_content(scan->kind, c->files.input, &row.reason, e));
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

/* Counts the chunks of the run in one call of the kind, and checks that their files did not change meanwhile. */
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
    for (int i = 0; i < run->chunks; i++)
        bl_chunk_files_release(&run->chunk[i]->files);
    bl_meter_end(&run->meter);
    return code;
}

/* Takes up chunks, from `first` on, that are to be counted at once. *next: what follows them. A chunk that the kind
 * need not count is finished, with its weight. */
static int batch_run_fill(struct batch_run *run, struct batch *b, const struct bl_scan *scan, int *next,
                          struct bl_weights *weights, struct bl_error *e)
{
    int most = scan->kind->scan->inputs_max > 1 ? scan->kind->scan->inputs_max : 1;
    for (; *next < b->chunks && run->chunks < most; ++*next) {
        struct batch_chunk *c = &b->chunk[*next];
        bool usable;
        BL_TRY(batch_chunk_check(c, scan, &usable, e));
        if (usable) {
            run->chunk[run->chunks++] = c;
            continue;
        }
        int64_t opens = c->files.chunk.begin ? 0 : c->files.chunk.inputs;
        int64_t weight = bl_weights_of(weights, 0, opens);
        bl_weights_begin(weights, weight, opens);
        atomic_fetch_add_explicit(run->meter.sum, weight, memory_order_relaxed);
    }
    return BL_OK;
}

/* Counts the next chunks of the batch that can be counted at once, and advances b->done. Chunks that were taken up
 * before a failed check are counted, and the failure is reported after them. */
static int batch_count_run(struct batch *b, const struct bl_scan *scan, const struct bl_kind_env *env,
                           struct bl_counter *counter, const struct bl_meter *meter, struct bl_weights *weights)
{
    struct batch_run run = {.meter = *meter};
    struct bl_error unchecked = {0};
    int next = b->done;
    for (int i = next; i < b->chunks; i++) {
        b->chunk[i].rows.env = env;
        b->chunk[i].rows.counter = counter;
    }
    bl_error_memory_watch();
    int checked = batch_run_fill(&run, b, scan, &next, weights, &unchecked);
    int code = run.chunks ? batch_run_count(&run, scan, env, counter, weights, &b->error) : BL_OK;
    double seconds = (double)run.milliseconds / 1000;
    if (run.chunks == 1 && run.chunk[0]->files.chunk.inputs == 1 && seconds > b->slowest_seconds) {
        b->slowest = run.chunk[0]->files.file->path;
        b->slowest_seconds = seconds;
    }
    b->done = code ? (int)(run.chunk[run.rows < run.chunks ? run.rows : run.chunks - 1] - b->chunk) : next;
    if (!code && checked)
        code = bl_error_pass(&b->error, checked, &unchecked);
    if (bl_error_memory_seen() && code != BL_ECANCEL) {
        b->done = b->done < b->chunks ? b->done : b->chunks - 1;
        code = bl_error_memory(&b->error);
        bl_error_prefix(&b->error, "%s", b->chunk[b->done].files.file->path);
    }
    return code;
}

/* --- scan --------------------------------------------------------------------------------------------------------- */

/* Batches in progress for each worker. A small file takes half a millisecond, so a few batches keep all workers busy.
 */
#define SLOTS_PER_WORKER 16

/* Bytes that counting takes in each worker without asking for them: up to the larger one where there is much memory. */
#define WORKER_MEMORY_MIN ((int64_t)16 << 20)
#define WORKER_MEMORY_MAX ((int64_t)64 << 20)

/* A file holds the scan up if no file was finished for this time and it has been in progress for this time. */
#define HOLDUP 5000 /* milliseconds */

/* The state of a scan. The thread that makes batches owns chunks and number; workers share the atomic members. */
struct scanning {
    const struct bl_scan *scan;
    struct bl_output *out;       /* of the table, or NULL */
    struct bl_part_writer *part; /* or NULL. Neither: the rows are in a table already */
    struct bl_row_rules rules;
    struct bl_chunks chunks;
    int64_t number; /* of the next chunk */
    int capacity;   /* of a batch */
    bool is_limited;
    int64_t worker_memory;
    struct bl_memory_budget memory;
    struct bl_step_formats forms;
    struct bl_scan_progress *progress;
    struct bl_weights weights;  /* of the files */
    atomic_llong weight;        /* finished: workers add it, as files may take long */
    struct bl_meter_item *item; /* [workers] */
    atomic_int opened;          /* workers */
    int64_t files;              /* progress->files when it last grew, */
    long long grown;            /* at that time (bl_meter_clock) */
};

/* The state of a worker, which opens its counter and its decoder process once. A kind without a counter has none. */
struct worker {
    const struct bl_kind *kind;
    struct bl_kind_env env;
    struct bl_reservation reservation;
    struct bl_counter *counter;
    struct bl_meter_item *item; /* the scan's */
};

/* A batch that is not written is freed, as when another one failed. */
static void scan_discard(void *context, void *batch)
{
    (void)context;
    batch_free(batch);
}

/* Returns where the next chunk begins: the number of the file, and the byte or the line in it. */
static struct bl_part_place chunks_place(const struct bl_chunks *c)
{
    return (struct bl_part_place){(int64_t)c->next, c->lines ? bl_list_lines_read(c->lines) : c->begin};
}

/* Makes the next chunk of this scan and skips chunks of other tasks. */
static int scan_next_chunk(struct scanning *s, struct batch_chunk *chunk, bool *found, struct bl_error *e)
{
    const struct bl_scan *scan = s->scan;
    for (;;) {
        if (bl_cancelled(scan->env->cancel))
            return BL_ECANCEL;
        chunk->place = (struct bl_part_chunk){.number = s->number, .begin = chunks_place(&s->chunks)};
        int code = bl_chunks_next(&s->chunks, &chunk->files, found, e);
        if (code || !*found)
            return code;
        chunk->place.end = chunks_place(&s->chunks);
        if (!scan->tasks || s->number++ % scan->tasks == scan->task) {
            const struct bl_kind_spool *spool = scan->kind->spool;
            if (!spool || !spool->has || !spool->has(scan->config, scan->env, &chunk->files.chunk))
                bl_chunk_files_announce(&chunk->files, scan->kind->scan, scan->config);
            return BL_OK;
        }
        bl_chunk_files_free(&chunk->files);
    }
}

/* Makes the next batch, of at most s->capacity chunks; none if there are no more chunks. */
static int scan_produce(void *context, void **batch_, struct bl_error *e)
{
    struct scanning *s = context;
    struct batch *batch = calloc(1, sizeof *batch + (size_t)s->capacity * sizeof *batch->chunk);
    int code = batch ? BL_OK : bl_error_memory(e);
    bool found = true;
    while (!code && found && batch->chunks < s->capacity) {
        struct batch_chunk *chunk = &batch->chunk[batch->chunks++];
        bl_chunk_rows_init(&chunk->rows, &s->rules, &chunk->files);
        code = scan_next_chunk(s, chunk, &found, e);
        chunk->files.chunk.again = !s->out && !s->part;
    }
    if (!code && !found)
        batch_drop_last(batch);
    if (code || !batch->chunks)
        batch_free(batch);
    else
        *batch_ = batch;
    return code;
}

/* Returns the file that holds the scan up, or NULL: if no file was finished for HOLDUP, this is the one of many files
 * that has been in progress for longest. */
static const char *scan_find_holdup(struct scanning *s)
{
    long long now = bl_meter_clock();
    const char *name = NULL;
    if (s->files != s->progress->files || !s->grown) {
        s->files = s->progress->files;
        s->grown = now;
    }
    bool is_stuck = s->scan->files->count > 1 && now - s->grown >= HOLDUP;
    long long longest = now - HOLDUP;
    for (int w = 0; w < s->scan->workers && is_stuck; w++) {
        const char *at = atomic_load(&s->item[w].name);
        long long since = atomic_load(&s->item[w].since);
        if (at && since <= longest) {
            longest = since;
            name = at;
        }
    }
    return name;
}

/* Reports the progress. Called on the calling thread, several times a second. */
static void scan_tick(void *context)
{
    struct scanning *s = context;
    s->progress->parts = bl_weights_parts(&s->weights, atomic_load_explicit(&s->weight, memory_order_relaxed));
    s->progress->file = scan_find_holdup(s);
    if (s->scan->tick)
        s->scan->tick(s->scan->sink, s->progress);
}

/* --- workers ---------------------------------------------------------------------------------------------------- */

static void worker_close(void *worker)
{
    struct worker *w = worker;
    if (w->counter)
        w->counter->close(w->counter);
    free(w);
}

/* Makes a worker with a counter of its own, for the memory that the scan leaves to each worker. */
static int worker_open(void *context, void **worker, struct bl_error *e)
{
    struct scanning *s = context;
    const struct bl_scan *scan = s->scan;
    struct worker *w = calloc(1, sizeof *w);
    if (!w)
        return bl_error_memory(e);
    w->kind = scan->kind;
    w->item = &s->item[atomic_fetch_add(&s->opened, 1)];
    w->env = *scan->env;
    w->env.reservation = &w->reservation;
    w->reservation = (struct bl_reservation){.cancel = scan->env->cancel, .included = scan->kind->read->memory};
    if (s->is_limited) {
        w->reservation.budget = &s->memory;
        w->reservation.strict = scan->memory_is_strict;
        w->reservation.included = s->worker_memory;
    }
    int code = scan->kind->scan->open ? scan->kind->scan->open(scan->config, &w->env, &w->counter, e) : BL_OK;
    if (code)
        worker_close(w);
    else
        *worker = w;
    return code;
}

/* Counts the chunks of a batch. An error is stored in the batch, since the chunks before it are valid and are still
 * written. */
static int scan_work(void *context, void *worker, void *batch_, struct bl_error *e)
{
    (void)e;
    struct scanning *s = context;
    struct worker *w = worker;
    struct batch *batch = batch_;
    struct bl_meter meter = {.sum = &s->weight, .item = w->item};
    if (s->scan->workers <= 1) {
        meter.tick = scan_tick;
        meter.sink = s;
    }
    while (batch->done < batch->chunks && !batch->code)
        batch->code = bl_cancelled(w->env.cancel)
                          ? BL_ECANCEL
                          : batch_count_run(batch, s->scan, &w->env, w->counter, &meter, &s->weights);
    batch->needed = s->is_limited ? 0 : w->reservation.needed;
    bl_reservation_release(&w->reservation);
    return BL_OK;
}

/* --- in order, on one thread ------------------------------------------------------------------------------------ */

/* Adapts bl_output_write to bl_spill_drain. */
static int output_write(void *out, const void *data, size_t size, struct bl_error *e)
{
    return bl_output_write(out, data, size, e);
}

/* Writes the rows of a chunk to the table or the part, reports its faults, and adds its data to the spool. */
static int scan_write_chunk(struct scanning *s, struct batch_chunk *chunk, struct bl_error *e)
{
    const struct bl_kind *kind = s->scan->kind;
    struct bl_chunk_rows *rows = &chunk->rows;
    /* A part does not know the form of the first row of all. */
    BL_TRY(bl_chunk_rows_release(rows, s->part ? NULL : &s->forms, e));
    if (s->out) {
        BL_TRY(bl_spill_drain(&rows->lines, output_write, s->out, e));
    } else if (s->part) {
        chunk->place.bytes = bl_spill_size(&rows->lines);
        chunk->place.claimed = bl_spill_size(&rows->claims);
        chunk->place.form = rows->form;
        BL_TRY(bl_part_chunk(s->part, &chunk->place, e));
        BL_TRY(bl_spill_drain(&rows->lines, bl_part_write, s->part, e));
        BL_TRY(bl_spill_drain(&rows->claims, bl_part_write, s->part, e));
    }
    BL_TRY(bl_chunk_rows_report(rows, s->scan->fault, s->scan->sink, e));
    if (!kind->spool || !chunk->counted || !s->scan->env->spool)
        return BL_OK;
    return kind->spool->add(s->scan->config, s->scan->env, &chunk->files.chunk, e);
}

/* Writes the chunks that were counted, then passes on the error of the first one that was not. */
static int scan_consume(void *context, void *batch_, struct bl_error *e)
{
    struct scanning *s = context;
    struct batch *batch = batch_;
    int code = BL_OK;
    if (batch->needed > s->progress->needed)
        s->progress->needed = batch->needed;
    for (int i = 0; i < batch->done && !code; i++) {
        const struct batch_chunk *chunk = &batch->chunk[i];
        code = scan_write_chunk(s, &batch->chunk[i], e);
        bl_scan_progress_add(s->progress, &chunk->rows.found);
        s->progress->totals.total = s->scan->kind->scan->totals;
        s->progress->drained |= chunk->files.chunk.drained; /* at most one has it */
        s->progress->files += chunk->files.is_last ? chunk->files.chunk.inputs : 0;
    }
    if (!code && batch->code)
        code = bl_error_pass(e, batch->code, &batch->error);
    if (!code && s->scan->work && batch->slowest)
        code = bl_work_note_file(s->scan->work, batch->slowest, batch->slowest_seconds, e);
    batch_free(batch);
    return code;
}

/* Sets the parameters that all rows share. */
static int scan_make_rules(struct scanning *s, struct bl_error *e)
{
    const struct bl_scan *scan = s->scan;
    struct bl_row_rules *r = &s->rules;
    *r = (struct bl_row_rules){.kind = scan->kind,
                               .config = scan->config,
                               .attributes = scan->attributes,
                               .exclusion = scan->exclusion,
                               .keeps_claims = s->part,
                               .temporary = scan->temporary};
    scan->kind->scan->sampling(scan->config, &r->sampling);
    bl_buffer_text(&r->columns, "");
    bl_files_columns(scan->files, scan->kind, scan->config, &r->columns);
    bl_buffer_text(&r->missing, "");
    for (const char *tab = r->columns.data; tab && (tab = strchr(tab, '\t')); tab++)
        bl_buffer_byte(&r->missing, '\t');
    if (scan->attributes)
        bl_attributes_columns(scan->attributes, &r->columns);
    if (scan->kind->scan->last_columns)
        scan->kind->scan->last_columns(scan->config, &r->columns);
    BL_TRY(bl_buffer_check(&r->sampling, e));
    BL_TRY(bl_buffer_check(&r->columns, e));
    return bl_buffer_check(&r->missing, e);
}

/* Writes the line of column names, to the table or into the head of the part. */
static int scan_write_header(struct scanning *s, struct bl_error *e)
{
    struct bl_buffer line = {0};
    bl_buffer_printf(&line, BL_SEQUENCES_COLUMNS "%s%s", s->rules.columns.data, s->part ? "" : "\n");
    int code = bl_buffer_check(&line, e);
    if (!code && s->part) {
        struct bl_part_head head = {.task = s->scan->task, .tasks = s->scan->tasks, .columns = line.data};
        if (s->scan->attributes) {
            head.attributes = bl_attributes_path(s->scan->attributes);
            head.attribute_rows = bl_attributes_rows(s->scan->attributes, &head.attribute_line);
        }
        code = bl_part_begin(s->part, &head, e);
    } else if (!code && s->out) {
        code = bl_output_write(s->out, line.data, line.size, e);
    }
    bl_buffer_free(&line);
    return code;
}

/* Runs the pipeline from the first to the last chunk, and frees all but the files. */
/* Returns the most chunks of a batch, such that each worker gets many batches. Chunks of several files or of lists are
 * large enough: then a batch has one. */
static int scan_capacity(const struct bl_scan *scan)
{
    size_t each = scan->files->count / (size_t)BATCHES_PER_WORKER / (size_t)(scan->workers > 1 ? scan->workers : 1);
    if (scan->tasks)
        each /= (size_t)scan->tasks;
    if (each < 1 || scan->kind->scan->chunk_bytes || bl_files_have_list(scan->files, scan->kind))
        return 1;
    return each < BATCH_MAX ? (int)each : BATCH_MAX;
}

static int scan_run_chunks(struct scanning *s, struct bl_error *e)
{
    const struct bl_scan *scan = s->scan;
    const struct bl_stages stages = {.produce = scan_produce,
                                     .open = worker_open,
                                     .close = worker_close,
                                     .work = scan_work,
                                     .consume = scan_consume,
                                     .discard = scan_discard,
                                     .tick = scan_tick,
                                     .work_times = scan->work};
    struct bl_processor_time before = bl_isolation_processor_time(scan->env->isolation);
    *s->progress = (struct bl_scan_progress){0};
    s->chunks = (struct bl_chunks){.files = scan->files,
                                   .base = scan->base,
                                   .kind = scan->kind,
                                   .config = scan->config,
                                   .cancel = scan->env->cancel};
    /* If packing decodes, the scan only records how much memory that will need; the scan itself decodes almost nothing.
     */
    s->is_limited = scan->memory && !(scan->kind->decodes && scan->kind->decodes(scan->config));
    int64_t share = scan->memory / 32 / scan->workers;
    share = share < WORKER_MEMORY_MAX ? share : WORKER_MEMORY_MAX;
    s->worker_memory = share > WORKER_MEMORY_MIN ? share : WORKER_MEMORY_MIN;
    bl_memory_budget_init(&s->memory, scan->memory - scan->workers * s->worker_memory);
    s->capacity = scan_capacity(scan);
    s->item = calloc(scan->workers > 1 ? (size_t)scan->workers : 1, sizeof *s->item);
    int code = s->item ? scan_make_rules(s, e) : bl_error_memory(e);
    if (code)
        goto out;
    if (scan->tick)
        bl_weights_init(&s->weights, scan->files, scan->kind, scan->base, scan->task, scan->tasks ? scan->tasks : 1);
    code = scan_write_header(s, e);
    if (!code)
        code = bl_pipeline_run(&stages, s, scan->workers, scan->workers * SLOTS_PER_WORKER, scan->env->cancel, e);
out:
    s->progress->file = NULL;
    if (scan->work) {
        bl_work_add_decoders(scan->work, &before, bl_isolation_processor_time(scan->env->isolation));
        scan->work->reserved += s->memory.waited;
    }
    free(s->item);
    bl_memory_budget_free(&s->memory);
    bl_chunks_close(&s->chunks);
    bl_buffer_free(&s->rules.sampling);
    bl_buffer_free(&s->rules.columns);
    bl_buffer_free(&s->rules.missing);
    bl_step_formats_free(&s->forms);
    return code;
}

int bl_scan_run(const struct bl_scan *scan, struct bl_output *out, struct bl_scan_progress *progress,
                struct bl_error *e)
{
    struct scanning s = {.scan = scan, .out = out, .progress = progress};
    return scan_run_chunks(&s, e);
}

int bl_scan_part(const struct bl_scan *scan, struct bl_part_writer *part, struct bl_scan_progress *progress,
                 struct bl_error *e)
{
    struct scanning s = {.scan = scan, .part = part, .progress = progress};
    BL_TRY(scan_run_chunks(&s, e));
    return bl_part_publish(part, s.number, progress, e);
}
