/* bload compare plans the same lengths by every strategy and fill, and prints a table with one row for each.
 *
 * The columns are those of the paper on block-level packing: blocks, padding, deletions, and the cost of training in
 * parallel. Each row is a plan that is made and thrown away, so the answer is exact and needs no data.
 *
 * bload plan reads its lengths by the same functions: from tables (sequences.tsv), of which it may take a subset, or
 * from a plain list (--lengths FILE) of lines such as "300" or "300 12", which means 12 sequences of 300 steps. */
#include "cmd/compare.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/quantile.h"
#include "base/text.h"
#include "cmd/progress_bar.h"
#include "cmd/summary.h"
#include "kind/kind.h"
#include "kind/kinds.h"
#include "run/plan.h"
#include "plan/capacity.h"
#include "plan/cost.h"
#include "plan/strategy.h"
#include "cmd/signals.h"
#include "store/plan_info.h"
#include "store/row_reader.h"

/* --- sources of lengths ------------------------------------------------------------------------------------------- */

const struct bl_option bl_length_source_options[] = {
    BL_OPTION_STRING(
        "lengths", struct bl_length_source, list, BL_AFFECTS_NOTHING,
        "plan a list of lengths instead of tables: each line is a length, or a length and how many sequences have it; "
        "- is standard input",
        .placeholder = "FILE", .command_line_only = true),
    BL_OPTION_STRING("group-by", struct bl_length_source, group_by, BL_AFFECTS_NOTHING,
                     "sequences with different values in this column of the table never share a block",
                     .placeholder = "COLUMN", .command_line_only = true),
    {0},
};

/* The progress of choosing a subset, which reads all tables. */
struct choice {
    struct bl_progress_bar bar;
    struct bl_progress progress;
};

/* The callback of a subset: shows the progress of choosing. */
static void choice_tick(void *sink, int64_t row, int64_t rows)
{
    struct choice *c = sink;
    bl_progress_bar_choose(&c->bar, &c->progress, row, rows);
}

/* Refuses a file that holds no lengths: a dataset's directory, whose table has a name of its own, a folder of inputs,
 * or an input such as a video. A file that does not exist, or whose name says nothing, passes: the reader of tables has
 * better messages for those. */
static int length_source_check_file(const char *path, struct bl_error *e)
{
    struct stat status;
    const struct bl_kind *kind = bl_kind_find_by_file(path);
    bool is_dataset = false;
    BL_TRY(bl_io_check_path(path, e));
    if (strcmp(path, "-") == 0 || stat(path, &status) != 0)
        return BL_OK;
    bool is_text = bl_path_has_suffix(path, ".txt") || bl_path_has_suffix(path, ".tsv") ||
                   bl_path_has_suffix(path, ".csv") || bl_path_has_suffix(path, ".gz") || !S_ISREG(status.st_mode);
    if (S_ISDIR(status.st_mode)) {
        char *table = bl_path_join(path, BL_SEQUENCES_FILE);
        is_dataset = table && access(table, F_OK) == 0;
        free(table);
    }
    if (S_ISDIR(status.st_mode) ? !is_dataset : kind && !is_text)
        return bl_error_set(e, BL_EUSAGE,
                            "%s is no table of sequences: scan it first, bload scan %s -o TABLE, and name the TABLE",
                            path, path);
    if (is_dataset)
        return bl_error_set(e, BL_EUSAGE, "%s is a directory: name a file, such as its table, %s/sequences.tsv", path,
                            path);
    return BL_OK;
}

int bl_length_source_check(const struct bl_length_source *lengths, struct bl_cmd *cmd)
{
    int code = lengths->list ? length_source_check_file(lengths->list, &cmd->error) : BL_OK;
    for (int i = 0; i < cmd->options.operands && !code; i++)
        code = length_source_check_file(cmd->options.operand[i], &cmd->error);
    return code;
}

