/* bload view makes other plans over the sequences that datasets store.
 *
 * A view is a directory with a plan and the places of its sequences, and no steps; run/view_make.h makes it. This file
 * parses the datasets with their weights (DIR=2.5), and makes several views for --levels: with the lengths 8192, 32768
 * and 131072, a sequence of 20,000 steps goes into the view of 32768, and each view has a batch of equally many steps.
 * The views are VIEW/T-8192 and so on, and VIEW/levels.tsv has a line for each:
 *
 *     T       batch_size  blocks  batches_per_rank  sequences  steps     view
 *     8192    16          1200    75                40211      9700123   T-8192 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "bload.h"
#include "cmd/cmd.h"
#include "cmd/compare.h"
#include "cmd/progress_bar.h"
#include "cmd/summary.h"
#include "run/view_make.h"
#include "run/options.h"
#include "cmd/remote.h"
#include "cmd/signals.h"

#define LEVELS_MAX 16

/* The values of --levels, which rise. Each sequence goes into the view of the first T that holds it. */
struct levels {
    int64_t T[LEVELS_MAX];
    int count; /* 0: not given; otherwise at least 2 */
};

struct viewing {
    struct bl_view_request request; /* options fill some of its members */
    struct levels levels;
    struct bl_texts excluded;
    struct bl_subset_options subset;
    struct bl_plan_options options;
    char **dir;               /* [operands] the datasets, without weights; owned */
    double *weight;           /* [operands] > 0, or 0 for all: no weights; owned */
    struct bl_view_made made; /* the view that was made last */
    bool quiet, json;
    struct bl_progress_bar bar;
    struct bl_cmd_remote remote; /* options of URLs */
};

/* --- options ------------------------------------------------------------------------------------------------------ */

/* Parses "8192,32768,131072". Each number must be larger than the one before, so that a sequence has one level. */
static bool levels_parse(const struct bl_option *option, const char *text, void *value)
{
    struct levels *levels = value;
    (void)option;
    levels->count = 0;
    for (;;) {
        const char *end = strchrnul(text, ',');
        int64_t least = levels->count ? levels->T[levels->count - 1] + 1 : 1, *T = &levels->T[levels->count];
        if (levels->count == LEVELS_MAX || !bl_text_to_int(text, (size_t)(end - text), least, BL_T_MAX, T))
            return false;
        levels->count++;
        if (!*end)
            return levels->count > 1;
        text = end + 1;
    }
}

/* Appends the levels as levels_parse reads them. */
static void levels_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct levels *levels = value;
    (void)option;
    for (int i = 0; i < levels->count; i++)
        bl_buffer_printf(out, "%s%" PRId64, i ? "," : "", levels->T[i]);
}

static const struct bl_option_type levels_type = {"T,T,...", levels_parse, levels_format,
                                                  "2 to 16 rising numbers of steps, such as 8192,32768,131072"};

/* The values of --mix, in the order of the request's enum. */
static const char *const mix_names[] = {"batch", "random", NULL};

static const struct bl_option table[] = {
    BL_OPTION_STRING("output", struct viewing, request.output, BL_AFFECTS_NOTHING,
                     "the directory of the view; required", .letter = 'o', .placeholder = "VIEW"),
    BL_OPTION_CUSTOM("levels", &levels_type, struct levels, struct viewing, levels, BL_AFFECTS_PLAN,
                     "a view for each of these T instead of one for -T: VIEW/T-8192 and so on, listed in "
                     "VIEW/levels.tsv; each sequence goes into the smallest T that holds it, and all batches have "
                     "the same number of steps"),
    BL_OPTION_INT("epochs", struct viewing, request.epochs, BL_AFFECTS_PLAN,
                  "make this many plans, with consecutive seeds from --seed on, all with the same number of blocks",
                  .initial = "1", .min = 1, .max = 100000),
    BL_OPTION_INT("sequence-slots", struct viewing, request.sequence_slots, BL_AFFECTS_BYTES, BL_SEQUENCE_SLOTS_HELP,
                  .min = 1, .max = BL_T_MAX - 1, .unlisted = true),
    BL_OPTION_FLAG("json", struct viewing, json, BL_AFFECTS_NOTHING,
                   "print the view as bload info --json does; with --levels, an object with the list levels"),
    {0},
};

