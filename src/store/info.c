#include "store/info.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "kind/kinds.h"
#include "store/dataset.h"
#include "store/plan_info.h"
#include "store/row_reader.h"
#include "store/shard_table.h"
#include "store/view.h"

/* --- forecast ----------------------------------------------------------------------------------------------------- */

int64_t bl_forecast_space(const struct bl_forecast *f)
{
    int64_t temporary = f->spool_is_elsewhere ? 0 : f->bytes_temporary;
    int64_t space = f->bytes + f->bytes_files + temporary - f->bytes_begun - f->bytes_kept;
    return f->bytes < 0 ? -1 : space > 0 ? space : 0;
}

static json_t *forecast_bytes_json(int64_t bytes)
{
    return bytes < 0 ? json_null() : json_integer(bytes);
}

static json_t *forecast_seconds_json(double seconds)
{
    return seconds < 0 ? json_null() : json_real(seconds);
}

static void forecast_add_bytes(const struct bl_forecast *f, json_t **object)
{
    bl_jansson_set(object, "shards", json_integer(f->shards));
    bl_jansson_set(object, "bytes", forecast_bytes_json(f->bytes));
    bl_jansson_set(object, "bytes_low", forecast_bytes_json(f->bytes_low));
    bl_jansson_set(object, "bytes_high", forecast_bytes_json(f->bytes_high));
    bl_jansson_set(object, "bytes_raw", json_integer(f->bytes_raw));
    bl_jansson_set(object, "bytes_files", json_integer(f->bytes_files));
    bl_jansson_set(object, "bytes_temporary", json_integer(f->bytes_temporary));
    bl_jansson_set(object, "bytes_needed", forecast_bytes_json(bl_forecast_space(f)));
    bl_jansson_set(object, "bytes_begun", json_integer(f->bytes_begun));
    bl_jansson_set(object, "bytes_free", forecast_bytes_json(f->bytes_free));
    bl_jansson_set(object, "step_bytes", json_integer(f->step_bytes));
}

static void forecast_add_run(const struct bl_forecast *f, json_t **object)
{
    bl_jansson_set(object, "memory", json_integer(f->memory));
    bl_jansson_set(object, "memory_limit", json_integer(f->memory_limit));
    bl_jansson_set(object, "jobs", json_integer(f->jobs));
    bl_jansson_set(object, "prepare_seconds", json_real(f->prepare_seconds));
    bl_jansson_set(object, "write_rate", f->write_rate > 0 ? json_real(f->write_rate) : json_null());
    bl_jansson_set(object, "seconds_low", forecast_seconds_json(f->seconds_low));
    bl_jansson_set(object, "seconds_high", forecast_seconds_json(f->seconds_high));
    bl_jansson_set(object, "sample_blocks", json_integer(f->sample_blocks));
    bl_jansson_set(object, "sample_sequences", json_integer(f->sample_sequences));
    bl_jansson_set(object, "sample_steps", json_integer(f->sample_steps));
    bl_jansson_set(object, "sample_failed", json_integer(f->sample_failed));
}