/* Options that choose or group sequences by columns need tables, so they are refused for a plain list. */
int bl_length_source_read(struct bl_length_source *lengths, const struct bl_plan_options *options, struct bl_cmd *cmd)
{
    const struct bl_options *o = &cmd->options;
    const struct bl_sequences_columns columns = bl_plan_columns_wanted(lengths->group_by, options);
    struct choice choice = {.bar = bl_progress_bar_make(&cmd->common)};
    struct bl_subset subset = {.options = &lengths->subset, .tick = choice_tick, .sink = &choice};
    BL_TRY(bl_cost_check_fields(&options->cost, &options->capacity, &cmd->error));
    bl_signals_install_question(); /* the command writes no file, so other signals end it at once */
    if (lengths->list && o->operands)
        return bl_error_set(&cmd->error, BL_EUSAGE, "tables or --lengths, not both");
    if (lengths->list && lengths->group_by)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--group-by needs a table: a plain list has no columns");
    if (lengths->list && columns.together)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--together needs a table: a plain list has no columns");
    if (lengths->list && columns.numbers)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--%s %s needs a table: a plain list has no columns",
                            columns.number[0].option, columns.number[0].name);
    if (lengths->list && bl_subset_is_given(&lengths->subset))
        return bl_error_set(&cmd->error, BL_EUSAGE,
                            "--extend, --where, --min-trained, --dedup, --dedup-by, --split, --take, --share and "
                            "--first need a table: a "
                            "plain list has no "
                            "columns");
    BL_TRY(bl_length_source_check(lengths, cmd));
    if (lengths->list)
        return bl_sequences_open(&lengths->table, &lengths->list, 1, true, &cmd->error);
    if (!o->operands)
        return bl_error_set(&cmd->error, BL_EUSAGE, "no table given: name sequences.tsv files, - or --lengths FILE");
    int code = bl_subset_open(&subset, &lengths->table, o->operand, o->operands, &columns, &cmd->error);
    bl_progress_bar_end(&choice.bar);
    if (!code && !cmd->common.quiet) {
        bl_summary_notes(&subset.notes);
        bl_summary_left_out(&subset.left_out);
    }
    bl_subset_free(&subset);
    return code;
}

int bl_length_source_require_T(struct bl_cmd *cmd)
{
    if (bl_options_origin(&cmd->options, "T") != BL_ORIGIN_DEFAULT)
        return BL_OK;
    return bl_error_set(&cmd->error, BL_EUSAGE,
                        "-T must be given: the steps per block, or -T longest for the length of the longest sequence");
}

/* --- the command -------------------------------------------------------------------------------------------------- */

enum { IMBALANCE_WIDTH = 14 }; /* characters of the bound on the imbalance of a field, or of its name */

/* The state of the command: its options, and the rows of each T. */
struct comparing {
    bool json;
    struct bl_plan_T_list T;
    int64_t step_bytes; /* bytes of a step; 0: unknown, and the table has no column of bytes */
    struct bl_length_source lengths;
    struct bl_plan_options options;                    /* all except T */
    struct bl_plan_columns choice[BL_PLAN_T_LIST_MAX]; /* [choices] one capacity of each field: every combination */
    int choices;                                       /* at least 1 */
    struct bl_plan_info (*row)[BL_COMPARE_ROWS];       /* [sets] the rows of each set; owned */
    struct bl_plan_info_set set[BL_PLAN_T_LIST_MAX];   /* [sets] T as a number, and its rows in `row` */
    int sets;                                          /* for each T, one for each choice of capacities */
};

/* -T takes a list here, and one value in all other commands. */
static const struct bl_option T_table[] = {
    BL_OPTION_CUSTOM("T", &bl_option_T_list, struct bl_plan_T_list, struct comparing, T, BL_AFFECTS_PLAN,
                     "steps per block, or seconds (30s) where steps have a rate, or the longest sequence; several, "
                     "with commas between them, are shown one after the other",
                     .letter = 'T'),
    {0},
};

