/* Forecasts the size and the duration of a run. What follows from the plan alone is exact: raw bytes, files, memory.
 * The rest comes from a sample (run/sample.h): the bytes of encoded or compressed shards, and the time.
 *
 * A range of the time is prepare + max(warm + rate * steps, bytes / write rate) + finish, since reading and writing
 * overlap. Example: 10 s for the scan, 100 s of reading, 40 s of writing, and 1 s for the tables are 111 s; the range
 * is 0.9 to 1.5 times as long. */
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

/* Tokens and a plan of a few inputs, which stand for all inputs. */
struct bl_token_sample {
    char *folder; /* the folder of its spool */
    struct bl_sequences table;
    struct bl_plan plan;
    struct bl_kind_env env;
    double seconds; /* time of one thread for scanning the parts */
};

/* --- sample of tokens --------------------------------------------------------------------------------------------- */

/* A sample of tokens, for runs whose readers need the spool. A dry run does not make the spool of all inputs, since it
 * may be as large as the dataset. Instead a few parts of the inputs are tokenized. */

#define PARTS 8                       /* parts to tokenize */
#define PART_BYTES ((int64_t)1 << 20) /* bytes of a part, if the kind can divide an input */

/* Time limit of tokenizing: SECONDS, plus a share of the time that the run took so far. When it is over, the finished
 * rows are the sample. */
#define SECONDS 3.0
#define SECONDS_OF_SCAN 0.05

/* The scan of the parts: that of the request with smaller parts, another spool and a time limit. */
struct token_scan {
    struct bl_packing *p;
    struct bl_kind_scan ops; /* a copy of the kind's functions, with PART_BYTES */
    struct bl_kind kind;
    struct bl_cancel cancel; /* set when the request is cancelled or the time limit is over */
    struct bl_kind_env env;
    double begun, prepared; /* start time; seconds that the run took before it */
    bool is_over;           /* the time limit has set cancel */
};

static int tokens_on_fault(void *sink, const struct bl_row *row, struct bl_error *e)
{
    (void)sink;
    (void)row;
    (void)e;
    return BL_OK; /* the scan of all inputs has already reported it, or the given table has it */
}

/* Ends the scan of the parts when the time limit is over, but not before a row is finished. */
static void tokens_on_progress(void *sink, const struct bl_scan_progress *found)
{
    struct token_scan *s = sink;
    double seconds = bl_seconds_now() - s->begun, most = SECONDS + SECONDS_OF_SCAN * s->prepared;
    s->is_over = seconds > most && found->rows;
    if (s->is_over || bl_cancelled(s->p->request.cancel))
        atomic_store(&s->cancel.requested, 1);
}

/* Counts the parts of all inputs, to choose which ones to scan. */
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

/* Scans every (parts / PARTS)th part: the scan takes the share of one task, as if many tasks divided the parts. The end
 * of the time limit is no error. */
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

/* Tokenizes parts that are spread evenly over the inputs of the request, which must be listed, and plans them. folder:
 * a temporary folder. The caller frees the plan, the table and the folder, also after an error. */
static int token_sample_take(struct bl_token_sample *sample, struct bl_packing *p, const char *folder,
                             struct bl_error *e)
{
    const struct bl_input_set *inputs = p->request.inputs;
    struct token_scan s = {.p = p,
                           .ops = *inputs->kind->scan,
                           .kind = *inputs->kind,
                           .env = p->env,
                           .prepared = bl_progress_seconds(&p->run)};
    struct bl_output out = {0};
    int64_t parts = 0;
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
    code = tokens_count_parts(&s, &parts, e);
    if (!code)
        code = bl_output_open(&out, path, e);
    if (!code)
        code = tokens_scan(&s, parts, &out, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    sample->seconds = bl_seconds_now() - s.begun;
    if (code)
        goto out;
    /* Blocks get the same mix of documents as in the plan of all inputs: shuffled, and split if they are longer than T,
     * unless they have steps of own fields. Without a usable row the plan stays empty. */
    struct bl_plan_options options = {.strategy = BL_STRATEGY_BLOCK,
                                      .oversize = p->plan.own.count ? BL_OVERSIZE_DROP : BL_OVERSIZE_SPLIT,
                                      .T = p->plan.T,
                                      .align = p->plan.align,
                                      .seed = p->request.plan_options->seed,
                                      .capacity = p->request.plan_options->capacity};
    for (int f = 0; f < options.capacity.count; f++) /* those that were found */
        options.capacity.each[f].max = (double)p->plan.own.field[f].capacity;
    const struct bl_sequences_columns columns = bl_plan_columns_wanted(NULL, &options);
    code = bl_sequences_open_columns(&sample->table, (const char *const[]){path}, 1, &columns, e);
    if (!code)
        bl_plan_columns_set(&options, NULL, sample->table.number);
    if (!code && sample->table.by_status[BL_ROW_OK])
        code = bl_plan_make(&sample->plan, sample->table.length, sample->table.count, &options, e);
out:
    free(path);
    return code;
}

/* --- forecast ----------------------------------------------------------------------------------------------------- */

#define FORECAST_SECONDS 3.0 /* duration of reading the sample */

#define FINISH_ROWS 20000 /* rows to format when measuring the time of the last step */

#define DISK_BYTES ((int64_t)256 << 20) /* the disk is measured if shards have at least these bytes, */
#define DISK_ROOM ((int64_t)64 << 20)   /* by writing a file of this size */

/* Factors that widen the range of the time. The sample runs for seconds on a machine that may be idle. It does not show
 * the effect of other programs, of long contention for memory and disk, or of the end of a run. */
#define UNSEEN_FASTER 0.9
#define UNSEEN_SLOWER 1.5

/* --- bytes ------------------------------------------------------------------------------------------------------ */

/* Sets the bytes of the files beside the shards. The table of the dataset has about the size of the scan's table. */
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
    if (p->request.mirror)
        f->bytes_free = -1; /* shards do not stay on the disk */
    if (code)
        return code;
    /* The disk space that is used only during the run: the spool of tokens, and their buckets if the spool does not fit
     * into memory (run/bucketing.h). */
    const struct bl_kind *kind = p->request.inputs->kind;
    int64_t placed = bl_plan_placed(&p->plan) * f->step_bytes;
    if (bl_kind_spools_steps(kind, p->request.inputs->kind_config))
        f->bytes_temporary = p->plan.steps * f->step_bytes;
    bool needs_buckets =
        p->request.view ? bl_packing_view_needs_buckets(p) : kind->spool && placed > p->pack.share.rest;
    if (needs_buckets && !bl_fields_count_own(&p->format.fields)) /* see packing.c */
        f->bytes_temporary += placed;
    f->spool_is_elsewhere = p->request.spool;
    if (f->begun)
        code = bl_space_of_begun(p->request.output, &f->bytes_begun, &f->bytes_kept, e);
    return code ? code : forecast_files(p, f, e);
}

