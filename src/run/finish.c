/* Ends a run: outcomes, which shards carry from packing to the end, and the files of a finished dataset.
 *
 * The record of a shard has its outcomes as lines of text. A shard with an unreadable piece of 30 steps in row 12, a
 * note about row 15, and two untrained pieces in 100 blocks has these lines, with tabs between the words:
 *
 *     untrained 2 0 100
 *     failed 12 30 invalid data
 *     noted 15 0 the last frame is missing */
#include "run/finish.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "kind/kinds.h"
#include "plan/strategy.h"
#include "pool/pipeline.h"
#include "run/mirror.h"
#include "run/status.h"
#include "store/dataset.h"
#include "store/folders.h"
#include "store/index.h"
#include "store/row_reader.h"
#include "store/shard_table.h"
#include "store/shard_writer.h"

/* --- outcomes ----------------------------------------------------------------------------------------------------- */

/* The most bytes of the joined reasons of a row: a reason for each of thousands of pieces would make lines of
 * megabytes. */
#define REASON_MAX 400
#define UNFILTERED "unfiltered"
/* First word of a line with three counts: untrained pieces, untrained blocks, examined blocks. */
#define UNTRAINED "untrained"

int bl_outcomes_add(struct bl_outcomes *o, int64_t row, bool failed, int64_t steps, const char *text,
                    struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(o->outcome, o->capacity, o->count + 1, e))
        return BL_EFAIL;
    char *copy = strdup(text);
    if (!copy)
        return bl_error_memory(e);
    o->outcome[o->count++] = (struct bl_outcome){row, failed, steps, copy};
    return BL_OK;
}

void bl_outcomes_free(struct bl_outcomes *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->outcome[i].text);
    free(o->outcome);
    *o = (struct bl_outcomes){0};
}

void bl_outcomes_add_untrained(struct bl_outcomes *o, const struct bl_untrained *untrained)
{
    o->untrained.pieces += untrained->pieces;
    o->untrained.blocks += untrained->blocks;
    o->untrained.counted += untrained->counted;
}

void bl_outcomes_format(const struct bl_outcomes *o, struct bl_buffer *out)
{
    if (o->unfiltered)
        bl_buffer_text(out, UNFILTERED "\n");
    if (o->untrained.counted)
        bl_buffer_printf(out, UNTRAINED "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n", o->untrained.pieces,
                         o->untrained.blocks, o->untrained.counted);
    for (size_t i = 0; i < o->count; i++) {
        const struct bl_outcome *one = &o->outcome[i];
        bl_buffer_text(out, one->failed ? "failed\t" : "noted\t");
        bl_buffer_int(out, one->row);
        bl_buffer_byte(out, '\t');
        bl_buffer_int(out, one->steps);
        bl_buffer_byte(out, '\t');
        bl_text_escape(out, one->text, strlen(one->text));
        bl_buffer_byte(out, '\n');
    }
}

static bool untrained_parse(struct bl_outcomes *o, const char *const text[3])
{
    struct bl_untrained u = {0};
    int64_t *number[] = {&u.pieces, &u.blocks, &u.counted};
    bool valid = true;
    for (int i = 0; i < 3; i++)
        valid = valid && text[i] && bl_text_to_int(text[i], strlen(text[i]), 0, INT64_MAX / 4, number[i]);
    if (valid)
        bl_outcomes_add_untrained(o, &u);
    return valid;
}

/* Parses a line of a record and changes it: the words are cut out of it and unescaped in place. */
static int outcome_parse_line(struct bl_outcomes *o, char *line, struct bl_error *e)
{
    if (strcmp(line, UNFILTERED) == 0) {
        o->unfiltered = true;
        return BL_OK;
    }
    char *at = line;
    const char *word = strsep(&at, "\t"), *row_text = strsep(&at, "\t"), *steps_text = strsep(&at, "\t");
    char *text = strsep(&at, "\t");
    if (strcmp(word, UNTRAINED) == 0 && !at && untrained_parse(o, (const char *const[]){row_text, steps_text, text}))
        return BL_OK;
    int64_t row, steps, size = text ? bl_text_unescape(text, strlen(text)) : -1;
    bool failed = strcmp(word, "failed") == 0;
    if (size < 0 || at || (!failed && strcmp(word, "noted") != 0) ||
        !bl_text_to_int(row_text, strlen(row_text), 0, INT64_MAX, &row) ||
        !bl_text_to_int(steps_text, strlen(steps_text), 0, INT64_MAX, &steps))
        return bl_error_set(e, BL_EDATA, "the record of a shard has an invalid line");
    text[size] = '\0';
    return bl_outcomes_add(o, row, failed, steps, text, e);
}

