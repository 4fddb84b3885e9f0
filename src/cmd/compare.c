/* bload compare: a table of all strategies, as in the paper. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/length_source.h"
#include "packing/compare_row.h"
#include "packing/table_lengths.h"
#include "store/plan_columns.h"
#include "store/plan_info.h"

struct comparing {
    bool json;
    struct bl_length_source lengths;
    struct bl_plan_options options;
    struct bl_plan_info row[BL_COMPARE_ROWS];
    int rows;
};

static const struct bl_option table[] = {
    BL_OPTION_FLAG("json", struct comparing, json, BL_AFFECTS_NOTHING, "the table as JSON", .command_line_only = true),
    {0},
};

static int compare_make_row(struct comparing *c, int i, struct bl_error *e)
{
    struct bl_plan_options options = c->options;
    bl_compare_row_set(i, &options);
    if (options.max_column.count && options.fill != BL_FILL_OPTIMAL)
        return BL_OK; /* it knows no maxima */
    return bl_compare_row_make(&c->row[c->rows++], c->lengths.table.length, c->lengths.table.count, &options, NULL, e);
}

static void compare_format_table(const struct comparing *c, struct bl_buffer *out)
{
    bl_buffer_printf(out, "%-8s %-8s %7s %14s %16s %14s %10s %10s %14s %10s %12s %9s %10s %8s\n", "strategy", "fill",
                     "T", "blocks", "padding", "deleted", "cut", "efficiency", "lower bound", "gap", "rank steps",
                     "waiting", "meet again", "seconds");
    for (int i = 0; i < c->rows; i++) {
        const struct bl_plan_info *w = &c->row[i];
        char blocks[32], padding[32], deleted[32], cut[32], bound[32], gap[32], steps[32], lost[32] = "-",
                                                                                           again[32] = "-";
        if (w->balance.is_measured)
            snprintf(lost, sizeof lost, "%.2f%%", 100 * w->balance.lost);
        if (w->company.pairs)
            snprintf(again, sizeof again, "%.2f%%", 100 * bl_company_share(&w->company));
        bl_buffer_printf(out, "%-8s %-8s %7" PRId64 " %14s %16s %14s %10s %9.2f%% %14s %10s %12s %9s %10s %8.2f\n",
                         w->strategy, w->fill[0] ? w->fill : "-", w->T, bl_text_count(blocks, w->blocks),
                         bl_text_count(padding, w->padding), bl_text_count(deleted, w->deleted),
                         bl_text_count(cut, w->cut), 100 * w->efficiency, bl_text_count(bound, w->lower_bound),
                         bl_text_count(gap, w->blocks - w->lower_bound), bl_text_count(steps, w->batches_per_rank),
                         lost, again, w->seconds);
    }
}

static int compare_make_rows(struct comparing *c, struct bl_error *e)
{
    const struct bl_sequences *t = &c->lengths.table;
    const struct bl_plan_options *o = &c->options;
    bl_plan_columns_set(&c->options, t->group, t->number);
    int code = bl_table_lengths_resolve(t, &c->options, e);
    if (code)
        return code;
    code = bl_table_lengths_check(t,
                                  &(struct bl_plan_options){.strategy = BL_STRATEGY_BLOCK,
                                                            .oversize = o->oversize,
                                                            .min_length = o->min_length,
                                                            .max_length = o->max_length,
                                                            .T = o->T,
                                                            .max_column = o->max_column},
                                  e);
    for (int i = 0; i < BL_COMPARE_ROWS && !code; i++)
        code = compare_make_row(c, i, e);
    return code;
}

static int compare_run(struct bl_cmd *cmd, struct comparing *c)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer text = {0};
    int code = bl_length_source_require_T(cmd);
    if (code)
        return code;
    code = bl_options_check(&cmd->options, e);
    if (code)
        return code;
    code = bl_subset_check(&c->lengths.subset, e);
    if (code)
        return code;
    code = bl_length_source_read(&c->lengths, &c->options, cmd);
    if (code)
        return code;
    code = compare_make_rows(c, e);
    if (code)
        return code;
    if (c->json)
        code = bl_plan_info_format_rows(c->row, c->rows, &text, e);
    else
        compare_format_table(c, &text);
    if (!code)
        code = bl_cmd_write(NULL, &text, e);
    bl_buffer_free(&text);
    return code;
}

int bl_cmd_compare(int argc, char **argv)
{
    struct comparing c = {0};
    struct bl_cmd cmd = {
        .name = "compare",
        .usage = "-T N [options] TABLE...\n"
                 "       bload compare -T N [options] --lengths FILE\n"
                 "\n"
                 "Plans the same sequences by every strategy and fill, and shows blocks, padding, deletions, and who\n"
                 "meets again under the next seed side by side.",
        .usual = "T oversize lengths world-size batch-size json",
        .examples = "-T longest sequences.tsv\n"
                    "-T 128 --world-size 8 --lengths lengths.txt"};
    const struct bl_option_group groups[] = {
        {"Lengths", bl_length_source_options, &c.lengths}, {"Subset", bl_subset_option_table, &c.lengths.subset},
        {"Planning", bl_plan_option_table, &c.options},    {"Output", table, &c},
        {"General", bl_common_table, &cmd.common},         {0},
    };
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (code || cmd.common.help)
        goto out;
    code = compare_run(&cmd, &c);
out:
    bl_sequences_close(&c.lengths.table);
    return bl_cmd_end(&cmd, code, false);
}
