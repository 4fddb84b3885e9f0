/* bload plan packs sequences into blocks without touching their steps.
 *
 * The command has three uses, which share their options and little more:
 *
 *     bload plan -T 64 sequences.tsv       plans lengths, and writes the plan as a file: plan_run_table
 *     bload plan -T 64 DIR                 plans a dataset whose tasks have scanned: directory_plan
 *     bload plan --dataset DIR --epochs 9  adds plans of other epochs to a finished dataset: plan_add_epochs
 *
 * The third one takes nearly all options from the dataset, and refuses flags that the dataset has decided. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/compare.h"
#include "cmd/inputs.h"
#include "cmd/output.h"
#include "cmd/plan_plot.h"
#include "cmd/summary.h"
#include "run/plan.h"
#include "plan/capacity.h"
#include "plan/planner.h"
#include "plan/strategy.h"
#include "run/heartbeat.h"
#include "pool/pipeline.h"
#include "cmd/signals.h"
#include "store/epochs.h"
#include "store/index.h"
#include "store/plan_table.h"
#include "store/row_reader.h"

enum { COMPARED_MAX = 1 << 20 }; /* pieces of a plan that is compared with a second one, which takes as long again */

struct planning {
    const char *config_path, *output, *report, *plot, *dataset; /* options; NULL: not given */
    int64_t epochs; /* option: plans to make; 0 removes those of --dataset */
    struct bl_length_source lengths;
    struct bl_plan_options options;
    struct bl_cmd_output target; /* an unfinished dataset: what is open of it */
    /* For tables and lists: */
    struct bl_planner planner;
    struct bl_plan plan;           /* of the last epoch */
    struct bl_plan_info plan_info; /* of that plan, with the seed of the first epoch */
    int64_t S;                     /* the most sequences in a block of any epoch */
    struct bl_partitions taken;    /* the partitions of the epochs so far, from which each new one must differ */
    int64_t repeated;              /* epochs with the partition of an earlier epoch, as there was no other one */
    bool is_reported;              /* a summary or a report will be made */
    bool json;                     /* option: also print the report */
    atomic_llong made;             /* plans; the thread that makes them counts, and the progress bar reads */
    struct bl_progress progress;
    /* The options of scan and pack, accepted in the YAML file so that one file works for all commands: */
    struct bl_inputs inputs;
    struct bl_pack_options pack_options;
    struct bl_common common;
    /* For a directory: */
    char *dir; /* owned; NULL: the operands are tables */
    struct bl_event_printer printer;
    struct bl_packing *packing;
};

static const struct bl_option config_table[] = {
    BL_OPTION_STRING("config", struct planning, config_path, BL_AFFECTS_NOTHING,
                     "a YAML file with these options and those of scan and pack; flags win", .letter = 'c',
                     .placeholder = "FILE.yaml", .command_line_only = true),
    {0},
};

/* The options of the output. A YAML file cannot have them, since it is also the file of bload pack. */
static const struct bl_option table[] = {
    BL_OPTION_STRING("output", struct planning, output, BL_AFFECTS_NOTHING,
                     "write the plan there; binary if it ends in .safetensors [standard output]", .letter = 'o',
                     .placeholder = "FILE", .command_line_only = true),
    BL_OPTION_INT("epochs", struct planning, epochs, BL_AFFECTS_NOTHING,
                  "make this many plans, with the seeds from --seed on, all with the same number of blocks; with "
                  "-o plan.tsv they are plan-00001.tsv and so on; 0 removes the plans of a --dataset",
                  .initial = "1", .max = 100000, .command_line_only = true),
    BL_OPTION_STRING(
        "dataset", struct planning, dataset, BL_AFFECTS_NOTHING,
        "add the plans to a finished dataset, as plans/epoch-*.safetensors, without touching its shards; existing "
        "plans are kept",
        .placeholder = "DIR", .command_line_only = true),
    BL_OPTION_STRING("report", struct planning, report, BL_AFFECTS_NOTHING,
                     "write the counts of the plan to this file, as JSON", .placeholder = "FILE.json",
                     .command_line_only = true),
    BL_OPTION_FLAG("json", struct planning, json, BL_AFFECTS_NOTHING,
                   "print the counts of the plan as JSON (the plan itself then needs -o FILE); with --dataset, how "
                   "many plans it has",
                   .command_line_only = true),
    BL_OPTION_STRING("plot", struct planning, plot, BL_AFFECTS_NOTHING,
                     "draw each block as a bar of its sequences, at most 48 blocks; with --epochs, a picture for each "
                     "plan, numbered in the same way",
                     .placeholder = "FILE.svg", .command_line_only = true),
    {0},
};