int bl_outcomes_parse(struct bl_outcomes *o, char *text, size_t size, struct bl_error *e)
{
    for (size_t at = 0; at < size;) {
        char *newline = memchr(text + at, '\n', size - at);
        if (!newline)
            return bl_error_set(e, BL_EDATA, "the record of a shard ends in the middle of a line");
        *newline = '\0';
        BL_TRY(outcome_parse_line(o, text + at, e));
        at = (size_t)(newline - text) + 1;
    }
    return BL_OK;
}

/* Sorts by row. qsort is not stable, so the index breaks ties and keeps the order of arrival. */
struct ordered {
    struct bl_outcome outcome;
    size_t arrival;
};

static int outcome_compare(const void *a_, const void *b_)
{
    const struct ordered *a = a_, *b = b_;
    if (a->outcome.row != b->outcome.row)
        return a->outcome.row < b->outcome.row ? -1 : 1;
    return a->arrival < b->arrival ? -1 : 1;
}

/* Merges the second outcome of a row into the first. The failure of one piece outweighs the note of another. */
static int outcome_join(struct bl_outcome *into, struct bl_outcome *from, struct bl_error *e)
{
    bool same = strcmp(into->text, from->text) == 0;
    if (from->failed && !into->failed) {
        char *text = into->text;
        into->text = from->text;
        from->text = text;
    } else if (from->failed == into->failed && !same && strlen(into->text) + strlen(from->text) < REASON_MAX) {
        struct bl_buffer text = {0};
        bl_buffer_printf(&text, "%s; %s", into->text, from->text);
        if (bl_buffer_check(&text, e)) {
            bl_buffer_free(&text);
            return BL_EFAIL;
        }
        free(into->text);
        into->text = text.data;
    }
    into->failed |= from->failed;
    into->steps += from->steps;
    return BL_OK;
}

int bl_outcomes_merge(struct bl_outcomes *o, struct bl_error *e)
{
    if (!o->count)
        return BL_OK;
    struct ordered *order = malloc(o->count * sizeof *order);
    if (!order)
        return bl_error_memory(e);
    for (size_t i = 0; i < o->count; i++)
        order[i] = (struct ordered){o->outcome[i], i};
    qsort(order, o->count, sizeof *order, outcome_compare);
    int code = BL_OK;
    size_t kept = 0, total = o->count;
    for (size_t i = 0; i < total; i++) {
        struct bl_outcome *last = kept ? &o->outcome[kept - 1] : NULL;
        if (!last || last->row != order[i].outcome.row) {
            o->outcome[kept++] = order[i].outcome;
            continue;
        }
        if (!code)
            code = outcome_join(last, &order[i].outcome, e);
        free(order[i].outcome.text);
    }
    o->count = kept;
    free(order);
    return code;
}

/* --- gathering shards --------------------------------------------------------------------------------------------- */

/* Reads the records of all shards. Each takes several calls that wait for the file system, so many are read in
 * parallel. */

struct bl_gather {
    const char *dir; /* directory of the dataset */
    const struct bl_mirror *mirror;
    const struct bl_format *format;
    const struct bl_plan *plan;
    const struct bl_sequences *table; /* the table that the dataset is made from */
    struct bl_cancel *cancel;
};

/* Shards for each thread; a small dataset needs no threads. */
#define SHARDS_PER_WORKER 64
#define WORKERS_MAX 16

struct gathering {
    const struct bl_gather *gather;
    struct bl_outcomes *outcomes;
    struct bl_output shards;
    struct bl_index_writer index;
    int64_t next; /* the next shard to read */
    int64_t bytes;
    int64_t missing, first_missing;
};

struct gather_job {
    int64_t shard;
    bool found;
    struct bl_shard_record record;
};

static int gather_produce(void *context, void **out, struct bl_error *e)
{
    struct gathering *g = context;
    if (g->next == bl_format_shards(g->gather->format))
        return BL_OK;
    struct gather_job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    job->shard = g->next++;
    *out = job;
    if (job->shard % BL_SHARDS_PER_FOLDER)
        return BL_OK;
    /* Refresh the folder with its first shard: a network file system may have cached that a shard of another machine
     * does not exist. */
    char name[BL_SHARD_NAME_MAX];
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/%s", g->gather->dir, bl_format_shard_name(g->gather->format, job->shard, name));
    int code = bl_buffer_check(&path, e);
    if (!code) {
        *strrchr(path.data, '/') = '\0';
        bl_folders_refresh(path.data);
    }
    bl_buffer_free(&path);
    if (code) {
        free(job);
        *out = NULL;
    }
    return code;
}

