/* bload scan makes the table of sequences, or with --task one part of it.
 *
 * The inputs are listed and their kind is prepared in the same way for both. Then scan_run_all has the table written to
 * a file or standard output, as a subset of it if the options say so; or scan_cmd_run_task writes a part,
 * DIR/.bload/scan-00003 for task 3, which bload plan DIR merges with the parts of other tasks. Faults of inputs are
 * printed at once, when they are found; a summary follows at the end. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/output.h"
#include "base/text.h"
#include "cmd/claims.h"
#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "cmd/output.h"
#include "cmd/progress_bar.h"
#include "cmd/summary.h"
#include "kind/media/module.h"
#include "run/input_set.h"
#include "plan/options.h"
#include "report/report.h"
#include "run/bottleneck.h"
#include "run/heartbeat.h"
#include "run/options.h"
#include "cmd/signals.h"
#include "run/state.h"
#include "run/state_files.h"
#include "scan/extend.h"
#include "scan/scan.h"
#include "scan/subset.h"

struct bl_scan_cmd {
    const char *output; /* option; NULL: standard output */
    bool parents, json; /* options */
    char **argv;        /* the command line */
    struct bl_inputs inputs;
    struct bl_kind_env env;
    char *spool; /* from --spool, owned; or NULL */
    struct bl_progress progress;
    struct bl_progress_bar bar;
    struct bl_scan_progress found; /* the counts of the table, or of the part */
    struct bl_subset_options subset;
    struct bl_left_out_counts left_out;
    struct bl_task task;
    char *dir;                    /* with --task: the directory of all parts, owned */
    struct bl_cmd_output dataset; /* with --task: what is open of it */
    struct bl_state state;        /* with --task: DIR/.bload */
    struct bl_heartbeat heartbeat;
    struct bl_buffer unused; /* rows of the table of attributes that match no sequence */
    bool partial;            /* the dataset that is already there has faults: BL_OK gives exit status 3 */
    struct bl_run_times times;
    /* The options that pack's YAML file may contain besides the sources, so that one file works for both commands. */
    struct bl_pack_options pack_options;
    struct bl_plan_options plan_options;
};

/* The options of sources come from bl_inputs_add_options, and the subset has a table of its own. */
static const struct bl_option table[] = {
    BL_OPTION_STRING(
        "output", struct bl_scan_cmd, output, BL_AFFECTS_NOTHING,
        "write the table there [standard output]; with --task the dataset's directory, where the part is put",
        .letter = 'o', .placeholder = "FILE", .command_line_only = true),
    BL_OPTION_FLAG("parents", struct bl_scan_cmd, parents, BL_AFFECTS_NOTHING,
                   "also make missing directories above that of --task and --spool; without it they are an error",
                   .command_line_only = true),
    BL_OPTION_FLAG(
        "json", struct bl_scan_cmd, json, BL_AFFECTS_NOTHING,
        "print the sums of the table as JSON; needs -o FILE, since the table goes to standard output otherwise",
        .command_line_only = true),
    {0},
};

/* --- printing ----------------------------------------------------------------------------------------------------- */

/* The callback for a row with a fault. The bar is cleared before the line is printed. */
static int scan_on_fault(void *sink, const struct bl_row *row, struct bl_error *e)
{
    struct bl_scan_cmd *scan = sink;
    (void)e;
    bl_progress_bar_clear(&scan->bar);
    bl_fault_lines_print(&scan->inputs.faults, row);
    return BL_OK;
}

/* The callback for the counts, several times a second. */
static void scan_on_progress(void *sink, const struct bl_scan_progress *found)
{
    struct bl_scan_cmd *scan = sink;
    scan->progress.done = scan->progress.total ? found->files : found->rows;
    scan->progress.parts = scan->progress.total ? found->parts : 0;
    scan->progress.steps = found->steps;
    scan->progress.steps_left = -1;
    scan->progress.file = found->file;
    bl_progress_bar_tick(&scan->bar, &scan->progress);
    bl_heartbeat_tick(&scan->heartbeat, &scan->progress);
}

/* Prints how many faults were not printed, and which table has them. Does nothing the second time. The table with the
 * rows of a task's part is made later, of all parts. */
static void scan_cmd_print_rest(struct bl_scan_cmd *scan)
{
    /* The table on standard output has no name. */
    bool is_file = scan->output && strcmp(scan->output, "-") != 0;
    const char *where = is_file ? scan->output : "the table";
    if (scan->task.set)
        where = "the table that bload plan DIR makes of all parts";
    bl_fault_lines_print_rest(&scan->inputs.faults, scan->found.suppressed, where);
}