/* --- the sample ------------------------------------------------------------------------------------------------- */

/* Takes the sample for readers that need the spool: tokenizes some of the inputs first. */
static int forecast_sample_tokens(struct bl_packing *p, struct bl_forecast *f, struct bl_sample *sample,
                                  struct bl_error *e)
{
    struct bl_token_sample tokens;
    struct bl_format format = p->format;
    struct bl_pack pack = p->pack;
    int code = BL_OK;
    if (bl_packing_reads_stdin(p))
        return BL_OK; /* standard input cannot be read again */
    if (p->request.sequences)
        code = bl_input_set_list_table(p->request.inputs, &p->table, e);
    if (code)
        return code;
    code = token_sample_take(&tokens, p, p->scratch, e);
    if (code || !tokens.plan.blocks)
        goto out;
    format.attributes = 0; /* attribute values exist only for the whole table */
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
    else /* the scan has already tokenized the inputs once, but a run also writes the tokens */
        f->prepare_seconds = fmax(f->prepare_seconds, tokens_seconds);
out:
    bl_plan_free(&tokens.plan);
    bl_sequences_close(&tokens.table);
    free(tokens.folder);
    return code;
}

/* Rounds to whole bytes; a number that does not fit becomes the largest that can be added to another. */
static int64_t bytes_of(double bytes)
{
    return bytes < (double)INT64_MAX / 2 ? (int64_t)bytes : INT64_MAX / 2;
}

/* Sets the bytes of encoded or compressed shards from the sample. To the bytes of steps, it adds what a shard of JPEG
 * data has in addition, or the compressed headers. */
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

/* Measures how fast the disk writes, with an unnamed file beside the dataset, if the run writes enough for the disk to
 * matter. If the speed cannot be measured, it stays unknown. */
static void forecast_measure_disk(const struct bl_packing *p, struct bl_forecast *f)
{
    struct bl_error none = {0};
    struct bl_write_rate rate;
    struct stat output, parent;
    char name[32], *above = bl_path_join(p->request.output, ".."), *folder = NULL;
    bool is_mount = above && stat(p->request.output, &output) == 0 && stat(above, &parent) == 0 &&
                    output.st_dev != parent.st_dev; /* the parent directory is on another file system */
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

/* Estimates the time of the last step, in which one thread writes the table again, from its first rows. */
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

int bl_packing_forecast(struct bl_packing *p, struct bl_forecast *f, struct bl_error *e)
{
    struct bl_sample *sample = calloc(1, sizeof *sample);
    double finish = 0;
    int code = sample ? bl_packing_forecast_plan(p, f, e) : bl_error_memory(e);
    if (code)
        goto out;
    p->partial = !bl_sequences_is_clean(&p->table);
    p->env.spool = p->state.spool; /* the reader puts inflated arrays there */
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
    /* Reading and writing overlap, so the slower of the two decides. */
    double warm, disk = f->write_rate > 0 ? (double)f->bytes / f->write_rate : 0;
    struct bl_range r = bl_sample_seconds(sample, &warm);
    int64_t workers = p->pack.share.workers < (int64_t)p->plan.blocks ? p->pack.share.workers : (int64_t)p->plan.blocks;
    double steps = (double)bl_plan_placed(&p->plan) / (double)(workers > 1 ? workers : 1);
    f->seconds_low = UNSEEN_FASTER * (f->prepare_seconds + fmax(warm + r.low * steps, disk) + finish);
    f->seconds_high = UNSEEN_SLOWER * (f->prepare_seconds + fmax(warm + r.high * steps, disk) + finish);
    f->sample_blocks = sample->blocks;
    f->sample_sequences = sample->sequences;
    f->sample_steps = sample->steps;
    f->sample_failed = sample->failed;
out:
    free(sample);
    return code;
}
