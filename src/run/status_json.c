/* The status of a dataset as JSON. */
#include <string.h>

#include "run/status.h"
#include "store/jansson.h"

/* Takes ownership of value in any case. */
static int json_put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value);
}

static json_t *json_text_or_null(const char *text)
{
    return text && *text ? bl_jansson_escaped(text) : json_null();
}

static json_t *json_count_or_null(bool is, int64_t value)
{
    return is ? json_integer(value) : json_null();
}

static json_t *json_seconds(double value)
{
    return value >= 0 ? json_real(value) : json_null();
}

static int json_put_beat(json_t *object, const struct bl_beat *b)
{
    int failed = json_put(object, "tasks", json_integer(b->tasks));
    failed |= json_put(object, "host", json_text_or_null(b->host));
    failed |= json_put(object, "pid", json_integer(b->pid));
    failed |= json_put(object, "job", json_text_or_null(b->job));
    failed |= json_put(object, "began", json_integer(b->began));
    failed |= json_put(object, "updated", json_integer(b->updated));
    failed |= json_put(object, "doing", json_text_or_null(b->doing));
    failed |= json_put(object, "unit", json_text_or_null(b->unit));
    failed |= json_put(object, "done", json_integer(b->done));
    failed |= json_put(object, "total", json_count_or_null(b->total > 0, b->total));
    failed |= json_put(object, "step", json_text_or_null(b->step));
    failed |= json_put(object, "steps", json_integer(b->steps));
    failed |= json_put(object, "steps_left", json_integer(b->steps_left));
    failed |= json_put(object, "bytes", json_integer(b->bytes));
    failed |= json_put(object, "status", json_count_or_null(b->status >= 0, b->status));
    failed |= json_put(object, "error", json_text_or_null(b->error));
    return failed;
}

static json_t *json_task(const struct bl_status_stage *stage, int64_t index, const char *units)
{
    const struct bl_status_task *t = &stage->task[index];
    json_t *object = json_object();
    int failed = json_put(object, "task", json_integer(t->beat ? t->beat->task : index));
    failed |= json_put(object, "state", json_string(bl_task_state_name(t->state)));
    failed |= json_put(object, units, json_count_or_null(stage->units > 0, t->end - t->begin));
    failed |= json_put(object, "first", json_count_or_null(stage->units > 0, t->begin));
    failed |= json_put(object, "finished", json_count_or_null(stage->units > 0, t->finished));
    if (t->beat) {
        failed |= json_put_beat(object, t->beat);
        failed |= json_put(object, "age", json_integer(t->age));
        failed |= json_put(object, "gone", json_boolean(t->gone));
        failed |= json_put(object, "rate", json_real(t->rate));
        failed |= json_put(object, "left", json_seconds(t->left));
    }
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *json_stage(const struct bl_status_stage *stage, const char *units)
{
    json_t *object = json_object(), *list = json_array();
    int failed = json_put(object, "tasks", json_count_or_null(stage->tasks > 0, stage->tasks));
    failed |= json_put(object, units, json_count_or_null(stage->units > 0, stage->units));
    failed |= json_put(object, "finished", json_integer(stage->finished));
    for (int i = 0; i < BL_TASK_STATES; i++)
        failed |= json_put(object, bl_task_state_name(i), json_integer(stage->in[i]));
    failed |= json_put(object, "rate", json_real(stage->rate));
    failed |= json_put(object, "rate_of", json_text_or_null(stage->rate_of));
    failed |= json_put(object, "left", json_seconds(stage->left));
    for (size_t i = 0; i < stage->count && !failed; i++)
        failed |= json_array_append_new(list, json_task(stage, (int64_t)i, units));
    failed |= json_put(object, "task", list);
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
        {"next", json_text_or_null(next)},
        {"now", json_integer(s->now)},
        {"table", json_boolean(s->table)},
        {"plan", json_boolean(s->plan)},
        {"sequences", json_count_or_null(s->has_words, s->plan_info.sequences)},
        {"steps", json_count_or_null(s->has_words, s->plan_info.steps)},
        {"blocks", json_count_or_null(s->has_words, s->plan_info.blocks)},
        {"finished_blocks", json_count_or_null(s->has_manifest, s->finished_blocks)},
        {"shards", json_count_or_null(s->has_manifest, s->pack.units)},
        {"finished_shards", json_integer(s->pack.finished)},
        {"skipped", json_count_or_null(complete, s->manifest.skipped)},
        {"failed", json_count_or_null(complete, s->manifest.failed)},
        {"failed_steps", json_count_or_null(complete, s->manifest.failed_steps)},
        {"scan", json_stage(&s->scan, "parts")},
        {"pack", json_stage(&s->pack, "shards")},
        {"verify_tasks", json_count_or_null(s->verify_tasks > 0, s->verify_tasks)},
        {"verified", json_integer(s->verified)},
        {"unreadable", json_integer(s->unreadable)},
    };
    json_t *object = json_object();
    int failed = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        failed |= json_put(object, members[i].name, members[i].value);
    int code = failed ? bl_error_memory(e) : bl_jansson_append(object, out, e);
    json_decref(object);
    return code;
}