int bl_forecast_json(const struct bl_forecast *f, struct bl_buffer *out, struct bl_error *e)
{
    json_t *object = bl_manifest_to_json(f->manifest);
    if (object) { /* the manifest is not complete */
        json_object_del(object, "checksum");
        json_object_del(object, "files");
    }
    bl_jansson_set(&object, "begun", json_boolean(f->begun));
    bl_jansson_set(&object, "hours", f->hours > 0 ? json_real(f->hours) : json_null());
    bl_jansson_set(&object, "skipped", json_integer(f->skipped));
    bl_jansson_set(&object, "damaged", json_integer(f->damaged));
    bl_jansson_set(&object, "dropped", json_integer(f->dropped));
    bl_jansson_set(&object, "fault_count", json_integer(f->fault_count));
    forecast_add_bytes(f, &object);
    forecast_add_run(f, &object);
    return bl_jansson_append(object, out, e);
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

void bl_info_free(struct bl_info *info)
{
    for (int i = 0; i < info->faults; i++) {
        free(info->fault[i].id);
        free(info->fault[i].reason);
    }
    bl_manifest_free(&info->manifest);
    *info = (struct bl_info){0};
}

/* --- gathering -------------------------------------------------------------------------------------------------- */

/* Sets the number of shards and the sum of their sizes from shards.tsv. A view has no shards. */
static int info_read_shards(struct bl_info *info, const char *dir, struct bl_error *e)
{
    struct bl_shard_row *rows = NULL;
    if (bl_manifest_is_view(&info->manifest))
        return BL_OK;
    int code = bl_shard_table_read(dir, &info->manifest.format, &rows, e);
    info->shards = bl_format_shards(&info->manifest.format);
    for (int64_t i = 0; !code && i < info->shards; i++)
        info->bytes += rows[i].bytes;
    free(rows);
    return code;
}

static void info_count_length(struct bl_info *info, int64_t length)
{
    if (length >= 1 && length <= info->manifest.plan_info.longest)
        info->bar[(length - 1) / info->bar_width]++;
}

/* Lists the fault of a row, unless BL_INFO_FAULTS are listed already. */
static int info_add_fault(struct bl_info *info, const struct bl_row *row, struct bl_error *e)
{
    if (info->faults == BL_INFO_FAULTS)
        return BL_OK;
    struct bl_info_fault *fault = &info->fault[info->faults++];
    *fault = (struct bl_info_fault){strdup(row->id), strdup(row->reason),
                                    row->status == BL_ROW_OK ? "damaged" : bl_row_status_name(row->status)};
    return fault->id && fault->reason ? BL_OK : bl_error_memory(e);
}

/* Counts the length of row i in the histogram, and lists its fault. Only a row that may have a fault is read from the
 * file. The table in memory does not say which rows are damaged: if any are, all rows are read until BL_INFO_FAULTS
 * faults are listed. */
static int info_read_row(struct bl_info *info, const struct bl_sequences *t, size_t i, struct bl_row_reader *text,
                         struct bl_error *e)
{
    info_count_length(info, t->length[i]);
    if (t->length[i] && (!t->damaged || info->faults == BL_INFO_FAULTS))
        return BL_OK;
    BL_TRY(bl_row_reader_read(t, i, text, e));
    if (text->row.status == BL_ROW_DROPPED && !bl_manifest_is_view(&info->manifest))
        bl_left_out_count(&info->left_out, text->row.reason);
    if (text->row.status == BL_ROW_FAILED)
        info_count_length(info, text->row.length);
    enum bl_row_status status = text->row.status;
    bool fault = status == BL_ROW_SKIPPED || status == BL_ROW_FAILED || (status == BL_ROW_OK && *text->row.reason);
    fault &= !bl_row_is_empty(&text->row);
    return fault ? info_add_fault(info, &text->row, e) : BL_OK;
}

static double info_hours(const struct bl_info *info, const struct bl_sequences *t)
{
    const struct bl_kind *kind = t->kind ? bl_kind_find(t->kind) : NULL;
    int64_t num, den;
    if (!kind || !bl_kind_rate(kind, t->sampling, &num, &den))
        return 0;
    return (double)info->manifest.plan_info.steps * (double)den / (double)num / 3600;
}

/* Opens the table of a dataset, or the tables of all sources of a view as one table. */
static int info_open_table(const struct bl_info *info, const char *dir, struct bl_sequences *table, struct bl_error *e)
{
    const struct bl_manifest *m = &info->manifest;
    const struct bl_sequences_columns columns = {.may_repeat = true};
    if (!bl_manifest_is_view(m))
        return bl_sequences_open_dataset(table, dir, NULL, e);
    char **path = bl_view_source_tables(m, dir);
    int code = path ? bl_sequences_open_columns(table, (const char *const *)path, (int)m->sources, &columns, e)
                    : bl_error_memory(e);
    bl_path_free_all(path, m->sources);
    struct bl_error why = {0};
    if (!code || !bl_view_check_sources(m, dir, &why))
        return code;
    bl_error_clear(e); /* the error of the source tells more than the one that its table is missing */
    return bl_error_pass(e, why.code, &why);
}

/* Counts dropped and excluded sequences. For a view, the sequences that its plan leaves out are counted, because the
 * tables of the sources do not say what the view drops. */
static void info_count_dropped(struct bl_info *info, const struct bl_sequences *t)
{
    const struct bl_manifest *m = &info->manifest;
    info->dropped = bl_sequences_dropped(t);
    info->excluded = t->excluded - t->held;
    if (!bl_manifest_is_view(m))
        return;
    info->dropped = m->plan_info.sequences;
    info->excluded = 0;
    for (size_t s = 0; s < m->sources; s++)
        info->dropped -= m->source[s].sequences;
}

bool bl_info_is_split(const struct bl_info *info)
{
    const struct bl_manifest *m = &info->manifest;
    return m->plan_info.cut && (bl_plan_info_is_store(&m->plan_info) || !m->plan_info.deleted ||
                                strcmp(bl_manifest_option(m, "oversize"), "split") == 0);
}

static int info_read_sequences(struct bl_info *info, const char *dir, size_t *rows, struct bl_error *e)
{
    struct bl_sequences table;
    struct bl_row_reader text = {0};
    int64_t longest = info->manifest.plan_info.longest;
    info->bar_width = (longest - 1) / BL_INFO_BARS + 1;
    info->bars = (int)((longest - 1) / info->bar_width + 1);
    int code = info_open_table(info, dir, &table, e);
    if (code)
        return code;
    for (size_t i = 0; !code && i < table.count; i++)
        code = info_read_row(info, &table, i, &text, e);
    *rows = table.count;
    info->hours = code ? 0 : info_hours(info, &table);
    info->damaged = table.damaged;
    info_count_dropped(info, &table);
    info->fault_count = bl_sequences_unusable(&table) + table.damaged;
    bl_row_reader_free(&text);
    bl_sequences_close(&table);
    return code;
}

int bl_info_read(struct bl_info *info, const char *dir, struct bl_error *e)
{
    *info = (struct bl_info){0};
    const struct bl_plan_info *w = &info->manifest.plan_info;
    size_t rows = 0;
    int code = bl_manifest_read(&info->manifest, dir, e);
    if (code)
        goto out;
    code = info_read_shards(info, dir, e);
    if (code)
        goto out;
    code = info_read_sequences(info, dir, &rows, e);
    if (code)
        goto out;
    if (!bl_manifest_is_blend(&info->manifest)) /* whose plans hold sequences several times, or not at all */
        code = bl_epochs_pair_repeat_measure(&info->pair_repeat, &info->manifest, dir, rows, e);
    if (code)
        goto out;
    if (__builtin_mul_overflow(w->sequences, w->longest, &info->naive_padding))
        info->naive_padding = -1;
    else
        info->naive_padding -= w->steps;
out:
    if (code)
        bl_info_free(info);
    return code;
}

/* --- JSON ------------------------------------------------------------------------------------------------------- */

static json_t *info_histogram_json(const struct bl_info *info)
{
    json_t *bars = json_array();
    for (int i = 0; i < info->bars; i++)
        bl_jansson_push(&bars,
                        json_pack("{s:I, s:I, s:I}", "from", (json_int_t)(i * info->bar_width + 1), "to",
                                  (json_int_t)((i + 1) * info->bar_width), "sequences", (json_int_t)info->bar[i]));
    return bars;
}

static json_t *info_faults_json(const struct bl_info *info)
{
    json_t *faults = json_array();
    for (int i = 0; i < info->faults; i++) {
        const struct bl_info_fault *fault = &info->fault[i];
        bl_jansson_push(&faults, json_pack("{s:o, s:s, s:o}", "id", bl_jansson_escaped(fault->id), "status",
                                           fault->status, "reason", bl_jansson_escaped(fault->reason)));
    }
    return faults;
}

static void info_add_pair_repeat(const struct bl_epochs_pair_repeat *pair_repeat, json_t **object)
{
    bool any = pair_repeat->highest.pairs > 0;
    bl_jansson_set(object, "met_again", any ? json_real(bl_pair_repeat_share(&pair_repeat->highest)) : json_null());
    bl_jansson_set(object, "met_again_random", any ? json_real(pair_repeat->highest.random) : json_null());
    bl_jansson_set(object, "met_again_plans",
                   any ? json_pack("[I, I]", (json_int_t)pair_repeat->plan[0], (json_int_t)pair_repeat->plan[1])
                       : json_null());
    bl_jansson_set(object, "met_again_each_pair", any ? json_boolean(pair_repeat->each_pair) : json_null());
}

int bl_info_json(const struct bl_info *info, struct json_t *run, struct bl_buffer *out, struct bl_error *e)
{
    json_t *object = bl_manifest_to_json(&info->manifest);
    bl_jansson_set(&object, "checksum", json_string(info->manifest.digest));
    bl_jansson_set(&object, "hours", info->hours > 0 ? json_real(info->hours) : json_null());
    bl_jansson_set(&object, "damaged", json_integer(info->damaged));
    bl_jansson_set(&object, "dropped", json_integer(info->dropped));
    bl_jansson_set(&object, "left_out", json_integer(info->excluded));
    bl_jansson_set(&object, "bytes", json_integer(info->bytes));
    bl_jansson_set(&object, "naive_padding", info->naive_padding < 0 ? json_null() : json_integer(info->naive_padding));
    info_add_pair_repeat(&info->pair_repeat, &object);
    bl_jansson_set(&object, "lengths", info_histogram_json(info));
    bl_jansson_set(&object, "fault_count", json_integer(info->fault_count));
    bl_jansson_set(&object, "faults", info_faults_json(info));
    if (run)
        bl_jansson_set(&object, "run", run);
    return bl_jansson_append(object, out, e);
}
