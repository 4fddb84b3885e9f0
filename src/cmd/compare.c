/* bload compare: a table of all strategies, as in the paper. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/length_source.h"
#include "packing/plan.h"
#include "store/plan_info.h"
#include "store/row_reader.h"

struct comparing {
    bool json;
    struct bl_plan_T_list T;
    int64_t step_bytes;
    struct bl_length_source lengths;
    struct bl_plan_options options;              /* all but T */
    struct bl_plan_info (*row)[BL_COMPARE_ROWS]; /* of each T */
    struct bl_plan_info_set set[BL_PLAN_T_LIST_MAX];
};

static const struct bl_option T_table[] = {
    BL_OPTION_CUSTOM("T", &bl_option_T_list, struct bl_plan_T_list, struct comparing, T, BL_AFFECTS_PLAN,
                     "steps per block, or seconds (30s) where steps have a rate, or the longest sequence; several, "
                     "with commas between them, are shown one after the other",
                     .letter = 'T'),
    {0},
};

static const struct bl_option table[] = {
    BL_OPTION_BYTES("step-bytes", struct comparing, step_bytes, BL_AFFECTS_NOTHING,
                    "bytes of a step, by which the bytes of all blocks are shown", .min = 1, .command_line_only = true),
    BL_OPTION_FLAG("json", struct comparing, json, BL_AFFECTS_NOTHING, "the table as JSON", .command_line_only = true),
    {0},
};

static int compare_make_row(const struct comparing *c, const struct bl_plan_options *given, int i,
                            struct bl_plan_info_set *set, struct bl_plan_info *row, struct bl_error *e)
{
    struct bl_plan_options options = *given;
    bl_compare_row_set(i, &options);
    if (options.max_column.count && options.fill != BL_FILL_OPTIMAL)
        return BL_OK; /* it knows no maxima */
    int code =
        bl_compare_row_make(&row[set->rows++], c->lengths.table.length, c->lengths.table.count, &options, NULL, e);
    struct bl_plan_info *made = &row[set->rows - 1];
    if (!code && (__builtin_mul_overflow(made->blocks, made->T, &made->bytes) ||
                  __builtin_mul_overflow(made->bytes, c->step_bytes, &made->bytes)))
        code = bl_error_set(e, BL_EUSAGE, "--step-bytes: more bytes than can be counted");
    return code;
}

static void compare_format_rows(const struct comparing *c, const struct bl_plan_info_set *set, struct bl_buffer *out)
{
    bl_buffer_printf(out, "%-8s %-8s %7s %14s %16s %14s %10s %10s %14s %10s %12s %9s %10s %8s", "strategy", "fill", "T",
                     "blocks", "padding", "deleted", "cut", "efficiency", "lower bound", "gap", "rank steps", "waiting",
                     "meet again", "seconds");
    if (c->options.overlap)
        bl_buffer_printf(out, " %14s", "repeated");
    bl_buffer_printf(out, c->step_bytes ? " %10s\n" : "\n", "bytes");
    for (int i = 0; i < set->rows; i++) {
        const struct bl_plan_info *w = &set->row[i];
        char blocks[32], padding[32], deleted[32], cut[32], bound[32], gap[32], steps[32], lost[32] = "-",
                                                                                           again[32] = "-";
        if (w->balance.is_measured)
            snprintf(lost, sizeof lost, "%.2f%%", 100 * w->balance.lost);
        if (w->company.pairs)
            snprintf(again, sizeof again, "%.2f%%", 100 * bl_company_share(&w->company));
        bl_buffer_printf(out, "%-8s %-8s %7" PRId64 " %14s %16s %14s %10s %9.2f%% %14s %10s %12s %9s %10s %8.2f",
                         w->strategy, w->fill[0] ? w->fill : "-", w->T, bl_text_count(blocks, w->blocks),
                         bl_text_count(padding, w->padding), bl_text_count(deleted, w->deleted),
                         bl_text_count(cut, w->cut), 100 * w->efficiency, bl_text_count(bound, w->lower_bound),
                         bl_text_count(gap, w->blocks - w->lower_bound), bl_text_count(steps, w->batches_per_rank),
                         lost, again, w->seconds);
        if (c->options.overlap)
            bl_buffer_printf(out, " %14s", bl_text_count(blocks, w->repeated));
        bl_buffer_printf(out, c->step_bytes ? " %10s\n" : "\n", bl_text_size(blocks, w->bytes));
    }
}