static int gather_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    const struct bl_gather *g = ((struct gathering *)context)->gather;
    struct gather_job *job = job_;
    (void)worker;
    if (g->mirror && !bl_mirror_has_shard(g->mirror, job->shard))
        return BL_OK;
    if (g->mirror)
        return bl_mirror_read_record(g->mirror, g->format, job->shard, &job->record, &job->found, e);
    return bl_shard_find(g->format, g->dir, job->shard, &job->record, &job->found, e);
}

static void gather_discard(void *context, void *job_)
{
    struct gather_job *job = job_;
    (void)context;
    bl_shard_record_free(&job->record);
    free(job);
}

/* Adds the record of a shard. After the first missing shard, it only counts: the message must say how many are missing.
 */
static int gather_consume(void *context, void *job_, struct bl_error *e)
{
    struct gathering *g = context;
    struct gather_job *job = job_;
    int code = BL_OK;
    if (!job->found && !g->missing++)
        g->first_missing = job->shard;
    if (!g->missing) {
        const struct bl_shard_record *record = &job->record;
        const struct bl_format *format = g->gather->format;
        code = bl_shard_table_add(&g->shards, format, record, e);
        if (!code)
            code = bl_index_add_checksums(&g->index, record->block_checksum,
                                          (size_t)record->blocks * (size_t)format->fields.count, e);
        if (!code)
            code = bl_outcomes_parse(g->outcomes, record->user_data, record->user_data_size, e);
        g->bytes += record->bytes;
    }
    gather_discard(g, job);
    return code;
}

/* Reports how many shards are missing, the first of them, and the command that makes them, by the heartbeats of the
 * tasks. Returns BL_EFAIL. */
static int gather_report_missing(const struct gathering *g, struct bl_error *e)
{
    const struct bl_gather *gather = g->gather;
    struct bl_status status;
    struct bl_buffer text = {0};
    struct bl_error none = {0}; /* without a status the message names no tasks */
    (void)bl_status_read(&status, gather->dir, gather->mirror, &none);
    bl_missing_describe(&text, gather->dir, gather->format, g->missing, bl_format_shards(gather->format),
                        g->first_missing);
    bl_buffer_text(&text, ": ");
    bl_status_stage_append_command(&status.pack, "pack", &text);
    int code = bl_buffer_check(&text, e);
    if (!code)
        code = bl_error_set(e, BL_EFAIL, "%s", text.data);
    bl_buffer_free(&text);
    bl_status_free(&status);
    return code;
}

/* Writes both files, and adds the outcomes in the records to outcomes, in the order of the shards. *bytes: size of all
 * shards. BL_EFAIL: shards are missing; the message says how many, and nothing is written. */
static int gather_run(const struct bl_gather *gather, struct bl_outcomes *outcomes, int64_t *bytes, struct bl_error *e)
{
    static const struct bl_stages stages = {
        .produce = gather_produce, .work = gather_work, .consume = gather_consume, .discard = gather_discard};
    struct gathering g = {.gather = gather, .outcomes = outcomes};
    int64_t shards = bl_format_shards(gather->format);
    int workers =
        shards < (int64_t)SHARDS_PER_WORKER * WORKERS_MAX ? (int)(shards / SHARDS_PER_WORKER) + 1 : WORKERS_MAX;
    int code = bl_shard_table_open(&g.shards, gather->dir, e);
    if (code)
        goto out;
    code = bl_index_begin(&g.index, gather->dir, gather->plan, gather->table->length, gather->format->fields.count, e);
    if (code)
        goto out;
    code = bl_pipeline_run(&stages, &g, workers, 4 * workers, gather->cancel, e);
    if (!code && g.missing)
        code = gather_report_missing(&g, e);
    if (code)
        goto out;
    code = bl_index_finish(&g.index, e);
    if (code)
        goto out;
    code = bl_output_commit(&g.shards, e);
out:
    bl_index_abort(&g.index);
    bl_output_abort(&g.shards);
    *bytes = g.bytes;
    return code;
}

