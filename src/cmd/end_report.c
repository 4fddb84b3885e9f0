#include "cmd/end_report.h"

#include <string.h>

#include "base/option_help.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/summary.h"

#define SHORT 5.0  /* seconds: of such a run nobody asks where its time went */
#define SHOWN 0.05 /* seconds of a stage, at least */

static void report_append_limit(const struct bl_run_times *times, struct bl_buffer *out)
{
    const struct bl_bottleneck found = bl_bottleneck_find(times);
    if (!found.limit)
        return;
    bl_buffer_printf(out, "limit: %s, %.0f %% of the time", bl_limit_text(found.limit), 100 * found.share);
    if (found.file) {
        bl_buffer_text(out, "; waited for ");
        bl_text_append_masked(out, found.file);
        bl_buffer_printf(out, ", which took %.1f s", found.seconds);
    }
    bl_buffer_byte(out, '\n');
}

void bl_end_report_append_times(const struct bl_run_times *times, struct bl_buffer *out)
{
    if (bl_run_times_all(times) < SHORT)
        return;
    const char *before = "time: ";
    for (int stage = 0; stage < BL_RUN_STAGES; stage++) {
        if (times->stage[stage] < SHOWN)
            continue;
        bl_buffer_printf(out, "%s%.1f s %s", before, times->stage[stage], bl_run_stage_name((enum bl_run_stage)stage));
        before = ", ";
    }
    bl_buffer_byte(out, '\n');
    report_append_limit(times, out);
}

void bl_end_report_print_times(const struct bl_run_times *times)
{
    struct bl_buffer text = {0};
    bl_end_report_append_times(times, &text);
    if (!text.failed)
        bl_summary_notes(&text);
    bl_buffer_free(&text);
}

/* Puts a name between quotes where a shell would read it otherwise. */
static void report_append_name(struct bl_buffer *out, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:@%=-";
    if (*name && name[strspn(name, plain)] == '\0') {
        bl_buffer_printf(out, "%s%s", *name == '-' ? "./" : "", name);
        return;
    }
    bl_shell_quote(out, BL_SHELL_BASH, name, strlen(name));
}

void bl_end_report_print_next(const char *command, const char *dir, const char *after)
{
    struct bl_buffer text = {0};
    bl_buffer_printf(&text, "next: bload %s ", command);
    report_append_name(&text, dir);
    bl_buffer_text(&text, after);
    if (!text.failed)
        bl_cmd_print("%s", text.data);
    bl_buffer_free(&text);
}
