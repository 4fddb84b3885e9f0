/* Summaries of a dataset: a forecast before it is made, and its contents afterwards, both as JSON for --json.
 *
 * A summary of contents is gathered from the manifest and the tables. Lengths are in memory, and the text of a row is
 * read from its file only where it may tell of a fault: a table of 10^8 sound sequences is not read twice. */
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

/* Returns null for a negative number of bytes, which is not known. */
static json_t *forecast_bytes_json(int64_t bytes)
{
    return bytes < 0 ? json_null() : json_integer(bytes);
}

int bl_forecast_json(const struct bl_forecast *f, struct bl_buffer *out, struct bl_error *e)
{
    json_t *object = bl_manifest_to_json(f->manifest, false);
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
    bl_jansson_set(&object, "shards", json_integer(f->shards));
    bl_jansson_set(&object, "bytes", forecast_bytes_json(f->bytes));
    bl_jansson_set(&object, "bytes_low", forecast_bytes_json(f->bytes_low));
    bl_jansson_set(&object, "bytes_high", forecast_bytes_json(f->bytes_high));
    bl_jansson_set(&object, "bytes_raw", json_integer(f->bytes_raw));
    bl_jansson_set(&object, "bytes_files", json_integer(f->bytes_files));
    bl_jansson_set(&object, "bytes_temporary", json_integer(f->bytes_temporary));
    bl_jansson_set(&object, "bytes_needed", forecast_bytes_json(bl_forecast_space(f)));
    bl_jansson_set(&object, "bytes_begun", json_integer(f->bytes_begun));
    bl_jansson_set(&object, "bytes_free", forecast_bytes_json(f->bytes_free));
    bl_jansson_set(&object, "step_bytes", json_integer(f->step_bytes));
    bl_jansson_set(&object, "memory", json_integer(f->memory));
    bl_jansson_set(&object, "memory_limit", json_integer(f->memory_limit));
    bl_jansson_set(&object, "jobs", json_integer(f->jobs));
    bl_jansson_set(&object, "prepare_seconds", json_real(f->prepare_seconds));
    bl_jansson_set(&object, "write_rate", f->write_rate > 0 ? json_real(f->write_rate) : json_null());
    bl_jansson_set(&object, "seconds_low", f->seconds_low < 0 ? json_null() : json_real(f->seconds_low));
    bl_jansson_set(&object, "seconds_high", f->seconds_high < 0 ? json_null() : json_real(f->seconds_high));
    bl_jansson_set(&object, "sample_blocks", json_integer(f->sample_blocks));
    bl_jansson_set(&object, "sample_sequences", json_integer(f->sample_sequences));
    bl_jansson_set(&object, "sample_steps", json_integer(f->sample_steps));
    bl_jansson_set(&object, "sample_failed", json_integer(f->sample_failed));
    return bl_jansson_append(object, out, e);
}

void bl_info_free(struct bl_info *info)
{
    for (int i = 0; i < info->faults; i++) {
        free(info->fault[i].id);
        free(info->fault[i].reason);
    }
    bl_manifest_free(&info->manifest);
    *info = (struct bl_info){0};
}

/* --- gathering ---------------------------------------------------------------------------------------------------- */

/* Counts a length in the histogram. Rows without steps, and failed ones longer than the longest planned, have no bar.
 */
static void info_count_length(struct bl_info *info, int64_t length)
{
    if (length >= 1 && length <= info->manifest.plan_info.longest)
        info->bar[(length - 1) / info->bar_width]++;
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
    bool is_fault = status == BL_ROW_SKIPPED || status == BL_ROW_FAILED || (status == BL_ROW_OK && *text->row.reason);
    if (!is_fault || bl_row_is_empty(&text->row) || info->faults == BL_INFO_FAULTS)
        return BL_OK;
    struct bl_info_fault *fault = &info->fault[info->faults++];
    *fault = (struct bl_info_fault){strdup(text->row.id), strdup(text->row.reason),
                                    status == BL_ROW_OK ? "damaged" : bl_row_status_name(status)};
    return fault->id && fault->reason ? BL_OK : bl_error_memory(e);
}

bool bl_info_is_split(const struct bl_info *info)
{
    const struct bl_manifest *m = &info->manifest;
    return m->plan_info.cut && (bl_plan_info_is_store(&m->plan_info) || !m->plan_info.deleted ||
                                strcmp(bl_manifest_option(m, "oversize"), "split") == 0);
}

/* Reads the table of a dataset, or the tables of all sources of a view as one table, and sets all members that count
 * sequences. Dropped sequences of a view are those that its plan leaves out, because the tables of the sources do not
 * say what the view drops. If a table cannot be read because its source is missing, the error is that of the source. */
