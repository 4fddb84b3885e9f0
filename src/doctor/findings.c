#include "doctor/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "bload.h"
#include "store/jansson.h"

void bl_findings_add(struct bl_findings *f, enum bl_verdict verdict, const char *name, const char *format, ...)
{
    struct bl_finding finding = {.group = f->group, .name = name, .verdict = verdict};
    va_list arguments;
    va_start(arguments, format);
    int size = vasprintf(&finding.text, format, arguments);
    va_end(arguments);
    if (size < 0) {
        f->failed = true;
        return;
    }
    if (BL_ARRAY_RESERVE(f->finding, f->capacity, f->count + 1, NULL)) {
        f->failed = true;
        free(finding.text);
        return;
    }
    f->finding[f->count++] = finding;
}

void bl_findings_value(struct bl_findings *f, const char *unit, int64_t value)
{
    if (f->failed || !f->count)
        return;
    f->finding[f->count - 1].unit = unit;
    f->finding[f->count - 1].value = value;
}

int64_t bl_findings_count(const struct bl_findings *f, enum bl_verdict verdict)
{
    int64_t count = 0;
    for (size_t i = 0; i < f->count; i++)
        count += f->finding[i].verdict == verdict;
    return count;
}

const char *bl_verdict_name(enum bl_verdict verdict)
{
    static const char *const names[BL_VERDICTS] = {"ok", "note", "warning", "fault"};
    return names[verdict];
}

int bl_findings_check(const struct bl_findings *f, struct bl_error *e)
{
    return f->failed ? bl_error_memory(e) : BL_OK;
}

void bl_findings_free(struct bl_findings *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->finding[i].text);
    free(f->finding);
    *f = (struct bl_findings){0};
}

static json_t *finding_to_json(const struct bl_finding *finding)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:o}", "group", finding->group, "name", finding->name, "verdict",
                               bl_verdict_name(finding->verdict), "text", bl_jansson_escaped(finding->text));
    bl_jansson_set(&object, "value", finding->unit ? json_integer(finding->value) : json_null());
    bl_jansson_set(&object, "unit", finding->unit ? json_string(finding->unit) : json_null());
    return object;
}

int bl_findings_json(const struct bl_findings *f, const char *dir, struct bl_buffer *out, struct bl_error *e)
{
    json_t *object = json_pack("{s:s, s:o}", "bload", BLOAD_VERSION, "directory", bl_jansson_escaped(dir));
    json_t *findings = json_array();
    bl_jansson_set(&object, "faults", json_integer(bl_findings_count(f, BL_VERDICT_FAULT)));
    bl_jansson_set(&object, "warnings", json_integer(bl_findings_count(f, BL_VERDICT_WARNING)));
    for (size_t i = 0; i < f->count; i++)
        bl_jansson_push(&findings, finding_to_json(&f->finding[i]));
    bl_jansson_set(&object, "findings", findings);
    return bl_jansson_append(object, out, e);
}