/* Options about several datasets and about which of their sequences are planned. */
static const struct bl_option mix_table[] = {
    BL_OPTION_CHOICE("mix", struct viewing, request.mix, mix_names, BL_AFFECTS_PLAN,
                     "batch: a block holds sequences of one source, and each global batch has the sources' shares; "
                     "random: sequences of all sources are drawn together",
                     .initial = "batch"),
    BL_OPTION_INT(
        "epoch-steps", struct viewing, request.epoch_steps, BL_AFFECTS_PLAN,
        "steps of an epoch's blocks, rounded up to whole steps of all ranks [until the first source is used up]",
        .min = 1),
    BL_OPTION_INT("repeat-max", struct viewing, request.repeat_max, BL_AFFECTS_PLAN,
                  "refuse plans that use a source more often than this in all epochs [any number]", .min = 1,
                  .max = 1000000),
    BL_OPTION_STRING("group-by", struct viewing, request.group_by, BL_AFFECTS_PLAN,
                     "sequences with different values in this column never share a block", .placeholder = "COLUMN"),
    BL_OPTION_TEXTS("exclude", struct viewing, excluded, BL_AFFECTS_NOTHING,
                    "leave out the sequence with this id, all of the file with this id, or all ids that FILE lists, "
                    "one a line; may be given again",
                    .placeholder = "ID|@FILE"),
    {0},
};

/* --- operands ----------------------------------------------------------------------------------------------------- */

/* Sets v->dir and v->weight from the operands: "DIR" or "DIR=WEIGHT". An operand that exists under its entire name is a
 * directory without a weight. BL_EUSAGE: only some have weights, or a path does not exist. */
static int operands_parse(struct bl_cmd *cmd, struct viewing *v)
{
    const struct bl_options *o = &cmd->options;
    struct bl_error *e = &cmd->error;
    if (!o->operands)
        return bl_error_set(e, BL_EUSAGE, "no dataset given: name one, or several with or without weights");
    v->dir = calloc((size_t)o->operands, sizeof *v->dir);
    v->weight = calloc((size_t)o->operands, sizeof *v->weight);
    int code = v->dir && v->weight ? BL_OK : bl_error_memory(e), weighted = 0;
    for (int s = 0; s < o->operands && !code; s++) {
        const char *text = o->operand[s], *equals = strrchr(text, '=');
        char *end = NULL;
        if (equals && access(text, F_OK) != 0) {
            v->weight[s] = strtod(equals + 1, &end);
            bool is_weight = end > equals + 1 && !*end && v->weight[s] > 0 && v->weight[s] <= 1e12;
            if (!is_weight && bl_path_is_url(text)) { /* "lang=en" may be a part of a key */
                v->weight[s] = 0;
                end = NULL;
            } else if (!is_weight)
                return bl_error_set(e, BL_EUSAGE, "%s: a weight is a number above 0, as in DIR=2.5", text);
        }
        char *name = strndup(text, end ? (size_t)(equals - text) : strlen(text));
        code = name ? bl_cmd_remote_path(&v->remote, cmd, name, &v->dir[s]) : bl_error_memory(e);
        free(name);
        weighted += v->weight[s] > 0;
    }
    if (code)
        return code;
    /* Weights are shares of an epoch, so that one dataset alone, or some of several, cannot have any. */
    if (weighted && (weighted < o->operands || o->operands == 1))
        return bl_error_set(e, BL_EUSAGE, "weights are for several datasets, all of them: DIR=2 DIR2=1");
    if (!weighted && (v->request.epoch_steps || v->request.repeat_max))
        return bl_error_set(e, BL_EUSAGE, "--%s needs weights: without them, an epoch is all sequences, once",
                            v->request.epoch_steps ? "epoch-steps" : "repeat-max");
    return BL_OK;
}

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

