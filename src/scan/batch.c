#include "scan/batch.h"

#include <stdlib.h>

#include "kind/input_stat.h"

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

/* Whether the kind has to count the chunk. Else it has its row, of a file that cannot be used, or need not be read:
 * one with one sequence that is excluded. */
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