/* Options of the output. */
static const struct bl_option table[] = {
    BL_OPTION_BYTES("step-bytes", struct comparing, step_bytes, BL_AFFECTS_NOTHING,
                    "also show the bytes of all blocks, if a step has this many bytes", .min = 1),
    BL_OPTION_FLAG("json", struct comparing, json, BL_AFFECTS_NOTHING, "the table as JSON"),
    {0},
};

/* Makes row i of the table for one T: a plan by the i-th pair of a strategy and a fill. `given` are the options with
 * all columns set. A pair that cannot respect the maxima of columns, or of the sequences of bundles, has no row. */
static int compare_make_row(const struct comparing *c, const struct bl_plan_options *given, int i,
                            struct bl_plan_info_set *set, struct bl_plan_info *rows, struct bl_error *e)
{
    struct bl_plan_options options = *given;
    bl_compare_row_set(i, &options);
    bool is_limited = options.max_column.count || (options.together && options.max_sequences);
    if ((is_limited && options.fill != BL_FILL_OPTIMAL) ||
        (options.capacity.count && options.strategy != BL_STRATEGY_BLOCK))
        return BL_OK;
    struct bl_plan_info *row = &rows[set->rows++];
    BL_TRY(bl_compare_row_make(row, c->lengths.table.length, c->lengths.table.count, &options, NULL, e));
    if (__builtin_mul_overflow(row->blocks, row->T, &row->bytes) ||
        __builtin_mul_overflow(row->bytes, c->step_bytes, &row->bytes))
        return bl_error_set(e, BL_EUSAGE, "--step-bytes: more bytes than can be counted");
    return BL_OK;
}

/* Appends the table of one T: a line of titles, and a line for each row. Two columns are there only with the options
 * that they need. */
static void compare_format_rows(const struct comparing *c, const struct bl_plan_info_set *set, struct bl_buffer *out)
{
    bl_buffer_printf(out, "%-8s %-8s %7s %14s %16s %14s %10s %10s %14s %10s %12s %9s %11s %8s", "strategy", "fill", "T",
                     "blocks", "padding", "deleted", "cut", "efficiency", "lower bound", "gap", "rank steps",
                     "imbalance", "pair repeat", "seconds");
    if (c->options.overlap)
        bl_buffer_printf(out, " %14s", "repeated");
    for (int p = 0; set->rows && p < set->row[0].balance.points; p++)
        bl_buffer_printf(out, " %11s %-*s", "imbalance", IMBALANCE_WIDTH, set->row[0].balance.point[p].name);
    for (int f = 0; f < c->choice[0].count; f++)
        bl_buffer_printf(out, " %14.*s", bl_plan_column_field_size(&c->choice[0].each[f]), c->choice[0].each[f].name);
    bl_buffer_printf(out, c->step_bytes ? " %10s\n" : "\n", "bytes");
    for (int i = 0; i < set->rows; i++) {
        const struct bl_plan_info *w = &set->row[i];
        /* A column that was not measured has "-". */
        char blocks[32], padding[32], deleted[32], cut[32], bound[32], gap[32], steps[32], lost[32] = "-",
                                                                                           again[32] = "-";
        if (w->balance.is_measured)
            snprintf(lost, sizeof lost, "%.2f%%", 100 * w->balance.lost);
        if (w->pair_repeat.pairs)
            snprintf(again, sizeof again, "%.2f%%", 100 * bl_pair_repeat_share(&w->pair_repeat));
        bl_buffer_printf(out, "%-8s %-8s %7" PRId64 " %14s %16s %14s %10s %9.2f%% %14s %10s %12s %9s %11s %8.2f",
                         w->strategy, w->fill[0] ? w->fill : "-", w->T, bl_text_count(blocks, w->blocks),
                         bl_text_count(padding, w->padding), bl_text_count(deleted, w->deleted),
                         bl_text_count(cut, w->cut), 100 * w->efficiency, bl_text_count(bound, w->lower_bound),
                         bl_text_count(gap, w->blocks - w->lower_bound), bl_text_count(steps, w->batches_per_rank),
                         lost, again, w->seconds);
        if (c->options.overlap)
            bl_buffer_printf(out, " %14s", bl_text_count(blocks, w->repeated));
        for (int p = 0; p < w->balance.points; p++) {
            snprintf(lost, sizeof lost, "(>= %.2f%%)", 100 * w->balance.point[p].bound);
            bl_buffer_printf(out, " %10.2f%% %-*s", 100 * w->balance.point[p].lost, IMBALANCE_WIDTH, lost);
        }
        for (int k = 0; k < w->columns; k++) {
            if (w->column[k].is_field)
                bl_buffer_printf(out, " %13.2f%%", 100 * w->column[k].filled.mean);
        }
        bl_buffer_printf(out, c->step_bytes ? " %10s\n" : "\n", bl_text_size(blocks, w->bytes));
    }
}

