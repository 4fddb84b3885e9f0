/* Prints the messages of commands for people on stderr, except progress.
 *
 * All lines begin with "bload: " (bl_cmd_print). A line that would say nothing is not printed: counts of zero, the
 * balance of a plan that was not balanced, the end of a run of seconds. Each function prints one subject, and the
 * commands decide which subjects they print, and in which order. */
#include "cmd/summary.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/option_help.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "store/folders.h"
#include "store/sequences.h"

/* --- events ------------------------------------------------------------------------------------------------------- */

/* The callbacks of packing. Before each line the bar is cleared, and the next tick draws it again. */

static void printer_on_fault(void *sink, const struct bl_row *row)
{
    struct bl_event_printer *printer = sink;
    bl_progress_bar_clear(&printer->bar);
    bl_fault_lines_print(printer->faults, row);
}

static void printer_on_progress(void *sink, const struct bl_progress *progress)
{
    struct bl_event_printer *printer = sink;
    bl_progress_bar_tick(&printer->bar, progress);
}

static void printer_on_progress_end(void *sink)
{
    struct bl_event_printer *printer = sink;
    bl_progress_bar_end(&printer->bar);
}

static void printer_on_message(void *sink, bool important, const char *text)
{
    struct bl_event_printer *printer = sink;
    if (printer->bar.quiet && !important)
        return;
    bl_progress_bar_clear(&printer->bar);
    bl_cmd_print("%s", text);
}

struct bl_packing_events bl_event_printer_events(struct bl_event_printer *printer)
{
    return (struct bl_packing_events){.sink = printer,
                                      .fault = printer_on_fault,
                                      .progress = printer_on_progress,
                                      .progress_end = printer_on_progress_end,
                                      .message = printer_on_message};
}

/* --- lines about faults ------------------------------------------------------------------------------------------- */

enum {
    FAULTS_MAX = 10, /* faults that are printed of one file, and empty rows that are printed at all */
    ALL_MAX = 100,   /* damaged files that are printed, and other faults that are printed */
};

/* Counts a fault, and returns whether it is not printed, since one file may hold many sequences with faults. One line
 * that the file is damaged is printed in any case: damage may be why its documents have faults. */
static bool fault_lines_suppress(struct bl_fault_lines *f, const struct bl_row *row)
{
    if (bl_row_is_empty(row))
        return f->empty++ >= FAULTS_MAX;
    if (!f->path.data || strcmp(f->path.data, row->path) != 0) {
        bl_buffer_clear(&f->path);
        bl_buffer_text(&f->path, row->path);
        f->printed = 0;
        f->damage_printed = false;
    }
    /* A file with more than FAULTS_MAX faults, or a run with more than ALL_MAX, has the rest in its table. */
    bool damage = bl_row_is_damaged(row) && !f->damage_printed && f->damages < ALL_MAX;
    f->damage_printed |= damage;
    bool enough = !damage && (f->printed >= FAULTS_MAX || f->faults >= ALL_MAX);
    f->printed += !enough;
    f->faults += !enough && !damage;
    f->damages += damage;
    f->suppressed += enough;
    return enough;
}

/* The lines are, for example, "skipped a.mp4: empty file", and, as a row that is used nevertheless, "a.mp4: damaged
 * after frame 12". */
void bl_fault_lines_print(struct bl_fault_lines *f, const struct bl_row *row)
{
    if (fault_lines_suppress(f, row))
        return;
    if (row->status == BL_ROW_OK)
        bl_cmd_print("%s: %s", row->id, row->reason); /* the reason contains the word "damaged" */
    else
        bl_cmd_print("%s %s: %s", bl_row_status_name(row->status), row->id, row->reason);
}

/* The caller may call it at the end of a summary, and again when the command ends in any way: only the first call
 * prints. */
void bl_fault_lines_print_rest(struct bl_fault_lines *f, int64_t suppressed, const char *table)
{
    char a[BL_PLURAL_SIZE];
    suppressed += f->suppressed;
    if (suppressed && !f->is_reported && table)
        bl_cmd_print("%s: see %s", bl_text_plural(a, suppressed, "more fault"), table);
    else if (suppressed && !f->is_reported)
        bl_cmd_print("%s: bload scan -o TABLE lists them", bl_text_plural(a, suppressed, "more fault"));
    f->is_reported = true;
}