/* Prints a message of the run, such as which plan is being made. */
static void view_print_message(void *sink, const char *text)
{
    struct viewing *v = sink;
    bl_progress_bar_clear(&v->bar);
    if (!v->quiet)
        bl_cmd_print("%s", text);
}

/* Shows the progress of making plans. */
static void view_show_progress(void *sink, const struct bl_progress *progress)
{
    struct viewing *v = sink;
    bl_progress_bar_tick(&v->bar, progress);
}

/* Prints which sequences the subset leaves out, once it is chosen. */
static void view_print_left_out(void *sink, const struct bl_subset *subset)
{
    struct viewing *v = sink;
    bl_progress_bar_end(&v->bar);
    if (v->quiet)
        return;
    bl_summary_notes(&subset->notes);
    bl_summary_left_out(&subset->left_out);
}

/* --- views -------------------------------------------------------------------------------------------------------- */

/* Prints the plan, the share of each dataset, and where the view is. */
static void view_print_summary(const struct viewing *v, const char *output)
{
    const struct bl_manifest *m = &v->made.manifest;
    char a[BL_PLURAL_SIZE], b[32];
    if (v->made.existed || v->made.empty) {
        bl_cmd_print(v->made.empty ? "%s: no sequence has such a length: not made"
                                   : "%s is already complete: nothing to do",
                     output);
        return;
    }
    bl_summary_plan(&v->made.plan, &m->plan_info);
    for (size_t s = 0; s < m->sources && m->sources > 1; s++) {
        const struct bl_view_source *source = &m->source[s];
        bl_cmd_print("%s: %s of %s steps, %.2f %% of the plan", source->name,
                     bl_text_plural(a, source->sequences, "sequence"), bl_text_count(b, source->steps),
                     100 * source->share);
    }
    bl_cmd_print("%s: a view of %s, %s", output, bl_text_plural(a, (int64_t)m->sources, "dataset"),
                 v->request.epochs > 1 ? "with its plans" : "with its plan");
}

/* Makes one view, of the sequences that are longer than longer_than and not longer than up_to (0: of any length).
 * v->made stays valid until the next view is made. */
static int view_make(struct bl_cmd *cmd, struct viewing *v, const char *output, int64_t longer_than, int64_t up_to)
{
    struct bl_view_request request = v->request;
    request.output = output;
    request.longer_than = longer_than;
    request.up_to = up_to;
    bl_view_made_free(&v->made);
    int code = bl_view_make(&request, &v->made, &cmd->error);
    bl_progress_bar_end(&v->bar);
    if (!code && !v->quiet)
        view_print_summary(v, output);
    if (!code)
        bl_summary_repeated(v->made.repeated, v->request.epochs, v->options.order == BL_KEEP_ORDER);
    return code;
}

/* --- levels ------------------------------------------------------------------------------------------------------- */

/* Checks that all levels can have batches of equally many steps. The batch size that is given is that of the largest
 * T. */
static int levels_check(const struct viewing *v, struct bl_error *e)
{
    const struct levels *levels = &v->levels;
    int64_t largest = levels->T[levels->count - 1], steps;
    char a[BL_PLURAL_SIZE];
    if (__builtin_mul_overflow(largest, v->options.batch_size, &steps))
        return bl_error_set(e, BL_EUSAGE, "--batch-size %" PRId64 " is too large for these --levels",
                            v->options.batch_size);
    for (int i = 0; i < levels->count; i++) {
        if (steps % levels->T[i] != 0)
            return bl_error_set(e, BL_EUSAGE,
                                "--levels: a batch has %" PRId64 " steps, %s of %" PRId64
                                ", which is no multiple of %" PRId64,
                                steps, bl_text_plural(a, v->options.batch_size, "block"), largest, levels->T[i]);
    }
    return BL_OK;
}