/* --- tables and lists --------------------------------------------------------------------------------------------- */

/* Writes the counts of the plan to the file of --report and, with --json, to standard output. */
static int plan_report(const struct planning *p, struct bl_error *e)
{
    struct bl_buffer json = {0};
    int code = p->report || p->json ? bl_plan_info_format(&p->plan_info, false, &json, e) : BL_OK;
    if (!code && p->report)
        code = bl_cmd_write(p->report, &json, e);
    if (!code && p->json)
        code = bl_cmd_write(NULL, &json, e);
    bl_buffer_free(&json);
    return code;
}

/* Returns whether the plan is compared with the plan of another seed, to report which pairs of sequences share a block
 * in both. Large plans are not compared, since that makes a second plan. */
static bool plan_is_compared(const struct planning *p)
{
    return p->is_reported && bl_strategy_has_fill(&p->options) && p->planner.pieces.count <= COMPARED_MAX;
}

/* Makes the path of an epoch's file: the path itself for a single epoch, and "plan-00003.tsv" for "plan.tsv" and the
 * third of several. */
static int epoch_make_path(const struct planning *p, const char *path, int64_t k, struct bl_buffer *out,
                           struct bl_error *e)
{
    int stem = (int)bl_path_stem(path);
    bl_buffer_clear(out);
    if (p->epochs == 1)
        bl_buffer_text(out, path);
    else
        bl_buffer_printf(out, "%.*s-%05" PRId64 "%s", stem, path, k + 1, path + stem);
    return bl_buffer_check(out, e);
}

/* Writes the plan of an epoch, as a table or as the binary index that datasets have, depending on the file's name; then
 * its picture, if --plot is given. */
