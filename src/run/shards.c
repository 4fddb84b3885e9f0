#include "run/shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "kind/file_check.h"
#include "kind/reservation.h"
#include "kind/isolated/isolation.h"
#include "run/pipeline.h"
#include "run/scatter.h"
#include "store/block.h"
#include "store/row_reader.h"
#include "store/seekable.h"
#include "store/shard_finder.h"
#include "store/shard_writer.h"

/* A shard in progress; it collects the outcomes of its blocks until it is finished. */
struct open_shard {
    struct bl_shard_writer *shard;
    int64_t number, last_block;
    struct bl_outcomes outcomes;
    struct open_shard *next;
};

/* A block in progress, from a fixed pool, which bounds the memory. */
struct block_job {
    struct bl_block block;
    struct open_shard *shard;
    struct bl_outcomes outcomes;
    struct block_job *next;
};

struct shards_run {
    const struct bl_pack_params *pack;
    struct block_job *job; /* [slots] */
    struct block_job *free;
    struct open_shard *open;
    int64_t next_block, next_shard;
    int64_t blocks_done, bytes;
    int64_t steps_due; /* steps of this run */
    int64_t steps_found;
    atomic_llong steps; /* read so far; workers count them, since blocks and pieces may take long */
    struct bl_memory_budget memory;
};

struct worker {
    const struct bl_kind *kind;
    struct bl_kind_env env;
    struct bl_reservation reservation;
    struct bl_reader *reader;
    struct bl_file_check look;
    struct bl_codec *codec;
    struct bl_compressor *compressor;
    struct bl_row_reader row;
};

static void shards_tick(void *context)
{
    struct shards_run *run = context;
    int64_t steps = atomic_load_explicit(&run->steps, memory_order_relaxed);
    struct bl_pack_progress progress = {run->blocks_done, steps, run->steps_due - steps, run->steps_found, run->bytes};
    run->pack->tick(run->pack->sink, &progress);
}

/* --- workers ---------------------------------------------------------------------------------------------------- */

static void pack_worker_close(void *worker)
{
    struct worker *w = worker;
    if (w->reader)
        w->kind->read->close(w->reader);
    bl_file_check_free(&w->look);
    bl_codec_close(w->codec);
    if (w->compressor)
        bl_compressor_close(w->compressor);
    bl_row_reader_free(&w->row);
    free(w);
}

static int pack_worker_open(void *context, void **worker, struct bl_error *e)
{
    struct shards_run *run = context;
    const struct bl_pack_params *pack = run->pack;
    struct worker *w = calloc(1, sizeof *w);
    if (!w)
        return bl_error_memory(e);
    w->kind = pack->kind;
    w->env = *pack->env;
    w->env.reservation = &w->reservation;
    w->reservation = (struct bl_reservation){
        .budget = &run->memory, .cancel = pack->env->cancel, .included = pack->kind->read->memory};
    int code = pack->kind->read->open(pack->config, &w->env, &pack->format->fields, &w->reader, e);
    if (code)
        goto out;
    code = bl_codec_open(pack->format, pack->pad_repeat, &w->codec, e);
    if (code)
        goto out;
    if (pack->format->compressed)
        code = bl_compressor_open(pack->format->level, &w->compressor, e);
    *worker = w;
out:
    if (code)
        pack_worker_close(w);
    return code;
}

/* Reads the row of a sequence and resolves the path of its file. */
static int piece_read_row(const struct bl_pack_params *pack, struct worker *w, int64_t sequence,
                          struct bl_request *request, char **open_path, struct bl_error *e)
{
    int code = bl_row_reader_read(pack->table, (size_t)sequence, &w->row, e);
    if (code)
        return code;
    *open_path = bl_path_join(pack->base, w->row.row.path);
    if (!*open_path)
        return bl_error_memory(e);
    request->row = w->row.row;
    request->row.path = *open_path;
    return BL_OK;
}

static int piece_read(const struct bl_pack_params *pack, struct worker *w, struct block_job *job, int i,
                      struct bl_meter *meter, struct bl_error *e)
{
    struct bl_block *block = &job->block;
    const struct bl_fields *fields = &pack->format->fields;
    int64_t sequence = block->sequence[i];
    size_t piece = (size_t)(pack->plan->block_ptr[block->index] + i);
    uint8_t *out[BL_FIELDS_MAX];
    for (int f = 0; f < fields->count; f++)
        out[f] = block->field[f] + (size_t)block->cu_seqlens[i] * bl_field_step_bytes(&fields->field[f]);
    if (bl_scatter_has(pack->scatter, piece))
        return bl_scatter_read(pack->scatter, piece, block->length[i], out, e);
    struct bl_request request = {
        .source_start = block->source_start[i], .steps = block->length[i], .out = out, .meter = meter};
    if (block->shared.data)
        request.memory = &block->shared;
    struct bl_note note = {0};
    struct bl_error fault = {0};
    char *open_path = NULL;
    int code = piece_read_row(pack, w, sequence, &request, &open_path, e);
    if (code)
        return code;
    bl_error_memory_watch();
    code = bl_file_check_read(&w->look, pack->kind, w->reader, &request, &note, &fault);
    bl_reservation_release(&w->reservation);
    free(open_path);
    if (bl_error_memory_seen() && code != BL_ECANCEL) {
        code = bl_error_memory(e);
        bl_error_prefix(e, "%s", request.row.id);
        return code;
    }
    if (code == BL_EDATA) {
        bl_block_fail(block, pack->format, i);
        return bl_outcomes_add(&job->outcomes, sequence, true, request.steps, fault.text, e);
    }
    if (code) {
        bl_error_set(e, code, "%s", fault.text);
        return code;
    }
    return note.text[0] ? bl_outcomes_add(&job->outcomes, sequence, false, 0, note.text, e) : BL_OK;
}

