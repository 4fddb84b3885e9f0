#include "packing/parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/text.h"
#include "packing/identity.h"
#include "run/table_checksum.h"
#include "run/task.h"

int bl_parts_agree(const struct bl_state *state, int64_t tasks, const struct bl_options *options,
                   const struct bl_input_set *inputs, struct bl_error *e)
{
    struct bl_buffer lines = {0};
    bl_buffer_printf(&lines, "tasks: %" PRId64 "\n", tasks);
    int code = bl_identity_files(&inputs->files, &lines, e);
    if (code)
        goto out;
    code = bl_identity_scan(options, inputs, &lines, e);
    if (code)
        goto out;
    code = bl_state_agree(state, BL_STATE_SCAN, lines.data, e);
out:
    bl_buffer_free(&lines);
    return code;
}

int bl_parts_find(const struct bl_state *state, struct bl_parts *parts, struct bl_error *e)
{
    struct bl_buffer value = {0};
    *parts = (struct bl_parts){.missing = -1};
    int code = bl_state_value(state, BL_STATE_SCAN, "tasks", &value, e);
    if (code)
        goto out;
    if (value.size && !bl_text_to_int(value.data, value.size, 1, BL_TASKS_MAX, &parts->tasks))
        code = bl_error_set(e, BL_EFAIL, "%s/" BL_STATE_SCAN ": tasks: \"%s\" is no number of tasks", state->folder,
                            value.data);
    if (code)
        goto out;
    parts->missing = bl_merge_find_missing(state->folder, parts->tasks);
out:
    bl_buffer_free(&value);
    return code;
}

int bl_parts_require(const struct bl_state *state, const struct bl_parts *parts, struct bl_error *e)
{
    if (!parts->tasks)
        return bl_error_set(e, BL_EFAIL, "%s holds no part of a scan: run bload scan --task i/N -o %s ...", state->dir,
                            state->dir);
    if (parts->missing < 0)
        return BL_OK;
    return bl_error_set(e, BL_EFAIL,
                        "part %" PRId64 " of %" PRId64 " is missing: run bload scan --task %" PRId64 "/%" PRId64
                        " -o %s ...",
                        parts->missing, parts->tasks, parts->missing, parts->tasks, state->dir);
}

int bl_parts_merge(const struct bl_state *state, const struct bl_parts *parts, struct bl_merge *merge,
                   struct bl_merged *merged, struct bl_error *e)
{
    struct bl_output out = {0};
    merge->folder = state->folder;
    merge->tasks = parts->tasks;
    *merged = (struct bl_merged){0};
    int code = bl_table_checksum_forget(state, e);
    if (code)
        goto out;
    code = bl_output_own(&out, state->sequences, e);
    if (code)
        goto out;
    code = bl_merge_run(merge, &out, merged, e);
    if (code)
        goto out;
    code = bl_output_publish(&out, e);
out:
    bl_output_abort(&out);
    if (code) { /* then there is no message about attributes */
        free(merged->attributes);
        merged->attributes = NULL;
    }
    return code;
}
