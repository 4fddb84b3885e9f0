/* bload pack turns sources into a dataset.
 *
 * The file checks the options, has the stages of a run called in order (run/packing.h), and prints their results:
 *
 *     listing -> bl_packing_open -> bl_packing_table -> bl_packing_plan -> bl_packing_write -> bl_packing_finish
 *
 * Each stage may find that nothing is left to do: bl_packing_is_complete is true then, and the command ends. A single
 * source may be a view, whose plan is written as a dataset of its own; then there are no inputs to list.
 *
 * bload plan and bload slurm check options of bload pack by the first functions below. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/input_file.h"
#include "base/io.h"
#include "base/text.h"
#include "cmd/claims.h"
#include "cmd/cmd.h"
#include "cmd/compare.h"
#include "cmd/inputs.h"
#include "cmd/output.h"
#include "cmd/summary.h"
#include "run/forecast.h"
#include "run/from_view.h"
#include "plan/options.h"
#include "cmd/signals.h"
#include "store/shard_reader.h"

struct pack {
    char **argv;                       /* the command line */
    bool partial;                      /* a task that it took ended with status 3 */
    bool claims;                       /* it takes tasks from a store, and runs itself for each */
    bool print_config, json;           /* options; dry_run is an option of the request */
    struct bl_packing_request request; /* its task and repair are options */
    struct bl_view view;               /* the only source, if it is a view; request.view points here then */
    struct bl_pack_options options;
    struct bl_plan_options plan_options;
    struct bl_subset_options subset;
    struct bl_inputs inputs;
    struct bl_cmd_output dataset;
    char *output, *sequences, *plan, *spool; /* resolved paths of options; owned; NULL: not given */
    struct bl_pipe_copy copy;                /* of the table given by --sequences, if that is a pipe */
    struct bl_event_printer printer;         /* prints faults and progress while a stage works */
    struct bl_packing *packing;              /* the run; NULL before bl_packing_open */
    struct bl_run_times times;               /* seconds of each stage */
};

/* The options that are about this run, and not about the dataset. */
static const struct bl_option table[] = {
    BL_OPTION_FLAG("print-config", struct pack, print_config, BL_AFFECTS_NOTHING,
                   "print the resulting configuration as YAML, and do nothing else", .command_line_only = true),
    BL_OPTION_FLAG("json", struct pack, json, BL_AFFECTS_NOTHING,
                   "print the dataset as bload info --json does, once it is complete", .command_line_only = true),
    BL_OPTION_FLAG("dry-run", struct pack, request.dry_run, BL_AFFECTS_NOTHING,
                   "scan, plan and read a sample; tell what a run would write and take, and write nothing",
                   .command_line_only = true),
    BL_OPTION_FLAG("repair", struct pack, request.repair, BL_AFFECTS_NOTHING,
                   "verify a finished dataset, and make damaged shards again", .command_line_only = true),
    {0},
};

/* --- options ------------------------------------------------------------------------------------------------------ */

/* Each of these pairs of options would silently do less than its user expects. */
int bl_pack_check_options(struct bl_cmd *cmd, const struct bl_pack_options *options)
{
    struct bl_error *e = &cmd->error;
    if (options->group_by && options->plan)
        return bl_error_set(e, BL_EUSAGE, "--group-by or --plan, not both: a plan says what shares a block");
    if (options->encode.kind == BL_ENCODING_JPEG && options->compress.on)
        return bl_error_set(e, BL_EUSAGE, "--encode jpeg or --compress, not both: JPEG files do not get smaller by it");
    if (options->encode.kind == BL_ENCODING_DELTA && !options->compress.on)
        return bl_error_set(e, BL_EUSAGE,
                            "--encode delta needs --compress zstd: differences alone are as large as the frames");
    if (options->frame_size < (int64_t)BL_FRAME_MAX && !options->compress.on)
        return bl_error_set(e, BL_EUSAGE,
                            "--frame-size needs --compress zstd: shards that are not compressed have no frames");
    return BL_OK;
}

/* A store keeps each sequence once, so grouping has no meaning in it. T is chosen from the lengths unless it is given.
 */
