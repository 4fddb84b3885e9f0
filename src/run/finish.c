#include "run/finish.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "plan/strategy.h"
#include "run/gather.h"
#include "run/outcome.h"
#include "store/dataset.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/row_reader.h"
#include "store/shard_table.h"

/* The files besides the shards that the manifest covers. */
static const char *const files[] = {BL_SEQUENCES_FILE, BL_SHARDS_FILE, BL_INDEX_FILE, NULL};

/* Returns one bit per row: the plan contains a piece of it. The caller frees it. */
static uint8_t *finish_mark_placed(const struct bl_finish *f)
{
    uint8_t *placed = calloc(f->table->count / 8 + 1, 1);
    for (size_t p = 0; placed && p < f->plan->pieces; p++)
        placed[f->plan->sequence[p] / 8] |= (uint8_t)(1u << f->plan->sequence[p] % 8);
    return placed;
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
    else if (cut == BL_CUT_NOTHING && length > f->plan->T)
        bl_buffer_printf(out, "longer than T = %" PRId64 " (--oversize drop)", f->plan->T);
    else if ((cut == BL_CUT_CLIP || cut == BL_CUT_CLIPS) && length < f->plan->T)
        bl_buffer_printf(out, "shorter than the clip of %" PRId64 " steps", f->plan->T);
    else if (o->remainder == BL_REMAINDER_DROP)
        bl_buffer_text(out, "in a block too many (--remainder drop)");
    else
        bl_buffer_text(out, "not in the plan");
}

/* Marks a row as left out by request. reason holds the joined text. */
static void row_drop(const struct bl_finish *f, struct bl_row *row, struct bl_buffer *reason)
{
    bl_buffer_clear(reason);
    if (*row->reason)
        bl_buffer_printf(reason, "%s; ", row->reason);
    row_write_drop_reason(f, row->length, reason);
    row->status = BL_ROW_DROPPED;
    row->reason = reason->data ? reason->data : "";
}

/* Adds the outcome of packing to a row. reason holds the joined text. */
static void row_amend(struct bl_row *row, const struct bl_outcome *outcome, struct bl_buffer *reason)
{
    bl_buffer_clear(reason);
    if (!outcome->failed && *row->reason)
        bl_buffer_printf(reason, "%s; ", row->reason);
    bl_buffer_text(reason, outcome->text);
    if (outcome->failed)
        row->status = BL_ROW_FAILED;
    row->reason = reason->data ? reason->data : "";
}

static void finished_count(const struct bl_finish *f, struct bl_finished *result, const struct bl_row *row)
{
    result->empty += bl_row_is_empty(row);
    result->skipped += row->status == BL_ROW_SKIPPED;
    result->failed += row->status == BL_ROW_FAILED;
    result->damaged += row->status == BL_ROW_OK && *row->reason;
    result->adjusted += row->status == BL_ROW_OK && bl_row_is_adjusted(row);
    if (row->status == BL_ROW_OK && f->kind)
        bl_kind_add_totals(f->kind, row, &result->totals);
}

static int finish_write_header(const struct bl_sequences *table, struct bl_buffer *line, struct bl_output *out,
                               struct bl_error *e)
{
    bl_buffer_printf(line, BL_SEQUENCES_COLUMNS "%s\n", table->file[0].columns.extra);
    int code = bl_buffer_check(line, e);
    return code ? code : bl_output_write(out, line->data, line->size, e);
}

static int finish_write_sequences(const struct bl_finish *f, const struct bl_outcomes *outcomes,
                                  struct bl_finished *result, struct bl_error *e)
{
    struct bl_buffer path = {0}, line = {0}, reason = {0};
    struct bl_row_reader text = {0};
    struct bl_output out = {0};
    size_t next = 0;
    uint8_t *placed = finish_mark_placed(f);
    bl_buffer_printf(&path, "%s/" BL_SEQUENCES_FILE, f->dir);
    int code = placed ? bl_buffer_check(&path, e) : bl_error_memory(e);
    if (code)
        goto out;
    code = bl_output_own(&out, path.data, e);
    if (code)
        goto out;
    code = finish_write_header(f->table, &line, &out, e);
    if (code)
        goto out;
    for (size_t i = 0; i < f->table->count && !code; i++) {
        code = bl_row_reader_read(f->table, i, &text, e);
        if (code)
            break;
        if (next < outcomes->count && outcomes->outcome[next].row == (int64_t)i)
            row_amend(&text.row, &outcomes->outcome[next++], &reason);
        else if (text.row.status == BL_ROW_OK && !(placed[i / 8] >> i % 8 & 1))
            row_drop(f, &text.row, &reason);
        finished_count(f, result, &text.row);
        code = bl_buffer_check(&reason, e);
        bl_buffer_clear(&line);
        bl_row_format(&text.row, &line);
        if (!code)
            code = bl_buffer_check(&line, e);
        if (!code)
            code = bl_output_write(&out, line.data, line.size, e);
    }
    if (code)
        goto out;
    code = bl_output_commit(&out, e);
out:
    bl_output_abort(&out);
    free(placed);
    bl_row_reader_free(&text);
    bl_buffer_free(&path);
    bl_buffer_free(&line);
    bl_buffer_free(&reason);
    return code;
}

/* Writes the manifest: the draft, completed with the outcomes and the files. */
static int finish_write_manifest(const struct bl_finish *f, const struct bl_finished *result, struct bl_error *e)
{
    struct bl_manifest *m = f->manifest;
    int code = BL_OK;
    m->skipped = result->skipped;
    m->failed = result->failed;
    m->failed_steps = result->failed_steps;
    for (int i = 0; files[i] && !code; i++)
        code = bl_manifest_add_file(m, f->dir, files[i], e);
    return code ? code : bl_manifest_write(m, f->dir, e);
}

bool bl_finished_partial(const struct bl_finished *f)
{
    return f->skipped > f->empty || f->failed || f->damaged;
}

int bl_finish_run(const struct bl_finish *f, struct bl_finished *result, struct bl_error *e)
{
    struct bl_outcomes outcomes = {0};
    *result = (struct bl_finished){0};
    struct bl_gather gather = {
        .dir = f->dir, .format = &f->manifest->format, .plan = f->plan, .table = f->table, .cancel = f->cancel};
    int code = bl_gather_run(&gather, &outcomes, &result->bytes, e);
    if (!code)
        code = bl_outcomes_merge(&outcomes, e);
    for (size_t i = 0; i < outcomes.count; i++)
        result->failed_steps += outcomes.outcome[i].steps;
    if (!code)
        code = finish_write_sequences(f, &outcomes, result, e);
    if (!code)
        code = finish_write_manifest(f, result, e);
    bl_outcomes_free(&outcomes);
    return code;
}

/* Whether a name is a temporary name of one of the files: "index.safetensors.part-123". */
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
