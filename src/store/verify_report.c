#include "store/verify_report.h"

#include <string.h>

#include "store/jansson.h"

void bl_verify_report_add(struct bl_verify_report *report, const char *source, const char *file, const char *text)
{
    if (!report->faults && !report->failed)
        report->faults = json_array();
    bl_jansson_push(&report->faults,
                    json_pack("{s:o, s:o, s:o}", "source", source ? bl_jansson_escaped(source) : json_null(), "file",
                              bl_jansson_escaped(file), "text", bl_jansson_escaped(text)));
    report->failed |= !report->faults;
}

int bl_verify_report_json(struct bl_verify_report *report, struct json_t *run, struct bl_buffer *out,
                          struct bl_error *e)
{
    if (report->failed) {
        json_decref(run);
        return bl_error_memory(e);
    }
    json_t *object = json_pack("{s:o, s:s}", "path", bl_jansson_escaped(report->dir), "kind", report->kind);
    bl_jansson_set(&object, "against", report->against ? bl_jansson_escaped(report->against) : json_null());
    bl_jansson_set(&object, "task",
                   report->tasks
                       ? json_pack("{s:I, s:I}", "index", (json_int_t)report->task, "tasks", (json_int_t)report->tasks)
                       : json_null());
    bl_jansson_set(&object, "verified", json_boolean(!report->faults));
    bl_jansson_set(&object, strcmp(report->kind, "export") == 0 ? "files" : "shards", json_integer(report->files));
    bl_jansson_set(&object, "bytes", json_integer(report->bytes));
    bl_jansson_set(&object, "faults", report->faults ? report->faults : json_array());
    report->faults = NULL;
    bl_jansson_set(&object, "run", run);
    return bl_jansson_append(object, out, e);
}

void bl_verify_report_free(struct bl_verify_report *report)
{
    json_decref(report->faults);
    report->faults = NULL;
}