/* --- finish ------------------------------------------------------------------------------------------------------- */

/* The files besides the shards that the manifest covers. */
static const char *const files[] = {BL_SEQUENCES_FILE, BL_SHARDS_FILE, BL_INDEX_FILE, NULL};

/* Returns whether the dataset is packed from a view, so that its table comes from the tables of the sources. */
static bool finish_is_of_view(const struct bl_finish *f)
{
    return *bl_manifest_option(f->manifest, "view");
}

/* Writes why the plan left a sequence out. */
static void row_write_drop_reason(const struct bl_finish *f, int64_t length, struct bl_buffer *out)
{
    const struct bl_plan_options *o = f->plan_options;
    enum bl_cut cut = bl_strategies[o->strategy]->cut(o);
    if (length < o->min_length)
        bl_buffer_printf(out, "shorter than --min-length, %" PRId64 " steps", o->min_length);
    else if (o->max_length && length > o->max_length)
        bl_buffer_printf(out, "longer than --max-length, %" PRId64 " steps", o->max_length);
    else if (cut == BL_CUT_NOTHING && length > f->plan->T && o->oversize == BL_OVERSIZE_DROP)
        bl_buffer_printf(out, "longer than T = %" PRId64 " (--oversize drop)", f->plan->T);
    else if ((cut == BL_CUT_CLIP || cut == BL_CUT_CLIPS) && length < f->plan->T)
        bl_buffer_printf(out, "shorter than the clip of %" PRId64 " steps", f->plan->T);
    else if (o->remainder == BL_REMAINDER_DROP)
        bl_buffer_text(out, "in a block too many (--remainder drop)");
    else if (finish_is_of_view(f))
        bl_buffer_text(out, "not in the view");
    else
        bl_buffer_text(out, "not in the plan");
}

/* Counts a row of the finished table in result. cut: the plan has a part of the sequence alone, so that totals which
 * belong to the whole sequence do not count. */
static void finished_count(const struct bl_finish *f, struct bl_finished *result, const struct bl_row *row, bool cut)
{
    result->empty += bl_row_is_empty(row);
    result->skipped += row->status == BL_ROW_SKIPPED;
    result->failed += row->status == BL_ROW_FAILED;
    result->damaged += row->status == BL_ROW_OK && *row->reason;
    result->adjusted += row->status == BL_ROW_OK && bl_row_is_adjusted(row);
    const struct bl_kind *kind = f->kind && f->kind->scan->totals ? f->kind : bl_kind_find(row->kind);
    if (row->status == BL_ROW_OK && kind)
        bl_kind_add_totals(kind, row, cut, &result->totals);
}

/* Writes sequences.tsv: the rows of the scan, with changes for what the plan left out and for what failed in packing.
 */
struct rows_writer {
    const struct bl_finish *finish;
    const struct bl_outcomes *outcomes;
    size_t next;     /* index of the first outcome of the remaining rows */
    uint8_t *placed; /* one bit per row: the plan contains a piece of it */
    uint8_t *cut;    /* one bit per row: the plan contains a piece that is not the whole sequence */
    bool is_copy;    /* lines of placed rows are copied without parsing, since nothing in them changes or is counted */
    struct bl_row_reader row;
    struct bl_checksum_state sum; /* checksum of the table, computed while it is read */
    struct bl_buffer line, reason;
    struct bl_output out;
};

/* Decides how rows are written, notes which rows the plan has, opens the output, and writes the header line. */
static int rows_open(struct rows_writer *w, struct bl_error *e)
{
    const struct bl_sequences *table = w->finish->table;
    const struct bl_plan *plan = w->finish->plan;
    w->is_copy = finish_is_of_view(w->finish) && !w->outcomes->count && !table->damaged &&
                 !strstr(table->file[0].columns.extra, ".length") && !bl_kinds_count(table->file[0].columns.extra);
    /* A store is read through views, which join the pieces of a sequence: none is cut. */
    bool is_store = bl_plan_info_is_store(&w->finish->manifest->plan_info);
    w->placed = calloc(table->count / 8 + 1, 1);
    w->cut = calloc(table->count / 8 + 1, 1);
    if (!w->placed || !w->cut)
        return bl_error_memory(e);
    for (size_t p = 0; p < plan->pieces; p++) {
        uint8_t bit = (uint8_t)(1u << plan->sequence[p] % 8);
        w->placed[plan->sequence[p] / 8] |= bit;
        if (!is_store && plan->length && plan->length[p] != table->length[plan->sequence[p]])
            w->cut[plan->sequence[p] / 8] |= bit;
    }
    char *path = bl_path_join(w->finish->dir, BL_SEQUENCES_FILE);
    int code = path ? bl_output_own(&w->out, path, e) : bl_error_memory(e);
    free(path);
    BL_TRY(code);
    bl_buffer_printf(&w->line, BL_SEQUENCES_COLUMNS "%s\n", table->file[0].columns.extra);
    BL_TRY(bl_buffer_check(&w->line, e));
    return bl_output_write(&w->out, w->line.data, w->line.size, e);
}

