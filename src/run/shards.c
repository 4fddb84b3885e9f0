/* Writes shards and verifies them by pipelines (pool/pipeline.h).
 *
 * A job is a run of consecutive blocks of one shard. The thread of the caller produces jobs in the order of the blocks,
 * workers fill and encode them in any order, and the thread of the caller consumes them in order again, so that
 * outcomes and finished shards have the order of the plan. Example: blocks of 1 KB make jobs of 1,000 blocks; blocks of
 * 100 MB make jobs of one. */
#include "run/shards.h"

#include <stdlib.h>
#include <string.h>

#include "kind/isolated/isolation.h"
#include "run/assembler.h"
#include "run/heartbeat.h"
#include "pool/pipeline.h"
#include "run/bucketing.h"
#include "run/mirror.h"
#include "store/block.h"
#include "store/folders.h"
#include "store/row_reader.h"
#include "store/shard_reader.h"
#include "store/shard_writer.h"

/* --- writing shards ----------------------------------------------------------------------------------------------- */

#define RUNS_LEFT 4 /* jobs to keep for each worker toward the end of the run */

/* A file holds the run up if no block was finished for this time and the file has been read for this time. */
#define HOLDUP 5000 /* milliseconds */

/* A shard in progress; it collects the outcomes of its blocks until it is finished. */
struct open_shard {
    struct bl_shard_writer *shard;
    int64_t number, last_block; /* of the shard; of its blocks */
    struct bl_outcomes outcomes;
    struct open_shard *next;
};

/* A job: consecutive blocks of one shard, in progress. Jobs come from a fixed pool, which bounds the memory. */
struct run_job {
    struct bl_block *block; /* [run_blocks] */
    int blocks;
    struct open_shard *shard;
    struct bl_outcomes outcomes;
    int64_t slowest; /* row of the sequence that took longest to read, or -1 */
    double slowest_seconds;
    double encoded; /* seconds of encoding and compressing */
    struct run_job *next;
};

struct shards_run {
    const struct bl_pack *pack;
    struct run_job *job; /* [slots] */
    struct run_job *free;
    struct open_shard *open;
    int64_t next_block, next_shard;
    int64_t end_block; /* the first block after the shards of this run */
    int64_t blocks_done, bytes;
    int64_t steps_due;   /* steps that this run has to read */
    int64_t steps_found; /* steps of shards that earlier runs finished */
    atomic_llong steps;  /* steps read so far; workers count them while they read, since one block may take minutes */
    struct bl_memory_budget memory;
    struct bl_reading *reading; /* [workers] */
    atomic_int opened;          /* number of workers that took their place in reading */
    struct bl_row_reader row;   /* row of the sequence whose file is named to the user */
    int64_t finished;           /* value of blocks_done at the last look */
    long long grown;            /* time when blocks_done last changed, by bl_meter_clock */
};

/* Returns the path of the file that holds the run up, or NULL. If no block was finished for HOLDUP, this is the file
 * that a worker has been reading for longest, if that is at least HOLDUP. With one worker or one sequence there is
 * nothing to hold up. The path is valid until the next call. */
static const char *shards_find_holdup(struct shards_run *run)
{
    long long now = bl_meter_clock(), longest = now - HOLDUP;
    int64_t row = -1;
    if (run->finished != run->blocks_done || !run->grown) {
        run->finished = run->blocks_done;
        run->grown = now;
    }
    bool is_stuck = run->pack->table->count > 1 && run->pack->share.workers > 1 && now - run->grown >= HOLDUP;
    for (int w = 0; w < run->pack->share.workers && is_stuck; w++) {
        int64_t sequence = atomic_load(&run->reading[w].sequence);
        long long since = atomic_load(&run->reading[w].since);
        if (sequence && since <= longest) {
            longest = since;
            row = sequence - 1;
        }
    }
    struct bl_error ignored = {0};
    if (row < 0 || bl_row_reader_read(run->pack->table, (size_t)row, &run->row, &ignored))
        return NULL;
    return run->row.row.path;
}

/* Reports the progress to the caller, several times a second. */
static void shards_tick(void *context)
{
    struct shards_run *run = context;
    int64_t steps = atomic_load_explicit(&run->steps, memory_order_relaxed);
    struct bl_pack_progress progress = {run->blocks_done, steps,      run->steps_due - steps,
                                        run->steps_found, run->bytes, shards_find_holdup(run)};
    run->pack->tick(run->pack->sink, &progress);
}

