/* bload view: other plans over what datasets store. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/length_source.h"
#include "cmd/summary.h"
#include "packing/view_make.h"

struct viewing {
    const char *output, *group_by;
    int64_t epochs, epoch_steps, repeat_max;
    int mix;
    struct bl_subset_options subset;
    struct bl_plan_options options;
    char **dir; /* [operands] */
    double *weight;
    struct bl_view_made made;
    bool quiet;
};

static const char *const mix_names[] = {"batch", "random", NULL};

static const struct bl_option table[] = {
    BL_OPTION_STRING("output", struct viewing, output, BL_AFFECTS_NOTHING, "the directory of the view; required",
                     .letter = 'o', .placeholder = "VIEW", .command_line_only = true),
    BL_OPTION_INT("epochs", struct viewing, epochs, BL_AFFECTS_PLAN,
                  "make so many plans, with the seeds from --seed on, all with the same number of blocks",
                  .initial = "1", .min = 1, .max = 100000, .command_line_only = true),
    {0},
};

static const struct bl_option mix_table[] = {
    BL_OPTION_CHOICE("mix", struct viewing, mix, mix_names, BL_AFFECTS_PLAN,
                     "batch: a block holds sequences of one source, and each global batch has the sources' shares; "
                     "random: sequences of all sources are drawn together",
                     .initial = "batch", .command_line_only = true),
    BL_OPTION_INT("epoch-steps", struct viewing, epoch_steps, BL_AFFECTS_PLAN,
                  "steps of an epoch's blocks, rounded up to whole steps of all ranks [until the first source would "
                  "begin again]",
                  .min = 1, .command_line_only = true),
    BL_OPTION_INT("repeat-max", struct viewing, repeat_max, BL_AFFECTS_PLAN,
                  "refuse to go through a source more often than this in all epochs [any number]", .min = 1,
                  .max = 1000000, .command_line_only = true),
    BL_OPTION_STRING("group-by", struct viewing, group_by, BL_AFFECTS_PLAN,
                     "sequences with different values in this column never share a block", .placeholder = "COLUMN",
                     .command_line_only = true),
    {0},
};

/* Splits "DIR=WEIGHT". What exists under the whole name is a directory without a weight. */
static int operand_parse(struct viewing *v, const char *text, int s, struct bl_error *e)
{
    const char *equals = strrchr(text, '=');
    char *end = NULL;
    v->weight[s] = 0;
    if (equals && access(text, F_OK) != 0) {
        v->weight[s] = strtod(equals + 1, &end);
        if (end == equals + 1 || *end || !(v->weight[s] > 0) || v->weight[s] > 1e12)
            return bl_error_set(e, BL_EUSAGE, "%s: a weight is a number above 0, as in DIR=2.5", text);
    }
    v->dir[s] = end ? strndup(text, (size_t)(equals - text)) : strdup(text);
    return v->dir[s] ? bl_io_check_path(v->dir[s], e) : bl_error_memory(e);
}

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
        code = operand_parse(v, o->operand[s], s, e);
        weighted += v->weight[s] > 0;
    }
    if (code)
        return code;
    if (weighted && (weighted < o->operands || o->operands == 1))
        return bl_error_set(e, BL_EUSAGE, "weights are for several datasets, all of them: DIR=2 DIR2=1");
    if (weighted && v->mix == BL_BLEND_RANDOM)
        return bl_error_set(e, BL_EUSAGE, "weights need --mix batch");
    if (!weighted && (v->epoch_steps || v->repeat_max))
        return bl_error_set(e, BL_EUSAGE, "--%s needs weights: without them, an epoch is all sequences, once",
                            v->epoch_steps ? "epoch-steps" : "repeat-max");
    return BL_OK;
}

static void view_print_message(void *sink, const char *text)
{
    const struct viewing *v = sink;
    if (!v->quiet)
        bl_cmd_print("%s", text);
}

