/* Takes samples in rounds, and extrapolates from them.
 *
 * A round packs a small plan of its own, made of blocks or parts of blocks of the whole plan, by the same workers as a
 * run. The first round has a block for each worker, and each following round twice as many blocks as all before, as
 * long as the time allows. So few seconds suffice where blocks are cheap, and a single expensive block ends the sample.
 */
#include "run/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "run/assembler.h"
#include "run/heartbeat.h"
#include "pool/pipeline.h"
#include "store/folders.h"
#include "store/format.h"
#include "store/shard_writer.h"

/* --- taking a sample ---------------------------------------------------------------------------------------------- */

/* At most BLOCK_BYTES of a block are read, but at least BLOCK_STEPS steps, since the beginning of a file costs more
 * time than the rest. Larger parts would not compress better with zstd. */
#define BLOCK_BYTES ((int64_t)8 << 20)
#define BLOCK_STEPS 64

/* An estimate from fewer than BLOCKS_ENOUGH blocks is uncertain; then the sample may take PATIENCE times as long. */
#define BLOCKS_ENOUGH 32
#define PATIENCE 3

#define GOLDEN 0.6180339887498949 /* the fractional parts of its multiples are spread evenly over 0 to 1 */

#define SAMPLE_BYTES ((int64_t)512 << 20) /* the most bytes of all blocks */

/* A block in progress. The pool has one job for each worker. */
struct sample_job {
    struct bl_block block;
    struct bl_sample_block taken;
    struct bl_outcomes outcomes;
    struct sample_job *next;
};

/* The state of taking a sample. Blocks are taken in rounds: each round makes a small plan of the chosen blocks, packs
 * it, and measures how much time is left for the next round. */
struct sampling {
    struct bl_pack pack; /* a copy of the caller's, but with the following plan and format */
    struct bl_plan plan; /* the blocks of one round */
    struct bl_format format;
    const struct bl_pack *of; /* the caller's, with the whole plan */
    struct bl_sample *sample;
    int64_t filled; /* number of blocks of the whole plan that have pieces: the first ones */
    int64_t turn;   /* counter whose bits, reversed, are the next block */
    int bits;       /* number of bits to reverse */
    double begun, seconds;
    struct bl_memory_budget memory;
    struct sample_job *job; /* [workers] */
    struct sample_job *free;
    /* Members of the present round: */
    struct bl_shard_writer *shard; /* NULL: blocks are neither encoded nor compressed */
    size_t next;                   /* block */
    atomic_llong read;             /* steps; only because a meter needs a sum */
};

/* A worker. is_warm: it has filled its first block, which takes longer. */
struct sample_worker {
    struct bl_shard_worker *worker;
    struct bl_reading reading;
    bool is_warm;
};

bool bl_sample_is_needed_for_bytes(const struct bl_format *format)
{
    return format->compressed || bl_format_encodes(format, BL_ENCODING_JPEG);
}

/* --- which blocks ----------------------------------------------------------------------------------------------- */

/* Returns the next block of the plan, or -1 if all have been taken. Bit reversal spreads any number of blocks evenly:
 * of 8 blocks the order is 0, 4, 2, 6, 1, 5, 3, 7. */
static int64_t sample_next_block(struct sampling *s)
{
    while (s->turn < INT64_C(1) << s->bits) {
        int64_t turn = s->turn++, block = 0;
        for (int bit = 0; bit < s->bits; bit++)
            block |= (turn >> bit & 1) << (s->bits - 1 - bit);
        if (block < s->filled)
            return block;
    }
    return -1;
}

/* Returns the steps of block b of the whole plan, without padding. */
static int64_t block_steps(const struct sampling *s, int64_t b)
{
    const struct bl_plan *all = s->of->plan;
    int64_t steps = 0;
    for (int64_t p = all->block_ptr[b]; p < all->block_ptr[b + 1]; p++)
        steps += bl_plan_piece_length(all, s->of->table->length, (size_t)p);
    return steps;
}

/* Adds a block, or a part of it, to the plan of the round. If only the time matters, the first sequence of the part is
 * read from its beginning, as in a run. If the encoded size matters, it is cut, so that beginnings of sequences, which
 * may encode differently, are not sampled too often. */
