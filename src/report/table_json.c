#include "report/table_json.h"

#include <string.h>

#include "kind/row.h"
#include "report/report.h"
#include "report/rows.h"
#include "store/jansson.h"

static json_t *reason_json(const struct bl_tally_entry *entry)
{
    json_t *first = json_array(), *status = NULL, *reason = NULL;
    char word[16] = "";
    if (entry->key) {
        size_t size = strcspn(entry->key, "\t");
        memcpy(word, entry->key, size < sizeof word ? size : 0);
        status = json_string(word);
        reason = bl_jansson_escaped(entry->key + size + 1);
    }
    for (int i = 0; i < entry->examples; i++)
        bl_jansson_push(&first, bl_jansson_escaped(entry->example[i]));
    return json_pack("{s:o, s:o, s:I, s:o}", "status", entry->key ? status : json_null(), "reason",
                     entry->key ? reason : json_null(), "rows", (json_int_t)entry->rows, "first", first);
}

static json_t *reasons_json(const struct bl_tally *reasons)
{
    json_t *list = json_array();
    for (size_t i = 0; i < reasons->count; i++)
        bl_jansson_push(&list, reason_json(&reasons->entry[i]));
    if (reasons->rest.rows)
        bl_jansson_push(&list, reason_json(&reasons->rest));
    return list;
}

struct json_t *bl_totals_json(const struct bl_totals *totals)
{
    json_t *object = json_object();
    for (int t = 0; totals->total && totals->total[t].column; t++) {
        const struct bl_total *total = &totals->total[t];
        if (totals->sum[t])
            bl_jansson_set(
                &object, total->name ? total->name : total->column,
                json_pack("{s:I, s:I}", "sum", (json_int_t)totals->sum[t], "rows", (json_int_t)totals->rows[t]));
    }
    return object;
}

static int table_json(const struct bl_report *r, const struct bl_sequences *t, json_t *run, struct bl_buffer *out,
                      struct bl_error *e)
{
    json_t *object = json_object();
    int64_t longest = 0;
    double hours = bl_report_hours(t);
    for (size_t i = 0; i < t->count; i++)
        longest = t->length[i] > longest ? t->length[i] : longest;
    bl_jansson_set(&object, "table", bl_jansson_escaped(r->path));
    bl_jansson_set(&object, "kind", t->kind && *t->kind ? bl_jansson_escaped(t->kind) : json_null());
    bl_jansson_set(&object, "files", json_integer(r->files));
    bl_jansson_set(&object, "bytes", json_integer(r->file_bytes));
    bl_jansson_set(&object, "sequences", json_integer(t->by_status[BL_ROW_OK]));
    bl_jansson_set(&object, "steps", json_integer(t->steps));
    bl_jansson_set(&object, "longest", json_integer(longest));
    bl_jansson_set(&object, "hours", hours > 0 ? json_real(hours) : json_null());
    bl_jansson_set(&object, "skipped", json_integer(t->by_status[BL_ROW_SKIPPED]));
    bl_jansson_set(&object, "empty", json_integer(t->empty));
    bl_jansson_set(&object, "failed", json_integer(t->by_status[BL_ROW_FAILED]));
    bl_jansson_set(&object, "damaged", json_integer(t->damaged));
    bl_jansson_set(&object, "dropped", json_integer(bl_sequences_dropped(t)));
    bl_jansson_set(&object, "fault_count", json_integer(bl_sequences_unusable(t) + t->damaged));
    bl_jansson_set(&object, "totals", bl_totals_json(&r->totals));
    bl_jansson_set(&object, "reasons", reasons_json(&r->reasons));
    bl_jansson_set(&object, "run", run);
    return bl_jansson_append(object, out, e);
}

int bl_table_json(const char *path, struct json_t *run, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_report report = {.path = path, .is_table = true};
    struct bl_sequences table = {0};
    int code = bl_sequences_open(&table, &path, 1, false, e);
    if (code) {
        json_decref(run);
        return code;
    }
    code = bl_report_read_rows(&report, &table, e);
    if (code)
        json_decref(run);
    else
        code = table_json(&report, &table, run, out, e);
    bl_sequences_close(&table);
    bl_report_free(&report);
    return code;
}
