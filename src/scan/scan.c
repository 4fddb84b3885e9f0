#include "scan/scan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/io.h"
#include "kind/isolated/isolation.h"
#include "kind/reservation.h"
#include "pool/pipeline.h"
#include "scan/chunk_rows.h"
#include "store/row_reader.h"

/* --- spilling rows to a file -------------------------------------------------------------------------------------- */

#define IN_MEMORY ((size_t)1 << 20)
#define WHAT "rows that wait to be written"

void bl_spill_init(struct bl_spill *spill, const char *dir)
{
    *spill = (struct bl_spill){.dir = dir, .fd = -1};
}

int bl_spill_flush(struct bl_spill *spill, struct bl_error *e)
{
    int code = bl_buffer_check(&spill->tail, e);
    if (code || spill->tail.size < IN_MEMORY)
        return code;
    if (spill->fd < 0)
        spill->fd = bl_temporary_open(spill->dir, e);
    if (spill->fd < 0)
        return spill->fd;
    code = BL_ARRAY_RESERVE(spill->part, spill->parts_capacity, spill->parts + 1, e);
    if (code)
        return code;
    code = bl_io_write(spill->fd, spill->tail.data, spill->tail.size, WHAT, e);
    if (code)
        return code;
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

typedef int spill_write(void *sink, const void *data, size_t size, struct bl_error *e);

static int spill_drain_part(const struct bl_spill *spill, const struct bl_spill_part *part, int64_t at,
                            spill_write *write, void *sink, struct bl_error *e)
{
    char *data = malloc(part->bytes);
    if (!data)
        return bl_error_memory(e);
    int code = bl_io_pread(spill->fd, data, part->bytes, at, WHAT, e);
    if (!code && bl_checksum(data, part->bytes) != part->checksum)
        code = bl_error_set(e, BL_EFAIL, WHAT ": what was read is not what was written: the disk or memory fails");
    if (!code)
        code = write(sink, data, part->bytes, e);
    free(data);
    return code;
}

int bl_spill_drain(struct bl_spill *spill, int (*write)(void *sink, const void *data, size_t size, struct bl_error *e),
                   void *sink, struct bl_error *e)
{
    int64_t at = 0;
    for (size_t i = 0; i < spill->parts; i++) {
        int code = spill_drain_part(spill, &spill->part[i], at, write, sink, e);
        if (code)
            return code;
        at += (int64_t)spill->part[i].bytes;
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

/* --- scan --------------------------------------------------------------------------------------------------------- */

/* Batches per worker under way: small files are done in half a millisecond, so a few keep all workers busy. */
#define SLOTS_PER_WORKER 16

/* Bytes that counting takes in each worker without asking for them: up to the larger one where there is much memory. */
#define WORKER_MEMORY_MIN ((int64_t)16 << 20)
#define WORKER_MEMORY_MAX ((int64_t)64 << 20)

/* Without a finished file for so long, and under way for so long, a file holds the scan up. */
#define HOLDUP 5000 /* milliseconds */

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
    struct bl_forms forms;
    struct bl_scan_progress *progress;
    struct bl_weights weights;  /* of the files */
    atomic_llong weight;        /* finished: workers add it, as files may take long */
    struct bl_meter_item *item; /* [workers] */
    atomic_int opened;          /* workers */
    int64_t files;              /* progress->files when it last grew, */
    long long grown;            /* at that time (bl_meter_clock) */
};

/* The kind may have no counter. */
struct worker {
    const struct bl_kind *kind;
    struct bl_kind_env env;
    struct bl_reservation reservation;
    struct bl_counter *counter;
    struct bl_meter_item *item; /* the scan's */
};

static void scan_discard(void *context, void *batch)
{
    (void)context;
    bl_batch_free(batch);
}

static struct bl_part_place chunks_place(const struct bl_chunks *c)
{
    return (struct bl_part_place){(int64_t)c->next, c->lines ? bl_list_lines_read(c->lines) : c->begin};
}

/* The next chunk of this scan; chunks of other tasks are skipped. */
static int scan_next_chunk(struct scanning *s, struct bl_batch_chunk *chunk, bool *found, struct bl_error *e)
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
        if (!scan->tasks || s->number++ % scan->tasks == scan->task)
            return BL_OK;
        bl_chunk_files_free(&chunk->files);
    }
}

static int scan_produce(void *context, void **batch_, struct bl_error *e)
{
    struct scanning *s = context;
    struct bl_batch *batch = bl_batch_make(s->capacity);
    int code = batch ? BL_OK : bl_error_memory(e);
    bool found = true;
    while (!code && found && batch->chunks < s->capacity) {
        struct bl_batch_chunk *chunk = &batch->chunk[batch->chunks++];
        bl_chunk_rows_init(&chunk->rows, &s->rules, &chunk->files);
        code = scan_next_chunk(s, chunk, &found, e);
        chunk->files.chunk.again = !s->out && !s->part;
    }
    if (!code && !found)
        bl_batch_drop_last(batch);
    if (code || !batch->chunks)
        bl_batch_free(batch);
    else
        *batch_ = batch;
    return code;
}