/* Fills steps `from` to `to` of every field: with its pad value, or with repetitions of the entry before them. */
static void block_pad_range(const struct bl_pack_params *pack, struct bl_block *block, size_t from, size_t to)
{
    for (int f = 0; f < pack->format->fields.count; f++) {
        size_t step = bl_field_step_bytes(&pack->format->fields.field[f]);
        uint8_t *end = block->field[f] + from * step;
        if (!pack->pad_repeat || from == 0) {
            bl_field_pad(&pack->format->fields.field[f], end, to - from);
            continue;
        }
        for (size_t t = from; t < to; t++, end += step)
            memcpy(end, end - step, step);
    }
}

/* Pads the block after its last piece, and from each piece to the aligned start of the next. */
static void block_pad(const struct bl_pack_params *pack, struct bl_block *block)
{
    for (int i = 0; i + 1 < block->num_sequences; i++) {
        size_t end = (size_t)(block->cu_seqlens[i] + block->length[i]), next = (size_t)block->cu_seqlens[i + 1];
        if (block->length[i] > 0 && end < next) /* a failed piece is already zero up to the next one */
            block_pad_range(pack, block, end, next);
    }
    block_pad_range(pack, block, (size_t)block->cu_seqlens[block->num_sequences], (size_t)pack->format->T);
}

static int shards_work_block(void *context, void *worker, void *job_, struct bl_error *e)
{
    struct shards_run *run = context;
    const struct bl_pack_params *pack = run->pack;
    struct worker *w = worker;
    struct block_job *job = job_;
    int code = BL_OK;
    for (int i = 0; i < job->block.num_sequences && !code; i++) {
        int32_t steps = job->block.length[i];
        struct bl_meter meter = {.sum = &run->steps, .whole = steps, .weight = steps};
        if (pack->workers <= 1) {
            meter.tick = shards_tick;
            meter.sink = run;
        }
        code = bl_cancelled(pack->env->cancel) ? BL_ECANCEL : piece_read(pack, w, job, i, &meter, e);
        bl_meter_end(&meter);
    }
    if (code)
        return code;
    block_pad(pack, &job->block);
    code = bl_shard_writer_encode_block(job->shard->shard, &job->block, w->codec, e);
    if (code || !w->compressor)
        return code;
    return bl_shard_writer_put_block(job->shard->shard, &job->block, w->compressor, e);
}

/* Blocks of uncompressed shards go to the disk; those of a compressed shard stay in memory until the shard is
 * complete. */
static int shards_write_block(void *context, void *job_, struct bl_error *e)
{
    const struct bl_pack_params *pack = ((struct shards_run *)context)->pack;
    const struct block_job *job = job_;
    return pack->format->compressed ? BL_OK : bl_shard_writer_put_block(job->shard->shard, &job->block, NULL, e);
}

/* --- in order, on one thread ------------------------------------------------------------------------------------ */

static int shards_report_outcomes(const struct bl_pack_params *pack, const struct bl_outcomes *outcomes,
                                  struct bl_error *e)
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

/* The steps that the plan puts into these blocks. */
static int64_t shards_planned_steps(const struct bl_pack_params *pack, int64_t first, int64_t blocks)
{
    int64_t steps = 0;
    for (int64_t p = pack->plan->block_ptr[first]; p < pack->plan->block_ptr[first + blocks]; p++)
        steps += bl_plan_piece_length(pack->plan, pack->table->length, (size_t)p);
    return steps;
}

/* Adopts a finished shard of an earlier run: reports its outcomes again and counts its blocks. */
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
    return code;
}

static int shard_create(struct shards_run *run, int64_t number, struct open_shard **out, struct bl_error *e)
{
    struct open_shard *open = calloc(1, sizeof *open);
    if (!open)
        return bl_error_memory(e);
    open->number = number;
    open->last_block =
        bl_format_first_block(run->pack->format, number) + bl_format_blocks_of(run->pack->format, number) - 1;
    int code = bl_shard_writer_open(run->pack->format, run->pack->dir, number, &open->shard, e);
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
    *out = open;
    return BL_OK;
}

