/* Where the time of a run went, as JSON. */
#include "run/bottleneck.h"
#include "store/jansson.h"

/* Three places are exact enough for seconds and shares, and short. */
static json_t *json_short(double value)
{
    return json_real((double)(int64_t)(value * 1000 + 0.5) / 1000);
}

int bl_run_times_json(const struct bl_run_times *times, struct json_t **out, struct bl_error *e)
{
    const struct bl_bottleneck found = bl_bottleneck_find(times);
    const char *limit = bl_limit_name(found.limit);
    json_t *seconds = json_object(), *object = json_object();
    for (int stage = 0; stage < BL_RUN_STAGES; stage++)
        bl_jansson_set(&seconds, bl_run_stage_name((enum bl_run_stage)stage), json_short(times->stage[stage]));
    bl_jansson_set(&seconds, "all", json_short(bl_run_times_all(times)));
    bl_jansson_set(&object, "seconds", seconds);
    bl_jansson_set(&object, "limit", limit ? json_string(limit) : json_null());
    bl_jansson_set(&object, "limit_share", limit ? json_short(found.share) : json_null());
    bl_jansson_set(&object, "waited_for",
                   found.file ? json_pack("{s:o, s:o}", "file", bl_jansson_escaped(found.file), "seconds",
                                          json_short(found.seconds))
                              : json_null());
    *out = object;
    return object ? BL_OK : bl_error_memory(e);
}