void bl_fault_lines_print_rest_of(struct bl_fault_lines *f, int64_t suppressed, const char *dir)
{
    /* The table is in DIR once the dataset is finished, and in DIR/.bload before. */
    static const char *const names[] = {"/" BL_SEQUENCES_FILE, "/" BL_WORK_FOLDER "/" BL_STATE_SEQUENCES};
    struct bl_buffer path = {0};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
        bl_buffer_clear(&path);
        bl_buffer_printf(&path, "%s%s", dir, names[i]);
        found = !path.failed && access(path.data, F_OK) == 0;
    }
    bl_fault_lines_print_rest(f, suppressed, found ? path.data : NULL);
    bl_buffer_free(&path);
}

void bl_fault_lines_print_empty(int64_t empty)
{
    char a[BL_PLURAL_SIZE];
    if (empty)
        bl_cmd_print("%s skipped", bl_text_plural(a, empty, "empty document"));
}

void bl_fault_lines_free(struct bl_fault_lines *f)
{
    bl_buffer_free(&f->path);
    *f = (struct bl_fault_lines){0};
}

/* --- summaries ---------------------------------------------------------------------------------------------------- */

void bl_summary_repeated(int64_t repeated, int64_t plans, bool is_kept)
{
    char a[BL_PLURAL_SIZE];
    if (repeated)
        bl_cmd_print("of %s, %lld %s the blocks of an earlier plan: %s", bl_text_plural(a, plans, "plan"),
                     (long long)repeated, repeated == 1 ? "repeats" : "repeat",
                     is_kept ? "--order keep allows no other"
                             : "no other packing in as many blocks was found; more blocks (--spare) allow others");
}

/* Prints "deleted 9 steps; cut 1 sequence; repeated 4 steps". */
static void summary_lost(const struct bl_plan *plan)
{
    const struct {
        const char *what, *noun;
        int64_t count;
    } lost[] = {{"deleted", "step", plan->deleted},
                {"cut", "sequence", plan->cut},
                {"repeated", "step", plan->repeated},
                {"dropped", "sequence", plan->dropped},
                {"split", "bundle", plan->bundles_split}};
    char a[BL_PLURAL_SIZE];
    struct bl_buffer text = {0};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        if (lost[i].count)
            bl_buffer_printf(&text, "%s%s %s", text.size ? "; " : "", lost[i].what,
                             bl_text_plural(a, lost[i].count, lost[i].noun));
    }
    bl_cmd_print_text(&text);
}

/* Prints what the plan costs in training: filled columns, waiting ranks, and pairs of sequences that share a block
 * again under another seed. */
static void summary_training(const struct bl_plan_info *plan_info)
{
    const struct bl_plan_balance *b = &plan_info->balance;
    const struct bl_pair_repeat *pair_repeat = &plan_info->pair_repeat;
    double share = bl_pair_repeat_share(pair_repeat);
    for (int c = 0; c < plan_info->columns; c++) {
        struct bl_buffer text = {0};
        bl_plan_info_column_describe(&plan_info->column[c], &text);
        bl_cmd_print_text(&text);
    }
    if (b->is_measured && plan_info->cost_is_given)
        bl_cmd_print("by the given cost, ranks idle %.2f %% of the time (proven minimum: %.2f %%)",
                     100 * b->lost / (1 + b->lost), 100 * b->bound / (1 + b->bound));
    struct bl_buffer points = {0};
    bl_plan_info_points_describe(b, true, &points);
    if (points.size && !points.failed)
        bl_cmd_print("ranks idle by field: %s", points.data);
    bl_buffer_free(&points);
    /* More blocks help only a fill that draws which sequences share one, and only if the share is clearly above that of
     * random blocks: by half of it and a hundredth of all pairs. */
    bool is_drawn = strcmp(plan_info->fill, bl_fill_names[BL_FILL_OPTIMAL]) == 0;
    if (pair_repeat->pairs)
        bl_cmd_print("pair repeat rate %.2f %% under the next seed (random blocks: %.2f %%)%s", 100 * share,
                     100 * pair_repeat->random,
                     is_drawn && share > 1.5 * pair_repeat->random + 0.01 ? "; --spare lowers it" : "");
}

/* The first lines are the same for all plans:
 *
 *     1,000 sequences of 123,456 steps (longest 297) in 1,929 blocks
 *     T = 64, at most 12 sequences in a block; lower bound 1,929 blocks, so the plan is optimal
 *     padding 0 steps (efficiency 100.00 %) */