/* One T has no heading: its rows have it. */
static void compare_format_sets(const struct comparing *c, struct bl_buffer *out)
{
    char T[32];
    for (int i = 0; i < c->T.count; i++) {
        if (c->T.count > 1)
            bl_buffer_printf(out, "%sT = %s\n", i ? "\n" : "", bl_text_count(T, c->set[i].T));
        compare_format_rows(c, &c->set[i], out);
    }
}

static int compare_make_set(struct comparing *c, int number, struct bl_error *e)
{
    const struct bl_sequences *t = &c->lengths.table;
    struct bl_plan_options o = c->options;
    struct bl_plan_info_set *set = &c->set[number];
    o.T = c->T.T[number];
    set->row = c->row[number];
    bl_plan_columns_set(&o, t->group, t->number);
    int code = bl_table_lengths_resolve(t, &o, e);
    if (code)
        return code;
    const struct bl_plan_options block = {.strategy = BL_STRATEGY_BLOCK,
                                          .oversize = o.oversize,
                                          .min_length = o.min_length,
                                          .max_length = o.max_length,
                                          .T = o.T,
                                          .max_column = o.max_column};
    code = bl_table_lengths_check(t, &block, e);
    for (int i = 0; i < BL_COMPARE_ROWS && !code; i++)
        code = compare_make_row(c, &o, i, set, c->row[number], e);
    if (!code)
        set->T = set->row[set->rows - 1].T; /* the last row is a packed one, whose T is no clip */
    return code;
}

static int compare_make_sets(struct comparing *c, struct bl_error *e)
{
    c->row = calloc((size_t)c->T.count, sizeof *c->row);
    int code = c->row ? BL_OK : bl_error_memory(e);
    for (int i = 0; i < c->T.count && !code; i++)
        code = compare_make_set(c, i, e);
    return code;
}

static int compare_run(struct bl_cmd *cmd, struct comparing *c)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer text = {0};
    int code = bl_length_source_check(&c->lengths, cmd);
    if (!code)
        code = bl_length_source_require_T(cmd);
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
    code = compare_make_sets(c, e);
    if (code)
        return code;
    if (c->json && c->T.count > 1)
        code = bl_plan_info_format_sets(c->set, c->T.count, &text, e);
    else if (c->json)
        code = bl_plan_info_format_rows(c->set[0].row, c->set[0].rows, &text, e);
    else
        compare_format_sets(c, &text);
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
        .usage = "-T N[,N...] [options] TABLE...\n"
                 "       bload compare -T N[,N...] [options] --lengths FILE\n"
                 "\n"
                 "Plans the same sequences by every strategy and fill, and shows blocks, padding, deletions, and who\n"
                 "meets again under the next seed side by side.",
        .usual = "T oversize lengths world-size batch-size json",
        .examples = "-T longest sequences.tsv\n"
                    "-T 64,128,256 --world-size 8 --lengths lengths.txt"};
    const struct bl_option_group groups[] = {
        {"Lengths", bl_length_source_options, &c.lengths},
        {"Subset", bl_subset_option_table, &c.lengths.subset},
        {"Block length", T_table, &c},
        {"Planning", bl_plan_option_table_rest, &c.options},
        {"Output", table, &c},
        {"General", bl_common_progress_table, &cmd.common},
        {0},
    };
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (code || cmd.common.help)
        goto out;
    code = compare_run(&cmd, &c);
out:
    free(c.row);
    bl_sequences_close(&c.lengths.table);
    return bl_cmd_end(&cmd, code, false);
}
