#include "packing/table_lengths.h"

#include <inttypes.h>

#include "base/text.h"
#include "kind/kind.h"
#include "kind/kinds.h"
#include "plan/needs.h"
#include "plan/strategy.h"
#include "store/row_reader.h"

int bl_table_lengths_resolve(const struct bl_sequences *t, struct bl_plan_options *o, struct bl_error *e)
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

static int table_lengths_check_columns(const struct bl_sequences *t, const struct bl_plan_options *o,
                                       struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_needs_over over;
    struct bl_error unread = {0};
    int code = BL_OK;
    if (bl_strategies[o->strategy]->is_clipped)
        return BL_OK;
    bl_needs_find_over(&over, t->length, t->count, o);
    if (over.count && bl_row_reader_read(t, over.first, &text, &unread) == BL_OK)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s (sequence %zu) alone has %.15g %s, more than --max-column %s=%.15g (too much: %zu)",
                            text.row.id, over.first, over.column->value[over.first], over.column->name,
                            over.column->name, over.column->max, over.count);
    bl_row_reader_free(&text);
    return code;
}

int bl_table_lengths_check(const struct bl_sequences *t, const struct bl_plan_options *o, struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_plan_oversize over;
    int code = table_lengths_check_columns(t, o, e);
    if (code)
        return code;
    if (bl_strategies[o->strategy]->cut(o) != BL_CUT_NOTHING || o->oversize != BL_OVERSIZE_ERROR || o->T == 0 ||
        !t->offset)
        return BL_OK;
    bl_plan_find_oversize(&over, t->length, t->count, o, o->T);
    struct bl_error unread = {0}; /* no second read of standard input: then the plan's error has the number */
    if (over.count && bl_row_reader_read(t, over.first, &text, &unread) == BL_OK)
        code = bl_error_set(e, BL_EFAIL,
                            "%s (sequence %zu) has %" PRId64 " steps, more than T = %" PRId64
                            " (too long: %zu, up to %" PRId64
                            " steps): use a larger T, or --oversize split, truncate or drop",
                            text.row.id, over.first, t->length[over.first], o->T, over.count, over.longest);
    bl_row_reader_free(&text);
    return code;
}