void bl_summary_plan(const struct bl_plan *plan, const struct bl_plan_info *plan_info)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE], c[BL_PLURAL_SIZE], d[BL_PLURAL_SIZE];
    int64_t gap = (int64_t)plan->blocks - plan->lower_bound;
    bl_cmd_print("%s of %s (longest %s) in %s", bl_text_plural(a, plan->sequences, "sequence"),
                 bl_text_plural(b, plan->steps, "step"), bl_text_count(c, plan->longest),
                 bl_text_plural(d, (int64_t)plan->blocks, "block"));
    bl_cmd_print("T = %s, at most %s in a block; lower bound %s, %s%s", bl_text_count(a, plan->T),
                 bl_text_plural(b, plan->max_sequences, "sequence"), bl_text_plural(c, plan->lower_bound, "block"),
                 gap ? "gap " : "so the plan is optimal", gap ? bl_text_count(d, gap) : "");
    int64_t naive; /* naive padding extends every sequence to the length of the longest */
    bool is_better = strcmp(plan_info->strategy, "block") == 0 &&
                     !__builtin_mul_overflow(plan->sequences, plan->longest, &naive) && naive > plan->steps;
    bl_cmd_print("padding %s (efficiency %.2f %%)%s%s%s%s", bl_text_plural(a, plan->padding, "step"),
                 100 * bl_plan_efficiency(plan), plan->align_padding ? "; alignment takes " : "",
                 plan->align_padding ? bl_text_count(b, plan->align_padding) : "",
                 is_better ? "; naive padding would take " : "",
                 is_better ? bl_text_plural(c, naive - plan->steps, "step") : "");
    if (plan_info->world_size > 1 || plan_info->batch_size > 1)
        bl_cmd_print("%s of %s with %s each", bl_text_plural(a, plan_info->batches_per_rank, "step"),
                     bl_text_plural(b, plan_info->world_size, "rank"),
                     bl_text_plural(c, plan_info->batch_size, "block"));
    summary_training(plan_info);
    summary_lost(plan);
}

void bl_summary_dataset(const char *dir, const struct bl_format *format, const struct bl_finished *finished,
                        int64_t rate, const char *steps)
{
    char a[BL_PLURAL_SIZE], b[32], c[32];
    bl_text_plural(a, bl_format_shards(format), "shard");
    bl_text_size(b, finished->bytes);
    if (steps)
        bl_cmd_print("%s: %s, %s; %s %s/s", dir, a, b, bl_text_count(c, rate), steps);
    else
        bl_cmd_print("%s: %s, %s", dir, a, b);
}

void bl_summary_faults(const struct bl_fault_counts *counts, const char *path)
{
    struct bl_buffer text = {0};
    bl_fault_counts_append(&text, counts);
    if (text.size && !text.failed)
        bl_cmd_print("%s: see %s", text.data, path);
    bl_buffer_free(&text);
}

void bl_summary_left_out(const struct bl_left_out_counts *counts)
{
    char a[BL_PLURAL_SIZE];
    for (int by = 0; by < BL_LEFT_OUT_OPTIONS; by++) {
        if (counts->by[by])
            bl_cmd_print(BL_LEFT_OUT "%s: %s", bl_left_out_option((enum bl_left_out)by),
                         bl_text_plural(a, counts->by[by], "sequence"));
    }
}

void bl_summary_notes(const struct bl_buffer *notes)
{
    size_t at = 0, size;
    const char *line;
    while (bl_text_next_line(notes->data, notes->size, &at, &line, &size))
        bl_cmd_print("%.*s", (int)size, line);
}

/* The line about faults names the exit status, since nothing else explains why it is not 0. */
void bl_summary_complete(const char *dir, const struct bl_fault_counts *faults)
{
    struct bl_buffer path = {0};
    bl_cmd_print("%s is already complete: nothing to do", dir);
    bl_buffer_printf(&path, "%s/sequences.tsv (exit status 3)", dir);
    if (faults && !path.failed)
        bl_summary_faults(faults, path.data);
    bl_buffer_free(&path);
}

void bl_summary_adjusted(int64_t adjusted)
{
    char a[BL_PLURAL_SIZE];
    if (adjusted)
        bl_cmd_print("%s of another length in some field, within length-tolerance: missing steps repeat the last one, "
                     "extra steps are left out (columns NAME.length)",
                     bl_text_plural(a, adjusted, "sequence is|sequences are"));
}

/* A kind names the columns that it adds up, each with a text for this line. */
void bl_summary_totals(const struct bl_totals *totals)
{
    char count[32], rows[BL_PLURAL_SIZE];
    for (int t = 0; totals->total && totals->total[t].column; t++) {
        bool tells_rows = totals->total[t].tells_rows;
        if (totals->sum[t])
            bl_cmd_print("%s: %s%s%s (column %s)", totals->total[t].text, bl_text_count(count, totals->sum[t]),
                         tells_rows ? " in " : "", tells_rows ? bl_text_plural(rows, totals->rows[t], "sequence") : "",
                         totals->total[t].column);
    }
}