static int info_read_sequences(struct bl_info *info, const char *dir, size_t *rows, struct bl_error *e)
{
    const struct bl_manifest *m = &info->manifest;
    const struct bl_sequences_columns columns = {.may_repeat = true};
    const bool is_view = bl_manifest_is_view(m);
    struct bl_sequences table;
    struct bl_row_reader text = {0};
    struct bl_error why = {0};
    int64_t longest = m->plan_info.longest, num, den;
    info->bar_width = (longest - 1) / BL_INFO_BARS + 1;
    info->bars = (int)((longest - 1) / info->bar_width + 1);
    char **path = is_view ? bl_view_source_tables(m, dir) : NULL;
    int code = !is_view ? bl_sequences_open_dataset(&table, dir, NULL, e)
               : path   ? bl_sequences_open_columns(&table, (const char *const *)path, (int)m->sources, &columns, e)
                        : bl_error_memory(e);
    bl_path_free_all(path, m->sources);
    if (code && is_view && bl_view_check_sources(m, dir, &why)) {
        bl_error_clear(e);
        code = bl_error_pass(e, why.code, &why);
    }
    BL_TRY(code);
    for (size_t i = 0; !code && i < table.count; i++)
        code = info_read_row(info, &table, i, &text, e);
    if (!code)
        code = bl_quantiles(table.length, table.count, info->quantile, e);
    *rows = table.count;
    const struct bl_kind *kind = table.kind ? bl_kind_find(table.kind) : NULL;
    if (!code && kind && bl_kind_rate(kind, table.sampling, &num, &den))
        info->hours = (double)m->plan_info.steps * (double)den / (double)num / 3600;
    info->damaged = table.damaged;
    info->dropped = is_view ? m->plan_info.sequences : bl_sequences_dropped(&table);
    info->excluded = is_view ? 0 : table.excluded - table.held;
    for (size_t s = 0; s < m->sources; s++)
        info->dropped -= m->source[s].sequences;
    info->fault_count = bl_sequences_unusable(&table) + table.damaged;
    bl_row_reader_free(&text);
    bl_sequences_close(&table);
    return code;
}

/* The padding without packing is sequences * longest - steps. A view has no shards of its own. */
int bl_info_read(struct bl_info *info, const char *dir, struct bl_error *e)
{
    *info = (struct bl_info){0};
    const struct bl_plan_info *w = &info->manifest.plan_info;
    struct bl_shard_row *shards = NULL;
    size_t rows = 0;
    int code = bl_manifest_read(&info->manifest, dir, e);
    if (!code && !bl_manifest_is_view(&info->manifest)) {
        code = bl_shard_table_read(dir, &info->manifest.format, &shards, e);
        info->shards = bl_format_shards(&info->manifest.format);
    }
    for (int64_t i = 0; !code && i < info->shards; i++)
        info->bytes += shards[i].bytes;
    free(shards);
    if (!code)
        code = info_read_sequences(info, dir, &rows, e);
    /* The plans of a blend hold sequences several times, or not at all. */
    if (!code && !bl_manifest_is_blend(&info->manifest))
        code = bl_epochs_pair_repeat_measure(&info->pair_repeat, &info->manifest, dir, rows, e);
    if (__builtin_mul_overflow(w->sequences, w->longest, &info->naive_padding))
        info->naive_padding = -1;
    else
        info->naive_padding -= w->steps;
    if (code)
        bl_info_free(info);
    return code;
}

int bl_info_json(const struct bl_info *info, struct json_t *more, struct bl_buffer *out, struct bl_error *e)
{
    const struct bl_epochs_pair_repeat *repeat = &info->pair_repeat;
    bool any = repeat->highest.pairs > 0; /* there are pairs to compare */
    json_t *bars = json_array(), *faults = json_array(), *object = bl_manifest_to_json(&info->manifest, false);
    for (int i = 0; i < info->bars; i++)
        bl_jansson_push(&bars,
                        json_pack("{s:I, s:I, s:I}", "from", (json_int_t)(i * info->bar_width + 1), "to",
                                  (json_int_t)((i + 1) * info->bar_width), "sequences", (json_int_t)info->bar[i]));
    for (int i = 0; i < info->faults; i++)
        bl_jansson_push(&faults, json_pack("{s:o, s:s, s:o}", "id", bl_jansson_escaped(info->fault[i].id), "status",
                                           info->fault[i].status, "reason", bl_jansson_escaped(info->fault[i].reason)));
    bl_jansson_set(&object, "checksum", json_string(info->manifest.digest));
    bl_jansson_set(&object, "hours", info->hours > 0 ? json_real(info->hours) : json_null());
    bl_jansson_set(&object, "damaged", json_integer(info->damaged));
    bl_jansson_set(&object, "dropped", json_integer(info->dropped));
    bl_jansson_set(&object, "left_out", json_integer(info->excluded));
    bl_jansson_set(&object, "bytes", json_integer(info->bytes));
    bl_jansson_set(&object, "naive_padding", info->naive_padding < 0 ? json_null() : json_integer(info->naive_padding));
    bl_jansson_set(&object, "pair_repeat_rate", any ? json_real(bl_pair_repeat_share(&repeat->highest)) : json_null());
    bl_jansson_set(&object, "pair_repeat_rate_random", any ? json_real(repeat->highest.random) : json_null());
    bl_jansson_set(&object, "pair_repeat_rate_plans",
                   any ? json_pack("[I, I]", (json_int_t)repeat->plan[0], (json_int_t)repeat->plan[1]) : json_null());
    bl_jansson_set(&object, "pair_repeat_rate_each_pair", any ? json_boolean(repeat->each_pair) : json_null());
    json_t *quantiles = json_object();
    for (int q = 0; q < BL_QUANTILES; q++)
        bl_jansson_set(&quantiles, bl_quantile_names[q], json_integer(info->quantile[q]));
    bl_jansson_set(&object, "length_quantiles", quantiles);
    bl_jansson_set(&object, "lengths", bars);
    bl_jansson_set(&object, "fault_count", json_integer(info->fault_count));
    bl_jansson_set(&object, "faults", faults);
    if (object && (!more || json_object_update(object, more))) {
        json_decref(object);
        object = NULL;
    }
    json_decref(more);
    return bl_jansson_append(object, out, e);
}
