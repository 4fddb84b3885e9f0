/* bload pack: sources in, a dataset out: scan, plan, read and assemble, write, finish. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/text.h"
#include "cmd/lengths.h"
#include "cmd/packing.h"
#include "cmd/summary.h"
#include "plan/options.h"
#include "run/memory.h"
#include "run/pack.h"
#include "run/space.h"
#include "run/scatter.h"
#include "run/signals.h"
#include "store/jpeg.h"
#include "store/folders.h"
#include "store/shard_writer.h"

static const struct bl_option table[] = {
    BL_OPTION_FLAG("print-config", struct bl_packing, print_config, BL_AFFECTS_NOTHING,
                   "print the resulting configuration as YAML, and do nothing else", .command_line_only = true),
    BL_OPTION_FLAG("repair", struct bl_packing, repair, BL_AFFECTS_NOTHING,
                   "verify a finished dataset, and make damaged shards again", .command_line_only = true),
    {0},
};

/* --- options ---------------------------------------------------------------------------------------------------- */

int bl_packing_check_options(struct bl_cmd *cmd, const struct bl_packing *p)
{
    struct bl_error *e = &cmd->error;
    if (p->options.group_by && p->options.plan)
        return bl_error_set(e, BL_EUSAGE, "--group-by or --plan, not both: a plan says what shares a block");
    if (p->options.encode.kind == BL_ENCODING_JPEG && p->options.compress.on)
        return bl_error_set(e, BL_EUSAGE, "--encode jpeg or --compress, not both: JPEG files do not get smaller by it");
    if (p->options.encode.kind == BL_ENCODING_DELTA && !p->options.compress.on)
        return bl_error_set(e, BL_EUSAGE,
                            "--encode delta needs --compress zstd: differences alone are as large as the frames");
    return bl_lengths_require_T(cmd);
}

/* The table is read more than once, wherever it comes from. */
static int pack_hold_table(struct bl_packing *p, struct bl_error *e)
{
    int code = bl_pipe_copy_open(&p->held, p->sequences_path, e);
    char *path = code ? NULL : strdup(bl_pipe_copy_path(&p->held, p->sequences_path));
    if (!path)
        return code ? code : bl_error_memory(e);
    p->table_given = p->sequences_path;
    p->sequences_path = path;
    return BL_OK;
}

static int pack_resolve(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_error *e = &cmd->error;
    const struct {
        const char *option, *const *path;
        char **resolved;
    } paths[] = {{"output", &p->options.output, &p->output},
                 {"sequences", &p->options.sequences, &p->sequences_path},
                 {"plan", &p->options.plan, &p->plan_path},
                 {"spool", &p->inputs.spool, &p->spool}};
    int code = bl_inputs_resolve(&p->inputs, cmd);
    for (size_t i = 0; i < sizeof paths / sizeof *paths && !code; i++)
        code = bl_inputs_resolve_path(&p->inputs, &cmd->options, paths[i].option, *paths[i].path, paths[i].resolved, e);
    if (!code)
        code = bl_options_check(&cmd->options, e);
    if (code || p->print_config)
        return code;
    if (!p->output)
        return bl_error_set(e, BL_EUSAGE, "-o DIR must be given: the dataset's directory");
    if (p->sequences_path && p->inputs.sources && !p->inputs.config.sources)
        return bl_error_set(e, BL_EUSAGE, "sources or --sequences, not both");
    if (p->sequences_path && (code = pack_hold_table(p, e)))
        return code;
    code = p->plan_path ? bl_io_check_path(p->plan_path, e) : BL_OK;
    if (!code)
        code = bl_cmd_check_parent("-o", p->output, p->options.parents, e);
    if (!code && p->spool)
        code = bl_cmd_check_parent("--spool", p->spool, p->options.parents, e);
    if (code)
        return code;
    if (!p->sequences_path && !p->inputs.sources)
        return bl_error_set(e, BL_EUSAGE, "no source given (see bload pack --help)");
    if (p->plan_path && !p->sequences_path)
        return bl_error_set(e, BL_EUSAGE, "--plan needs --sequences: the table that it was made from");
    return bl_packing_check_options(cmd, p);
}

/* --- packing ---------------------------------------------------------------------------------------------------- */

