#include "cmd/length_source.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "cmd/progress_bar.h"
#include "cmd/summary.h"
#include "kind/kind.h"
#include "kind/kinds.h"
#include "plan/strategy.h"
#include "run/signals.h"
#include "scan/subset.h"
#include "store/row_reader.h"

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

struct choice {
    struct bl_progress_bar bar;
    struct bl_progress progress;
};

static void choice_tick(void *sink, int64_t row, int64_t rows)
{
    struct choice *c = sink;
    if (!row)
        bl_progress_start(&c->progress, "choose", "sequences", NULL, rows);
    c->progress.done = row;
    if (bl_progress_seconds(&c->progress) >= BL_PROGRESS_LATE)
        bl_progress_bar_tick(&c->bar, &c->progress);
}

static int length_source_open(struct bl_length_source *lengths, const struct bl_sequences_columns *columns,
                              struct bl_cmd *cmd)
{
    const struct bl_options *o = &cmd->options;
    struct choice choice = {.bar = bl_progress_bar_make(&cmd->common)};
    struct bl_subset subset = {.options = &lengths->subset, .tick = choice_tick, .sink = &choice};
    int code = bl_subset_open(&subset, &lengths->table, o->operand, o->operands, columns, &cmd->error);
    bl_progress_bar_end(&choice.bar);
    if (!code && !cmd->common.quiet) {
        bl_summary_notes(&subset.notes);
        bl_summary_left_out(&subset.left_out);
    }
    bl_subset_free(&subset);
    return code;
}

/* Lengths come from files. A dataset's directory has a table of its own. */
static int length_source_check_file(const char *path, struct bl_error *e)
{
    struct stat status;
    const struct bl_kind *kind = bl_kind_find_by_file(path);
    int code = bl_io_check_path(path, e);
    if (code || strcmp(path, "-") == 0 || stat(path, &status) != 0)
        return code;
    bool is_text = bl_path_has_suffix(path, ".txt") || bl_path_has_suffix(path, ".tsv") ||
                   bl_path_has_suffix(path, ".csv") || bl_path_has_suffix(path, ".gz") || !S_ISREG(status.st_mode);
    char *table = S_ISDIR(status.st_mode) ? bl_path_join(path, BL_SEQUENCES_FILE) : NULL;
    bool is_dataset = table && access(table, F_OK) == 0;
    free(table);
    if (S_ISDIR(status.st_mode) ? !is_dataset : kind && !is_text)
        return bl_error_set(e, BL_EUSAGE,
                            "%s is no table of sequences: scan it first, bload scan %s -o TABLE, and name the TABLE",
                            path, path);
    if (is_dataset)
        return bl_error_set(e, BL_EUSAGE, "%s is a directory: name a file, such as its table, %s/sequences.tsv", path,
                            path);
    return code;
}

int bl_length_source_check(const struct bl_length_source *lengths, struct bl_cmd *cmd)
{
    int code = lengths->list ? length_source_check_file(lengths->list, &cmd->error) : BL_OK;
    for (int i = 0; i < cmd->options.operands && !code; i++)
        code = length_source_check_file(cmd->options.operand[i], &cmd->error);
    return code;
}

int bl_length_source_read(struct bl_length_source *lengths, const struct bl_plan_options *options, struct bl_cmd *cmd)
{
    const struct bl_options *o = &cmd->options;
    const struct bl_sequences_columns columns = bl_plan_columns_wanted(lengths->group_by, options);
    bl_signals_install_question();
    if (lengths->list && o->operands)
        return bl_error_set(&cmd->error, BL_EUSAGE, "tables or --lengths, not both");
    if (lengths->list && lengths->group_by)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--group-by needs a table: a plain list has no columns");
    if (lengths->list && columns.numbers)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--%s %s needs a table: a plain list has no columns",
                            columns.number[0].option, columns.number[0].name);
    if (lengths->list && bl_subset_is_given(&lengths->subset))
        return bl_error_set(&cmd->error, BL_EUSAGE,
                            "--extend, --where, --min-trained, --dedup, --dedup-by, --split, --take, --share and "
                            "--first need a table: a "
                            "plain list has no "
                            "columns");
    int code = bl_length_source_check(lengths, cmd);
    if (code)
        return code;
    if (lengths->list)
        return bl_sequences_open(&lengths->table, &lengths->list, 1, true, &cmd->error);
    if (!o->operands)
        return bl_error_set(&cmd->error, BL_EUSAGE, "no table given: name sequences.tsv files, - or --lengths FILE");
    return length_source_open(lengths, &columns, cmd);
}

int bl_length_source_require_T(struct bl_cmd *cmd)
{
    if (bl_options_origin(&cmd->options, "T") != BL_ORIGIN_DEFAULT)
        return BL_OK;
    return bl_error_set(&cmd->error, BL_EUSAGE,
                        "-T must be given: the steps per block, or -T longest for the length of the longest sequence");
}