void bl_summary_finished(const struct bl_finished *f, const char *dir)
{
    const struct bl_fault_counts counts = {
        .skipped = f->skipped, .failed = f->failed, .damaged = f->damaged, .failed_steps = f->failed_steps};
    struct bl_buffer path = {0}, text = {0};
    /* The table has a row with a reason for each of these inputs. */
    bl_buffer_printf(&path, "%s/sequences.tsv", dir);
    if (bl_finished_partial(f) && !path.failed)
        bl_summary_faults(&counts, path.data);
    bl_buffer_free(&path);
    bl_untrained_describe(&f->untrained, &text);
    bl_cmd_print_text(&text);
    bl_summary_adjusted(f->adjusted);
    bl_summary_totals(&f->totals);
}

/* --- end of a run ------------------------------------------------------------------------------------------------- */

#define SHORT 5.0  /* seconds: where the time of a shorter run went interests nobody */
#define SHOWN 0.05 /* seconds: a stage that took less is not named */

/* Tells how long opening took on the GPUs, and how often decoders were kept. */
static void gpu_append_times(const struct bl_gpu_times *t, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE], b[32], c[32];
    bl_buffer_printf(out, "opened: %s in %.2f s", bl_text_plural(a, t->devices, "GPU"), t->devices_seconds);
    if (t->workers)
        bl_buffer_printf(out, ", %s in %.2f s", bl_text_plural(a, t->workers, "worker"), t->workers_seconds);
    if (t->decoders)
        bl_buffer_printf(out, ", %s in %.2f s (%s reconfigured, %s reused)", bl_text_plural(a, t->decoders, "decoder"),
                         t->decoders_seconds, bl_text_count(b, t->reconfigured), bl_text_count(c, t->reused));
    bl_buffer_byte(out, '\n');
}

/* The limit is the cause with the largest share of the time (run/bottleneck.h), such as decoding or the disk. */
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
    if (times->gpu.devices)
        gpu_append_times(&times->gpu, out);
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

void bl_end_report_print_times(const struct bl_run_times *times)
{
    struct bl_buffer text = {0};
    bl_end_report_append_times(times, &text);
    if (!text.failed)
        bl_summary_notes(&text);
    bl_buffer_free(&text);
}

void bl_end_report_print_next(const char *command, const char *dir, const char *after)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:@%=-";
    struct bl_buffer text = {0};
    bl_buffer_printf(&text, "next: bload %s ", command);
    if (*dir && dir[strspn(dir, plain)] == '\0') /* a name that a shell takes as it is; "-x" would be an option */
        bl_buffer_printf(&text, "%s%s", *dir == '-' ? "./" : "", dir);
    else
        bl_shell_quote(&text, BL_SHELL_BASH, dir, strlen(dir));
    bl_buffer_text(&text, after);
    bl_cmd_print_text(&text);
}

/* --- forecasts ---------------------------------------------------------------------------------------------------- */

/* A run is announced if its arrays have as many bytes, or if it takes as many seconds before the first block. */
#define LONG_BYTES ((int64_t)1 << 30)
#define LONG_PREPARE 10.0

/* Appends "3 shards, 4.8 MiB", "3 shards, about 1.2 GiB (1.1 GiB to 1.3 GiB) of 4.1 GiB", or, without a sample (bytes
 * -1), "3 shards, 4.1 GiB before they are encoded or compressed". */
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
    if (f->bytes < f->bytes_raw / 10 * 9) /* a smaller gain is not worth a number */
        bl_buffer_printf(out, " of %s", bl_text_size(b, f->bytes_raw));
}

/* Appends the free bytes of the disk, if they are known. */
static void forecast_append_free(const struct bl_forecast *f, struct bl_buffer *out)
{
    char a[32];
    if (f->bytes_free >= 0)
        bl_buffer_printf(out, "; %s free", bl_text_size(a, f->bytes_free));
}

/* Prints the bytes of the dataset, of the run, and of the disk. */
static void forecast_print_space(const char *dir, const struct bl_forecast *f)
{
    char a[32], b[32];
    struct bl_buffer line = {0};
    bl_buffer_printf(&line, "%s: ", dir);
    forecast_append_shards(f, &line);
    bl_buffer_printf(&line, ", and %s of index and tables", bl_text_size(a, f->bytes_files));
    forecast_append_free(f, &line);
    bl_cmd_print_text(&line);
    if (f->bytes_temporary)
        bl_cmd_print("%s more while the run lasts, %s", bl_text_size(a, f->bytes_temporary),
                     f->spool_is_elsewhere ? "in the folder of --spool" : "in the same place");
    /* The disk must hold the dataset, and what the run needs only while it lasts. */
    int64_t space = bl_forecast_space(f);
    if (f->bytes_free >= 0 && space > f->bytes_free)
        bl_cmd_print("not enough room: %s are needed, %s are free", bl_text_size(a, space),
                     bl_text_size(b, f->bytes_free));
}