static int pack_on_outcome(void *sink, const struct bl_row *row, const struct bl_outcome *outcome, struct bl_error *e)
{
    struct bl_packing *p = sink;
    struct bl_row told = *row;
    told.reason = outcome->text;
    told.status = outcome->failed ? BL_ROW_FAILED : BL_ROW_OK;
    p->partial |= p->task.set; /* of a task, what it met itself */
    if (outcome->failed) {
        uint8_t *bits = &p->failed[outcome->row / 8], bit = (uint8_t)(1u << outcome->row % 8);
        if (*bits & bit)
            return BL_OK;
        *bits |= bit;
    }
    bl_progress_clear(&p->progress);
    bl_inputs_print_fault(&p->inputs, &told);
    if (outcome->failed)
        return bl_packing_tolerate(p, row, outcome->text, (int64_t)p->table.count, e);
    return bl_packing_tolerate_damage(p, row, outcome->text, e);
}

void bl_packing_tick(struct bl_packing *p)
{
    bl_progress_tick(&p->progress);
    bl_heartbeat_tick(&p->heartbeat, &p->progress);
}

static void pack_on_progress(void *sink, const struct bl_pack_progress *progress)
{
    struct bl_packing *p = sink;
    p->progress.done = progress->blocks;
    p->progress.steps = p->steps = progress->steps;
    p->progress.steps_left = progress->steps_left;
    p->progress.steps_found = progress->steps_found;
    p->progress.bytes = progress->bytes;
    bl_packing_tick(p);
}

static void pack_on_scatter_progress(void *sink, int64_t rows)
{
    struct bl_packing *p = sink;
    p->progress.done = rows;
    bl_packing_tick(p);
}

/* A spool that is larger than the memory that is left is not read at random. */
static int pack_scatter(struct bl_cmd *cmd, struct bl_packing *p, struct bl_pack *job)
{
    char a[32], b[32];
    int64_t bytes = p->inputs.kind->spool ? bl_scatter_bytes(job) : 0;
    if (bytes <= p->memory)
        return BL_OK;
    if (!cmd->common.quiet)
        bl_cmd_print("the spool has %s, more than the %s of memory that are left: it is scattered by shards first",
                     bl_text_size(a, bytes), bl_text_size(b, p->memory));
    bl_progress_start(&p->progress, cmd->common.quiet, "scatter", "sequences", NULL, (int64_t)p->table.count);
    int code = bl_scatter_make(&job->scatter, job, p->env.spool, p->memory, pack_on_scatter_progress, p, &cmd->error);
    bl_progress_end(&p->progress);
    return code;
}

/* What earlier runs left half-written goes; with a task, what others may be at stays. */
static int pack_sweep(const struct bl_packing *p, struct bl_error *e)
{
    int code = bl_folders_prepare(p->output, e);
    if (code)
        goto out;
    if (!p->task.set)
        code = bl_folders_sweep(p->output, e);
out:
    return code || p->task.set ? code : bl_finish_sweep(p->output, e);
}

static int pack_write_shards(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_pack job = {.dir = p->output,
                          .base = p->inputs.base,
                          .table = &p->table,
                          .plan = &p->plan,
                          .kind = p->inputs.kind,
                          .config = p->inputs.kind_config,
                          .format = &p->format,
                          .values = &p->values,
                          .missing = p->repairing ? &p->missing : NULL,
                          .pad_repeat = p->options.pad == BL_PAD_REPEAT,
                          .workers = p->workers,
                          .slots = p->slots,
                          .env = &p->env,
                          .outcome = pack_on_outcome,
                          .tick = pack_on_progress,
                          .sink = p};
    int64_t begin, end;
    bl_task_range(&p->task, bl_format_shards(&p->format), &job.shard_begin, &job.shard_end);
    bl_pack_blocks(&job, &begin, &end);
    p->shard_begin = job.shard_begin;
    p->shard_end = job.shard_end;
    p->failed = calloc(p->table.count / 8 + 1, 1);
    int code = p->failed ? pack_sweep(p, &cmd->error) : bl_error_memory(&cmd->error);
    if (!code)
        code = bl_space_check(&job, &cmd->error);
    if (!code)
        code = pack_scatter(cmd, p, &job);
    bl_progress_start(&p->progress, cmd->common.quiet, "pack", "blocks",
                      bl_kind_steps(p->inputs.kind, p->inputs.kind_config), end - begin);
    if (!code)
        code = bl_packing_reclaim(cmd, p, &job);
    if (!code)
        code = bl_pack_run(&job, &cmd->error);
    bl_progress_end(&p->progress);
    bl_scatter_free(job.scatter);
    return code;
}