static int epoch_write_files(const struct planning *p, int64_t k, struct bl_error *e)
{
    const struct bl_sequences *t = &p->lengths.table;
    const struct bl_plan_plot plot = {.plan = &p->plan,
                                      .plan_info = &p->plan_info,
                                      .table = t,
                                      .group_by = p->lengths.group_by,
                                      .epoch = k + 1,
                                      .epochs = p->epochs};
    struct bl_buffer path = {0};
    struct bl_output out = {0};
    int code = epoch_make_path(p, p->output ? p->output : "-", k, &path, e);
    if (!code)
        code = bl_output_open(&out, path.data, e);
    if (!code && bl_path_has_suffix(path.data, ".safetensors"))
        code = bl_index_write(&out, &p->plan, t->length, t->count, &p->plan_info, e);
    else if (!code)
        code = bl_plan_table_write(&out, &p->plan, t->length, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    if (!code && p->plot)
        code = epoch_make_path(p, p->plot, k, &path, e);
    if (!code && p->plot)
        code = bl_plan_plot_write(&plot, path.data, e);
    bl_buffer_free(&path);
    return code;
}

/* Shows progress while another thread plans. Most plans take no noticeable time, and show none. */
static void plan_tick(void *planning)
{
    struct planning *p = planning;
    if (p->progress.total)
        p->progress.done = atomic_load(&p->made);
    if (bl_progress_seconds(&p->progress) >= BL_PROGRESS_LATE)
        bl_progress_bar_tick(&p->printer.bar, &p->progress);
}

/* Makes the plans of all epochs from a table or list of lengths, and writes each as soon as it is made. All plans get
 * as many blocks as the largest one, so that every epoch takes equally many steps: random fills alone would give each
 * epoch a different number. */
static int plan_make_epochs(void *planning, struct bl_error *e)
{
    struct planning *p = planning;
    const struct bl_sequences *t = &p->lengths.table;
    size_t least = 0; /* blocks of every plan */
    bool equal = !bl_strategies[p->options.strategy]->is_packed || !bl_fills[p->options.fill]->is_random;
    int code = BL_OK;
    bl_plan_columns_set(&p->options, t->group, t->number);
    p->options.together = t->together;
    BL_TRY(bl_table_lengths_resolve(t, &p->options, e));
    BL_TRY(bl_table_lengths_check(t, &p->options, e));
    BL_TRY(bl_capacities_find(&p->options, t->length, t->count, e));
    BL_TRY(bl_planner_make(&p->planner, t->length, t->count, &p->options, e));
    for (int64_t k = 0; !equal && k < p->epochs && p->epochs > 1 && !code; k++) {
        bl_plan_free(&p->plan);
        code = bl_planner_draw(&p->planner, p->options.seed + (uint64_t)k, 0, 0, &p->plan, e);
        least = p->plan.blocks > least ? p->plan.blocks : least;
    }
    p->planner.taken = p->epochs > 1 ? &p->taken : NULL;
    for (int64_t k = 0; k < p->epochs && !code; k++) {
        bool last = k + 1 == p->epochs && !plan_is_compared(p); /* frees memory as it proceeds */
        bl_plan_free(&p->plan);
        code = bl_planner_draw(&p->planner, p->options.seed + (uint64_t)k, least, last, &p->plan, e);
        p->repeated += p->planner.is_repeated;
        if (!code)
            code = bl_plan_recount(&p->plan, t->length, t->count, e);
        if (!code && p->options.together)
            code = bl_plan_check_bundles(&p->plan, t->length, t->count, &p->options, e);
        if (code)
            break;
        p->S = p->plan.max_sequences > p->S ? p->plan.max_sequences : p->S;
        bl_plan_info_make(&p->plan_info, &p->plan, &p->options);
        p->plan_info.seed += (uint64_t)k;
        code = epoch_write_files(p, k, e);
        atomic_fetch_add(&p->made, 1);
    }
    if (!code && plan_is_compared(p))
        code = bl_planner_measure_pair_repeat(&p->planner, &p->plan, &p->plan_info.pair_repeat, e);
    p->plan.max_sequences = p->S; /* the summary is about all epochs */
    p->plan_info.seed = p->options.seed;
    return code;
}

/* Checks before long work that the picture has a file of its own. BL_EUSAGE. */
static int plan_check_plot(const struct planning *p, struct bl_error *e)
{
    struct stat status;
    if (!p->plot)
        return BL_OK;
    if (p->epochs > 1 && strcmp(p->plot, "-") == 0)
        return bl_error_set(e, BL_EUSAGE, "several pictures need --plot FILE");
    if (strcmp(p->plot, "-") == 0 && (!p->output || strcmp(p->output, "-") == 0))
        return bl_error_set(e, BL_EUSAGE, "--plot - needs -o FILE: else standard output has the plan");
    if (strcmp(p->plot, p->output ? p->output : "-") == 0 || (p->report && strcmp(p->plot, p->report) == 0))
        return bl_error_set(e, BL_EUSAGE, "--plot %s: another output goes there too", p->plot);
    if (p->epochs == 1 && stat(p->plot, &status) == 0 && S_ISDIR(status.st_mode))
        return bl_error_set(e, BL_EUSAGE, "--plot %s is a directory: a file is expected", p->plot);
    return BL_OK;
}

/* Plans a table or a list: checks, reads the lengths, plans on another thread, and prints the summary. */
static int plan_run_table(struct bl_cmd *cmd, struct planning *p)
{
    struct bl_error *e = &cmd->error;
    const struct bl_background background = {plan_make_epochs, p, plan_tick, p, &cmd->cancel};
    BL_TRY(bl_length_source_check(&p->lengths, cmd));
    BL_TRY(bl_length_source_require_T(cmd));
    if (p->epochs < 1)
        return bl_error_set(e, BL_EUSAGE, "--epochs 0 is for --dataset, whose plans it removes");
    if (p->epochs > 1 && (!p->output || strcmp(p->output, "-") == 0))
        return bl_error_set(e, BL_EUSAGE, "several plans need -o FILE");
    if (p->json && (!p->output || strcmp(p->output, "-") == 0))
        return bl_error_set(e, BL_EUSAGE, "--json needs -o FILE: else standard output has the plan");
    if (p->epochs == 1)
        BL_TRY(bl_cmd_check_file(p->output, "", e));
    BL_TRY(plan_check_plot(p, e));
    BL_TRY(bl_length_source_read(&p->lengths, &p->options, cmd));
    p->is_reported = p->report || p->json || !cmd->common.quiet;
    /* Several plans have a total; one plan shows only how long it takes. */
    p->printer.bar = bl_progress_bar_make(&cmd->common);
    bl_progress_start(&p->progress, "plan", "plans", NULL, p->epochs > 1 ? p->epochs : 0);
    int code = bl_background_run(&background, e);
    bl_progress_bar_end(&p->printer.bar);
    if (!code)
        code = plan_report(p, e);
    if (!code && !cmd->common.quiet)
        bl_summary_plan(&p->plan, &p->plan_info);
    if (!code)
        bl_summary_repeated(p->repeated, p->epochs, p->options.order == BL_KEEP_ORDER);
    return code;
}

/* --- epochs of a finished dataset --------------------------------------------------------------------------------- */

/* Refuses flags that the dataset has decided. A YAML file may still set them, since pack uses the same file. */
static int plan_check_flags(const struct bl_options *o, struct bl_error *e)
{
    /* These flags decide which plans are made; all others would change the blocks. */
    static const char *const taken[] = {"dataset",    "epochs", "seed",   "world-size", "batch-size", "balance", "cost",
                                        "accumulate", "sync",   "config", "quiet",      "progress",   "json"};
    for (struct bl_option_match m = {0}; bl_options_next(o, &m);) {
        const char *name = m.option->name;
        bool known = o->origin[m.index] != BL_ORIGIN_FLAG;
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
            known |= strcmp(name, taken[i]) == 0;
        if (!known)
            return bl_error_set(e, BL_EUSAGE,
                                "%s%s does not apply to --dataset: the plans keep the stored sequences and the way in "
                                "which its blocks are filled",
                                m.option->letter && !name[1] ? "-" : "--", name);
    }
    return BL_OK;
}

/* Prints how many plans of epochs the dataset has, and what this run changed, as JSON. */
static int epochs_print_json(const struct bl_epochs_result *made, struct bl_error *e)
{
    struct bl_buffer json = {0};
    bl_buffer_printf(&json,
                     "{\n  \"plans\": %" PRId64 ",\n  \"added\": %" PRId64 ",\n  \"removed\": %" PRId64
                     ",\n  \"repeated\": %" PRId64 "\n}\n",
                     made->there, made->added, made->removed, made->repeated);
    return bl_cmd_answer(NULL, &json, false, BL_OK, e);
}

/* Adds plans to a finished dataset, or removes them with --epochs 0. Without --world-size and --batch-size they are
 * those of the dataset, which a zero in the request means. */
static int plan_add_epochs(struct bl_cmd *cmd, struct planning *p)
{
    struct bl_error *e = &cmd->error;
    struct bl_epochs epochs = {.dir = p->dataset, .count = p->epochs, .seed = p->options.seed};
    struct bl_epochs_result made;
    char a[BL_PLURAL_SIZE];
    BL_TRY(plan_check_flags(&cmd->options, e));
    if (cmd->options.operands)
        return bl_error_set(e, BL_EUSAGE, "--dataset takes its sequences from the dataset: no table, no list");
    if (bl_options_origin(&cmd->options, "world-size") != BL_ORIGIN_DEFAULT)
        epochs.world_size = p->options.world_size;
    if (bl_options_origin(&cmd->options, "batch-size") != BL_ORIGIN_DEFAULT)
        epochs.batch_size = p->options.batch_size;
    epochs.balance = p->options.balance;
    epochs.cost = p->options.cost;
    epochs.accumulate = p->options.accumulate;
    epochs.sync = p->options.sync;
    BL_TRY(bl_io_check_path(p->dataset, e));
    BL_TRY(bl_epochs_add(&epochs, &made, e));
    if (!cmd->common.quiet && !p->epochs)
        bl_cmd_print("%s: %s removed", p->dataset, bl_text_plural(a, made.removed, "plan"));
    else if (!cmd->common.quiet && made.added)
        bl_cmd_print("%s: %s in " BL_EPOCHS_DIR "%s", p->dataset, bl_text_plural(a, made.there, "plan"),
                     made.added < made.there ? ", with those that were already there" : "");
    else if (!cmd->common.quiet)
        bl_cmd_print("%s already has %s in " BL_EPOCHS_DIR ": nothing to do", p->dataset,
                     p->epochs < made.there ? "these plans, and more," : "these plans");
    bl_summary_repeated(made.repeated, p->epochs, false);
    if (made.older)
        bl_cmd_print("%s: of the plans that were already there, %s the blocks of an earlier plan, which older versions "
                     "did not notice: remove them with --epochs 0, then make new ones",
                     p->dataset, bl_text_plural(a, made.older, "repeats|repeat"));
    return p->json ? epochs_print_json(&made, e) : BL_OK;
}

/* --- unfinished datasets ------------------------------------------------------------------------------------------ */

/* Merges the parts of the tasks into the table, plans it, and keeps the plan in the directory for bload pack --task. */
static int directory_make_plan(struct bl_cmd *cmd, struct planning *p)
{
    struct bl_error *e = &cmd->error;
    int code = BL_OK;
    if (p->inputs.set.sources) { /* of the YAML file: the scan must have used the same ones */
        BL_TRY(bl_inputs_list(&p->inputs, cmd));
        bl_inputs_want(&p->inputs, &p->lengths.subset, &p->options);
        BL_TRY(bl_inputs_use(&p->inputs, p->inputs.set.files.kind, cmd));
    }
    code = bl_packing_table(p->packing, e);
    if (code || bl_packing_is_complete(p->packing))
        return code;
    code = bl_packing_plan(p->packing, e);
    if (code || bl_packing_is_complete(p->packing))
        return code;
    struct bl_packing_result result;
    bl_packing_result(p->packing, &result);
    p->plan_info = *result.plan_info;
    BL_TRY(plan_report(p, e));
    if (cmd->common.quiet)
        return BL_OK;
    bl_summary_plan(result.plan, result.plan_info);
    bl_summary_left_out(&result.table->left_out);
    return BL_OK;
}

/* Plans an unfinished dataset. The request is that of bload pack, except that it ends after the plan. */
static int directory_plan(struct bl_cmd *cmd, struct planning *p)
{
    p->printer = (struct bl_event_printer){.faults = &p->inputs.faults, .bar = bl_progress_bar_make(&cmd->common)};
    BL_TRY(bl_cmd_output_open(&p->target, p->dir, &p->inputs.remote, BL_MIRROR_PLAN, NULL, cmd));
    const struct bl_packing_request request = {.output = p->target.dir,
                                               .mirror = p->target.mirror,
                                               .inputs = &p->inputs.set,
                                               .options = &p->pack_options,
                                               .plan_options = &p->options,
                                               .subset = &p->lengths.subset,
                                               .given = &cmd->options,
                                               .plan_only = true,
                                               .workers = 1,
                                               .cancel = &cmd->cancel,
                                               .events = bl_event_printer_events(&p->printer)};
    if (p->output || p->plot || p->lengths.list || p->epochs != 1)
        return bl_error_set(&cmd->error, BL_EUSAGE,
                            "-o, --plot, --lengths and --epochs are for tables: a directory has one plan, which stays "
                            "in it");
    if (p->options.T != BL_T_AUTO)
        BL_TRY(bl_length_source_require_T(cmd));
    /* The identity of the dataset has the capacities, so that they must be known before it is opened. */
    BL_TRY(bl_inputs_set_capacities(&p->inputs, &p->options, &cmd->error));
    bl_signals_install(&cmd->cancel);
    BL_TRY(bl_packing_open(&p->packing, &request, &cmd->error));
    if (!bl_packing_is_complete(p->packing))
        BL_TRY(directory_make_plan(cmd, p));
    /* A complete dataset has no plan to make; its description has the counts of its plan. */
    return p->json && bl_packing_is_complete(p->packing) ? bl_cmd_write_info(p->target.dir, NULL, NULL, &cmd->error)
                                                         : BL_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Sets p->dir to the directory to plan: the only operand, if it is a directory, or, without operands, the output that
 * the YAML file gives. Tables and lists leave it NULL. */
static int plan_find_directory(struct bl_cmd *cmd, struct planning *p)
{
    const struct bl_options *o = &cmd->options;
    struct stat status;
    const char *dir = o->operands == 1 ? o->operand[0] : NULL;
    bool from_file = !o->operands && !p->lengths.list && !p->dataset;
    if (from_file)
        dir = p->pack_options.output;
    /* A name that does not exist is left to the reader of tables, which has the better message. */
    bool is_far = dir && bl_mirror_is_needed(dir);
    bool there = dir && !from_file && !is_far && stat(dir, &status) == 0;
    if (!is_far && dir && !from_file && !there && errno != ENOENT && errno != ENOTDIR)
        return bl_error_errno(&cmd->error, BL_EFAIL, "cannot open %s", dir);
    if (!dir || (!from_file && !is_far && !(there && S_ISDIR(status.st_mode))))
        return BL_OK;
    return bl_inputs_resolve_path(&p->inputs, o, from_file ? "output" : NULL, dir, &p->dir, &cmd->error);
}

/* Finds out which of the three uses is requested, and checks the options that all of them have. */
static int plan_run(struct bl_cmd *cmd, struct planning *p)
{
    p->inputs.config_path = p->config_path;
    if (p->config_path)
        BL_TRY(bl_inputs_resolve(&p->inputs, NULL, 0, cmd));
    /* --group-by is an option of this command and one of pack in the file. The flag wins. */
    if (!p->lengths.group_by)
        p->lengths.group_by = p->pack_options.group_by;
    p->pack_options.group_by = p->lengths.group_by; /* pack's identity includes this option */
    if (p->dataset) /* the dataset decides most options, so that the checks below do not apply */
        return plan_add_epochs(cmd, p);
    BL_TRY(bl_pack_resolve_store(cmd, &p->pack_options, &p->options));
    BL_TRY(bl_options_check(&cmd->options, &cmd->error));
    p->lengths.subset.extend_base = bl_inputs_base(&p->inputs, &cmd->options, "extend");
    p->lengths.subset.together = p->options.together_column;
    BL_TRY(bl_subset_check(&p->lengths.subset, &cmd->error));
    BL_TRY(plan_find_directory(cmd, p));
    return p->dir ? directory_plan(cmd, p) : plan_run_table(cmd, p);
}

/* The groups without a title are accepted in the YAML file alone: they are options of scan and pack. */
int bl_cmd_plan(int argc, char **argv)
{
    struct planning p = {0};
    struct bl_cmd cmd = {
        .name = "plan",
        .usage = "-T N [options] TABLE...\n"
                 "       bload plan -T N [options] --lengths FILE\n"
                 "       bload plan -T N [-c FILE.yaml] [options] DIR\n"
                 "       bload plan --dataset DIR [--epochs N]\n"
                 "\n"
                 "Packs the sequences of one or more tables of bload scan into blocks of T steps. The plan goes to\n"
                 "standard output (block sequence start length source_start), a summary to standard error.\n"
                 "Given a directory with the parts of bload scan --task, merges them into its table and keeps the\n"
                 "plan there, for bload pack --task.\n"
                 "With --dataset, adds plans for further epochs to a finished dataset; --epochs 0 removes them.",
        .usual = "T oversize lengths world-size batch-size output epochs",
        .examples = "-T longest sequences.tsv -o plan.tsv\n"
                    "-T 128 --oversize split --world-size 8 --lengths lengths.txt"};
    const struct bl_option_group groups[] = {
        {NULL, bl_pack_option_table, &p.pack_options},
        {"Configuration", config_table, &p},
        {"Lengths", bl_length_source_options, &p.lengths},
        {"Subset", bl_subset_option_table, &p.lengths.subset},
        {"Planning", bl_plan_option_table, &p.options},
        {"Strategy", bl_plan_strategy_table, &p.options},
        {"Output", table, &p},
        {BL_CMD_OUTPUT_TITLE, bl_cmd_output_table, &p.target},
        {"Faults", bl_common_faults_table, &cmd.common},
        {"General", bl_common_progress_table, &cmd.common},
        {NULL, bl_common_threads_table, &p.common}, /* plan has no -j, but the file may set it */
        {0},
    };
    p.inputs.shows_urls = true; /* of the directory */
    int code = bl_inputs_add_options(&p.inputs, &cmd, true);
    if (!code)
        code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = plan_run(&cmd, &p);
    /* A directory has the table that lists the faults; lists and tables have printed theirs. */
    struct bl_packing_result result = {0};
    if (p.packing) {
        bl_packing_result(p.packing, &result);
        bl_fault_lines_print_rest_of(&p.inputs.faults, result.suppressed, p.dir);
    }
    bl_plan_free(&p.plan);
    bl_planner_free(&p.planner);
    bl_partitions_free(&p.taken);
    bl_sequences_close(&p.lengths.table);
    bl_packing_close(p.packing);
    bl_cmd_output_close(&p.target, !code, &cmd);
    bl_inputs_free(&p.inputs);
    free(p.dir);
    return bl_cmd_end(&cmd, code, result.partial);
}