/* Lists every combination of the capacities that were given: "text=256,patches=8192,16384" makes two. BL_EUSAGE: there
 * are too many for the list of T. */
static int compare_list_choices(struct comparing *c, struct bl_error *e)
{
    const struct bl_plan_columns *given = &c->options.capacity;
    c->choices = 1;
    for (int i = 0, end; i < given->count; i = end) {
        const int before = c->choices;
        for (end = i; end < given->count && strcmp(given->each[end].name, given->each[i].name) == 0; end++) {
            const int at = (end - i) * before; /* the first choice with this capacity */
            if ((at + before) * c->T.count > BL_PLAN_T_LIST_MAX)
                return bl_error_set(e, BL_EUSAGE, "-T and --capacity give more than %d plans to compare",
                                    BL_PLAN_T_LIST_MAX);
            for (int k = 0; k < before; k++) {
                struct bl_plan_columns *choice = &c->choice[at + k];
                *choice = c->choice[k];
                choice->count -= end > i; /* the first round has added its own */
                choice->each[choice->count++] = given->each[end];
            }
        }
        c->choices = (end - i) * before;
    }
    c->sets = c->T.count * c->choices;
    return BL_OK;
}

/* Plans the lengths of this number of a set, by every strategy and fill. */
static int compare_make_set(struct comparing *c, int number, struct bl_error *e)
{
    const struct bl_sequences *t = &c->lengths.table;
    struct bl_plan_options o = c->options;
    struct bl_plan_info_set *set = &c->set[number];
    double *value[BL_SEQUENCES_NUMBERS_MAX];
    int others = (o.cost.column != NULL) + o.max_column.count, k = others;
    o.T = c->T.T[number / c->choices];
    o.capacity = c->choice[number % c->choices];
    set->row = c->row[number];
    /* The table has a column for each capacity that was given; a choice has one for each field. */
    memcpy(value, t->number, sizeof value);
    for (int i = 0; i < c->options.capacity.count; i++) {
        if (!i || strcmp(c->options.capacity.each[i - 1].name, c->options.capacity.each[i].name) != 0)
            value[k++] = t->number[others + i];
    }
    bl_plan_columns_set(&o, t->group, value);
    o.together = t->together;
    BL_TRY(bl_table_lengths_resolve(t, &o, e));
    o.strategy = BL_STRATEGY_BLOCK; /* the only one with capacities; each row sets its own */
    o.fill = BL_FILL_OPTIMAL;
    BL_TRY(bl_capacities_find(&o, t->length, t->count, e));
    /* The strategies know lengths alone. This check knows the table, too: an error about a sequence that is longer than
     * T names its id. */
    const struct bl_plan_options block = {.strategy = BL_STRATEGY_BLOCK,
                                          .oversize = o.oversize,
                                          .min_length = o.min_length,
                                          .max_length = o.max_length,
                                          .T = o.T,
                                          .max_column = o.max_column,
                                          .align = o.align,
                                          .max_sequences = o.max_sequences,
                                          .together_column = o.together_column,
                                          .together = o.together};
    int code = bl_table_lengths_check(t, &block, e);
    for (int i = 0; i < BL_COMPARE_ROWS && !code; i++)
        code = compare_make_row(c, &o, i, set, c->row[number], e);
    if (!code)
        set->T = set->row[set->rows - 1].T; /* the last row is a packed one, whose T is no clip */
    return code;
}