/* Begins the checksum of the table with the bytes before its first row; the row reader adds the rows. */
static int rows_begin_sum(struct rows_writer *w, struct bl_error *e)
{
    const struct bl_sequences *table = w->finish->table;
    struct bl_buffer head = {0};
    if (table->files != 1 || !table->count || !table->offset || table->file[0].fd < 0)
        return BL_OK;
    size_t size = (size_t)table->offset[0];
    int code = bl_buffer_reserve(&head, size) ? BL_OK : bl_error_memory(e);
    if (!code)
        code = bl_io_pread(table->file[0].fd, head.data, size, 0, table->file[0].path, e);
    bl_checksum_begin(&w->sum);
    if (!code)
        bl_checksum_add(&w->sum, head.data, size);
    w->row.sum = &w->sum;
    bl_buffer_free(&head);
    return code;
}

static bool row_has_bit(const uint8_t *bits, size_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}

/* Writes row i with the outcome that packing had for it, and counts it. The outcomes are sorted by row, so w->next is
 * the only one to look at. */
static int rows_write(struct rows_writer *w, size_t i, struct bl_finished *result, struct bl_error *e)
{
    if (w->is_copy && row_has_bit(w->placed, i)) {
        BL_TRY(bl_row_reader_line(w->finish->table, i, &w->row, e));
        return bl_output_write(&w->out, w->row.line.data, w->row.line.size, e);
    }
    BL_TRY(bl_row_reader_read(w->finish->table, i, &w->row, e));
    struct bl_row *row = &w->row.row;
    struct bl_buffer *reason = &w->reason; /* the joined text */
    bl_buffer_clear(reason);
    if (w->next < w->outcomes->count && w->outcomes->outcome[w->next].row == (int64_t)i) {
        const struct bl_outcome *outcome = &w->outcomes->outcome[w->next++];
        if (!outcome->failed && *row->reason)
            bl_buffer_printf(reason, "%s; ", row->reason);
        bl_buffer_text(reason, outcome->text);
        if (outcome->failed)
            row->status = BL_ROW_FAILED;
        row->reason = reason->data ? reason->data : "";
    } else if (row->status == BL_ROW_OK && !row_has_bit(w->placed, i)) { /* left out by request */
        if (*row->reason)
            bl_buffer_printf(reason, "%s; ", row->reason);
        row_write_drop_reason(w->finish, row->length, reason);
        row->status = BL_ROW_DROPPED;
        row->reason = reason->data ? reason->data : "";
    }
    BL_TRY(bl_buffer_check(reason, e));
    finished_count(w->finish, result, row, row_has_bit(w->cut, i));
    bl_buffer_clear(&w->line);
    bl_row_format(row, &w->line);
    BL_TRY(bl_buffer_check(&w->line, e));
    return bl_output_write(&w->out, w->line.data, w->line.size, e);
}

/* Writes sequences.tsv and sets the counts in result. BL_EFAIL: the table is not the one that was packed. */
static int finish_write_sequences(const struct bl_finish *f, const struct bl_outcomes *outcomes,
                                  struct bl_finished *result, struct bl_error *e)
{
    struct rows_writer w = {.finish = f, .outcomes = outcomes};
    int code = rows_open(&w, e);
    if (!code && f->table_checksum)
        code = rows_begin_sum(&w, e);
    for (size_t i = 0; i < f->table->count && !code; i++)
        code = rows_write(&w, i, result, e);
    if (!code && w.row.sum && bl_checksum_end(w.row.sum) != f->table_checksum)
        code = bl_error_set(e, BL_EFAIL, "%s was edited or damaged since it was read (run the same command again)",
                            f->table->file[0].path);
    if (!code)
        code = bl_output_commit(&w.out, e);
    bl_output_abort(&w.out);
    free(w.placed);
    free(w.cut);
    bl_row_reader_free(&w.row);
    bl_buffer_free(&w.line);
    bl_buffer_free(&w.reason);
    return code;
}