/* Makes the view of level i, and appends its line of levels.tsv. A level without sequences has neither. */
static int level_run(struct bl_cmd *cmd, struct viewing *v, int i, int64_t batch_steps, struct bl_buffer *rows)
{
    const struct levels *levels = &v->levels;
    bool last = i + 1 == levels->count;
    char name[32];
    snprintf(name, sizeof name, "T-%" PRId64, levels->T[i]);
    char *output = bl_path_join(v->request.output, name);
    if (!output)
        return bl_error_memory(&cmd->error);
    if (bl_options_origin(&cmd->options, "remainder") == BL_ORIGIN_DEFAULT)
        v->options.remainder = BL_REMAINDER_PAD; /* a block of a level often has one sequence, which cannot be spread */
    v->options.T = levels->T[i];
    v->options.batch_size = batch_steps / levels->T[i];
    int code = view_make(cmd, v, output, i ? levels->T[i - 1] : 0, last ? 0 : levels->T[i]);
    const struct bl_plan_info *w = &v->made.manifest.plan_info;
    if (!code && !v->made.empty)
        bl_buffer_printf(rows, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\n",
                         w->T, w->batch_size, w->blocks, w->batches_per_rank, w->sequences, bl_plan_info_placed(w),
                         name);
    free(output);
    return code;
}