/* All that a run kept for itself goes. */
static int pack_clean_up(struct bl_cmd *cmd, struct bl_packing *p)
{
    int code = BL_OK;
    if (p->inputs.kind->spool)
        code = p->inputs.kind->spool->remove(p->inputs.kind_config, &p->env, &cmd->error);
    return code ? code : bl_state_remove(&p->state, &cmd->error);
}

static void pack_remove_state(struct bl_packing *p)
{
    struct bl_error none = {0}; /* why the run failed is what there is to tell */
    (void)bl_state_remove(&p->state, &none);
}

static int pack_finish(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_finish job = {.dir = p->output,
                            .table = &p->table,
                            .plan = &p->plan,
                            .plan_options = &p->plan_options,
                            .manifest = &p->manifest,
                            .cancel = p->env.cancel,
                            .kind = p->inputs.kind,
                            .config = p->inputs.kind_config};
    bl_heartbeat_set_phase(&p->heartbeat, "finish");
    int code = bl_finish_run(&job, &p->finished, &cmd->error);
    if (!code)
        code = pack_clean_up(cmd, p);
    p->partial = bl_finished_partial(&p->finished);
    return code;
}

/* Steps a second of the whole run: a text is tokenized by the scan. */
static double pack_rate(const struct bl_packing *p)
{
    double seconds = bl_progress_seconds(&p->run);
    return seconds > 0 ? (double)p->steps / seconds : 0;
}

static void pack_print_summary(const struct bl_packing *p)
{
    const struct bl_finished *f = &p->finished;
    int64_t num, den;
    double rate = pack_rate(p);
    bl_summary_plan(&p->plan, &p->plan_info);
    bl_summary_dataset(p->output, &p->format, f, (int64_t)rate, bl_kind_steps(p->inputs.kind, p->inputs.kind_config));
    if (bl_kind_rate(p->inputs.kind, p->table.sampling, &num, &den))
        bl_cmd_print("%.3f hours, read at %.0f times real time",
                     (double)(p->plan.steps - p->plan.deleted) * (double)den / (double)num / 3600,
                     rate * (double)den / (double)num);
    bl_summary_finished(f);
    bl_inputs_print_suppressed(&p->inputs, f->empty, p->suppressed);
    bl_inputs_print_excluded(p->table.excluded);
    bl_packing_print_attributes(p);
    bl_inputs_print_unused(&p->inputs);
    bl_inputs_print_ignored(&p->inputs);
}

static void pack_print_task(const struct bl_packing *p)
{
    char a[32], b[32];
    const struct bl_task *task = &p->task;
    int64_t shards = bl_format_shards(&p->format);
    if (p->shard_begin == p->shard_end)
        bl_cmd_print("task %" PRId64 "/%" PRId64 ": nothing to do, there are %s shards for %" PRId64
                     " tasks (a smaller --shard-size makes more)",
                     task->index, task->count, bl_text_count(a, shards), task->count);
    else
        bl_cmd_print("task %" PRId64 "/%" PRId64 ": shards %" PRId64 " to %" PRId64 " of %s are done; %s %s/s",
                     task->index, task->count, p->shard_begin, p->shard_end - 1, bl_text_count(a, shards),
                     bl_text_count(b, (int64_t)pack_rate(p)), bl_kind_steps(p->inputs.kind, p->inputs.kind_config));
}

/* --- the command ------------------------------------------------------------------------------------------------ */

static int pack_print_config(struct bl_cmd *cmd, const struct bl_packing *p)
{
    struct bl_buffer text = {0};
    bl_config_print(&p->inputs.config, &cmd->options, p->inputs.source, p->inputs.sources, &text);
    int code = bl_buffer_check(&text, &cmd->error);
    if (!code)
        fwrite(text.data, 1, text.size, stdout); /* main checks standard output */
    bl_buffer_free(&text);
    return code;
}