/* --- workers ---------------------------------------------------------------------------------------------------- */

static void pack_worker_close(void *worker)
{
    bl_shard_worker_close(worker);
}

/* Opens a worker, which takes the next place in run->reading. */
static int pack_worker_open(void *context, void **worker, struct bl_error *e)
{
    struct shards_run *run = context;
    struct bl_reading *reading = &run->reading[atomic_fetch_add(&run->opened, 1)];
    struct bl_shard_worker *w = NULL;
    int code = bl_shard_worker_open(&w, run->pack, &run->memory, reading, e);
    *worker = w;
    return code;
}

/* Fills and encodes the blocks of a job, and compresses them if the format says so. With one worker there is no other
 * thread to report progress, so the worker does it while it reads. */
static int shards_work_run(void *context, void *worker, void *job_, struct bl_error *e)
{
    struct shards_run *run = context;
    const struct bl_pack *pack = run->pack;
    struct bl_shard_worker *w = worker;
    struct run_job *job = job_;
    struct bl_meter meter = {.sum = &run->steps};
    if (pack->share.workers <= 1) {
        meter.tick = shards_tick;
        meter.sink = run;
    }
    int code = bl_shard_worker_fill(w, job->shard->shard, job->block, job->blocks, &meter, &job->outcomes, e);
    job->slowest = w->assembler ? bl_assembler_slowest(w->assembler, &job->slowest_seconds) : -1;
    job->encoded = w->encoded;
    if (code || !w->compressor)
        return code;
    double filled = bl_seconds_now();
    code = bl_shard_writer_put_blocks(job->shard->shard, job->block, job->blocks, w->compressor, e);
    job->encoded += bl_seconds_now() - filled;
    return code;
}

/* Writes the blocks of a job. Blocks of an uncompressed shard go to the disk; those of a compressed shard stay in
 * memory until the shard is complete. */
static int shards_write_run(void *context, void *job_, struct bl_error *e)
{
    const struct bl_pack *pack = ((struct shards_run *)context)->pack;
    const struct run_job *job = job_;
    return pack->format->compressed ? BL_OK
                                    : bl_shard_writer_put_blocks(job->shard->shard, job->block, job->blocks, NULL, e);
}

/* --- in order, on one thread ------------------------------------------------------------------------------------ */

/* Passes each outcome with the row of its sequence to the caller. A code other than BL_OK ends the run. */
static int shards_report_outcomes(const struct bl_pack *pack, const struct bl_outcomes *outcomes, struct bl_error *e)
{
    struct bl_row_reader text = {0};
    int code = BL_OK;
    for (size_t i = 0; i < outcomes->count && !code; i++) {
        code = bl_row_reader_read(pack->table, (size_t)outcomes->outcome[i].row, &text, e);
        if (!code)
            code = pack->outcome(pack->sink, &text.row, &outcomes->outcome[i], e);
    }
    bl_row_reader_free(&text);
    return code;
}

/* Returns the number of steps that the plan puts into these blocks. */
static int64_t shards_planned_steps(const struct bl_pack *pack, int64_t first, int64_t blocks)
{
    int64_t steps = 0;
    for (int64_t p = pack->plan->block_ptr[first]; p < pack->plan->block_ptr[first + blocks]; p++)
        steps += bl_plan_piece_length(pack->plan, pack->table->length, (size_t)p);
    return steps;
}

/* Has a complete shard sent to the store, if the dataset is there and the shard is not. */
static int shard_send(const struct bl_pack *pack, int64_t shard, struct bl_error *e)
{
    if (!pack->mirror || bl_mirror_has_shard(pack->mirror, shard))
        return BL_OK;
    return bl_mirror_send_shard(pack->mirror, pack->format, shard, e);
}

/* Adopts a finished shard of an earlier run: reports its outcomes again and counts its blocks. BL_EFAIL: the record
 * names a sequence that the table does not have. */
