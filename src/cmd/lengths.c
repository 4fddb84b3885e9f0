#include "cmd/lengths.h"

#include <inttypes.h>
#include <stddef.h>

#include "base/io.h"
#include "kind/kinds.h"
#include "kind/kind.h"
#include "plan/strategy.h"
#include "store/row_reader.h"

const struct bl_option bl_length_source_options[] = {
    BL_OPTION_STRING("lengths", struct bl_length_source, list, BL_AFFECTS_NOTHING,
                     "a plain list instead of tables: \"length\" or \"length count\" a line; - is standard input",
                     .placeholder = "FILE", .command_line_only = true),
    BL_OPTION_STRING("group-by", struct bl_length_source, group_by, BL_AFFECTS_NOTHING,
                     "sequences with different values in this column of the table never share a block",
                     .placeholder = "COLUMN", .command_line_only = true),
    {0},
};

int bl_length_source_read(struct bl_length_source *lengths, struct bl_cmd *cmd)
{
    const struct bl_options *o = &cmd->options;
    if (lengths->list && o->operands)
        return bl_error_set(&cmd->error, BL_EUSAGE, "tables or --lengths, not both");
    if (lengths->list && lengths->group_by)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--group-by needs a table: a plain list has no columns");
    int code = lengths->list ? bl_io_check_path(lengths->list, &cmd->error) : BL_OK;
    for (int i = 0; i < o->operands && !code; i++)
        code = bl_io_check_path(o->operand[i], &cmd->error);
    if (code)
        return code;
    if (lengths->list)
        return bl_sequences_open(&lengths->table, &lengths->list, 1, true, &cmd->error);
    if (!o->operands)
        return bl_error_set(&cmd->error, BL_EUSAGE, "no table given: name sequences.tsv files, - or --lengths FILE");
    if (lengths->group_by)
        return bl_sequences_open_grouped(&lengths->table, o->operand, o->operands, lengths->group_by, &cmd->error);
    return bl_sequences_open(&lengths->table, o->operand, o->operands, false, &cmd->error);
}

int bl_lengths_resolve(const struct bl_sequences *t, struct bl_plan_options *o, struct bl_error *e)
{
    if (!bl_plan_options_need_rate(o))
        return BL_OK;
    const struct bl_kind *kind = t->kind ? bl_kind_find(t->kind) : NULL;
    int64_t num, den;
    if (kind && bl_kind_rate(kind, t->sampling, &num, &den))
        return bl_plan_options_resolve(o, num, den, e);
    return bl_error_set(e, BL_EUSAGE,
                        "durations are for steps that have a rate: audio, or video scanned with --fps; here give a "
                        "number of steps");
}

int bl_lengths_check(const struct bl_sequences *t, const struct bl_plan_options *o, struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_plan_oversize over;
    if (bl_strategies[o->strategy]->is_clipped || o->oversize != BL_OVERSIZE_ERROR || o->T == 0 || !t->offset)
        return BL_OK;
    bl_plan_find_oversize(&over, t->length, t->count, o, o->T);
    struct bl_error unread = {0}; /* of standard input no row is read back: then the plan's error names its number */
    int code = BL_OK;
    if (over.count && bl_row_reader_read(t, over.first, &text, &unread) == BL_OK)
        code = bl_error_set(e, BL_EFAIL,
                            "%s (sequence %zu) has %" PRId64 " steps, more than T = %" PRId64
                            " (too long: %zu, up to %" PRId64
                            " steps): use a larger T, or --oversize split, truncate or drop",
                            text.row.id, over.first, t->length[over.first], o->T, over.count, over.longest);
    bl_row_reader_free(&text);
    return code;
}

int bl_lengths_require_T(struct bl_cmd *cmd)
{
    if (bl_options_origin(&cmd->options, "T") != BL_ORIGIN_DEFAULT)
        return BL_OK;
    return bl_error_set(&cmd->error, BL_EUSAGE,
                        "-T must be given: the steps per block, or \"-T longest\" for the longest sequence's");
}