/* Advances to the next shard to write. *left: there is one. */
static int shards_find_next(struct shards_run *run, bool *left, struct bl_error *e)
{
    const struct bl_format *format = run->pack->format;
    while (run->next_shard < run->pack->shard_end) {
        int64_t number = run->next_shard++;
        struct bl_shard_record record = {0};
        bool found = false;
        int code = bl_pack_params_find_shard(run->pack, number, &record, &found, e);
        if (!code && found)
            code = shard_adopt(run, &record, e);
        bl_shard_record_free(&record);
        if (code)
            return code;
        if (!found) {
            struct open_shard *open;
            *left = true;
            run->next_block = bl_format_first_block(format, number);
            return shard_create(run, number, &open, e);
        }
        if (bl_cancelled(run->pack->env->cancel))
            return BL_ECANCEL;
    }
    *left = false;
    return BL_OK;
}

static int shards_produce(void *context, void **job_, struct bl_error *e)
{
    struct shards_run *run = context;
    if (!run->open || run->next_block > run->open->last_block) {
        bool left;
        int code = shards_find_next(run, &left, e);
        if (code || !left)
            return code;
    }
    struct block_job *job = run->free; /* never empty: at most `slots` jobs are in progress */
    run->free = job->next;
    job->shard = run->open;
    bl_block_plan(&job->block, run->pack->format, run->pack->plan, run->pack->table->length, run->next_block++);
    bl_shard_writer_place_block(job->shard->shard, &job->block);
    bl_scatter_begin_block(run->pack->scatter, job->block.index);
    *job_ = job;
    return BL_OK;
}

static void shards_discard(void *context, void *job_)
{
    struct shards_run *run = context;
    struct block_job *job = job_;
    bl_outcomes_free(&job->outcomes);
    job->next = run->free;
    run->free = job;
}

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

static int shard_finish(struct shards_run *run, struct open_shard *open, struct bl_error *e)
{
    struct bl_buffer user_data = {0};
    struct bl_shard_record record = {0};
    struct bl_compressor *compressor = NULL;
    open->outcomes.unfiltered = bl_isolation_lacks_filter(run->pack->env->isolation);
    bl_outcomes_format(&open->outcomes, &user_data);
    int code = bl_buffer_check(&user_data, e);
    if (code)
        goto out;
    if (run->pack->format->compressed)
        code = bl_compressor_open(run->pack->format->level, &compressor, e);
    if (code)
        goto out;
    code = bl_shard_writer_finish(open->shard, compressor, user_data.data, user_data.size, &record, e);
    if (code)
        goto out;
    run->bytes += record.bytes;
out:
    if (compressor)
        bl_compressor_close(compressor);
    bl_shard_record_free(&record);
    bl_buffer_free(&user_data);
    return code;
}

static int shards_consume(void *context, void *job_, struct bl_error *e)
{
    struct shards_run *run = context;
    struct block_job *job = job_;
    struct open_shard *open = job->shard;
    bool last = job->block.index == open->last_block;
    run->blocks_done++;
    bl_scatter_end_block(run->pack->scatter, job->block.index);
    int code = shards_report_outcomes(run->pack, &job->outcomes, e);
    for (size_t i = 0; i < job->outcomes.count && !code; i++) {
        const struct bl_outcome *o = &job->outcomes.outcome[i];
        code = bl_outcomes_add(&open->outcomes, o->row, o->failed, o->steps, o->text, e);
    }
    shards_discard(run, job);
    if (!code && last) {
        code = shard_finish(run, open, e);
        shard_close(run, open);
    }
    return code;
}

static int shards_make_pool(struct shards_run *run, int slots, struct bl_error *e)
{
    run->job = calloc((size_t)slots, sizeof *run->job);
    if (!run->job)
        return bl_error_memory(e);
    for (int i = 0; i < slots; i++) {
        struct bl_block *block = &run->job[i].block;
        int code = run->pack->env->isolation ? bl_block_make_shared(block, run->pack->format, e)
                                             : bl_block_make(block, run->pack->format, true, e);
        if (code)
            return code;
        run->job[i].block.values = run->pack->values;
        run->job[i].next = run->free;
        run->free = &run->job[i];
    }
    return BL_OK;
}

int bl_shards_write(const struct bl_pack_params *pack, struct bl_error *e)
{
    static const struct bl_stages stages = {.produce = shards_produce,
                                            .open = pack_worker_open,
                                            .close = pack_worker_close,
                                            .work = shards_work_block,
                                            .write = shards_write_block,
                                            .consume = shards_consume,
                                            .discard = shards_discard,
                                            .tick = shards_tick};
    int64_t begin, end;
    bl_pack_params_block_range(pack, &begin, &end);
    struct shards_run run = {
        .pack = pack, .next_shard = pack->shard_begin, .steps_due = shards_planned_steps(pack, begin, end - begin)};
    bl_memory_budget_init(&run.memory, pack->memory);
    int code = shards_make_pool(&run, pack->slots, e);
    if (!code)
        code = bl_pipeline_run(&stages, &run, pack->workers, pack->slots, pack->env->cancel, e);
    while (run.open)
        shard_close(&run, run.open);
    for (int i = 0; run.job && i < pack->slots; i++)
        bl_block_free(&run.job[i].block);
    free(run.job);
    bl_memory_budget_free(&run.memory);
    return code;
}
