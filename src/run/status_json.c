/* The status of a dataset as JSON. */
#include <string.h>

#include "run/status.h"
#include "store/jansson.h"

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

static void json_put_beat(json_t **object, const struct bl_beat *b)
{
    bl_jansson_set(object, "tasks", json_integer(b->tasks));
    bl_jansson_set(object, "host", json_text_or_null(b->host));
    bl_jansson_set(object, "pid", json_integer(b->pid));
    bl_jansson_set(object, "job", json_text_or_null(b->job));
    bl_jansson_set(object, "began", json_integer(b->began));
    bl_jansson_set(object, "updated", json_integer(b->updated));
    bl_jansson_set(object, "doing", json_text_or_null(b->doing));
    bl_jansson_set(object, "unit", json_text_or_null(b->unit));
    bl_jansson_set(object, "done", json_integer(b->done));
    bl_jansson_set(object, "total", json_count_or_null(b->total > 0, b->total));
    bl_jansson_set(object, "step", json_text_or_null(b->step));
    bl_jansson_set(object, "steps", json_integer(b->steps));
    bl_jansson_set(object, "steps_left", json_count_or_null(b->steps_left >= 0, b->steps_left));
    bl_jansson_set(object, "bytes", json_integer(b->bytes));
    bl_jansson_set(object, "status", json_count_or_null(b->status >= 0, b->status));
    bl_jansson_set(object, "error", json_text_or_null(b->error));
}

static json_t *json_task(const struct bl_status_stage *stage, int64_t index, const char *units)
{
    const struct bl_status_task *t = &stage->task[index];
    json_t *object = json_object();
    bl_jansson_set(&object, "task", json_integer(t->beat ? t->beat->task : index));
    bl_jansson_set(&object, "state", json_string(bl_task_state_name(t->state)));
    bl_jansson_set(&object, units, json_count_or_null(stage->units > 0, t->end - t->begin));
    bl_jansson_set(&object, "first", json_count_or_null(stage->units > 0, t->begin));
    bl_jansson_set(&object, "finished", json_count_or_null(stage->units > 0, t->finished));
    if (t->beat) {
        json_put_beat(&object, t->beat);
        bl_jansson_set(&object, "age", json_integer(t->age));
        bl_jansson_set(&object, "gone", json_boolean(t->gone));
        bl_jansson_set(&object, "rate", json_real(t->rate));
        bl_jansson_set(&object, "left", json_seconds(t->left));
    }
    return object;
}

static json_t *json_stage(const struct bl_status_stage *stage, const char *units)
{
    json_t *object = json_object(), *list = json_array();
    bl_jansson_set(&object, "tasks", json_count_or_null(stage->tasks > 0, stage->tasks));
    bl_jansson_set(&object, units, json_count_or_null(stage->units > 0, stage->units));
    bl_jansson_set(&object, "finished", json_integer(stage->finished));
    for (int i = 0; i < BL_TASK_STATES; i++)
        bl_jansson_set(&object, bl_task_state_name(i), json_integer(stage->in[i]));
    bl_jansson_set(&object, "rate", json_real(stage->rate));
    bl_jansson_set(&object, "rate_of", json_text_or_null(stage->rate_of));
    bl_jansson_set(&object, "left", json_seconds(stage->left));
    for (size_t i = 0; i < stage->count; i++)
        bl_jansson_push(&list, json_task(stage, (int64_t)i, units));
    bl_jansson_set(&object, "task", list);
    return object;
}

int bl_status_json(const struct bl_status *s, const char *next, struct bl_buffer *out, struct bl_error *e)
{
    bool complete = s->at == BL_AT_END;
    json_t *object = json_object();
    bl_jansson_set(&object, "complete", json_boolean(complete));
    bl_jansson_set(&object, "at", json_string(bl_status_at_name(s->at)));
    bl_jansson_set(&object, "good", json_boolean(!bl_status_is_bad(s)));
    bl_jansson_set(&object, "next", json_text_or_null(next));
    bl_jansson_set(&object, "now", json_integer(s->now));
    bl_jansson_set(&object, "table", json_boolean(s->table));
    bl_jansson_set(&object, "plan", json_boolean(s->plan));
    bl_jansson_set(&object, "sequences", json_count_or_null(s->has_plan_info, s->plan_info.sequences));
    bl_jansson_set(&object, "steps", json_count_or_null(s->has_plan_info, s->plan_info.steps));
    bl_jansson_set(&object, "blocks", json_count_or_null(s->has_plan_info, s->plan_info.blocks));
    bl_jansson_set(&object, "finished_blocks", json_count_or_null(s->has_manifest, s->finished_blocks));
    bl_jansson_set(&object, "shards", json_count_or_null(s->has_manifest, s->pack.units));
    bl_jansson_set(&object, "finished_shards", json_integer(s->pack.finished));
    bl_jansson_set(&object, "skipped", json_count_or_null(complete, s->manifest.skipped));
    bl_jansson_set(&object, "failed", json_count_or_null(complete, s->manifest.failed));
    bl_jansson_set(&object, "failed_steps", json_count_or_null(complete, s->manifest.failed_steps));
    bl_jansson_set(&object, "scan", json_stage(&s->scan, "parts"));
    bl_jansson_set(&object, "pack", json_stage(&s->pack, "shards"));
    bl_jansson_set(&object, "verify_tasks", json_count_or_null(s->verify_tasks > 0, s->verify_tasks));
    bl_jansson_set(&object, "verified", json_integer(s->verified));
    bl_jansson_set(&object, "unreadable", json_integer(s->unreadable));
    return bl_jansson_append(object, out, e);
}