/* While no file is finished: the file that has been under way for longest, if that is long, and it is one of many. */
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

static int64_t scan_worker_memory(const struct bl_scan *scan)
{
    int64_t share = scan->memory / 32 / scan->workers;
    share = share < WORKER_MEMORY_MAX ? share : WORKER_MEMORY_MAX;
    return share > WORKER_MEMORY_MIN ? share : WORKER_MEMORY_MIN;
}

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

/* An error is the batch's: the chunks before are in order. */
static int scan_work(void *context, void *worker, void *batch_, struct bl_error *e)
{
    (void)e;
    struct scanning *s = context;
    struct worker *w = worker;
    struct bl_batch *batch = batch_;
    struct bl_meter meter = {.sum = &s->weight, .item = w->item};
    if (s->scan->workers <= 1) {
        meter.tick = scan_tick;
        meter.sink = s;
    }
    bl_batch_count(batch, s->scan, &w->env, w->counter, &meter, &s->weights);
    batch->needed = s->is_limited ? 0 : w->reservation.needed;
    bl_reservation_release(&w->reservation);
    return BL_OK;
}

/* --- in order, on one thread ------------------------------------------------------------------------------------ */

static int output_write(void *out, const void *data, size_t size, struct bl_error *e)
{
    return bl_output_write(out, data, size, e);
}

static int scan_write_part(struct scanning *s, struct bl_batch_chunk *chunk, struct bl_error *e)
{
    chunk->place.bytes = bl_spill_size(&chunk->rows.lines);
    chunk->place.claimed = bl_spill_size(&chunk->rows.claims);
    chunk->place.form = chunk->rows.form;
    int code = bl_part_chunk(s->part, &chunk->place, e);
    if (code)
        return code;
    code = bl_spill_drain(&chunk->rows.lines, bl_part_write, s->part, e);
    if (code)
        return code;
    return bl_spill_drain(&chunk->rows.claims, bl_part_write, s->part, e);
}

static void scan_add_progress(struct scanning *s, const struct bl_batch_chunk *chunk)
{
    struct bl_scan_progress *all = s->progress;
    bl_scan_progress_add(all, &chunk->rows.found);
    all->totals.total = s->scan->kind->scan->totals;
    all->drained |= chunk->files.chunk.drained; /* at most one has it */
    all->files += chunk->files.is_last ? chunk->files.chunk.inputs : 0;
}

static int scan_write_chunk(struct scanning *s, struct bl_batch_chunk *chunk, struct bl_error *e)
{
    const struct bl_kind *kind = s->scan->kind;
    /* A part does not know the form of the first row of all. */
    int code = bl_chunk_rows_release(&chunk->rows, s->part ? NULL : &s->forms, e);
    if (code)
        return code;
    if (s->out)
        code = bl_spill_drain(&chunk->rows.lines, output_write, s->out, e);
    else if (s->part)
        code = scan_write_part(s, chunk, e);
    if (code)
        return code;
    code = bl_chunk_rows_report(&chunk->rows, s->scan->fault, s->scan->sink, e);
    if (!code && kind->spool && chunk->counted && s->scan->env->spool)
        code = kind->spool->add(s->scan->config, s->scan->env, &chunk->files.chunk, e);
    return code;
}

static int scan_consume(void *context, void *batch_, struct bl_error *e)
{
    struct scanning *s = context;
    struct bl_batch *batch = batch_;
    int code = BL_OK;
    if (batch->needed > s->progress->needed)
        s->progress->needed = batch->needed;
    for (int i = 0; i < batch->done && !code; i++) {
        code = scan_write_chunk(s, &batch->chunk[i], e);
        scan_add_progress(s, &batch->chunk[i]);
    }
    if (!code && batch->code)
        code = bl_error_set(e, batch->code, "%s", batch->error.text);
    if (!code && s->scan->work && batch->slowest)
        code = bl_work_note_file(s->scan->work, batch->slowest, batch->slowest_seconds, e);
    bl_batch_free(batch);
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
    bl_files_columns(scan->files, scan->kind, scan->config, &r->columns);
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

static int scan_run(struct scanning *s, struct bl_error *e)
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
    /* Where packing decodes, the scan only notes what that will need, and decodes next to nothing. */
    s->is_limited = scan->memory && !(scan->kind->decodes && scan->kind->decodes(scan->config));
    s->worker_memory = scan_worker_memory(scan);
    bl_memory_budget_init(&s->memory, scan->memory - scan->workers * s->worker_memory);
    s->capacity = bl_batch_capacity(scan);
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