/* Tells the user how long the sequences are, to choose T by. */
static int compare_print_lengths(const struct comparing *c, bool quiet, struct bl_error *e)
{
    const struct bl_sequences *t = &c->lengths.table;
    int64_t quantile[BL_QUANTILES];
    char a[32], b[32], d[32], f[32];
    BL_TRY(bl_quantiles(t->length, t->count, quantile, e));
    if (!quiet)
        bl_cmd_print("lengths: p50 %s, p90 %s, p99 %s, max %s", bl_text_count(a, quantile[BL_P50]),
                     bl_text_count(b, quantile[BL_P90]), bl_text_count(d, quantile[BL_P99]),
                     bl_text_count(f, quantile[BL_MAX]));
    return BL_OK;
}

/* Checks the options, plans by all strategies, and prints the table, as text or JSON. All checks come before the
 * lengths are read, which may take long. */
static int compare_run(struct bl_cmd *cmd, struct comparing *c)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer text = {0};
    BL_TRY(bl_length_source_check(&c->lengths, cmd));
    BL_TRY(bl_length_source_require_T(cmd));
    BL_TRY(bl_options_check(&cmd->options, e));
    c->lengths.subset.together = c->options.together_column;
    BL_TRY(bl_subset_check(&c->lengths.subset, e));
    BL_TRY(compare_list_choices(c, e));
    BL_TRY(bl_length_source_read(&c->lengths, &c->options, cmd));
    c->row = calloc((size_t)c->sets, sizeof *c->row);
    int code = c->row ? BL_OK : bl_error_memory(e);
    for (int i = 0; i < c->sets && !code; i++)
        code = compare_make_set(c, i, e);
    if (!code && !c->json)
        code = compare_print_lengths(c, cmd->common.quiet, e);
    if (code)
        return code;
    /* One set gives a list of rows, and several give a list of such lists, each with its T. */
    if (c->json && c->sets > 1)
        code = bl_plan_info_format_sets(c->set, c->sets, &text, e);
    else if (c->json)
        code = bl_plan_info_format_rows(c->set[0].row, c->set[0].rows, &text, e);
    for (int i = 0; i < c->sets && !c->json; i++) {
        char T[32];
        if (c->sets > 1) /* the rows of a single T have it in a column */
            bl_buffer_printf(&text, "%sT = %s", i ? "\n" : "", bl_text_count(T, c->set[i].T));
        const struct bl_plan_info *last = &c->set[i].row[c->set[i].rows - 1];
        for (int k = 0; k < last->columns && c->sets > 1; k++) {
            if (last->column[k].is_field)
                bl_buffer_printf(&text, ", %s = %s", last->column[k].name,
                                 bl_text_count(T, (int64_t)last->column[k].max));
        }
        bl_buffer_text(&text, c->sets > 1 ? "\n" : "");
        compare_format_rows(c, &c->set[i], &text);
    }
    return bl_cmd_answer(NULL, &text, false, code, e);
}

/* The tables are in the order of --help. All options of planning except T are those of bload plan, so that a row of the
 * table can be repeated by bload plan with the same options. */
int bl_cmd_compare(int argc, char **argv)
{
    struct comparing c = {0};
    struct bl_cmd cmd = {
        .name = "compare",
        .usage = "-T N[,N...] [options] TABLE...\n"
                 "       bload compare -T N[,N...] [options] --lengths FILE\n"
                 "\n"
                 "Plans the same sequences with every strategy and fill, and shows blocks, padding, deleted steps and\n"
                 "the pair repeat rate side by side.",
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
    if (!code && !cmd.common.help)
        code = compare_run(&cmd, &c);
    free(c.row);
    bl_sequences_close(&c.lengths.table);
    return bl_cmd_end(&cmd, code, false);
}
