#include "store/forecast.h"

#include "store/jansson.h"
#include "store/manifest_json.h"

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