static void plan_add_block(struct sampling *s, int64_t b)
{
    const struct bl_plan *all = s->of->plan;
    struct bl_plan *plan = &s->plan;
    /* skip: the step at which the sampled part begins. The golden ratio spreads the parts of successive blocks evenly
     * over the possible positions. */
    int64_t places = s->format.T < all->T ? block_steps(s, b) - s->format.T : 0, at = 0;
    double turn = (double)(s->sample->blocks + (int64_t)plan->blocks + 1) * GOLDEN;
    int64_t skip = places > 0 ? (int64_t)((double)places * (turn - floor(turn))) : 0;
    bool cuts = bl_sample_is_needed_for_bytes(&s->format);
    for (int64_t p = all->block_ptr[b]; p < all->block_ptr[b + 1] && at < s->format.T; p++) {
        int64_t steps = bl_plan_piece_length(all, s->of->table->length, (size_t)p), left = s->format.T - at;
        int64_t from = cuts ? skip : 0;
        if (skip >= steps) {
            skip -= steps;
            continue;
        }
        skip = 0;
        steps = steps - from < left ? steps - from : left;
        plan->sequence[plan->pieces] = all->sequence[p];
        for (int f = 0; f < plan->own.count; f++)
            plan->own.field[f].piece[plan->pieces] = from ? 0 : (int32_t)bl_plan_own_length(all, f, (size_t)p);
        plan->length[plan->pieces] = steps;
        plan->source_start[plan->pieces++] = from + (all->source_start ? all->source_start[p] : 0);
        at = bl_plan_next_start(all, at, steps);
    }
    plan->block_ptr[++plan->blocks] = (int64_t)plan->pieces;
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

/* Returns the bytes of a step, at least 1, since callers divide by it. */
static int64_t sample_step_bytes(const struct bl_format *format)
{
    int64_t bytes = bl_format_step_bytes(format);
    return bytes > 0 ? bytes : 1;
}

/* Sets the format and the plan of the rounds, and makes the blocks in memory. bl_sample_take frees them, also after an
 * error. */
static int sample_open(struct sampling *s, struct bl_error *e)
{
    const struct bl_plan *all = s->of->plan;
    int64_t most = SAMPLE_BYTES / s->of->share.workers;
    int64_t T = (most < BLOCK_BYTES ? most : BLOCK_BYTES) / sample_step_bytes(s->of->format);
    T = T > BLOCK_STEPS ? T : BLOCK_STEPS;
    s->format = *s->of->format;
    s->format.T = all->T < T ? all->T : T;
    s->format.has_source_start |= s->format.T < all->T;
    s->filled = (int64_t)all->blocks;
    while (s->filled && all->block_ptr[s->filled] == all->block_ptr[s->filled - 1])
        s->filled--; /* padding blocks are the last ones */
    while (INT64_C(1) << s->bits < s->filled)
        s->bits++;
    s->pack = *s->of;
    s->pack.plan = &s->plan;
    s->pack.format = &s->format;
    s->pack.bucketing = NULL;
    bl_memory_budget_init(&s->memory, s->pack.share.rest);
    size_t pieces = (size_t)s->format.S * BL_SAMPLE_BLOCKS;
    struct bl_plan *plan = &s->plan;
    plan->T = s->format.T;
    plan->align = s->of->plan->align;
    plan->block_ptr = calloc(BL_SAMPLE_BLOCKS + 1, sizeof *plan->block_ptr);
    plan->sequence = malloc(pieces * sizeof *plan->sequence);
    plan->length = malloc(pieces * sizeof *plan->length);
    plan->source_start = malloc(pieces * sizeof *plan->source_start);
    bool whole = plan->block_ptr && plan->sequence && plan->length && plan->source_start;
    for (int f = 0; f < all->own.count; f++) {
        struct bl_plan_own_field *field = &plan->own.field[plan->own.count++];
        *field = all->own.field[f];
        field->piece = malloc(pieces * sizeof *field->piece);
        whole &= field->piece != NULL;
    }
    if (!whole)
        return bl_error_memory(e);
    s->job = calloc((size_t)s->pack.share.workers, sizeof *s->job);
    int code = s->job ? BL_OK : bl_error_memory(e);
    for (int i = 0; i < s->pack.share.workers && !code; i++) {
        struct sample_job *job = &s->job[i];
        code = s->pack.env->isolation ? bl_block_make_shared(&job->block, &s->format, e)
                                      : bl_block_make(&job->block, 1, &s->format, true, e);
        job->block.values = s->pack.values;
        job->next = s->free;
        s->free = job;
    }
    return code;
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* Closes a worker; its shard worker is NULL if it could not be opened. */
static void sample_worker_close(void *worker)
{
    struct sample_worker *w = worker;
    if (w->worker)
        bl_shard_worker_close(w->worker);
    free(w);
}

static int sample_worker_open(void *context, void **worker, struct bl_error *e)
{
    struct sampling *s = context;
    struct sample_worker *w = calloc(1, sizeof *w);
    int code = w ? bl_shard_worker_open(&w->worker, &s->pack, &s->memory, &w->reading, e) : bl_error_memory(e);
    if (code)
        free(w);
    else
        *worker = w;
    return code;
}

/* Plans the next block of the round. The pool never runs out of jobs: the pipeline has as many slots. */
static int sample_produce(void *context, void **job_, struct bl_error *e)
{
    struct sampling *s = context;
    (void)e;
    if (s->next == s->plan.blocks)
        return BL_OK;
    struct sample_job *job = s->free;
    s->free = job->next;
    bl_block_plan(&job->block, &s->format, &s->plan, s->of->table->length, (int64_t)s->next++);
    if (s->shard)
        bl_shard_writer_place_blocks(s->shard, &job->block, 1);
    *job_ = job;
    return BL_OK;
}

/* Fills, encodes and compresses a block, and measures the time. */
static int sample_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    struct sampling *s = context;
    struct sample_worker *w = worker;
    struct sample_job *job = job_;
    struct bl_meter meter = {.sum = &s->read};
    job->taken = (struct bl_sample_block){.is_first = !w->is_warm};
    for (int i = 0; i < job->block.num_sequences; i++)
        job->taken.steps += job->block.length[i];
    job->taken.stored = s->format.pad_repeat ? s->format.T : job->taken.steps;
    double begun = bl_seconds_now();
    int code = bl_shard_worker_fill(w->worker, s->shard, &job->block, 1, &meter, &job->outcomes, e);
    if (!code && s->shard)
        code = bl_shard_writer_put_blocks(s->shard, &job->block, 1, w->worker->compressor, e);
    job->taken.seconds = bl_seconds_now() - begun;
    if (!code && s->shard)
        job->taken.bytes = bl_shard_writer_block_bytes(s->shard, &job->block);
    w->is_warm = true;
    return code;
}

static void sample_discard(void *context, void *job_)
{
    struct sampling *s = context;
    struct sample_job *job = job_;
    bl_outcomes_free(&job->outcomes);
    job->next = s->free;
    s->free = job;
}

/* Adds the measurements of a block to the sample. */
static int sample_consume(void *context, void *job_, struct bl_error *e)
{
    struct sampling *s = context;
    struct sample_job *job = job_;
    (void)e;
    s->sample->block[s->sample->blocks++] = job->taken;
    s->sample->sequences += job->block.num_sequences;
    s->sample->steps += job->taken.steps;
    for (size_t i = 0; i < job->outcomes.count; i++)
        s->sample->failed += job->outcomes.outcome[i].failed;
    sample_discard(s, job);
    return BL_OK;
}

/* --- rounds ----------------------------------------------------------------------------------------------------- */

/* Sets the bytes of the compressed header of a shard. */
static int round_compress_header(struct sampling *s, struct bl_compressor *compressor, struct bl_error *e)
{
    struct bl_layout layout;
    struct bl_zstd_frame frame = {0};
    BL_TRY(bl_layout_make(&layout, &s->format, 0, e));
    int code = bl_compressor_frame(compressor, layout.header.data, layout.header.size, &frame, e);
    s->sample->header = code ? 0 : frame.size;
    bl_zstd_frame_free(&frame);
    bl_layout_free(&layout);
    return code;
}

/* Finishes the shard of a round: its size without its header and blocks is the size of the compressed tables. first:
 * the first block of the round in the sample. */
static int round_finish(struct sampling *s, int first, struct bl_error *e)
{
    struct bl_shard_record record = {0};
    struct bl_compressor *compressor = NULL;
    if (!s->format.compressed)
        return BL_OK;
    BL_TRY(bl_compressor_open(s->format.level, &compressor, e));
    int code = bl_shard_writer_finish(s->shard, compressor, NULL, 0, &record, e);
    if (!code)
        code = round_compress_header(s, compressor, e);
    s->sample->tables += record.bytes - s->sample->header;
    for (int b = first; b < s->sample->blocks; b++)
        s->sample->tables -= s->sample->block[b].bytes;
    bl_compressor_close(compressor);
    bl_shard_record_free(&record);
    return code;
}

/* Opens the shard of a round in a new folder, which the caller of bl_sample_take removes. If the bytes follow from the
 * format, no shard is needed, and s->shard stays NULL. */
static int round_open_shard(struct sampling *s, struct bl_error *e)
{
    char name[32];
    if (!bl_sample_is_needed_for_bytes(&s->format))
        return BL_OK;
    snprintf(name, sizeof name, "sample-%d", s->sample->blocks);
    char *dir = bl_path_join(s->of->dir, name);
    int code = dir ? bl_folders_prepare(dir, e) : bl_error_memory(e);
    if (!code)
        code = bl_shard_writer_open(&s->format, &s->plan, dir, 0, &s->shard, e);
    free(dir);
    return code;
}

/* Packs this number of blocks, or the rest of the plan, into one shard, and adds the shard to the sample. */
static int round_run(struct sampling *s, int blocks, struct bl_error *e)
{
    static const struct bl_stages stages = {.produce = sample_produce,
                                            .open = sample_worker_open,
                                            .close = sample_worker_close,
                                            .work = sample_work,
                                            .consume = sample_consume,
                                            .discard = sample_discard};
    int first = s->sample->blocks;
    s->plan.blocks = s->plan.pieces = s->next = 0;
    for (int64_t b = 0, block; b < blocks && (block = sample_next_block(s)) >= 0; b++)
        plan_add_block(s, block);
    s->format.blocks = s->format.blocks_per_shard = (int64_t)s->plan.blocks;
    if (!s->plan.blocks)
        return BL_OK;
    int code = round_open_shard(s, e);
    if (!code)
        code = bl_pipeline_run(&stages, s, s->pack.share.workers, s->pack.share.workers, s->pack.env->cancel, e);
    if (!code && s->shard)
        code = round_finish(s, first, e);
    bl_shard_writer_free(s->shard);
    s->shard = NULL;
    return code;
}

/* Returns the number of blocks of the next round, 0 for none. The first round has one for each worker; each following
 * round has twice as many as all before, reduced to what the time left and SAMPLE_BYTES allow. */
static int round_blocks(const struct sampling *s)
{
    const struct bl_sample *sample = s->sample;
    double most = sample->blocks < BLOCKS_ENOUGH ? s->seconds * PATIENCE : s->seconds;
    double left = most - (bl_seconds_now() - s->begun), spent = 0;
    int64_t block = s->format.T * sample_step_bytes(&s->format), workers = s->pack.share.workers;
    int64_t blocks = sample->blocks ? 2 * sample->blocks : workers, room = SAMPLE_BYTES / block - sample->blocks;
    for (int b = 0; b < sample->blocks; b++)
        spent += sample->block[b].seconds;
    if (sample->blocks && (double)blocks * spent / sample->blocks > left * (double)workers)
        blocks = (int64_t)(left * (double)workers / (spent / sample->blocks));
    blocks = blocks < room || !sample->blocks ? blocks : room;
    blocks = blocks < BL_SAMPLE_BLOCKS - sample->blocks ? blocks : BL_SAMPLE_BLOCKS - sample->blocks;
    return left > 0 && blocks > 0 ? (int)blocks : 0;
}

int bl_sample_take(struct bl_sample *sample, const struct bl_pack *pack, double seconds, struct bl_error *e)
{
    struct sampling s = {.of = pack, .sample = sample, .begun = bl_seconds_now(), .seconds = seconds};
    *sample = (struct bl_sample){0};
    int code = sample_open(&s, e), blocks = round_blocks(&s), before = -1;
    while (!code && blocks && sample->blocks > before) {
        before = sample->blocks;
        code = round_run(&s, blocks, e);
        blocks = round_blocks(&s);
    }
    sample->is_whole = sample->blocks == s.filled && s.format.T == pack->plan->T;
    for (int i = 0; s.job && i < s.pack.share.workers; i++) {
        bl_block_free(&s.job[i].block);
        bl_outcomes_free(&s.job[i].outcomes);
    }
    free(s.job);
    bl_plan_free(&s.plan);
    bl_memory_budget_free(&s.memory);
    return code;
}

/* --- estimates from a sample -------------------------------------------------------------------------------------- */

/* Estimates for the whole plan from its sample. */

#define ONE_SAMPLE 0.5    /* relative error of a single sample, which has no spread */
#define TABLES_MARGIN 0.2 /* relative error of the bytes of tables: blocks are compressed together */
#define WHOLE_MARGIN 0.01 /* relative error of other bytes: seek tables and headers differ a little */
#define WARM_BLOCKS 4     /* with as many others, leave out first blocks, which also open files and libraries */

/* A ratio estimator: its variance is that of the residuals part - mid * whole (Cochran, Sampling Techniques, chapter
 * 6). The interval ends at a quarter and at four times the middle. */
struct bl_range bl_sample_ratio(const double *part, const double *whole, int n)
{
    double parts = 0, wholes = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        parts += part[i];
        wholes += whole[i];
    }
    if (!(wholes > 0))
        return (struct bl_range){0};
    double mid = parts / wholes, reach = mid * ONE_SAMPLE;
    for (int i = 0; i < n; i++)
        squares += (part[i] - mid * whole[i]) * (part[i] - mid * whole[i]);
    if (n > 1) {
        /* The quantile of Student's t for 95 % and n - 1 degrees of freedom, with an error of at most 3 % for n >= 3.
         */
        double t = n == 2 ? 12.7 : 1.96 + 2.4 / (n - 1) + 3.5 / ((double)(n - 1) * (n - 1));
        reach = t * sqrt(squares * n / (n - 1)) / wholes;
    }
    return (struct bl_range){fmax(mid - reach, mid / 4), mid, fmin(mid + reach, mid * 4)};
}

