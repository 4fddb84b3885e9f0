#include "packing/recorded_options.h"

#include "base/option.h"

struct reading {
    const struct bl_manifest *manifest;
    struct bl_options *options;
    struct bl_error *e;
};

static int recorded_set(void *context, const struct bl_option_group *group, const struct bl_option *option)
{
    const struct reading *r = context;
    const char *value = bl_manifest_option(r->manifest, option->name);
    (void)group;
    return *value ? bl_options_set(r->options, option->name, value, BL_ORIGIN_FILE, r->e) : BL_OK;
}

int bl_recorded_plan_options(const struct bl_manifest *manifest, struct bl_plan_options *out, struct bl_error *e)
{
    struct bl_options options = {0};
    struct reading reading = {manifest, &options, e};
    int code = bl_options_add(&options, "Planning", bl_plan_option_table, out, e);
    if (!code)
        code = bl_options_add(&options, "Strategy", bl_plan_strategy_table, out, e);
    if (!code)
        code = bl_options_each(&options, recorded_set, &reading);
    bl_options_free(&options);
    return code;
}