/* Prints "WHAT: 3 sequences of 17 steps; 1 skipped", and what else was counted. */
static void scan_cmd_print_found(struct bl_scan_cmd *scan, const char *what)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE];
    const struct bl_scan_progress *f = &scan->found;
    struct bl_buffer text = {0};
    bl_buffer_printf(&text, "%s: %s of %s", what, bl_text_plural(a, f->rows - f->skipped - f->excluded, "sequence"),
                     bl_text_plural(b, f->steps, "step"));
    if (f->damaged)
        bl_buffer_printf(&text, ", %s of them damaged", bl_text_count(a, f->damaged));
    if (f->skipped)
        bl_buffer_printf(&text, "; %s skipped", bl_text_count(a, f->skipped));
    bl_cmd_print_text(&text);
    bl_summary_adjusted(f->adjusted);
    bl_summary_totals(&f->totals);
    bl_summary_left_out(&scan->left_out);
    bl_fault_lines_print_empty(f->empty);
    scan_cmd_print_rest(scan);
}

/* Prints the summary of a table. */
static void scan_print_summary(struct bl_scan_cmd *scan)
{
    char files[BL_PLURAL_SIZE];
    const struct bl_scan_progress *f = &scan->found;
    scan_cmd_print_found(scan, bl_text_plural(files, (int64_t)scan->inputs.set.files.count, "file"));
    if (scan->left_out.by[BL_LEFT_OUT_EXTEND] && f->rows == f->skipped + f->excluded)
        bl_cmd_print("nothing new: the table has no sequence to pack");
    if (scan->unused.size)
        bl_cmd_print("%s", scan->unused.data);
    bl_inputs_print_ignored(&scan->inputs);
    bl_cmd_remote_print(&scan->inputs.remote);
    bl_end_report_print_times(&scan->times);
    if (scan->output && strcmp(scan->output, "-") != 0)
        bl_end_report_print_next("plan -T N", scan->output, "");
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

/* Checks that --json can work: it reads the finished table again, so the table must be a regular file. BL_EUSAGE. */
static int scan_check_json(const struct bl_scan_cmd *scan, struct bl_error *e)
{
    struct stat status;
    if (scan->task.set)
        return bl_error_set(e, BL_EUSAGE, "--json sums up a whole table, which tasks do not make");
    if (!scan->output || strcmp(scan->output, "-") == 0)
        return bl_error_set(e, BL_EUSAGE,
                            "--json prints on standard output, where the table goes: name a file for that, -o FILE");
    if (stat(scan->output, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return bl_error_set(e, BL_EUSAGE, "--json reads the table again: -o %s is no regular file", scan->output);
    return BL_OK;
}

/* Sets the directory that all tasks share. BL_EUSAGE: none is given, or the one above it does not exist. */
static int scan_cmd_find_dir(struct bl_cmd *cmd, struct bl_scan_cmd *scan)
{
    const char *dir = scan->output ? scan->output : scan->pack_options.output;
    BL_TRY(bl_inputs_resolve_path(&scan->inputs, &cmd->options, scan->output ? NULL : "output", dir, &scan->dir,
                                  &cmd->error));
    if (!scan->dir)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--task needs -o DIR: the directory that all tasks share");
    if (!bl_mirror_is_needed(scan->dir))
        BL_TRY(bl_cmd_check_parent("-o", scan->dir, scan->parents || scan->pack_options.parents, &cmd->error));
    return bl_cmd_output_open(&scan->dataset, scan->dir, &scan->inputs.remote, BL_MIRROR_SCAN, &scan->task, cmd);
}

/* Lists the inputs, finds their kind, and prepares it. Everything that can be wrong with the options is reported here,
 * before the scan begins. */
static int scan_prepare(struct bl_cmd *cmd, struct bl_scan_cmd *scan)
{
    struct bl_inputs *inputs = &scan->inputs;
    struct bl_error *e = &cmd->error;
    struct bl_buffer header = {0}; /* only checked */
    if (!inputs->set.sources)
        return bl_error_set(e, BL_EUSAGE, "no source given (see bload scan --help)");
    if (scan->json)
        BL_TRY(scan_check_json(scan, e));
    if (scan->task.set)
        BL_TRY(scan_cmd_find_dir(cmd, scan));
    else if (scan->dataset.scratch || (scan->output && bl_mirror_is_needed(scan->output)))
        return bl_error_set(
            e, BL_EUSAGE,
            "%s%s: a table is written to a file; --task i/N makes parts of a dataset, which may be in a store",
            scan->dataset.scratch ? "--scratch " : "-o ", scan->dataset.scratch ? scan->dataset.scratch : scan->output);
    else
        BL_TRY(bl_cmd_check_file(scan->output, " (--task i/N puts a part into a directory)", e));
    inputs->shared = scan->dataset.dir; /* NULL without --task */
    inputs->task = &scan->task;
    double begun = bl_seconds_now();
    BL_TRY(bl_inputs_list(inputs, cmd));
    bl_inputs_want(inputs, &scan->subset, &scan->plan_options);
    BL_TRY(bl_inputs_use(inputs, inputs->set.files.kind, cmd));
    scan->times.stage[BL_RUN_LISTING] = bl_seconds_now() - begun;
    bl_run_times_set_kind(&scan->times, inputs->set.kind, inputs->set.kind_config);
    /* The columns of the table are known now, so a mistyped column is found before the scan. */
    int code = bl_input_set_header(&inputs->set, &header, e);
    if (!code)
        code = bl_subset_check_header(&scan->subset, header.data, "the table", e);
    if (!code)
        code = bl_extend_check(&scan->subset, inputs->set.kind->name, e);
    bl_buffer_free(&header);
    if (code)
        return code;
    BL_TRY(bl_inputs_resolve_path(inputs, &cmd->options, "spool", inputs->spool, &scan->spool, e));
    scan->env = (struct bl_kind_env){.cancel = &cmd->cancel,
                                     .simd = bl_simd_best(),
                                     .spool = scan->spool,
                                     .decoder_memory = inputs->set.decoder_memory,
                                     .shared = scan->task.set,
                                     .isolation = inputs->set.isolation};
    bl_media_set_environment(); /* before the media module is loaded, and before there are threads */
    return bl_media_set_simd(scan->env.simd, e);
}

/* Makes the folder where the kind puts its spool, if it needs one. */
static int scan_cmd_make_spool(const struct bl_scan_cmd *scan, struct bl_error *e)
{
    bool parents = scan->parents || scan->pack_options.parents;
    if (scan->spool)
        BL_TRY(bl_cmd_check_parent("--spool", scan->spool, parents, e));
    return scan->env.spool ? bl_fs_mkdirs(scan->env.spool, e) : BL_OK;
}

/* Returns the scan of the inputs, or of the task's share of them. */
static struct bl_scan scan_cmd_make_job(const struct bl_cmd *cmd, struct bl_scan_cmd *scan)
{
    return (struct bl_scan){.files = &scan->inputs.set.files,
                            .base = scan->inputs.set.base,
                            .kind = scan->inputs.set.kind,
                            .config = scan->inputs.set.kind_config,
                            .attributes = scan->inputs.set.attributes,
                            .exclusion = scan->inputs.set.exclusion,
                            .workers = bl_cmd_workers(&cmd->common),
                            .env = &scan->env,
                            .task = scan->task.index,
                            .tasks = scan->task.count,
                            .fault = scan_on_fault,
                            .tick = scan_on_progress,
                            .sink = scan,
                            .work = &scan->times.scan};
}

/* Begins the progress. Its total is known only if each file is one chunk; of N tasks, number i takes every N-th file,
 * starting with file i. Otherwise sequences are counted, without a total. */
static void scan_cmd_start_progress(const struct bl_cmd *cmd, struct bl_scan_cmd *scan)
{
    int64_t files = (int64_t)scan->inputs.set.files.count; /* the total; 0: unknown */
    bool lists = bl_files_have_list(&scan->inputs.set.files, scan->inputs.set.kind);
    if (scan->task.set && !lists && !scan->inputs.set.kind->scan->chunk_bytes)
        files = (files - scan->task.index + scan->task.count - 1) / scan->task.count;
    else if (scan->task.set || lists)
        files = 0;
    scan->bar = bl_progress_bar_make(&cmd->common);
    bl_progress_start(&scan->progress, "scan", files ? "files" : "sequences",
                      bl_kind_steps(scan->inputs.set.kind, scan->inputs.set.kind_config), files);
}

/* --- part of a task ----------------------------------------------------------------------------------------------- */

/* Finds out whether an earlier run has made the part; then scan->found has its counts. A damaged part is made again. */
static int scan_find_part(struct bl_scan_cmd *scan, const char *path, bool *found, struct bl_error *e)
{
    struct bl_error damage = {0};
    int code = bl_part_check(scan->state.folder, scan->task.index, scan->task.count, &scan->found, found, &damage);
    if (code == BL_EDATA) {
        *found = false;
        bl_cmd_print("%s: it is made again", damage.text);
        return bl_fs_remove(path, e);
    }
    return bl_error_pass(e, code, &damage); /* records nothing for code 0 */
}

/* Scans the task's share of the inputs, and writes the part. The part gets its name when it is complete. */
static int scan_make_task_part(struct bl_cmd *cmd, struct bl_scan_cmd *scan, const char *path)
{
    struct bl_part_writer part;
    struct bl_scan job = scan_cmd_make_job(cmd, scan);
    job.temporary = scan->state.folder; /* on the disk of the dataset, not in /tmp */
    BL_TRY(scan_cmd_make_spool(scan, &cmd->error));
    BL_TRY(bl_part_create(&part, path, &cmd->error));
    scan_cmd_start_progress(cmd, scan);
    double begun = bl_seconds_now();
    int code = bl_isolation_start(scan->env.isolation, &cmd->error);
    if (!code)
        code = bl_scan_part(&job, &part, &scan->found, &cmd->error);
    scan->times.stage[BL_RUN_SCANNING] = bl_seconds_now() - begun;
    bl_progress_bar_end(&scan->bar);
    bl_part_abort(&part);
    return code;
}

/* Sends what the task made to the store, if the dataset is there: the part last, which says that all is there. */
static int scan_send_part(const struct bl_scan_cmd *scan, const char *name, struct bl_error *e)
{
    if (!scan->dataset.mirror)
        return BL_OK;
    BL_TRY(bl_mirror_send_spool(scan->dataset.mirror, e));
    BL_TRY(bl_mirror_flush(scan->dataset.mirror, e));
    return bl_state_share_file(&scan->state, name, e);
}

/* Makes the part unless it is there, and prints its counts. *path: the path of the part. All tasks must have the same
 * options and number of tasks, which bl_parts_agree compares. */
static int scan_make_part(struct bl_cmd *cmd, struct bl_scan_cmd *scan, struct bl_buffer *path)
{
    struct bl_error *e = &cmd->error;
    char what[96];
    bool found;
    BL_TRY(bl_parts_agree(&scan->state, scan->task.count, &cmd->options, &scan->inputs.set, &scan->subset, e));
    if (!scan->env.spool)
        scan->env.spool = scan->state.spool; /* where packing looks for the spool */
    BL_TRY(bl_part_path(scan->state.folder, scan->task.index, path, e));
    int code = scan_find_part(scan, path->data, &found, e);
    if (!code && !found)
        code = scan_make_task_part(cmd, scan, path->data);
    if (!code)
        code = scan_send_part(scan, bl_path_name(path->data), e);
    if (code || cmd->common.quiet)
        return code;
    if (found)
        bl_cmd_print("%s/" BL_WORK_FOLDER "/%s is already there: nothing to do", scan->dir, bl_path_name(path->data));
    scan->left_out.by[BL_LEFT_OUT_EXCLUDE] = scan->found.excluded;
    snprintf(what, sizeof what, "task %" PRId64 "/%" PRId64, scan->task.index, scan->task.count);
    scan_cmd_print_found(scan, what);
    bl_cmd_remote_print(&scan->inputs.remote);
    if (found)
        return BL_OK;
    bl_inputs_print_ignored(&scan->inputs);
    bl_run_times_set_gpu(&scan->times, scan->inputs.set.kind, scan->inputs.set.kind_config);
    bl_end_report_print_times(&scan->times);
    bl_end_report_print_next("plan -T N", scan->dir, " when all tasks are done");
    return BL_OK;
}

/* Finds out whether the directory holds a complete dataset that was made from this scan, and prints so. */
static int scan_find_dataset(const struct bl_cmd *cmd, struct bl_scan_cmd *scan, bool *found, struct bl_error *e)
{
    struct bl_fault_counts faults = {0};
    struct bl_buffer lines = {0};
    int code = bl_identity_scan(&cmd->options, &scan->inputs.set, &scan->subset, &lines, e);
    if (!code)
        code = bl_identity_find(scan->dataset.dir, lines.data, found, &scan->partial, &faults, e);
    if (!code && *found && !cmd->common.quiet)
        bl_summary_complete(scan->dir, scan->partial ? &faults : NULL);
    bl_buffer_free(&lines);
    return code;
}

/* Makes the task's part in the directory that all tasks share, unless it is there. */
static int scan_cmd_run_task(struct bl_cmd *cmd, struct bl_scan_cmd *scan)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer path = {0};
    bool found = false;
    for (size_t i = 0; i < scan->inputs.set.files.count; i++) {
        if (strcmp(scan->inputs.set.files.file[i].path, "-") == 0)
            return bl_error_set(e, BL_EUSAGE, "--task: standard input cannot be shared by many tasks");
    }
    bl_signals_install(&cmd->cancel);
    int code = scan_find_dataset(cmd, scan, &found, e);
    if (code || found)
        return code;
    BL_TRY(bl_state_share(&scan->state, scan->dataset.dir, e));
    scan->state.mirror = scan->dataset.mirror;
    bl_heartbeat_begin(&scan->heartbeat, scan->dataset.dir, scan->dataset.mirror, "scan", &scan->task);
    code = scan_make_part(cmd, scan, &path);
    bl_buffer_free(&path);
    return code;
}

/* --- table -------------------------------------------------------------------------------------------------------- */

/* The context of scan_fill. */
struct filling {
    struct bl_scan_cmd *scan;
    const struct bl_scan *job;
};

/* The callback that writes all rows, to the table itself or to a temporary file from which a subset is taken. */
static int scan_fill(void *context, struct bl_output *out, struct bl_error *e)
{
    struct filling *f = context;
    struct bl_scan_cmd *scan = f->scan;
    int code = bl_scan_run(f->job, out, &scan->found, e);
    bl_progress_bar_end(&scan->bar);
    scan->left_out.by[BL_LEFT_OUT_EXCLUDE] = scan->found.excluded;
    return code;
}

/* The callback for the progress of a subset, which reads the complete table again. */
static void scan_on_choice(void *sink, int64_t row, int64_t rows)
{
    struct bl_scan_cmd *scan = sink;
    bl_progress_bar_choose(&scan->bar, &scan->progress, row, rows);
}

/* Writes the table, or the subset of it. In the second case the counts become those of the subset, except the totals of
 * what was read. */
static int scan_write(const struct bl_cmd *cmd, struct bl_scan_cmd *scan, const struct bl_scan *job,
                      struct bl_output *out, struct bl_error *e)
{
    /* Without options of a subset, bl_subset_run passes the rows through. */
    struct filling filling = {scan, job};
    struct bl_subset subset = {.options = &scan->subset,
                               .base = job->base,
                               .kind = job->kind,
                               .cancel = job->env->cancel,
                               .tick = scan_on_choice,
                               .sink = scan};
    int code = bl_subset_run(&subset, NULL, scan_fill, &filling, out, e);
    bl_progress_bar_end(&scan->bar);
    if (code || !bl_subset_is_given(&scan->subset)) {
        bl_subset_free(&subset);
        return code;
    }
    /* The kind's descriptions of the totals, and the faults that the scan did not report, are not in the table. */
    subset.found.totals.total = scan->found.totals.total;
    subset.found.suppressed = scan->found.suppressed;
    scan->found = subset.found;
    for (int by = BL_LEFT_OUT_EXCLUDE + 1; by < BL_LEFT_OUT_OPTIONS; by++)
        scan->left_out.by[by] = subset.left_out.by[by];
    if (!cmd->common.quiet)
        bl_summary_notes(&subset.notes);
    bl_subset_free(&subset);
    return BL_OK;
}

/* Scans all inputs, writes the table, and prints the summary. */
static int scan_run_all(struct bl_cmd *cmd, struct bl_scan_cmd *scan)
{
    struct bl_error *e = &cmd->error;
    struct bl_output out = {0};
    struct bl_buffer text = {0};
    struct bl_scan job = scan_cmd_make_job(cmd, scan);
    BL_TRY(scan_cmd_make_spool(scan, e));
    int code = bl_output_open(&out, scan->output, e);
    bl_output_mind_terminal(&out); /* ids and paths may have control characters */
    if (code)
        goto out;
    bl_signals_install(&cmd->cancel);
    scan_cmd_start_progress(cmd, scan);
    double begun = bl_seconds_now();
    code = bl_isolation_start(scan->env.isolation, e);
    if (!code)
        code = scan_write(cmd, scan, &job, &out, e);
    if (!code)
        code = bl_input_set_unused(&scan->inputs.set, &scan->unused, e);
    if (!code)
        code = bl_output_commit(&out, e);
    if (code)
        goto out;
    scan->times.stage[BL_RUN_SCANNING] = bl_seconds_now() - begun;
    bl_run_times_set_gpu(&scan->times, scan->inputs.set.kind, scan->inputs.set.kind_config);
    bl_input_set_unmatched(&scan->inputs.set, &text);
    bl_cmd_print_text(&text);
    if (!cmd->common.quiet)
        scan_print_summary(scan);
    if (scan->json) {
        struct json_t *run = NULL;
        text = (struct bl_buffer){0};
        code = bl_run_times_json(&scan->times, &run, e);
        if (!code)
            code = bl_table_json(scan->output, run, &text, e);
        code = bl_cmd_answer(NULL, &text, false, code, e);
    }
out:
    bl_output_abort(&out);
    return code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Parses, prepares and scans, up to the first error. */
static int scan_cmd_run(struct bl_cmd *cmd, struct bl_scan_cmd *scan)
{
    bool claims = scan->output && bl_mirror_is_needed(scan->output) && bl_task_is_claimed(&scan->task);
    BL_TRY(claims ? BL_OK : bl_task_resolve(&scan->task, &cmd->error));
    BL_TRY(bl_inputs_resolve(&scan->inputs, cmd->options.operand, cmd->options.operands, cmd));
    BL_TRY(bl_options_check(&cmd->options, &cmd->error));
    scan->subset.extend_base = bl_inputs_base(&scan->inputs, &cmd->options, "extend");
    BL_TRY(bl_subset_check(&scan->subset, &cmd->error));
    if (claims) {
        bl_signals_install(&cmd->cancel);
        bl_cmd_output_use_lock(&scan->dataset, &scan->inputs.remote);
        const struct bl_claiming claiming = {
            "scan",     scan->output,        scan->dataset.scratch, scan->task.count, scan->dataset.lease,
            scan->argv, &scan->inputs.remote};
        return bl_cmd_run_claimed(cmd, &claiming, &scan->partial);
    }
    BL_TRY(scan_prepare(cmd, scan));
    int code = scan->task.set ? scan_cmd_run_task(cmd, scan) : scan_run_all(cmd, scan);
    scan_cmd_print_rest(scan);
    return code;
}

/* The groups without a title are accepted in the YAML file alone: they are options of plan and pack. */
int bl_cmd_scan(int argc, char **argv)
{
    struct bl_scan_cmd scan = {.argv = argv, .state = BL_STATE_NONE};
    struct bl_cmd cmd = {
        .name = "scan",
        .usage = "[options] SOURCE...\n"
                 "       bload scan [options] FILE.yaml\n"
                 "       bload scan --task i/N -o DIR [options] SOURCE...\n"
                 "\n"
                 "Writes a table of all sequences in files, folders, globs, @lists or a YAML file, with their exact\n"
                 "lengths. The columns are id length kind path bytes status reason sampling stream content.\n"
                 "With --task, counts a share of the inputs; bload plan DIR merges the parts.",
        .usual = "output config fps tokenizer where task jobs",
        .examples = "videos/ -o sequences.tsv\n"
                    "'clips/*.mp4' --fps 5 --where 'length >= 5' -o sequences.tsv"};
    const struct bl_option_group groups[] = {{NULL, bl_pack_option_table, &scan.pack_options},
                                             {NULL, bl_plan_option_table, &scan.plan_options},
                                             {NULL, bl_plan_strategy_table, &scan.plan_options},
                                             {"Subset", bl_subset_option_table, &scan.subset},
                                             {"Output", table, &scan},
                                             {"Tasks", bl_task_option_table, &scan.task},
                                             {BL_CMD_OUTPUT_TITLE, bl_cmd_output_tasks_table, &scan.dataset},
                                             {"Faults", bl_common_faults_table, &cmd.common},
                                             {"General", bl_common_threads_table, &cmd.common},
                                             {0}};
    int code = bl_inputs_add_options(&scan.inputs, &cmd, false);
    if (!code)
        code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = scan_cmd_run(&cmd, &scan);
    bool partial = scan.partial || scan.found.skipped > scan.found.empty || scan.found.damaged;
    bl_cmd_end_heartbeat(&cmd, &scan.heartbeat, code, partial);
    bl_state_close(&scan.state);
    bl_cmd_output_close(&scan.dataset, !code, &cmd);
    bl_inputs_free(&scan.inputs);
    bl_buffer_free(&scan.unused);
    bl_run_times_free(&scan.times);
    free(scan.spool);
    free(scan.dir);
    return bl_cmd_end(&cmd, code, partial);
}