static void view_print_left_out(void *sink, const struct bl_subset *subset)
{
    const struct viewing *v = sink;
    if (v->quiet)
        return;
    bl_summary_notes(&subset->notes);
    bl_summary_left_out(&subset->left_out);
}

static void view_print_summary(const struct viewing *v)
{
    const struct bl_manifest *m = &v->made.manifest;
    char a[BL_PLURAL_SIZE], b[32];
    if (v->made.existed) {
        bl_cmd_print("%s is already complete: nothing to do", v->output);
        return;
    }
    bl_summary_plan(&v->made.plan, &m->plan_info);
    for (size_t s = 0; s < m->sources && m->sources > 1; s++) {
        const struct bl_view_source *source = &m->source[s];
        bl_cmd_print("%s: %s of %s steps, %.2f %% of the plan", source->name,
                     bl_text_plural(a, source->sequences, "sequence"), bl_text_count(b, source->steps),
                     100 * source->share);
    }
    bl_cmd_print("%s: a view of %s, %s", v->output, bl_text_plural(a, (int64_t)m->sources, "dataset"),
                 v->epochs > 1 ? "with its plans" : "with its plan");
}

static int view_run(struct bl_cmd *cmd, struct viewing *v)
{
    struct bl_error *e = &cmd->error;
    v->quiet = cmd->common.quiet;
    int code = bl_length_source_require_T(cmd);
    if (!code)
        code = bl_options_check(&cmd->options, e);
    if (!code && !v->output)
        code = bl_error_set(e, BL_EUSAGE, "-o must be given: the directory of the view");
    if (!code && v->subset.extend.count)
        code = bl_error_set(e, BL_EUSAGE,
                            "--extend is for what is not packed yet: a view of old and new data names both");
    if (!code)
        code = bl_subset_check(&v->subset, e);
    if (!code && v->subset.split.parts && !v->subset.take && !(v->group_by && strcmp(v->group_by, "split") == 0))
        code = bl_error_set(e, BL_EUSAGE, "--split needs --take NAME: a view has no table of its own for a column "
                                          "split; make one view for each part");
    if (!code)
        code = operands_parse(cmd, v);
    if (!code)
        code = bl_cmd_check_parent("-o", v->output, false, e);
    if (code)
        return code;
    const struct bl_view_request request = {.output = v->output,
                                            .dir = (const char *const *)v->dir,
                                            .weight = v->weight,
                                            .count = cmd->options.operands,
                                            .group_by = v->group_by,
                                            .mix = (enum bl_blending)v->mix,
                                            .options = &v->options,
                                            .given = &cmd->options,
                                            .epochs = v->epochs,
                                            .epoch_steps = v->epoch_steps,
                                            .repeat_max = v->repeat_max,
                                            .subset = &v->subset,
                                            .message = view_print_message,
                                            .left_out = view_print_left_out,
                                            .sink = v};
    code = bl_view_make(&request, &v->made, e);
    if (!code && !v->quiet)
        view_print_summary(v);
    return code;
}

int bl_cmd_view(int argc, char **argv)
{
    struct viewing v = {0};
    struct bl_cmd cmd = {
        .name = "view",
        .usage = "-T N [options] DIR[=WEIGHT]... -o VIEW\n"
                 "\n"
                 "Plans the stored sequences of one or more datasets anew, without writing them again: another T, seed,\n"
                 "world size, mixture, or old and new data together. A view is a small directory that is read like a\n"
                 "dataset; the datasets must stay where they are."};
    const struct bl_option_group groups[] = {{"Output", table, &v},
                                             {"Sources", mix_table, &v},
                                             {"Subset", bl_subset_option_table, &v.subset},
                                             {"Planning", bl_plan_option_table, &v.options},
                                             {"Strategy", bl_plan_strategy_table, &v.options},
                                             {"General", bl_common_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = view_run(&cmd, &v);
    for (int s = 0; v.dir && s < cmd.options.operands; s++)
        free(v.dir[s]);
    free(v.dir);
    free(v.weight);
    bl_view_made_free(&v.made);
    return bl_cmd_end(&cmd, code, false);
}