static int shard_adopt(struct shards_run *run, struct bl_shard_record *record, struct bl_error *e)
{
    struct bl_outcomes outcomes = {0};
    int code = bl_outcomes_parse(&outcomes, record->user_data, record->user_data_size, e);
    for (size_t i = 0; i < outcomes.count && !code; i++) {
        if (outcomes.outcome[i].row >= (int64_t)run->pack->table->count)
            code = bl_error_set(e, BL_EFAIL,
                                "the record of shard %lld names a sequence that the table lacks: remove the record",
                                (long long)record->shard);
    }
    if (!code)
        code = shards_report_outcomes(run->pack, &outcomes, e);
    run->blocks_done += record->blocks;
    int64_t steps = shards_planned_steps(run->pack, record->first_block, record->blocks);
    run->steps_due -= steps;
    run->steps_found += steps;
    bl_outcomes_free(&outcomes);
    return code ? code : shard_send(run->pack, record->shard, e);
}

/* Opens the writer of a shard and puts it first in the list of open shards. In a repair, the shard must get the size
 * and the checksum that shards.tsv has. */
static int shard_create(struct shards_run *run, int64_t number, struct bl_error *e)
{
    struct open_shard *open = calloc(1, sizeof *open);
    if (!open)
        return bl_error_memory(e);
    open->number = number;
    open->last_block =
        bl_format_first_block(run->pack->format, number) + bl_format_blocks_of(run->pack->format, number) - 1;
    int code = bl_shard_writer_open(run->pack->format, run->pack->plan, run->pack->dir, number, &open->shard, e);
    if (code) {
        free(open);
        return code;
    }
    if (run->pack->missing) {
        const struct bl_shard_row *row = &run->pack->missing->row[number];
        bl_shard_writer_expect(open->shard, row->bytes, row->checksum);
    }
    open->next = run->open;
    run->open = open;
    return BL_OK;
}

/* Advances to the next shard that must be written and opens it. *left is false if there is none. */
static int shards_find_next(struct shards_run *run, bool *left, struct bl_error *e)
{
    const struct bl_format *format = run->pack->format;
    while (run->next_shard < run->pack->shard_end) {
        int64_t number = run->next_shard++;
        struct bl_shard_record record = {0};
        bool found = false;
        int code = bl_pack_find_shard(run->pack, number, &record, &found, e);
        if (!code && found)
            code = shard_adopt(run, &record, e);
        bl_shard_record_free(&record);
        if (code)
            return code;
        if (!found) {
            *left = true;
            run->next_block = bl_format_first_block(format, number);
            return shard_create(run, number, e);
        }
        if (bl_cancelled(run->pack->env->cancel))
            return BL_ECANCEL;
    }
    *left = false;
    return BL_OK;
}

/* Plans the next job. *job_ stays NULL after the last block. */
static int shards_produce(void *context, void **job_, struct bl_error *e)
{
    struct shards_run *run = context;
    const struct bl_pack *pack = run->pack;
    if (!run->open || run->next_block > run->open->last_block) {
        bool left;
        int code = shards_find_next(run, &left, e);
        if (code || !left)
            return code;
    }
    struct run_job *job = run->free; /* never empty: at most `slots` jobs are in progress */
    run->free = job->next;
    job->shard = run->open;
    /* As many blocks as the memory of a job holds, but toward the end fewer, so that all workers end at about the same
     * time. A job never crosses the end of a shard. */
    int64_t share = (run->end_block - run->next_block) / (RUNS_LEFT * (int64_t)pack->share.workers);
    int64_t rest = run->open->last_block + 1 - run->next_block;
    int64_t blocks = pack->share.run_blocks < rest ? pack->share.run_blocks : rest;
    blocks = blocks < share ? blocks : share;
    job->blocks = blocks > 1 ? (int)blocks : 1;
    for (int b = 0; b < job->blocks; b++) {
        bl_block_plan(&job->block[b], pack->format, pack->plan, pack->table->length, run->next_block++);
        bl_bucketing_begin_block(pack->bucketing, job->block[b].index);
    }
    bl_shard_writer_place_blocks(job->shard->shard, job->block, job->blocks);
    *job_ = job;
    return BL_OK;
}

/* Gives a job back to the pool. */
static void shards_discard(void *context, void *job_)
{
    struct shards_run *run = context;
    struct run_job *job = job_;
    bl_outcomes_free(&job->outcomes);
    job->next = run->free;
    run->free = job;
}

/* Removes a shard from the list of open shards and frees it. An unfinished shard leaves no file. */
static void shard_close(struct shards_run *run, struct open_shard *open)
{
    struct open_shard **at = &run->open;
    while (*at != open)
        at = &(*at)->next;
    *at = open->next;
    bl_shard_writer_free(open->shard);
    bl_outcomes_free(&open->outcomes);
    free(open);
}

