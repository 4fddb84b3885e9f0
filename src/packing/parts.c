#include "packing/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "packing/identity.h"
#include "run/task.h"
#include "scan/extend.h"
#include "scan/merge.h"
#include "scan/subset_options.h"

int bl_parts_agree(const struct bl_state *state, int64_t tasks, const struct bl_options *options,
                   const struct bl_input_set *inputs, const struct bl_subset_options *subset, struct bl_error *e)
{
    struct bl_buffer lines = {0};
    bl_buffer_printf(&lines, "tasks: %" PRId64 "\n", tasks);
    int code = bl_identity_files(&inputs->files, &lines, e);
    if (code)
        goto out;
    code = bl_identity_scan(options, inputs, subset, &lines, e);
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

/* An option of the subset must have the value that the tasks of the scan recorded. */
struct subset_check {
    const struct bl_state *state;
    struct bl_error *e;
};

static int parts_check_option(void *context, const struct bl_option_group *group, const struct bl_option *option)
{
    const struct subset_check *check = context;
    struct bl_buffer there = {0}, here = {0}, escaped = {0};
    if (group->options != bl_subset_option_table)
        return BL_OK;
    bl_option_format(group, option, &here);
    bl_text_escape(&escaped, here.data ? here.data : "", here.size);
    int code = bl_state_value(check->state, BL_STATE_SCAN, option->name, &there, check->e);
    if (!code)
        code = bl_buffer_check(&here, check->e);
    if (!code)
        code = bl_buffer_check(&escaped, check->e);
    if (!code && there.size && (there.size != escaped.size || memcmp(there.data, escaped.data, there.size) != 0))
        code = bl_error_set(check->e, BL_EUSAGE, "%s was scanned with --%s %s: give the same", check->state->dir,
                            option->name, there.data);
    else if (!code && !there.size && escaped.size)
        code = bl_error_set(check->e, BL_EUSAGE, "%s was scanned without --%s: give it to all commands, or to none",
                            check->state->dir, option->name);
    bl_buffer_free(&there);
    bl_buffer_free(&here);
    bl_buffer_free(&escaped);
    return code;
}

/* The lines of the datasets are among those of the scan. */
static int parts_check_extended(const struct bl_state *state, const struct bl_subset_options *subset,
                                struct bl_error *e)
{
    struct bl_buffer lines = {0}, there = {0};
    int code = bl_extend_identify(subset, &lines, e);
    size_t at = 0, size;
    const char *line;
    for (int i = 1; !code && bl_text_next_line(lines.data, lines.size, &at, &line, &size); i++) {
        char name[32];
        size_t begin = (size_t)snprintf(name, sizeof name, "extend %d", i) + 2;
        bl_buffer_clear(&there);
        code = bl_state_value(state, BL_STATE_SCAN, name, &there, e);
        if (!code && (there.size != size - begin || memcmp(there.data, line + begin, there.size) != 0))
            code = bl_error_set(e, BL_EUSAGE, "%s was scanned with another dataset at --extend: %s there, not %.*s",
                                state->dir, there.size ? there.data : "none", (int)(size - begin), line + begin);
    }
    bl_buffer_free(&lines);
    bl_buffer_free(&there);
    return code;
}

int bl_parts_check_subset(const struct bl_state *state, const struct bl_options *options,
                          const struct bl_subset_options *subset, struct bl_error *e)
{
    struct subset_check check = {state, e};
    int code = bl_options_each(options, parts_check_option, &check);
    return code ? code : parts_check_extended(state, subset, e);
}
