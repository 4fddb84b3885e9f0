/* bload scan: sources in, sequences.tsv out. */
#include <stddef.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "plan/options.h"
#include "run/options.h"
#include "run/progress.h"
#include "run/signals.h"
#include "scan/scan.h"

struct scan {
    const char *output;
    struct bl_inputs inputs;
    struct bl_progress progress;
    struct bl_scan_progress found;
    /* What pack's YAML file may say beside the sources: read, so that one file serves both. */
    struct bl_pack_options pack_options;
    struct bl_plan_options plan_options;
};

static const struct bl_option table[] = {
    {.name = "output",
     .letter = 'o',
     .type = &bl_option_string,
     .placeholder = "FILE",
     .command_line_only = true,
     .offset = offsetof(struct scan, output),
     .help = "write the table there [standard output]"},
    {0},
};

static int take_fault(void *sink, const struct bl_row *row, struct bl_error *e)
{
    struct scan *scan = sink;
    (void)e;
    bl_inputs_say_fault(&scan->inputs, row);
    return BL_OK;
}

static void tick(void *sink, const struct bl_scan_progress *found)
{
    struct scan *scan = sink;
    scan->progress.done = scan->progress.total ? found->files : found->rows;
    bl_progress_tick(&scan->progress);
}

static void say_summary(const struct scan *scan)
{
    char files[32], steps[32], ok[32], damaged[32], skipped[32];
    const struct bl_scan_progress *f = &scan->found;
    bl_cmd_say("%s files: %s sequences of %s steps, %s of them damaged; %s skipped",
               bl_text_count(files, (int64_t)scan->inputs.files.count), bl_text_count(ok, f->rows - f->skipped),
               bl_text_count(steps, f->steps), bl_text_count(damaged, f->damaged), bl_text_count(skipped, f->skipped));
    bl_inputs_say_adjusted(f->adjusted);
    bl_inputs_say_remarks(&f->remarks);
    bl_inputs_say_untold(&scan->inputs, f->empty, f->untold);
    bl_inputs_say_unused(&scan->inputs);
    bl_inputs_say_ignored(&scan->inputs);
}

static int run(struct bl_cmd *cmd, struct scan *scan)
{
    if (!scan->inputs.sources)
        return bl_error_set(&cmd->error, BL_EUSAGE, "no source given (see bload scan --help)");
    int code = bl_inputs_list(&scan->inputs, cmd);
    if (!code)
        code = bl_inputs_use(&scan->inputs, scan->inputs.files.kind, cmd);
    struct bl_buffer header = {0};
    if (!code)
        code = bl_inputs_header(&scan->inputs, &header, &cmd->error);
    bl_buffer_free(&header);
    if (!code && scan->inputs.spool)
        code = bl_io_mkdirs(scan->inputs.spool, &cmd->error);
    struct bl_output out = {0};
    if (!code)
        code = bl_output_open(&out, scan->output, &cmd->error);
    struct bl_kind_env env = {&cmd->cancel, bl_simd_best(), scan->inputs.spool};
    if (!code)
        code = bl_simd_apply(env.simd, &cmd->error);
    if (!code) {
        bl_signals_install(&cmd->cancel);
        bool lists = bl_files_have_list(&scan->inputs.files, scan->inputs.kind);
        bl_progress_start(&scan->progress, cmd->common.quiet, "scan", lists ? "sequences" : "files", NULL,
                          lists ? 0 : (int64_t)scan->inputs.files.count);
        struct bl_scan job = {.files = &scan->inputs.files,
                              .base = scan->inputs.base,
                              .kind = scan->inputs.kind,
                              .config = scan->inputs.kind_config,
                              .attributes = scan->inputs.attributes,
                              .workers = bl_cmd_workers(&cmd->common),
                              .env = &env,
                              .fault = take_fault,
                              .tick = tick,
                              .sink = scan};
        code = bl_scan_run(&job, &out, &scan->found, &cmd->error);
        bl_progress_end(&scan->progress);
    }
    if (!code)
        code = bl_inputs_joined(&scan->inputs, &cmd->error);
    if (!code)
        code = bl_output_commit(&out, &cmd->error);
    bl_output_abort(&out);
    if (!code && !cmd->common.quiet)
        say_summary(scan);
    return code;
}

int bl_cmd_scan(int argc, char **argv)
{
    struct scan scan = {0};
    struct bl_cmd cmd = {
        .name = "scan",
        .usage = "SOURCE... [options]\n\n"
                 "Lists every sequence in files, folders, globs, @lists or a YAML file with its exact length.\n"
                 "The table goes to standard output: id length kind path bytes status reason sampling stream."};
    int code = bl_inputs_add_options(&scan.inputs, &cmd);
    if (!code)
        code = bl_options_add(&cmd.options, NULL, bl_pack_option_table, &scan.pack_options, &cmd.error);
    if (!code)
        code = bl_options_add(&cmd.options, NULL, bl_plan_option_table, &scan.plan_options, &cmd.error);
    if (!code)
        code = bl_options_add(&cmd.options, NULL, bl_plan_strategy_table, &scan.plan_options, &cmd.error);
    const struct bl_option_group groups[] = {
        {"Output", table, &scan}, {"General", bl_common_threads_table, &cmd.common}, {0}};
    if (!code)
        code = bl_cmd_options(&cmd, groups);
    if (!code)
        code = bl_cmd_parse(&cmd, argc, argv);
    if (!code)
        code = bl_inputs_settle(&scan.inputs, &cmd);
    if (!code)
        code = run(&cmd, &scan);
    bl_inputs_free(&scan.inputs);
    return bl_cmd_end(&cmd, code, scan.found.skipped > scan.found.empty || scan.found.damaged);
}