struct bl_range bl_sample_seconds(const struct bl_sample *sample, double *warm)
{
    double part[BL_SAMPLE_BLOCKS] = {0}, whole[BL_SAMPLE_BLOCKS] = {0}, more = 0;
    int n = 0, firsts = 0;
    for (int b = 0; b < sample->blocks; b++)
        firsts += sample->block[b].is_first;
    bool skips = sample->blocks - firsts >= WARM_BLOCKS;
    for (int b = 0; b < sample->blocks; b++) {
        if (skips && sample->block[b].is_first)
            continue;
        part[n] = sample->block[b].seconds;
        whole[n++] = (double)sample->block[b].steps;
    }
    struct bl_range seconds = bl_sample_ratio(part, whole, n);
    for (int b = 0; b < sample->blocks; b++)
        more += sample->block[b].is_first
                    ? fmax(sample->block[b].seconds - seconds.mid * (double)sample->block[b].steps, 0)
                    : 0;
    *warm = skips && firsts ? more / firsts : 0;
    return seconds;
}

/* The function assumes that tables take the same number of bytes for each step in all shards. */
struct bl_range bl_sample_bytes(const struct bl_sample *sample)
{
    double part[BL_SAMPLE_BLOCKS] = {0}, whole[BL_SAMPLE_BLOCKS] = {0}, stored = 0;
    for (int b = 0; b < sample->blocks; b++) {
        part[b] = (double)sample->block[b].bytes;
        whole[b] = (double)sample->block[b].stored;
        stored += whole[b];
    }
    struct bl_range bytes = bl_sample_ratio(part, whole, sample->blocks);
    double tables = stored > 0 ? (double)sample->tables / stored : 0;
    if (sample->is_whole)
        bytes.low = bytes.high = bytes.mid;
    double margin = tables * TABLES_MARGIN + bytes.mid * WHOLE_MARGIN;
    return (struct bl_range){bytes.low + tables - margin, bytes.mid + tables, bytes.high + tables + margin};
}
