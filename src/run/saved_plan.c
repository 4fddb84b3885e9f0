/* The plan's tables do not contain its proofs and counts. These are in a text file beside it, which is written first.
 * (The metadata of the plan file has them too, for users who copy only that file.) */
#include "run/saved_plan.h"

#include "base/checksum.h"
#include "base/fs.h"
#include "base/output.h"
#include "store/index.h"
#include "store/plan_info.h"

int bl_saved_plan_publish(const struct bl_state *state, const struct bl_plan *plan, const int64_t *length, size_t count,
                          const struct bl_plan_info *plan_info, struct bl_error *e)
{
    struct bl_buffer path = {0}, json = {0};
    struct bl_output out = {0};
    int code = bl_plan_info_format(plan_info, &json, e);
    if (code)
        goto out;
    code = bl_sealed_close(&json, e);
    if (code)
        goto out;
    code = bl_state_publish(state, BL_STATE_PLAN_INFO, &json, e);
    if (code)
        goto out;
    code = bl_state_path(state, BL_STATE_PLAN_FILE, &path, e);
    if (code)
        goto out;
    code = bl_output_own(&out, path.data, e);
    if (code)
        goto out;
    code = bl_index_write(&out, plan, length, count, plan_info, e);
    if (code)
        goto out;
    code = bl_output_publish(&out, e);
out:
    bl_output_abort(&out);
    bl_buffer_free(&path);
    bl_buffer_free(&json);
    return code;
}

int bl_saved_plan_load(const struct bl_state *state, struct bl_plan *plan, struct bl_plan_info *plan_info, int64_t T,
                       const int64_t *length, size_t count, bool *found, struct bl_error *e)
{
    struct bl_buffer path = {0}, info_path = {0};
    bool exists = false;
    *found = false;
    int code = bl_state_path(state, BL_STATE_PLAN_FILE, &path, e);
    if (code)
        goto out;
    code = bl_state_path(state, BL_STATE_PLAN_INFO, &info_path, e);
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (code || !exists)
        goto out;
    code = bl_plan_info_read(plan_info, info_path.data, e);
    if (code)
        goto out;
    code = bl_index_load(plan, path.data, T, 0, length, count, NULL, e);
    if (code)
        goto out;
    plan->is_store = bl_plan_info_is_store(plan_info);
    plan->lower_bound = plan_info->lower_bound;
    plan->balance = plan_info->balance;
    *found = true;
out:
    bl_buffer_free(&path);
    bl_buffer_free(&info_path);
    return code;
}