/* Gives a complete shard its name. The record of the shard stores the outcomes, so that a resumed run has them, too. */
static int shard_finish(struct shards_run *run, struct open_shard *open, struct bl_error *e)
{
    struct bl_buffer user_data = {0};
    struct bl_shard_record record = {0};
    struct bl_compressor *compressor = NULL;
    open->outcomes.unfiltered = bl_isolation_lacks_filter(run->pack->env->isolation);
    bl_outcomes_format(&open->outcomes, &user_data);
    int code = bl_buffer_check(&user_data, e);
    if (!code && run->pack->format->compressed)
        code = bl_compressor_open(run->pack->format->level, &compressor, e);
    if (!code)
        code = bl_shard_writer_finish(open->shard, compressor, user_data.data, user_data.size, &record, e);
    run->bytes += code ? 0 : record.bytes;
    if (!code)
        code = shard_send(run->pack, open->number, e);
    if (compressor)
        bl_compressor_close(compressor);
    bl_shard_record_free(&record);
    bl_buffer_free(&user_data);
    return code;
}

/* Takes a job in order: reports its outcomes, keeps them for the record of the shard, and finishes the shard after its
 * last block. */
static int shards_consume(void *context, void *job_, struct bl_error *e)
{
    struct shards_run *run = context;
    struct run_job *job = job_;
    struct open_shard *open = job->shard;
    bool last = job->block[job->blocks - 1].index == open->last_block;
    run->blocks_done += job->blocks;
    for (int b = 0; b < job->blocks; b++)
        bl_bucketing_end_block(run->pack->bucketing, job->block[b].index);
    struct bl_work *work = run->pack->work;
    work->encoded += job->encoded;
    /* Note the slowest file of the job if the run waited longer for this job than for any other. */
    int code = BL_OK;
    if (job->slowest >= 0 && work->held > work->slowest_held) {
        code = bl_row_reader_read(run->pack->table, (size_t)job->slowest, &run->row, e);
        if (!code)
            code = bl_work_note_file(work, run->row.row.path, job->slowest_seconds, e);
    }
    if (!code)
        code = shards_report_outcomes(run->pack, &job->outcomes, e);
    for (size_t i = 0; i < job->outcomes.count && !code; i++) {
        const struct bl_outcome *o = &job->outcomes.outcome[i];
        code = bl_outcomes_add(&open->outcomes, o->row, o->failed, o->steps, o->text, e);
    }
    bl_outcomes_add_untrained(&open->outcomes, &job->outcomes.untrained);
    shards_discard(run, job);
    if (!code && last) {
        code = shard_finish(run, open, e);
        shard_close(run, open);
    }
    return code;
}

/* Makes the blocks of a job. Kinds that decode in separate processes need a block in shared memory; then a job has one
 * block. */
static int job_make_blocks(struct run_job *job, const struct bl_pack *pack, struct bl_error *e)
{
    job->block = calloc((size_t)pack->share.run_blocks, sizeof *job->block);
    if (!job->block)
        return bl_error_memory(e);
    int code = pack->env->isolation ? bl_block_make_shared(job->block, pack->format, e)
                                    : bl_block_make(job->block, (size_t)pack->share.run_blocks, pack->format, true, e);
    for (int b = 0; b < pack->share.run_blocks; b++)
        job->block[b].values = pack->values;
    return code;
}