int bl_pack_resolve_store(struct bl_cmd *cmd, const struct bl_pack_options *options, struct bl_plan_options *plan)
{
    bool is_given = bl_options_origin(&cmd->options, "strategy") != BL_ORIGIN_DEFAULT;
    if (options->store && is_given && plan->strategy != BL_STRATEGY_STORE)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--store or --strategy %s, not both",
                            bl_strategy_names[plan->strategy]);
    if (options->store)
        plan->strategy = BL_STRATEGY_STORE;
    if (plan->strategy == BL_STRATEGY_STORE && options->group_by)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--group-by has no meaning in a store: all sequences share rows");
    if (plan->strategy == BL_STRATEGY_STORE && bl_options_origin(&cmd->options, "T") == BL_ORIGIN_DEFAULT)
        plan->T = BL_T_AUTO;
    return bl_plan_options_check_store(plan, &cmd->error);
}

/* Opens the source as a view if it is one, and checks that the options suit a view. */
static int pack_find_view(struct bl_cmd *cmd, struct pack *p)
{
    const struct bl_input_set *set = &p->inputs.set;
    bool found = false;
    int code = BL_OK;
    for (int s = 0; s < set->sources && !code && !found; s++) {
        char *dir = bl_path_join(set->base, set->source[s].path);
        code = dir ? bl_from_view_open(&p->view, dir, &found, &cmd->error) : bl_error_memory(&cmd->error);
        free(dir);
    }
    if (code || !found)
        return code;
    p->request.view = &p->view;
    if (set->sources > 1 || p->inputs.config.fields)
        return bl_error_set(&cmd->error, BL_EUSAGE, "%s is a view, which is packed alone: without %s", p->view.dir,
                            set->sources > 1 ? "other sources" : "fields");
    return bl_from_view_check(&p->view, &cmd->options, &p->options, &p->plan_options, &cmd->error);
}

/* Checks the options of a run. Paths are checked before anything long begins. */
static int pack_check(struct bl_cmd *cmd, struct pack *p)
{
    struct bl_error *e = &cmd->error;
    if (!p->output)
        return bl_error_set(e, BL_EUSAGE, "-o DIR must be given: the dataset's directory");
    if (p->sequences && p->inputs.set.sources && !p->inputs.config.sources)
        return bl_error_set(e, BL_EUSAGE, "sources or --sequences, not both");
    if (p->sequences)
        BL_TRY(bl_pipe_copy_open(&p->copy, p->sequences, e));
    if (p->plan)
        BL_TRY(bl_io_check_path(p->plan, e));
    bool is_far = bl_mirror_is_needed(p->output);
    if (is_far && p->request.repair)
        return bl_error_set(e, BL_EUSAGE,
                            "--repair takes a directory: shards that %s lacks, or that were removed from "
                            "it, are made again once its manifest is removed",
                            p->output);
    BL_TRY(is_far ? BL_OK : bl_cmd_check_parent("-o", p->output, p->options.parents, e));
    if (p->spool)
        BL_TRY(bl_cmd_check_parent("--spool", p->spool, p->options.parents, e));
    if (!p->sequences && !p->inputs.set.sources)
        return bl_error_set(e, BL_EUSAGE, "no source given (see bload pack --help)");
    if (p->plan && !p->sequences)
        return bl_error_set(e, BL_EUSAGE, "--plan needs --sequences: the table that it was made from");
    BL_TRY(pack_find_view(cmd, p)); /* a view has its own T and its own strategy */
    BL_TRY(bl_pack_check_options(cmd, &p->options));
    return p->request.view || p->plan_options.T == BL_T_AUTO ? BL_OK : bl_length_source_require_T(cmd);
}

