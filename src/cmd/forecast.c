#include "cmd/forecast.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "packing/packing.h"

/* From these on a run is long. */
#define LONG_BYTES ((int64_t)1 << 30)
#define LONG_PREPARE 10.0 /* seconds */

static void forecast_print_line(struct bl_buffer *line)
{
    if (!line->failed && line->size)
        bl_cmd_print("%s", line->data);
    bl_buffer_free(line);
}

/* "3 shards, 4.8 MiB", "3 shards, about 1.2 GiB (1.1 GiB to 1.3 GiB), 4.1 GiB before" */
static void forecast_append_shards(const struct bl_forecast *f, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE], b[32], c[32];
    bl_buffer_printf(out, "%s, ", bl_text_plural(a, f->shards, "shard"));
    if (f->bytes < 0) {
        bl_buffer_printf(out, "%s before they are encoded or compressed", bl_text_size(a, f->bytes_raw));
        return;
    }
    bl_buffer_printf(out, "%s%s", f->bytes_low < f->bytes_high ? "about " : "", bl_text_size(a, f->bytes));
    if (strcmp(bl_text_size(b, f->bytes_low), bl_text_size(c, f->bytes_high)) != 0)
        bl_buffer_printf(out, " (%s to %s)", b, c);
    if (f->bytes < f->bytes_raw / 10 * 9)
        bl_buffer_printf(out, " of %s", bl_text_size(b, f->bytes_raw));
}

static void forecast_append_free(const struct bl_forecast *f, struct bl_buffer *out)
{
    char a[32];
    if (f->bytes_free >= 0)
        bl_buffer_printf(out, "; %s free", bl_text_size(a, f->bytes_free));
}

static void forecast_print_space(const char *dir, const struct bl_forecast *f)
{
    char a[32];
    struct bl_buffer line = {0};
    bl_buffer_printf(&line, "%s: ", dir);
    forecast_append_shards(f, &line);
    bl_buffer_printf(&line, ", and %s of index and tables", bl_text_size(a, f->bytes_files));
    forecast_append_free(f, &line);
    forecast_print_line(&line);
    if (f->bytes_temporary)
        bl_cmd_print("%s more while the run lasts, %s", bl_text_size(a, f->bytes_temporary),
                     f->spool_is_elsewhere ? "in the folder of --spool" : "in the same place");
    int64_t space = bl_forecast_space(f);
    char b[32];
    if (f->bytes_free >= 0 && space > f->bytes_free)
        bl_cmd_print("not enough room: %s are needed, %s are free", bl_text_size(a, space),
                     bl_text_size(b, f->bytes_free));
}

static void forecast_append_seconds(const struct bl_forecast *f, struct bl_buffer *out)
{
    struct bl_buffer low = {0}, high = {0};
    bl_text_append_duration(&low, f->seconds_low);
    bl_text_append_duration(&high, f->seconds_high);
    if (f->seconds_high < 1)
        bl_buffer_text(out, "less than a second");
    else if (low.failed || high.failed)
        out->failed = true;
    else if (strcmp(low.data, high.data) == 0)
        bl_buffer_printf(out, "about %s", high.data);
    else
        bl_buffer_printf(out, "%s to %s", low.data, high.data);
    bl_buffer_free(&low);
    bl_buffer_free(&high);
}

static void forecast_print_time(const struct bl_forecast *f)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE], c[BL_PLURAL_SIZE];
    struct bl_buffer line = {0};
    if (f->seconds_high < 0) {
        bl_cmd_print("time: not known, as there is no sample");
        return;
    }
    bl_buffer_text(&line, "time: ");
    forecast_append_seconds(f, &line);
    if (f->prepare_seconds >= 1) {
        bl_buffer_text(&line, ", of these ");
        bl_text_append_duration(&line, f->prepare_seconds);
        bl_buffer_text(&line, " before the first block");
    }
    bl_buffer_printf(&line, "; from %s of %s in %s", bl_text_plural(a, f->sample_steps, "step"),
                     bl_text_plural(b, f->sample_sequences, "sequence"), bl_text_plural(c, f->sample_blocks, "block"));
    if (f->write_rate > 0)
        bl_buffer_printf(&line, "; the disk writes %s/s", bl_text_size(a, (int64_t)f->write_rate));
    forecast_print_line(&line);
}