int bl_shards_write(const struct bl_pack *pack, struct bl_error *e)
{
    struct bl_stages stages = {.produce = shards_produce,
                               .open = pack_worker_open,
                               .close = pack_worker_close,
                               .work = shards_work_run,
                               .write = shards_write_run,
                               .consume = shards_consume,
                               .discard = shards_discard,
                               .tick = shards_tick,
                               .work_times = pack->work};
    int64_t begin, end;
    bl_pack_block_range(pack, &begin, &end);
    struct shards_run run = {.pack = pack,
                             .next_shard = pack->shard_begin,
                             .end_block = end,
                             .steps_due = shards_planned_steps(pack, begin, end - begin)};
    /* Runs of small blocks are copied to the page cache, for which the kernel locks the file: a second writer would
     * spin. */
    if (pack->share.run_blocks > 1)
        stages.writers = 1;
    bl_memory_budget_init(&run.memory, pack->share.rest);
    struct bl_processor_time before = bl_isolation_processor_time(pack->env->isolation);
    run.reading = calloc((size_t)pack->share.workers, sizeof *run.reading);
    run.job = calloc((size_t)pack->share.slots, sizeof *run.job);
    int code = run.reading && run.job ? BL_OK : bl_error_memory(e);
    for (int i = 0; i < pack->share.slots && !code; i++) {
        code = job_make_blocks(&run.job[i], pack, e);
        run.job[i].next = run.free;
        run.free = &run.job[i];
    }
    if (!code)
        code = bl_pipeline_run(&stages, &run, pack->share.workers, pack->share.slots, pack->env->cancel, e);
    if (!code && pack->mirror)
        code = bl_mirror_flush(pack->mirror, e);
    while (run.open)
        shard_close(&run, run.open);
    for (int i = 0; run.job && i < pack->share.slots; i++) {
        if (run.job[i].block)
            bl_block_free(run.job[i].block);
        free(run.job[i].block);
    }
    free(run.job);
    bl_work_add_decoders(pack->work, &before, bl_isolation_processor_time(pack->env->isolation));
    pack->work->reserved += run.memory.waited;
    bl_memory_budget_free(&run.memory);
    bl_row_reader_free(&run.row);
    free(run.reading);
    return code;
}

/* --- verifying shards --------------------------------------------------------------------------------------------- */

struct verifying {
    const struct bl_verify_shards *verify;
    int64_t next;
};

/* A shard that is verified, and its faults, which the caller's thread reports in the order of the shards. */
struct verify_job {
    int64_t shard, failed_steps;
    struct bl_buffer faults; /* pairs of file and text, each NUL-terminated */
};

/* Keeps a fault in the job: this runs on the thread of a worker. */
static void verify_shards_fault(void *context, const char *file, const char *text)
{
    struct verify_job *job = context;
    bl_buffer_append(&job->faults, file, strlen(file) + 1);
    bl_buffer_append(&job->faults, text, strlen(text) + 1);
}

/* Makes a job of the next shard. Shards to skip are reported as done without a job. */
static int verify_shards_produce(void *context, void **out, struct bl_error *e)
{
    struct verifying *v = context;
    while (v->next < v->verify->end && v->verify->skip && v->verify->skip[v->next])
        v->verify->done(v->verify->sink, v->next++, 0);
    if (v->next == v->verify->end)
        return BL_OK;
    struct verify_job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    job->shard = v->next++;
    *out = job;
    return BL_OK;
}

static int verify_shards_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    const struct verifying *v = context;
    struct verify_job *job = job_;
    (void)worker;
    return bl_verify_shard(v->verify->dataset, job->shard, verify_shards_fault, job, &job->failed_steps, e);
}

static void verify_shards_discard(void *context, void *job_)
{
    struct verify_job *job = job_;
    (void)context;
    bl_buffer_free(&job->faults);
    free(job);
}

/* Reports the faults of a shard, and that it is done. */
static int verify_shards_consume(void *context, void *job_, struct bl_error *e)
{
    const struct bl_verify_shards *verify = ((struct verifying *)context)->verify;
    struct verify_job *job = job_;
    int code = bl_buffer_check(&job->faults, e);
    for (size_t at = 0; at < job->faults.size && !code;) {
        const char *file = job->faults.data + at, *text = file + strlen(file) + 1;
        verify->fault(verify->sink, job->shard, file, text);
        at = (size_t)(text + strlen(text) + 1 - job->faults.data);
    }
    verify->done(verify->sink, job->shard, job->failed_steps);
    verify_shards_discard(context, job);
    return code;
}

static void verify_shards_tick(void *context)
{
    const struct bl_verify_shards *verify = ((struct verifying *)context)->verify;
    verify->tick(verify->sink);
}

int bl_verify_shards_run(const struct bl_verify_shards *verify, struct bl_error *e)
{
    const struct bl_stages stages = {.produce = verify_shards_produce,
                                     .work = verify_shards_work,
                                     .consume = verify_shards_consume,
                                     .discard = verify_shards_discard,
                                     .tick = verify_shards_tick,
                                     .work_times = verify->work};
    struct verifying v = {verify, verify->begin};
    return bl_pipeline_run(&stages, &v, verify->workers, 2 * verify->workers, verify->cancel, e);
}