/* Makes the views of all levels, and writes levels.tsv last: a reader takes the views for complete if it is there. */
static int levels_run(struct bl_cmd *cmd, struct viewing *v)
{
    struct bl_error *e = &cmd->error;
    const struct levels *levels = &v->levels;
    static const char names[] = "T\tbatch_size\tblocks\tbatches_per_rank\tsequences\tsteps\tview\n";
    struct bl_buffer rows = {0};
    char *path = bl_path_join(v->request.output, "levels.tsv");
    int code = path ? levels_check(v, e) : bl_error_memory(e);
    bool is_new = access(v->request.output, F_OK) != 0; /* an error removes only a directory that was made here */
    if (!code)
        code = bl_fs_mkdirs(v->request.output, e);
    bl_buffer_text(&rows, names);
    /* A batch of every level has as many steps as a batch of the largest T has. levels_check proved that the product
     * fits. */
    int64_t batch_steps = code ? 0 : levels->T[levels->count - 1] * v->options.batch_size;
    for (int i = 0; i < levels->count && !code; i++)
        code = level_run(cmd, v, i, batch_steps, &rows);
    if (!code)
        code = bl_buffer_check(&rows, e);
    if (!code && rows.size == sizeof names - 1)
        code = bl_error_set(e, BL_EFAIL, "nothing to plan: all sequences are empty");
    if (!code)
        code = bl_output_replace(path, rows.data, rows.size, e);
    if (code && is_new)
        rmdir(v->request.output); /* unless some level was made */
    bl_buffer_free(&rows);
    free(path);
    return code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Checks the options and operands, before anything is read. */
static int view_check(struct bl_cmd *cmd, struct viewing *v)
{
    struct bl_error *e = &cmd->error;
    bool has_T = bl_options_origin(&cmd->options, "T") != BL_ORIGIN_DEFAULT;
    if (!has_T && !v->levels.count)
        BL_TRY(bl_length_source_require_T(cmd));
    if (has_T && v->levels.count)
        return bl_error_set(e, BL_EUSAGE, "-T or --levels, not both");
    if (v->options.together_column && v->levels.count)
        return bl_error_set(e, BL_EUSAGE,
                            "--together or --levels, not both: a level has the sequences of a range of lengths");
    BL_TRY(bl_options_check(&cmd->options, e));
    if (!v->request.output)
        return bl_error_set(e, BL_EUSAGE, "-o must be given: the directory of the view");
    if (v->subset.extend.count)
        return bl_error_set(
            e, BL_EUSAGE,
            "--extend is for inputs that are not packed yet; for a view of old and new data, name both datasets");
    v->subset.together = v->options.together_column;
    BL_TRY(bl_subset_check(&v->subset, e));
    if (v->subset.split.parts && !v->subset.take && !(v->request.group_by && strcmp(v->request.group_by, "split") == 0))
        return bl_error_set(e, BL_EUSAGE,
                            "--split needs --take NAME: a view has no table of its own for a column "
                            "split; make one view for each part");
    BL_TRY(operands_parse(cmd, v));
    if (v->excluded.count)
        BL_TRY(bl_exclusion_open(&v->request.exclusion, v->excluded.text, v->excluded.count, NULL, e));
    return bl_cmd_check_parent("-o", v->request.output, false, e);
}

/* Prints the view, or the views of all levels that have sequences, as JSON. */
static int view_print_json(const struct viewing *v, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char name[32];
    int code = BL_OK, printed = 0;
    if (!v->levels.count)
        return bl_cmd_write_info(v->request.output, NULL, NULL, e);
    bl_buffer_text(&text, "{\"levels\": [");
    for (int i = 0; i < v->levels.count && !code; i++) {
        bool found = false;
        snprintf(name, sizeof name, "T-%" PRId64, v->levels.T[i]);
        char *dir = bl_path_join(v->request.output, name);
        code = dir ? bl_fs_find(dir, BL_MANIFEST_FILE, &found, e) : bl_error_memory(e);
        if (found)
            bl_buffer_text(&text, printed++ ? ", " : "");
        if (found)
            code = bl_cmd_append_info(dir, &text, e);
        free(dir);
    }
    bl_buffer_text(&text, "]}\n");
    return bl_cmd_answer(NULL, &text, false, code, e);
}

/* Checks the options, and makes the view or the views of all levels. */
static int view_run(struct bl_cmd *cmd, struct viewing *v)
{
    v->quiet = cmd->common.quiet;
    v->bar = bl_progress_bar_make(&cmd->common);
    BL_TRY(view_check(cmd, v));
    v->request.tool = BLOAD_VERSION;
    v->request.dir = (const char *const *)v->dir;
    v->request.weight = v->weight;
    v->request.count = cmd->options.operands;
    v->request.subset = &v->subset;
    v->request.options = &v->options;
    v->request.given = &cmd->options;
    v->request.message = view_print_message;
    v->request.left_out = view_print_left_out;
    v->request.tick = view_show_progress;
    v->request.sink = v;
    bl_signals_install_question(); /* all other signals end the command at once: a view gets its manifest last */
    BL_TRY(v->levels.count ? levels_run(cmd, v) : view_make(cmd, v, v->request.output, 0, 0));
    if (!v->quiet)
        bl_cmd_remote_print(&v->remote);
    return v->json ? view_print_json(v, &cmd->error) : BL_OK;
}

/* --levels and -T exclude each other: the levels are several T. */
int bl_cmd_view(int argc, char **argv)
{
    struct viewing v = {0};
    struct bl_cmd cmd = {
        .name = "view",
        .usage =
            "-T N [options] DIR[=WEIGHT]... -o VIEW\n"
            "       bload view --levels T,T,... [options] DIR[=WEIGHT]... -o VIEW\n"
            "\n"
            "Plans the stored sequences of one or more datasets anew, without writing them again: another T, seed,\n"
            "world size, mixture, or old and new data together. A view is a small directory that is read like a\n"
            "dataset; the datasets must stay where they are.",
        .usual = "output T oversize mix world-size epochs where",
        .examples = "dataset -T 128 --oversize split -o view\n"
                    "dataset=3 more=1 -T longest --epochs 4 -o mixed",
        .operands = "directories"};
    const struct bl_option_group groups[] = {{"Output", table, &v},
                                             {"Sources", mix_table, &v},
                                             {"Subset", bl_subset_option_table, &v.subset},
                                             {"Planning", bl_plan_option_table, &v.options},
                                             {"Strategy", bl_plan_strategy_table, &v.options},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &v.remote},
                                             {"General", bl_common_progress_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = view_run(&cmd, &v);
    for (int s = 0; v.dir && s < cmd.options.operands; s++)
        free(v.dir[s]);
    free(v.dir);
    free(v.weight);
    bl_exclusion_close(v.request.exclusion);
    bl_view_made_free(&v.made);
    bl_cmd_remote_close(&v.remote);
    return bl_cmd_end(&cmd, code, false);
}