/* What the scan found; more may fail when it is read. */
static void forecast_print_faults(const struct bl_forecast *f)
{
    const struct bl_fault_counts counts = {.skipped = f->fault_count - f->damaged, .damaged = f->damaged};
    struct bl_buffer line = {0};
    bl_fault_counts_append(&line, &counts);
    if (line.size)
        bl_buffer_text(&line, ": a run would end with status 3");
    forecast_print_line(&line);
}

void bl_forecast_print(const char *dir, const struct bl_forecast *f)
{
    char a[BL_PLURAL_SIZE], b[32], c[32];
    if (f->hours > 0)
        bl_cmd_print("%.3f hours", f->hours);
    forecast_print_space(dir, f);
    bl_cmd_print("memory: %s of %s, with %s", bl_text_size(b, f->memory), bl_text_size(c, f->memory_limit),
                 bl_text_plural(a, f->jobs, "thread"));
    forecast_print_time(f);
    if (f->sample_failed)
        bl_cmd_print("%s of the sample could not be read", bl_text_plural(a, f->sample_failed, "sequence"));
    forecast_print_faults(f);
    bl_cmd_print("a dry run: %s",
                 f->begun ? "nothing was written; a run would resume what is there" : "nothing was written");
}

static bool forecast_is_long(const struct bl_forecast *f)
{
    return f->bytes_raw >= LONG_BYTES || f->prepare_seconds >= LONG_PREPARE;
}

/* Shards that are neither encoded nor compressed are refused where they find no room. Others have at most the bytes
 * of the arrays, or nearly so. */
void bl_forecast_announce(const char *dir, const struct bl_forecast *f, bool quiet)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE], c[32];
    const struct bl_plan_info *plan = &f->manifest->plan_info;
    struct bl_buffer line = {0};
    if (!quiet && forecast_is_long(f)) {
        bl_buffer_printf(&line, "%s: %s in %s of T = %s: ", dir, bl_text_plural(a, plan->sequences, "sequence"),
                         bl_text_plural(b, plan->blocks, "block"), bl_text_count(c, plan->T));
        forecast_append_shards(f, &line);
        forecast_append_free(f, &line);
        forecast_print_line(&line);
    }
    if (f->bytes < 0 && f->bytes_free >= 0 && f->bytes_raw + f->bytes_files > f->bytes_free)
        bl_cmd_print("%s: the disk may become full: the shards have up to %s, and %s are free "
                     "(--dry-run estimates what they take)",
                     dir, bl_text_size(a, f->bytes_raw), bl_text_size(b, f->bytes_free));
}

int bl_forecast_check_room(const char *dir, const struct bl_forecast *f, struct bl_error *e)
{
    char a[32], b[32], c[64] = "";
    int64_t bytes = f->bytes_low - f->bytes_begun;
    if (f->bytes_free < 0 || bytes <= f->bytes_free)
        return BL_OK;
    if (f->bytes_begun)
        snprintf(c, sizeof c, "; %s are there", bl_text_size(a, f->bytes_begun));
    return bl_error_set(e, BL_EFAIL, "%s: a run would write %s%s of shards%s, but only %s are free%s", dir,
                        f->bytes_low < f->bytes_high ? "at least " : "", bl_text_size(a, bytes),
                        f->bytes_begun ? " more" : "", bl_text_size(b, f->bytes_free), c);
}

int bl_forecast_write_json(const struct bl_forecast *f, struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = bl_forecast_json(f, &text, e);
    if (!code)
        code = bl_cmd_write(NULL, &text, e);
    bl_buffer_free(&text);
    return code;
}
