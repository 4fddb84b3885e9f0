/* The status of a dataset as JSON. */
#include <string.h>

#include "run/status.h"
#include "store/jansson.h"

/* Takes the members over, whatever becomes of them. */
static int put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value);
}

static json_t *text_or_null(const char *text)
{
    return text && *text ? bl_jansson_escaped(text) : json_null();
}

static json_t *known(bool is, int64_t value)
{
    return is ? json_integer(value) : json_null();
}

static json_t *seconds(double value)
{
    return value >= 0 ? json_real(value) : json_null();
}

static int put_beat(json_t *object, const struct bl_beat *b)
{
    int failed = put(object, "tasks", json_integer(b->tasks));
    failed |= put(object, "host", text_or_null(b->host));
    failed |= put(object, "pid", json_integer(b->pid));
    failed |= put(object, "job", text_or_null(b->job));
    failed |= put(object, "began", json_integer(b->began));
    failed |= put(object, "updated", json_integer(b->updated));
    failed |= put(object, "doing", text_or_null(b->doing));
    failed |= put(object, "unit", text_or_null(b->unit));
    failed |= put(object, "done", json_integer(b->done));
    failed |= put(object, "total", known(b->total > 0, b->total));
    failed |= put(object, "step", text_or_null(b->step));
    failed |= put(object, "steps", json_integer(b->steps));
    failed |= put(object, "steps_left", json_integer(b->steps_left));
    failed |= put(object, "bytes", json_integer(b->bytes));
    failed |= put(object, "status", known(b->status >= 0, b->status));
    failed |= put(object, "error", text_or_null(b->error));
    return failed;
}

static json_t *task_json(const struct bl_status_stage *stage, int64_t index, const char *units)
{
    const struct bl_status_task *t = &stage->task[index];
    json_t *object = json_object();
    int failed = put(object, "task", json_integer(t->beat ? t->beat->task : index));
    failed |= put(object, "state", json_string(bl_task_state_name(t->state)));
    failed |= put(object, units, known(stage->units > 0, t->end - t->begin));
    failed |= put(object, "first", known(stage->units > 0, t->begin));
    failed |= put(object, "finished", known(stage->units > 0, t->finished));
    if (t->beat) {
        failed |= put_beat(object, t->beat);
        failed |= put(object, "age", json_integer(t->age));
        failed |= put(object, "gone", json_boolean(t->gone));
        failed |= put(object, "rate", json_real(t->rate));
        failed |= put(object, "left", seconds(t->left));
    }
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *stage_json(const struct bl_status_stage *stage, const char *units)
{
    json_t *object = json_object(), *list = json_array();
    int failed = put(object, "tasks", known(stage->tasks > 0, stage->tasks));
    failed |= put(object, units, known(stage->units > 0, stage->units));
    failed |= put(object, "finished", json_integer(stage->finished));
    for (int i = 0; i < BL_TASK_STATES; i++)
        failed |= put(object, bl_task_state_name(i), json_integer(stage->in[i]));
    failed |= put(object, "rate", json_real(stage->rate));
    failed |= put(object, "rate_of", text_or_null(stage->rate_of));
    failed |= put(object, "left", seconds(stage->left));
    for (size_t i = 0; i < stage->count && !failed; i++)
        failed |= json_array_append_new(list, task_json(stage, (int64_t)i, units));
    failed |= put(object, "task", list);
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

int bl_status_json(const struct bl_status *s, const char *next, struct bl_buffer *out, struct bl_error *e)
{
    bool complete = s->at == BL_AT_END;
    const struct {
        const char *name;
        json_t *value;
    } members[] = {
        {"complete", json_boolean(complete)},
        {"at", json_string(bl_status_at_name(s->at))},
        {"good", json_boolean(!bl_status_is_bad(s))},
        {"next", text_or_null(next)},
        {"now", json_integer(s->now)},
        {"table", json_boolean(s->table)},
        {"plan", json_boolean(s->plan)},
        {"sequences", known(s->has_words, s->plan_info.sequences)},
        {"steps", known(s->has_words, s->plan_info.steps)},
        {"blocks", known(s->has_words, s->plan_info.blocks)},
        {"finished_blocks", known(s->has_manifest, s->finished_blocks)},
        {"shards", known(s->has_manifest, s->pack.units)},
        {"finished_shards", json_integer(s->pack.finished)},
        {"skipped", known(complete, s->manifest.skipped)},
        {"failed", known(complete, s->manifest.failed)},
        {"failed_steps", known(complete, s->manifest.failed_steps)},
        {"scan", stage_json(&s->scan, "parts")},
        {"pack", stage_json(&s->pack, "shards")},
        {"verify_tasks", known(s->verify_tasks > 0, s->verify_tasks)},
        {"verified", json_integer(s->verified)},
        {"unreadable", json_integer(s->unreadable)},
    };
    json_t *object = json_object();
    int failed = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        failed |= put(object, members[i].name, members[i].value);
    int code = failed ? bl_error_memory(e) : bl_jansson_append(object, out, e);
    json_decref(object);
    return code;
}