/* Writes the manifest: the draft, completed with the outcomes and the files. */
static int finish_write_manifest(const struct bl_finish *f, const struct bl_outcomes *outcomes,
                                 const struct bl_finished *result, struct bl_error *e)
{
    struct bl_manifest *m = f->manifest;
    int code = BL_OK;
    if (outcomes->unfiltered)
        code = bl_manifest_note(m, "decoded without a filter of system calls (seccomp)", e);
    m->skipped = result->skipped;
    m->failed = result->failed;
    m->failed_steps = result->failed_steps;
    /* The counts of the kind that have names, if one of them is not 0. */
    const struct bl_totals *totals = &result->totals;
    bool any = false;
    for (int t = 0; totals->total && totals->total[t].column; t++)
        any |= totals->total[t].name && totals->sum[t];
    for (int t = 0; any && totals->total[t].column && !code; t++) {
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, totals->sum[t]);
        code = totals->total[t].name ? bl_manifest_pair(&m->counts, totals->total[t].name, text, e) : BL_OK;
    }
    m->untrained = outcomes->untrained;
    for (int i = 0; files[i] && !code; i++)
        code = bl_manifest_add_file(m, f->dir, files[i], e);
    return code ? code : bl_manifest_write(m, f->dir, e);
}

/* The entries that are added to the draft have about the length of the real ones. */
int bl_finish_manifest_bytes(struct bl_manifest *draft, int64_t *bytes, struct bl_error *e)
{
    struct bl_buffer text = {0};
    size_t before = draft->files;
    int code = BL_OK;
    for (int i = 0; files[i] && !code; i++) {
        struct bl_manifest_file *file = bl_manifest_append_file(draft, files[i], e);
        code = file ? BL_OK : BL_EFAIL;
        if (file)
            file->bytes = 100000;
    }
    if (!code)
        code = bl_manifest_format(draft, false, &text, e);
    *bytes = (int64_t)text.size;
    bl_buffer_free(&text);
    while (draft->files > before)
        free(draft->file[--draft->files].name);
    return code;
}

bool bl_finished_partial(const struct bl_finished *f)
{
    return f->skipped > f->empty || f->failed || f->damaged;
}

int bl_finish_run(const struct bl_finish *f, struct bl_finished *result, struct bl_error *e)
{
    struct bl_outcomes outcomes = {0};
    *result = (struct bl_finished){0};
    struct bl_gather gather = {.dir = f->dir,
                               .mirror = f->mirror,
                               .format = &f->manifest->format,
                               .plan = f->plan,
                               .table = f->table,
                               .cancel = f->cancel};
    int code = gather_run(&gather, &outcomes, &result->bytes, e);
    if (!code)
        code = bl_outcomes_merge(&outcomes, e);
    if (code)
        goto out;
    for (size_t i = 0; i < outcomes.count; i++)
        result->failed_steps += outcomes.outcome[i].steps;
    result->untrained = outcomes.untrained;
    code = finish_write_sequences(f, &outcomes, result, e);
    if (!code)
        code = finish_write_manifest(f, &outcomes, result, e);
out:
    bl_outcomes_free(&outcomes);
    return code;
}

/* Returns whether the name is a temporary name of one of the files, such as "index.safetensors.part-123". */
static bool name_is_temporary(const char *name)
{
    const char *end = strstr(name, ".part-");
    if (!end)
        return false;
    size_t size = (size_t)(end - name);
    bool ours = strncmp(name, BL_MANIFEST_FILE, size) == 0 && size == strlen(BL_MANIFEST_FILE);
    for (int i = 0; files[i]; i++)
        ours |= strncmp(name, files[i], size) == 0 && size == strlen(files[i]);
    return ours;
}

int bl_finish_sweep(const char *dir, struct bl_error *e)
{
    DIR *directory = opendir(dir);
    if (!directory)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    int code = BL_OK;
    const struct dirent *entry;
    while (!code && (entry = readdir(directory))) {
        if (name_is_temporary(entry->d_name) && unlinkat(dirfd(directory), entry->d_name, 0) != 0 && errno != ENOENT)
            code = bl_error_errno(e, BL_EFAIL, "cannot remove %s/%s", dir, entry->d_name);
    }
    closedir(directory);
    return code;
}
