#include "run/forecast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/output.h"
#include "run/bottleneck.h"
#include "run/machine.h"
#include "run/sample.h"
#include "scan/chunks.h"
#include "scan/scan.h"
#include "store/index.h"
#include "store/row_reader.h"
#include "store/shard_table.h"

/* A small dataset within a large one. */
struct bl_token_sample {
    char *folder; /* of its spool */
    struct bl_sequences table;
    struct bl_plan plan;
    struct bl_kind_env env;
    double seconds; /* that one thread took */
};

/* --- sample of tokens --------------------------------------------------------------------------------------------- */

/* Tokens of a few inputs, for the forecast of a run whose readers need the spool. A dry run makes no spool of all
 * inputs, which may be as large as the dataset. */

#define PARTS 8
#define PART_BYTES ((int64_t)1 << 20) /* where an input may be counted in parts */

/* Seconds in which the parts are counted, or else those that are done by then must do; a long scan may have more. */
#define SECONDS 3.0
#define SECONDS_OF_SCAN 0.05

/* The scan of the parts. */
struct token_scan {
    struct bl_packing *p;
    struct bl_kind_scan ops; /* the kind's, with small parts */
    struct bl_kind kind;
    struct bl_cancel cancel; /* raised with the request's, and when the time is over */
    struct bl_kind_env env;
    double begun, prepared; /* seconds that all before it took */
    bool is_over;
};

static int tokens_on_fault(void *sink, const struct bl_row *row, struct bl_error *e)
{
    (void)sink;
    (void)row;
    (void)e;
    return BL_OK; /* the scan of all inputs reported it, or their table has it */
}

static void tokens_on_progress(void *sink, const struct bl_scan_progress *found)
{
    struct token_scan *s = sink;
    double seconds = bl_seconds_now() - s->begun, most = SECONDS + SECONDS_OF_SCAN * s->prepared;
    s->is_over = seconds > most && found->rows;
    if (s->is_over || bl_cancelled(s->p->request.cancel))
        atomic_store(&s->cancel.raised, 1);
}

static int tokens_count_parts(struct token_scan *s, int64_t *parts, struct bl_error *e)
{
    const struct bl_input_set *inputs = s->p->request.inputs;
    struct bl_chunks chunks = {.files = &inputs->files,
                               .base = inputs->base,
                               .kind = &s->kind,
                               .config = inputs->kind_config,
                               .cancel = s->p->request.cancel};
    int code = BL_OK;
    bool found = true;
    for (*parts = 0; !code && found; *parts += found) {
        struct bl_chunk_files files;
        code = bl_cancelled(s->p->request.cancel) ? BL_ECANCEL : BL_OK;
        if (code)
            break;
        code = bl_chunks_next(&chunks, &files, &found, e);
        bl_chunk_files_free(&files);
    }
    bl_chunks_close(&chunks);
    return code;
}

static int tokens_scan(struct token_scan *s, int64_t parts, struct bl_output *out, struct bl_error *e)
{
    struct bl_input_set *inputs = s->p->request.inputs;
    struct bl_scan_progress found = {0};
    int64_t every = parts > PARTS ? parts / PARTS : 1;
    struct bl_scan scan = {.files = &inputs->files,
                           .base = inputs->base,
                           .kind = &s->kind,
                           .config = inputs->kind_config,
                           .workers = 1,
                           .env = &s->env,
                           .temporary = s->p->state.folder,
                           .task = every / 2,
                           .tasks = every,
                           .fault = tokens_on_fault,
                           .tick = tokens_on_progress,
                           .sink = s};
    s->begun = bl_seconds_now();
    int code = bl_scan_run(&scan, out, &found, e);
    if (code == BL_ECANCEL && s->is_over && !bl_cancelled(s->p->request.cancel)) {
        bl_error_clear(e);
        return BL_OK;
    }
    return code;
}