/* Reads the YAML file, resolves the paths, and checks all options. */
static int pack_resolve(struct bl_cmd *cmd, struct pack *p)
{
    const struct {
        const char *option, *const *path;
        char **resolved;
    } paths[] = {{"output", &p->options.output, &p->output},
                 {"sequences", &p->options.sequences, &p->sequences},
                 {"plan", &p->options.plan, &p->plan},
                 {"spool", &p->inputs.spool, &p->spool}};
    BL_TRY(bl_inputs_resolve(&p->inputs, cmd->options.operand, cmd->options.operands, cmd));
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        BL_TRY(bl_inputs_resolve_path(&p->inputs, &cmd->options, paths[i].option, *paths[i].path, paths[i].resolved,
                                      &cmd->error));
    BL_TRY(bl_pack_resolve_store(cmd, &p->options, &p->plan_options));
    BL_TRY(bl_options_check(&cmd->options, &cmd->error));
    /* Relative paths of --extend name datasets, and count from the file if they come from it. */
    p->subset.extend_base = bl_inputs_base(&p->inputs, &cmd->options, "extend");
    p->subset.together = p->plan_options.together_column;
    BL_TRY(bl_subset_check(&p->subset, &cmd->error));
    if (p->json && p->request.task.set)
        return bl_error_set(&cmd->error, BL_EUSAGE,
                            "--json prints a complete dataset, which tasks do not make: bload finish --json does");
    if (p->request.dry_run && (p->request.task.set || p->request.repair))
        return bl_error_set(&cmd->error, BL_EUSAGE, "--dry-run or --%s, not both: a dry run estimates the whole run",
                            p->request.repair ? "repair" : "task");
    if (!p->print_config)
        BL_TRY(pack_check(cmd, p));
    p->claims = p->output && bl_mirror_is_needed(p->output) && bl_task_is_claimed(&p->request.task);
    return p->claims ? BL_OK : bl_task_resolve(&p->request.task, &cmd->error);
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

/* Finds the kind from the table, or from --kind, without reading all of the table. *kind is NULL if the table has no
 * usable sequence and --kind is not given. */
static int pack_peek_table(const struct pack *p, const struct bl_kind **kind, struct bl_error *e)
{
    const struct bl_kind *given = p->inputs.kind_option ? bl_kinds[p->inputs.kind_option - 1] : NULL;
    const char *group_by = p->options.group_by;
    struct bl_buffer header = {0}, name = {0}; /* the table's first line; the kind of its first usable row */
    int code = bl_sequences_peek(p->request.sequences, &header, &name, e);
    if (code)
        goto out;
    *kind = name.size ? bl_kind_find(name.data) : given;
    /* The table of attributes, or --split, may add the column: then it is checked when the tables are joined. */
    if (group_by && !p->inputs.attributes.path && !p->inputs.attributes_members && !p->subset.split.parts &&
        bl_columns_find(header.data, group_by) < 0)
        code = bl_error_set(e, BL_EFAIL, "%s:1: no column \"%s\" to group by", p->request.sequences, group_by);
    else if (name.size && !*kind)
        code =
            bl_error_set(e, BL_EUSAGE, "the table's sequences are of the kind \"%s\", which does not exist", name.data);
    else if (given && *kind != given)
        code = bl_error_set(e, BL_EUSAGE, "--kind %s: the table's sequences are %s", given->name, name.data);
out:
    bl_buffer_free(&header);
    bl_buffer_free(&name);
    return code;
}

/* Lists the inputs, or peeks at the table, and prepares their kind. */
static int pack_find_inputs(struct bl_cmd *cmd, struct pack *p)
{
    const struct bl_kind *kind = NULL;
    if (p->request.view) {
        p->inputs.set.kind = &bl_view_kind;
        p->inputs.set.kind_config = &p->view;
        return BL_OK;
    }
    if (p->sequences) {
        BL_TRY(pack_peek_table(p, &kind, &cmd->error));
    } else {
        BL_TRY(bl_inputs_list(&p->inputs, cmd));
        kind = p->inputs.set.files.kind;
        bl_inputs_want(&p->inputs, &p->subset, &p->plan_options); /* a table has its columns already */
    }
    return kind ? bl_inputs_use(&p->inputs, kind, cmd) : BL_OK;
}

/* --- printing ----------------------------------------------------------------------------------------------------- */

/* Prints how many faults were not printed one by one, and in which table they are. A dry run writes no table. */
static void pack_print_rest(struct pack *p, const struct bl_packing_result *r)
{
    if (p->request.dry_run || !p->output)
        bl_fault_lines_print_rest(&p->inputs.faults, r->suppressed, NULL);
    else
        bl_fault_lines_print_rest_of(&p->inputs.faults, r->suppressed, p->output);
}

/* Prints the notes about the inputs. empty: documents without text. */
static void pack_print_table(struct pack *p, const struct bl_packing_result *r, int64_t empty)
{
    bl_fault_lines_print_empty(empty);
    pack_print_rest(p, r);
    bl_summary_left_out(&r->table->left_out);
    if (r->attributes)
        bl_cmd_print("attributes: %s", r->attributes);
    if (r->unused)
        bl_cmd_print("%s", r->unused);
    bl_inputs_print_ignored(&p->inputs);
    bl_cmd_remote_print(&p->inputs.remote);
}

/* Prints the summary of a dataset that is complete. Where steps have a rate, it has hours and the speed against real
 * time, too. */
static void pack_print_summary(struct pack *p, const struct bl_packing_result *r, const char *steps)
{
    const struct bl_kind *kind = p->inputs.set.kind;
    int64_t num, den;
    bl_summary_plan(r->plan, r->plan_info);
    bl_summary_dataset(p->output, r->format, r->finished, (int64_t)r->rate, steps);
    /* num / den steps are a second. Padding does not count, and a step that is stored twice counts twice. */
    if (bl_kind_rate(kind, r->table->sampling, &num, &den))
        bl_cmd_print("%.3f hours, read at %.0f times real time",
                     (double)bl_plan_placed(r->plan) * (double)den / (double)num / 3600,
                     r->rate * (double)den / (double)num);
    bl_summary_finished(r->finished, p->output);
    pack_print_table(p, r, r->finished->empty);
}

/* Prints what a task has done: its shards of all shards. */
static void pack_print_task(const struct pack *p, const struct bl_packing_result *r, const char *steps)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE], c[32];
    const struct bl_task *task = &p->request.task;
    int64_t shards = bl_format_shards(r->format);
    if (r->shard_begin == r->shard_end)
        bl_cmd_print("task %" PRId64 "/%" PRId64 ": nothing to do, %s for %s (a smaller --shard-size makes more)",
                     task->index, task->count, bl_text_plural(a, shards, "shard"),
                     bl_text_plural(b, task->count, "task"));
    else
        bl_cmd_print("task %" PRId64 "/%" PRId64 ": shards %" PRId64 " to %" PRId64 " of %s are done; %s %s/s",
                     task->index, task->count, r->shard_begin, r->shard_end - 1, bl_text_count(a, shards),
                     bl_text_count(c, (int64_t)r->rate), steps);
    bl_cmd_remote_print(&p->inputs.remote);
}