/* Prints the estimated time, and the sample from which it is estimated. */
static void forecast_print_time(const struct bl_forecast *f)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE], c[BL_PLURAL_SIZE];
    struct bl_buffer line = {0}, low = {0}, high = {0};
    if (f->seconds_high < 0) {
        bl_cmd_print("time: not known, as there is no sample");
        return;
    }
    bl_buffer_text(&line, "time: ");
    bl_text_append_duration(&low, f->seconds_low);
    bl_text_append_duration(&high, f->seconds_high);
    line.failed |= low.failed || high.failed;
    if (f->seconds_high < 1)
        bl_buffer_text(&line, "less than a second");
    else if (!line.failed && strcmp(low.data, high.data) == 0)
        bl_buffer_printf(&line, "about %s", high.data);
    else if (!line.failed)
        bl_buffer_printf(&line, "%s to %s", low.data, high.data);
    bl_buffer_free(&low);
    bl_buffer_free(&high);
    if (f->prepare_seconds >= 1) {
        bl_buffer_text(&line, ", of these ");
        bl_text_append_duration(&line, f->prepare_seconds);
        bl_buffer_text(&line, " before the first block");
    }
    bl_buffer_printf(&line, "; from %s of %s in %s", bl_text_plural(a, f->sample_steps, "step"),
                     bl_text_plural(b, f->sample_sequences, "sequence"), bl_text_plural(c, f->sample_blocks, "block"));
    if (f->write_rate > 0)
        bl_buffer_printf(&line, "; the disk writes %s/s", bl_text_size(a, (int64_t)f->write_rate));
    bl_cmd_print_text(&line);
}

/* The answer of a dry run, from general to particular: size, room, memory, time, and what would fail. */
void bl_forecast_print(const char *dir, const struct bl_forecast *f)
{
    char a[BL_PLURAL_SIZE], b[32], c[32];
    struct bl_buffer faults = {0};
    if (f->hours > 0)
        bl_cmd_print("%.3f hours", f->hours);
    forecast_print_space(dir, f);
    bl_cmd_print("memory: %s of %s, with %s", bl_text_size(b, f->memory), bl_text_size(c, f->memory_limit),
                 bl_text_plural(a, f->jobs, "thread"));
    forecast_print_time(f);
    if (f->sample_failed)
        bl_cmd_print("%s of the sample could not be read", bl_text_plural(a, f->sample_failed, "sequence"));
    /* These faults are known from the scan. More inputs may fail when they are read. */
    const struct bl_fault_counts counts = {.skipped = f->fault_count - f->damaged, .damaged = f->damaged};
    bl_fault_counts_append(&faults, &counts);
    if (faults.size)
        bl_buffer_text(&faults, ": a run would end with status 3");
    bl_cmd_print_text(&faults);
    bl_cmd_print("a dry run: %s",
                 f->begun ? "nothing was written; a run would resume what is there" : "nothing was written");
}

/* A disk without room for shards that are neither encoded nor compressed is an error elsewhere. Other shards may have
 * fewer bytes than their arrays, so only a warning is printed. */
void bl_forecast_announce(const char *dir, const struct bl_forecast *f, bool quiet)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE], c[32];
    const struct bl_plan_info *plan = &f->manifest->plan_info;
    struct bl_buffer line = {0};
    if (!quiet && (f->bytes_raw >= LONG_BYTES || f->prepare_seconds >= LONG_PREPARE)) {
        bl_buffer_printf(&line, "%s: %s in %s of T = %s: ", dir, bl_text_plural(a, plan->sequences, "sequence"),
                         bl_text_plural(b, plan->blocks, "block"), bl_text_count(c, plan->T));
        forecast_append_shards(f, &line);
        forecast_append_free(f, &line);
        bl_cmd_print_text(&line);
    }
    if (f->bytes < 0 && f->bytes_free >= 0 && f->bytes_raw + f->bytes_files > f->bytes_free)
        bl_cmd_print("%s: the disk may become full: the shards have up to %s, and %s are free "
                     "(--dry-run estimates what they take)",
                     dir, bl_text_size(a, f->bytes_raw), bl_text_size(b, f->bytes_free));
}

/* What an earlier run has written already needs no room any more. */
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
    return bl_cmd_answer(NULL, &text, false, code, e);
}