static int pack_build(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_error *e = &cmd->error;
    int code = bl_packing_enter(cmd, p);
    if (code)
        goto out;
    code = bl_packing_table(cmd, p);
    if (code)
        goto out;
    bl_heartbeat_set_phase(&p->heartbeat, "plan");
    code = bl_packing_plan(cmd, p);
    if (code)
        goto out;
    code = bl_packing_format(p, e);
    if (code)
        goto out;
    code = bl_memory_resolve(p->options.memory, &p->table, &p->plan, &p->format, p->inputs.kind->read->memory,
                             &p->workers, &p->slots, &p->memory, e);
    if (code)
        goto out;
    code = bl_packing_draft(p, e);
    if (code)
        goto out;
    code = pack_write_shards(cmd, p);
    if (code)
        goto out;
    if (!p->task.set)
        code = p->repairing ? pack_clean_up(cmd, p) : pack_finish(cmd, p);
out:
    /* What was kept of inputs that are not the right ones must not be taken for those that will be. */
    if (p->repairing && !p->task.set && (code == BL_EDATA || (code == BL_EFAIL && bl_packing_reads_stdin(p))))
        pack_remove_state(p);
    if (code || cmd->common.quiet)
        return code;
    if (p->repairing)
        bl_packing_print_repaired(p);
    else
        p->task.set ? pack_print_task(p) : pack_print_summary(p);
    return BL_OK;
}

static int pack_run(struct bl_cmd *cmd, struct bl_packing *p)
{
    struct bl_error *e = &cmd->error;
    bl_progress_start(&p->run, true, "run", "runs", NULL, 0);
    int code = pack_resolve(cmd, p);
    if (!code)
        code = bl_task_resolve(&p->task, e);
    if (code || p->print_config)
        return code ? code : pack_print_config(cmd, p);
    bl_signals_install(&cmd->cancel);
    bl_jpeg_forget_environment();
    p->env.cancel = &cmd->cancel;
    p->workers = bl_cmd_workers(&cmd->common);
    code = bl_packing_simd(p, e);
    if (!code && !p->sequences_path)
        code = bl_inputs_list(&p->inputs, cmd);
    if (!code)
        code = bl_packing_kind(cmd, p);
    if (!code)
        code = bl_packing_identify(cmd, p);
    if (!code)
        code = bl_packing_find(cmd, p);
    if (!code && p->repair && !p->repairing)
        code = bl_error_set(e, BL_EUSAGE,
                            "--repair: %s holds no finished dataset; without it, bload pack makes one, or goes on",
                            p->output);
    return code == 0 ? pack_build(cmd, p) : code < 0 ? code : BL_OK;
}

static void pack_free(struct bl_packing *p)
{
    bl_state_close(&p->state);
    bl_plan_free(&p->plan);
    bl_manifest_free(&p->manifest);
    bl_missing_free(&p->missing);
    bl_attribute_values_free(&p->values);
    bl_buffer_free(&p->attributes_said);
    bl_sequences_close(&p->table);
    bl_inputs_free(&p->inputs);
    bl_buffer_free(&p->identity);
    free(p->failed);
    free(p->output);
    free(p->spool);
    bl_pipe_copy_close(&p->held);
    free(p->sequences_path);
    free(p->table_given);
    free(p->plan_path);
}

int bl_cmd_pack(int argc, char **argv)
{
    struct bl_packing p = {.state = BL_STATE_NONE, .held = {.fd = -1}};
    struct bl_cmd cmd = {.name = "pack",
                         .usage =
                             "SOURCE... -T N -o DIR [options]\n"
                             "       bload pack -c dataset.yaml -o DIR [options]\n\n"
                             "Turns sources into a dataset directory. Stopped anywhere, the same command goes on.\n"
                             "With --task i/N, one of N processes that share the work; bload finish comes last."};
    const struct bl_option_group output[] = {{"Output", bl_pack_option_table, &p.options}, {0}};
    const struct bl_option_group others[] = {
        {"Planning", bl_plan_option_table, &p.plan_options},
        {"Strategy", bl_plan_strategy_table, &p.plan_options},
        {"Tasks", bl_task_option_table, &p.task},
        {"Configuration", table, &p},
        {"General", bl_common_threads_table, &cmd.common},
        {0},
    };
    int code = bl_cmd_options(&cmd, output);
    if (code)
        goto out;
    code = bl_inputs_add_options(&p.inputs, &cmd);
    if (code)
        goto out;
    code = bl_cmd_options(&cmd, others);
    if (code)
        goto out;
    code = bl_cmd_parse(&cmd, argc, argv);
    if (code)
        goto out;
    code = pack_run(&cmd, &p);
out:
    bl_pipe_copy_fix_error(&p.held, &cmd.error);
    bl_cmd_end_heartbeat(&cmd, &p.heartbeat, code, p.partial);
    pack_free(&p);
    return bl_cmd_end(&cmd, code, p.partial);
}