/* Prints the result of a run, and the command that comes next. */
static void pack_print_result(struct pack *p)
{
    char a[BL_PLURAL_SIZE];
    const char *steps = bl_kind_steps(p->inputs.set.kind, p->inputs.set.kind_config);
    struct bl_packing_result result;
    bl_packing_result(p->packing, &result);
    if (result.repaired)
        bl_cmd_print("%s: %s made again, with the same bytes; %s", p->output,
                     bl_text_plural(a, result.repaired, "shard was|shards were"),
                     p->request.task.set ? "when all tasks are done, run bload finish" : "the dataset is complete");
    else if (p->request.task.set)
        pack_print_task(p, &result, steps);
    else
        pack_print_summary(p, &result, steps);
    bl_end_report_print_times(&p->times);
    if (p->request.task.set && !result.repaired)
        bl_end_report_print_next("finish", p->output, " when all tasks are done, which bload status shows");
    else if (!result.repaired)
        bl_end_report_print_next("verify", p->output, "");
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

/* Calls a stage and adds its seconds to the times. */
static int pack_step(struct pack *p, enum bl_run_stage stage, int (*step)(struct bl_packing *, struct bl_error *),
                     struct bl_error *e)
{
    double begun = bl_seconds_now();
    int code = step(p->packing, e);
    p->times.stage[stage] += bl_seconds_now() - begun;
    return code;
}

/* Prints the answer of a dry run. BL_EFAIL: the dataset would not fit on the disk. */
static int pack_forecast(struct pack *p, struct bl_error *e)
{
    struct bl_forecast forecast;
    struct bl_packing_result r;
    BL_TRY(bl_packing_forecast(p->packing, &forecast, e));
    bl_packing_result(p->packing, &r);
    if (!p->printer.bar.quiet) {
        bl_summary_plan(r.plan, r.plan_info);
        bl_forecast_print(p->output, &forecast);
        pack_print_table(p, &r, 0);
    }
    if (p->json)
        BL_TRY(bl_forecast_write_json(&forecast, e));
    return bl_forecast_check_room(p->output, &forecast, e);
}

/* Calls the stages in order. Before the first byte is written, a run that will take long, or much room, says so; tasks
 * do not, since all would print the same. */
static int pack_build(struct pack *p, struct bl_error *e)
{
    struct bl_forecast forecast;
    struct bl_packing_result r;
    bl_run_times_set_kind(&p->times, p->inputs.set.kind, p->inputs.set.kind_config);
    double begun = bl_seconds_now();
    int code = bl_packing_open(&p->packing, &p->request, e);
    p->times.stage[p->request.repair ? BL_RUN_VERIFYING : BL_RUN_LISTING] += bl_seconds_now() - begun;
    if (code || bl_packing_is_complete(p->packing))
        return code;
    code = pack_step(p, BL_RUN_SCANNING, bl_packing_table, e);
    if (code || bl_packing_is_complete(p->packing))
        return code;
    code = pack_step(p, BL_RUN_PLANNING, bl_packing_plan, e);
    if (code || bl_packing_is_complete(p->packing))
        return code;
    if (p->request.dry_run) /* it has scanned in memory, and leaves nothing behind */
        return pack_forecast(p, e);
    bl_packing_result(p->packing, &r);
    if (!p->request.task.set && !r.repaired) {
        BL_TRY(bl_packing_forecast_plan(p->packing, &forecast, e));
        bl_forecast_announce(p->output, &forecast, p->printer.bar.quiet);
    }
    BL_TRY(pack_step(p, BL_RUN_WRITING, bl_packing_write, e));
    BL_TRY(pack_step(p, BL_RUN_FINISHING, bl_packing_finish, e));
    bl_run_times_set_gpu(&p->times, p->inputs.set.kind, p->inputs.set.kind_config);
    if (!p->printer.bar.quiet)
        pack_print_result(p);
    return BL_OK;
}

/* Fills the request, lists the inputs, and calls the stages. --print-config only prints the options that a run would
 * have. With --json the dataset is described at the end, also if it was complete before. */
static int pack_run(struct bl_cmd *cmd, struct pack *p)
{
    BL_TRY(pack_resolve(cmd, p));
    if (p->print_config) {
        struct bl_buffer text = {0};
        bl_config_print(&p->inputs.config, &cmd->options, p->inputs.set.source, p->inputs.set.sources, &text);
        int failed = bl_buffer_check(&text, &cmd->error);
        if (!failed)
            fwrite(text.data, 1, text.size, stdout); /* main checks standard output for errors */
        bl_buffer_free(&text);
        return failed;
    }
    bl_signals_install(&cmd->cancel); /* from here on, a signal lets the run unwind and be resumed */
    p->printer = (struct bl_event_printer){.faults = &p->inputs.faults, .bar = bl_progress_bar_make(&cmd->common)};
    if (p->claims) {
        bl_cmd_output_use_lock(&p->dataset, &p->inputs.remote);
        const struct bl_claiming claiming = {"pack",           p->output, p->dataset.scratch, p->request.task.count,
                                             p->dataset.lease, p->argv,   &p->inputs.remote};
        return bl_cmd_run_claimed(cmd, &claiming, &p->partial);
    }
    BL_TRY(bl_cmd_output_open(&p->dataset, p->output, &p->inputs.remote,
                              p->request.dry_run ? BL_MIRROR_PLAN : BL_MIRROR_PACK, &p->request.task, cmd));
    p->request.output = p->dataset.dir;
    p->request.mirror = p->dataset.mirror;
    p->request.inputs = &p->inputs.set;
    p->request.sequences = p->sequences ? bl_pipe_copy_path(&p->copy, p->sequences) : NULL;
    p->request.plan = p->plan;
    p->request.spool = p->spool;
    p->request.options = &p->options;
    p->request.plan_options = &p->plan_options;
    p->request.subset = &p->subset;
    p->request.given = &cmd->options;
    p->request.workers = bl_cmd_workers(&cmd->common);
    p->request.cancel = &cmd->cancel;
    p->request.events = bl_event_printer_events(&p->printer);
    p->request.times = &p->times;
    /* Tasks share the listings of tars in their output. A repair has no lock on it yet. */
    p->inputs.shared = p->request.task.set && !p->request.repair ? p->dataset.dir : NULL;
    p->inputs.task = &p->request.task;
    double begun = bl_seconds_now();
    int code = pack_find_inputs(cmd, p);
    p->times.stage[BL_RUN_LISTING] = bl_seconds_now() - begun;
    if (!code)
        code = pack_build(p, &cmd->error);
    if (code || !p->json)
        return code;
    if (p->request.dry_run && p->packing && !bl_packing_is_complete(p->packing))
        return BL_OK; /* pack_forecast has printed the JSON of a dry run */
    struct bl_packing_result result = {0};
    if (p->packing)
        bl_packing_result(p->packing, &result);
    const struct bl_totals none = {0}, *totals = result.finished ? &result.finished->totals : &none;
    return bl_cmd_write_info(p->dataset.dir, &p->times, totals, &cmd->error);
}

int bl_cmd_pack(int argc, char **argv)
{
    struct pack p = {.argv = argv, .copy = {.fd = -1}, .view.index.fd = -1};
    struct bl_packing_result result = {0};
    struct bl_cmd cmd = {
        .name = "pack",
        .usage = "-T N -o DIR [options] SOURCE...\n"
                 "       bload pack -c FILE.yaml [-o DIR] [options]\n"
                 "       bload pack -T N -o DIR [options] --sequences TABLE [--plan PLAN]\n"
                 "       bload pack -o DIR [options] VIEW\n"
                 "\n"
                 "Turns sources into a dataset directory. After an interruption, the same command resumes.\n"
                 "With --task i/N, one of N processes that share the work; bload finish comes last.",
        .usual = "output T oversize size tokenizer world-size config",
        .examples = "videos/ -T longest --size 224x224 --world-size 2 -o dataset\n"
                    "texts/ --tokenizer bytes -T 2048 --oversize split -o tokens"};
    const struct bl_option_group output[] = {{"Output", bl_pack_option_table, &p.options}, {0}};
    const struct bl_option_group others[] = {
        {"Subset", bl_subset_option_table, &p.subset},
        {"Planning", bl_plan_option_table, &p.plan_options},
        {"Strategy", bl_plan_strategy_table, &p.plan_options},
        {"Tasks", bl_task_option_table, &p.request.task},
        {"Configuration", table, &p},
        {BL_CMD_OUTPUT_TITLE, bl_cmd_output_tasks_table, &p.dataset},
        {"Faults", bl_common_faults_table, &cmd.common},
        {"General", bl_common_threads_table, &cmd.common},
        {0},
    };
    /* --help shows the groups in the order in which they are added: the output first, then sources and kinds. */
    int code = bl_cmd_options(&cmd, output);
    if (!code)
        code = bl_inputs_add_options(&p.inputs, &cmd, false);
    if (!code)
        code = bl_cmd_parse(&cmd, others, argc, argv);
    if (!code && !cmd.common.help)
        code = pack_run(&cmd, &p);
    bl_pipe_copy_fix_error(&p.copy, &cmd.error); /* users gave a pipe, and its copy has another name */
    if (p.packing) {
        bl_packing_result(p.packing, &result);
        pack_print_rest(&p, &result); /* also after an error, whose cause may be among the faults */
        bl_cmd_end_heartbeat(&cmd, bl_packing_heartbeat(p.packing), code, result.partial);
    }
    bl_packing_close(p.packing);
    bl_cmd_output_close(&p.dataset, !code, &cmd);
    bl_inputs_free(&p.inputs);
    bl_pipe_copy_close(&p.copy);
    bl_view_close(&p.view);
    bl_run_times_free(&p.times);
    free(p.output);
    free(p.sequences);
    free(p.plan);
    free(p.spool);
    return bl_cmd_end(&cmd, code, result.partial || p.partial);
}