static int tokens_write_table(struct token_scan *s, const char *path, struct bl_error *e)
{
    struct bl_output out = {0};
    int64_t parts = 0;
    int code = tokens_count_parts(s, &parts, e);
    if (!code)
        code = bl_output_open(&out, path, e);
    if (code)
        return code;
    code = tokens_scan(s, parts, &out, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    return code;
}

/* Documents are spread over the blocks as in the plan of all: mixed, and cut where they are longer. */
static int tokens_plan(struct bl_token_sample *sample, const struct bl_packing *p, struct bl_error *e)
{
    const struct bl_plan_options options = {.strategy = BL_STRATEGY_BLOCK,
                                            .oversize = BL_OVERSIZE_SPLIT,
                                            .T = p->plan.T,
                                            .align = p->plan.align,
                                            .seed = p->request.plan_options->seed};
    if (!sample->table.by_status[BL_ROW_OK])
        return BL_OK; /* nothing can be said */
    return bl_plan_make(&sample->plan, sample->table.length, sample->table.count, &options, e);
}

/* Counts parts of the inputs that lie as far from each other as their number allows, for some seconds at most, and
 * plans them. folder: a temporary one. The inputs are those of the request, listed. Free in any case. */
static int token_sample_take(struct bl_token_sample *sample, struct bl_packing *p, const char *folder,
                             struct bl_error *e)
{
    const struct bl_input_set *inputs = p->request.inputs;
    struct token_scan s = {.p = p,
                           .ops = *inputs->kind->scan,
                           .kind = *inputs->kind,
                           .env = p->env,
                           .prepared = bl_progress_seconds(&p->run)};
    *sample = (struct bl_token_sample){.folder = bl_path_join(folder, "tokens")};
    char *path = bl_path_join(folder, "tokens.tsv");
    int code = sample->folder && path ? bl_fs_mkdirs(sample->folder, e) : bl_error_memory(e);
    if (code)
        goto out;
    s.ops.chunk_bytes = s.ops.chunk_bytes_least = PART_BYTES;
    s.kind.scan = &s.ops;
    s.env.spool = sample->folder;
    s.env.cancel = &s.cancel;
    sample->env = p->env;
    sample->env.spool = sample->folder;
    code = tokens_write_table(&s, path, e);
    sample->seconds = bl_seconds_now() - s.begun;
    if (code)
        goto out;
    code = bl_sequences_open(&sample->table, (const char *const[]){path}, 1, false, e);
    if (!code)
        code = tokens_plan(sample, p, e);
out:
    free(path);
    return code;
}

static void token_sample_free(struct bl_token_sample *sample)
{
    bl_plan_free(&sample->plan);
    bl_sequences_close(&sample->table);
    free(sample->folder);
}

/* --- forecast ----------------------------------------------------------------------------------------------------- */

#define FORECAST_SECONDS 3.0 /* of reading the sample */

#define FINISH_ROWS 20000 /* of the table, by which the rest is timed */

#define DISK_BYTES ((int64_t)256 << 20) /* of shards, from which on the disk is measured, */
#define DISK_ROOM ((int64_t)64 << 20)   /* by a file of so many */

/* The sample sees one thread of an idle machine, for seconds. What it cannot see: other programs, threads that share
 * memory and disk, and the end of a run. */
#define UNSEEN_FASTER 0.9
#define UNSEEN_SLOWER 1.5

/* --- bytes ------------------------------------------------------------------------------------------------------ */

/* Bytes of the files that no task writes: the table of the scan becomes that of the dataset. */
static int forecast_files(struct bl_packing *p, struct bl_forecast *f, struct bl_error *e)
{
    const struct bl_format *format = &p->format;
    struct stat table;
    int64_t index = 0, manifest = 0;
    if (stat(p->state.sequences, &table) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot read %s", p->state.sequences);
    int code = bl_index_bytes(&p->plan, format->plan_digest, format->fields.count, &index, e);
    if (!code)
        code = bl_finish_manifest_bytes(&p->manifest, &manifest, e);
    f->bytes_files = index + (int64_t)table.st_size + manifest +
                     bl_shard_table_bytes(format, f->bytes_raw / (f->shards ? f->shards : 1));
    return code;
}

/* Bytes of tokens while the run lasts, and once more where they do not fit into memory (run/scatter.h). */
static void forecast_temporary(const struct bl_packing *p, struct bl_forecast *f)
{
    const struct bl_input_set *inputs = p->request.inputs;
    bool spools = inputs->kind->spool;
    int64_t placed = bl_plan_placed(&p->plan) * f->step_bytes;
    if (bl_kind_spools_steps(inputs->kind, inputs->kind_config))
        f->bytes_temporary = p->plan.steps * f->step_bytes;
    if (p->request.view ? bl_packing_view_scatters(p) : spools && placed > p->pack.share.rest)
        f->bytes_temporary += placed;
    f->spool_is_elsewhere = p->request.spool;
}

int bl_packing_forecast_plan(struct bl_packing *p, struct bl_forecast *f, struct bl_error *e)
{
    int64_t num, den, bytes = 0;
    const struct bl_sequences *t = &p->table;
    *f = (struct bl_forecast){.manifest = &p->manifest,
                              .begun = p->begun,
                              .damaged = t->damaged,
                              .dropped = bl_sequences_dropped(t) + p->plan.dropped,
                              .fault_count = bl_sequences_unusable(t) + t->damaged,
                              .skipped = t->by_status[BL_ROW_SKIPPED],
                              .shards = bl_format_shards(&p->format),
                              .bytes = -1,
                              .bytes_low = -1,
                              .bytes_high = -1,
                              .step_bytes = bl_format_step_bytes(&p->format),
                              .memory = p->pack.share.needed,
                              .memory_limit = p->pack.share.limit,
                              .jobs = p->pack.share.workers,
                              .prepare_seconds = bl_progress_seconds(&p->run),
                              .seconds_low = -1,
                              .seconds_high = -1};
    struct bl_format raw = p->format;
    for (int field = 0; field < raw.fields.count; field++)
        raw.encoding[field] = (struct bl_encoding){0};
    if (bl_kind_rate(p->request.inputs->kind, t->sampling, &num, &den))
        f->hours = (double)bl_plan_placed(&p->plan) * (double)den / (double)num / 3600;
    int code = bl_space_of_shards(&raw, &f->bytes_raw, e);
    if (!code)
        code = bl_space_of_shards(&p->format, &bytes, e);
    if (!code && !bl_sample_is_needed_for_bytes(&p->format))
        f->bytes = f->bytes_low = f->bytes_high = bytes;
    if (!code)
        code = bl_space_free(p->request.output, &f->bytes_free, e);
    if (code)
        return code;
    forecast_temporary(p, f);
    if (f->begun)
        code = bl_space_of_begun(p->request.output, &f->bytes_begun, &f->bytes_kept, e);
    return code ? code : forecast_files(p, f, e);
}

/* --- the sample ------------------------------------------------------------------------------------------------- */

/* Takes a sample of some of the inputs, where readers need the spool. */
static int forecast_sample_tokens(struct bl_packing *p, struct bl_forecast *f, struct bl_sample *sample,
                                  struct bl_error *e)
{
    struct bl_token_sample tokens;
    struct bl_format format = p->format;
    struct bl_pack pack = p->pack;
    int code = BL_OK;
    if (bl_packing_reads_stdin(p))
        return BL_OK; /* which cannot be read again */
    if (p->request.sequences)
        code = bl_input_set_list_table(p->request.inputs, &p->table, e);
    if (code)
        return code;
    code = token_sample_take(&tokens, p, p->scratch, e);
    if (code || !tokens.plan.blocks)
        goto out;
    format.attributes = 0; /* their values are those of the whole table */
    pack.format = &format;
    pack.table = &tokens.table;
    pack.plan = &tokens.plan;
    pack.values = NULL;
    pack.env = &tokens.env;
    code = bl_sample_take(sample, &pack, FORECAST_SECONDS, e);
    sample->is_whole = false;
    double tokens_seconds = tokens.seconds * (double)p->plan.steps / (double)tokens.plan.steps / p->pack.share.workers;
    if (p->request.sequences)
        f->prepare_seconds += tokens_seconds;
    else /* a run also writes them */
        f->prepare_seconds = fmax(f->prepare_seconds, tokens_seconds);
out:
    token_sample_free(&tokens);
    return code;
}

static int64_t bytes_of(double bytes)
{
    return bytes < (double)INT64_MAX / 2 ? (int64_t)bytes : INT64_MAX / 2;
}

/* Encoded steps come to what a plain shard has besides; of compressed shards each has a header, too. */
static int forecast_encoded(const struct bl_packing *p, const struct bl_sample *sample, struct bl_forecast *f,
                            struct bl_error *e)
{
    struct bl_range r = bl_sample_bytes(sample);
    double steps = p->format.pad_repeat ? (double)p->plan.blocks * (double)p->plan.T : (double)bl_plan_placed(&p->plan);
    int64_t rest = sample->header * f->shards;
    int code = p->format.compressed ? BL_OK : bl_space_of_shards(&p->format, &rest, e);
    f->bytes = rest + bytes_of(r.mid * steps);
    f->bytes_low = rest + bytes_of(r.low * steps);
    f->bytes_high = rest + bytes_of(r.high * steps);
    return code;
}

/* Measures how fast the disk writes, by an unnamed file beside the dataset, if there is enough to write. What cannot be
 * measured is left unknown. */
static void forecast_measure_disk(const struct bl_packing *p, struct bl_forecast *f)
{
    struct bl_error none = {0};
    struct bl_write_rate rate;
    struct stat output, parent;
    char name[32], *above = bl_path_join(p->request.output, ".."), *folder = NULL;
    bool is_mount = above && stat(p->request.output, &output) == 0 && stat(above, &parent) == 0 &&
                    output.st_dev != parent.st_dev; /* beside it is another disk */
    int64_t room = f->bytes_free < 0 || f->bytes_free / 8 > DISK_ROOM ? DISK_ROOM : f->bytes_free / 8;
    int fd = -1, direct = -1;
    if (is_mount || f->bytes < DISK_BYTES || room < DISK_ROOM / 8)
        goto out;
    folder = bl_space_folder(access(p->request.output, F_OK) == 0 ? above : p->request.output);
    fd = folder ? bl_temporary_open(folder, &none) : -1;
    if (fd < 0)
        goto out;
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    direct = bl_direct_open(name);
    if (bl_write_rate_measure(&rate, fd, direct, room, folder, p->request.cancel, &none) == BL_OK)
        f->write_rate = (double)rate.bytes / rate.seconds;
out:
    if (direct >= 0)
        close(direct);
    if (fd >= 0)
        close(fd);
    free(folder);
    free(above);
}

/* Seconds in which the table is written once more, at the end, by one thread. */
static int forecast_finish(const struct bl_packing *p, double *seconds, struct bl_error *e)
{
    struct bl_row_reader row = {0};
    struct bl_buffer line = {0};
    size_t rows = p->table.count < FINISH_ROWS ? p->table.count : FINISH_ROWS;
    int code = BL_OK;
    double begun = bl_seconds_now();
    for (size_t i = 0; i < rows && !code; i++) {
        code = bl_row_reader_read(&p->table, i, &row, e);
        bl_buffer_clear(&line);
        if (!code)
            bl_row_format(&row.row, &line);
    }
    *seconds = rows ? (bl_seconds_now() - begun) / (double)rows * (double)p->table.count : 0;
    bl_row_reader_free(&row);
    bl_buffer_free(&line);
    return code;
}

/* Workers read while others write: what takes longer decides. */
static void forecast_seconds(const struct bl_packing *p, const struct bl_sample *sample, double finish,
                             struct bl_forecast *f)
{
    double warm, disk = f->write_rate > 0 ? (double)f->bytes / f->write_rate : 0;
    struct bl_range r = bl_sample_seconds(sample, &warm);
    int64_t workers = p->pack.share.workers < (int64_t)p->plan.blocks ? p->pack.share.workers : (int64_t)p->plan.blocks;
    double steps = (double)bl_plan_placed(&p->plan) / (double)(workers > 1 ? workers : 1);
    f->seconds_low = UNSEEN_FASTER * (f->prepare_seconds + fmax(warm + r.low * steps, disk) + finish);
    f->seconds_high = UNSEEN_SLOWER * (f->prepare_seconds + fmax(warm + r.high * steps, disk) + finish);
}

int bl_packing_forecast(struct bl_packing *p, struct bl_forecast *f, struct bl_error *e)
{
    struct bl_sample *sample = calloc(1, sizeof *sample);
    double finish = 0;
    int code = sample ? bl_packing_forecast_plan(p, f, e) : bl_error_memory(e);
    if (code)
        goto out;
    p->partial = !bl_sequences_is_clean(&p->table);
    p->env.spool = p->state.spool; /* for inflated arrays */
    p->pack.dir = p->scratch;
    bl_packing_progress_begin(p, "sample", "blocks", NULL, 0);
    bl_packing_progress_tick(p);
    code = p->request.inputs->kind->spool ? forecast_sample_tokens(p, f, sample, e)
                                          : bl_sample_take(sample, &p->pack, FORECAST_SECONDS, e);
    bl_packing_progress_end(p);
    if (code || !sample->blocks)
        goto out;
    if (bl_sample_is_needed_for_bytes(&p->format))
        code = forecast_encoded(p, sample, f, e);
    if (code)
        goto out;
    forecast_measure_disk(p, f);
    code = forecast_finish(p, &finish, e);
    if (code)
        goto out;
    forecast_seconds(p, sample, finish, f);
    f->sample_blocks = sample->blocks;
    f->sample_sequences = sample->sequences;
    f->sample_steps = sample->steps;
    f->sample_failed = sample->failed;
out:
    free(sample);
    return code;
}
