#include "store/plan_info.h"

#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "plan/options.h"
#include "store/jansson.h"
#include "store/plan_info_json.h"

#define WORDS_MAX ((size_t)1 << 20) /* bytes: a guard against a file that holds something else */

const char *bl_strategy_name(enum bl_strategy strategy)
{
    return bl_strategy_names[strategy];
}

const char *bl_fill_name(enum bl_fill fill)
{
    return bl_fill_names[fill];
}

void bl_plan_info_make(struct bl_plan_info *plan_info, const struct bl_plan *plan,
                       const struct bl_plan_options *options)
{
    *plan_info = (struct bl_plan_info){
        .T = plan->T,
        .seed = options->seed,
        .sequences = plan->sequences,
        .steps = plan->steps,
        .longest = plan->longest,
        .blocks = (int64_t)plan->blocks,
        .padding = plan->padding,
        .deleted = plan->deleted,
        .cut = plan->cut,
        .efficiency = bl_plan_efficiency(plan),
        .lower_bound = plan->lower_bound,
    };
    snprintf(plan_info->strategy, sizeof plan_info->strategy, "%s", bl_strategy_name(options->strategy));
    if (options->strategy == BL_STRATEGY_BLOCK)
        snprintf(plan_info->fill, sizeof plan_info->fill, "%s", bl_fill_name(options->fill));
    plan_info->imbalance = plan->imbalance;
    plan_info->imbalance_before = plan->imbalance_before;
    plan_info->world_size = options->world_size ? options->world_size : 1;
    plan_info->batch_size = options->batch_size ? options->batch_size : 1;
    plan_info->batches_per_rank = plan_info->blocks / plan_info->world_size / plan_info->batch_size;
}

int bl_plan_info_format(const struct bl_plan_info *plan_info, struct bl_buffer *out, struct bl_error *e)
{
    json_t *object = json_object();
    int failed = bl_plan_info_to_json(plan_info, object);
    int code = failed ? bl_error_memory(e) : bl_jansson_append(object, out, e);
    json_decref(object);
    return code;
}

int bl_plan_info_parse(struct bl_plan_info *plan_info, const char *text, size_t size, struct bl_error *e)
{
    json_error_t why;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    int code = object ? bl_plan_info_from_json(plan_info, object, e)
                      : bl_error_set(e, BL_EDATA, "line %d: %s", why.line, why.text);
    json_decref(object);
    return code;
}

int bl_plan_info_read(struct bl_plan_info *plan_info, const char *path, struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = bl_io_read_file(path, WORDS_MAX, &text, e);
    if (!code)
        code = bl_plan_info_parse(plan_info, text.data ? text.data : "", text.size, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", path);
    bl_buffer_free(&text);
    return code;
}

int bl_plan_info_format_rows(const struct bl_plan_info *plan_info, int count, struct bl_buffer *out, struct bl_error *e)
{
    json_t *rows = json_array();
    int failed = 0;
    for (int i = 0; i < count; i++) {
        json_t *row = json_object();
        failed |= bl_plan_info_to_json(&plan_info[i], row);
        failed |= json_array_append_new(rows, row);
    }
    json_t *object = json_pack("{s:o}", "rows", rows);
    int code = failed || !object ? bl_error_memory(e) : bl_jansson_append(object, out, e);
    json_decref(object);
    return code;
}
