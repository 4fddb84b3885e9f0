/* bload plan: lengths in, plan.tsv out. */
#include <inttypes.h>
#include <stddef.h>

#include "base/io.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/lengths.h"
#include "cmd/summary.h"
#include "store/plantable.h"
#include "store/words.h"

struct planning {
    const char *output, *report;
    struct bl_lengths lengths;
    struct bl_plan_options options;
    struct bl_plan plan;
};

static const struct bl_option table[] = {
    {.name = "output",
     .letter = 'o',
     .type = &bl_option_string,
     .placeholder = "FILE",
     .command_line_only = true,
     .offset = offsetof(struct planning, output),
     .help = "write the plan there [standard output]"},
    {.name = "report",
     .type = &bl_option_string,
     .placeholder = "FILE.json",
     .command_line_only = true,
     .offset = offsetof(struct planning, report),
     .help = "write the counts there as JSON"},
    {0},
};

static int write_report(const struct planning *p, struct bl_error *e)
{
    struct bl_words words;
    struct bl_buffer json = {0};
    bl_words_of_plan(&words, &p->plan, &p->options);
    int code = bl_words_report(&words, &json, e);
    if (!code)
        code = bl_cmd_write(p->report, &json, e);
    bl_buffer_free(&json);
    return code;
}

static int run(struct bl_cmd *cmd, struct planning *p)
{
    struct bl_error *e = &cmd->error;
    int code = bl_cmd_require_T(cmd);
    if (!code)
        code = bl_lengths_read(&p->lengths, cmd);
    if (!code)
        code = bl_plan_make(&p->plan, p->lengths.table.length, p->lengths.table.count, &p->options, e);
    struct bl_output out = {0};
    if (!code)
        code = bl_output_open(&out, p->output, e);
    if (!code)
        code = bl_plantable_write(&out, &p->plan, p->lengths.table.length, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    if (!code && p->report)
        code = write_report(p, e);
    if (!code && !cmd->common.quiet)
        bl_summary_plan(&p->plan, &p->options);
    return code;
}

int bl_cmd_plan(int argc, char **argv)
{
    struct planning p = {0};
    struct bl_cmd cmd = {
        .name = "plan",
        .usage = "-T N [options] TABLE...\n\n"
                 "Packs the sequences of one or more sequences.tsv into blocks of T steps. The plan goes to\n"
                 "standard output (block sequence start length source_start), a summary to standard error."};
    const struct bl_option_group groups[] = {
        {"Lengths", bl_lengths_option_table, &p.lengths}, {"Planning", bl_plan_option_table, &p.options},
        {"Strategy", bl_plan_strategy_table, &p.options}, {"Output", table, &p},
        {"General", bl_common_table, &cmd.common},        {0},
    };
    int code = bl_cmd_options(&cmd, groups);
    if (!code)
        code = bl_cmd_parse(&cmd, argc, argv);
    if (!code)
        code = run(&cmd, &p);
    bl_plan_free(&p.plan);
    bl_sequences_close(&p.lengths.table);
    return bl_cmd_end(&cmd, code, false);
}
