/* Cuts sequences into pieces, as the strategy and --oversize say, and defines the strategies.
 *
 * The cut runs twice over the lengths: pieces_survey counts pieces and steps, so that arrays have their exact size, and
 * plans without cuts have no arrays; pieces_cut writes them. With T = 4 and --oversize split, a sequence of 10 steps
 * becomes pieces of 4, 4 and 2; with --overlap 1, pieces of 4, 4 and 4 that start at 0, 3 and 6. */
#include "plan/strategy.h"

#include <stdlib.h>

#include "plan/random.h"

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* The rule by which sequences are cut; all numbers are steps. */
struct rule {
    enum bl_cut cut;
    int64_t shortest, longest; /* other lengths are dropped */
    int64_t T;
    int64_t overlap;                       /* BL_CUT_SPLIT: below T; otherwise 0 */
    int64_t taken;                         /* BL_CUT_ROWS: steps of the present row, less than T; otherwise 0 */
    const struct bl_plan_columns *columns; /* whose capacities drop sequences; NULL: none do */
};

/* Returns whether sequence i has more steps of some own field than a block may have, and the rule drops it then. */
static bool rule_drops(const struct rule *rule, size_t i)
{
    for (int c = 0; rule->columns && c < rule->columns->count; c++) {
        const struct bl_plan_column *column = &rule->columns->each[c];
        if (column->is_field && column->max > 0 && column->value[i] > column->max)
            return true;
    }
    return false;
}

/* Returns the number of pieces of sequence i; 0: it is dropped or empty. */
static int64_t rule_count_pieces(const struct rule *rule, size_t i, int64_t length)
{
    int64_t T = rule->T;
    if (length < rule->shortest || length > rule->longest || rule_drops(rule, i))
        return 0;
    switch (rule->cut) {
    case BL_CUT_SPLIT:
        return length <= T ? length > 0 : 1 + (length - T - 1) / (T - rule->overlap) + 1;
    case BL_CUT_HEAD:
        return length > 0;
    case BL_CUT_CLIP:
        return length >= T;
    case BL_CUT_CLIPS:
        return length / T;
    case BL_CUT_ROWS:
        return length / T + (length % T + rule->taken + T - 1) / T;
    case BL_CUT_NOTHING:
        break;
    }
    return length > 0 && length <= T;
}

/* Moves the end of the present row by a sequence that was cut into n pieces. */
static void rule_advance(struct rule *rule, int64_t length, int64_t n)
{
    if (rule->cut == BL_CUT_ROWS && n > 0)
        rule->taken = (rule->taken + length % rule->T) % rule->T;
}

/* Sets the counts of *p. *needs_cutting: whether a sequence is cut, or dropped by a capacity, so that the arrays are
 * needed. BL_EFAIL: more pieces than a plan can hold. */
static int pieces_survey(struct bl_pieces *p, const struct rule *rule, bool *needs_cutting, struct bl_error *e)
{
    struct rule r = *rule;
    const bool is_whole = r.cut == BL_CUT_SPLIT || r.cut == BL_CUT_ROWS; /* every step is in a piece */
    size_t count = 0, dropped = 0, cut = 0;
    bool by_capacity = false; /* a range of lengths alone does not tell which sequences are dropped */
    int64_t steps = 0, repeated = 0;
    for (size_t i = 0; i < p->lengths.count; i++) {
        int64_t length = p->lengths.length[i], n = rule_count_pieces(&r, i, length);
        /* The limit is tested before the sum, so count cannot overflow. */
        if (n > (int64_t)(BL_SEQUENCES_MAX - count))
            return bl_error_set(e, BL_EFAIL, "more than %lld pieces of %lld steps: choose a larger T%s",
                                (long long)BL_SEQUENCES_MAX, (long long)r.T, r.overlap ? " or a smaller overlap" : "");
        bool whole = n == 1 && length <= r.T;
        count += (size_t)n;
        dropped += n == 0 && length > 0;
        by_capacity |= n == 0 && length > 0 && rule_drops(&r, i);
        cut += n > 0 && !whole;
        steps += whole || (is_whole && n > 0) ? length : n * r.T;
        repeated += n > 1 ? (n - 1) * r.overlap : 0;
        rule_advance(&r, length, n);
    }
    p->count = count;
    p->dropped = (int64_t)dropped;
    /* Rows cut only where sequences are stored: readers still have whole sequences. */
    p->cut = r.cut == BL_CUT_ROWS ? 0 : (int64_t)cut;
    p->steps = steps + repeated;
    p->repeated = repeated;
    *needs_cutting = cut > 0 || by_capacity;
    return BL_OK;
}

/* Allocates the arrays. BL_CUT_HEAD needs no starts, as all are 0. BL_EFAIL: out of memory; the caller frees *p. */
static int pieces_allocate(struct bl_pieces *p, enum bl_cut cut, struct bl_error *e)
{
    p->sequence = malloc((p->count + 1) * sizeof *p->sequence);
    p->length = malloc((p->count + 1) * sizeof *p->length);
    if (cut != BL_CUT_HEAD)
        p->start = malloc((p->count + 1) * sizeof *p->start);
    return p->sequence && p->length && (p->start || cut == BL_CUT_HEAD) ? BL_OK : bl_error_memory(e);
}

/* Writes the pieces to the arrays, in the order of the sequences. With an overlap, the next piece starts that much
 * before the end of the last one. */
static void pieces_cut(struct bl_pieces *p, const struct rule *rule)
{
    struct rule r = *rule;
    size_t next = 0;
    for (size_t i = 0; i < p->lengths.count; i++) {
        int64_t length = p->lengths.length[i], n = rule_count_pieces(&r, i, length), start = 0, room = r.T - r.taken;
        for (int64_t k = 0; k < n; k++, next++, room = r.T) {
            p->sequence[next] = (uint32_t)i;
            p->length[next] = length - start < room ? length - start : room;
            if (p->start)
                p->start[next] = start;
            start += p->length[next] - r.overlap;
        }
        rule_advance(&r, length, n);
    }
}

int bl_pieces_make(struct bl_pieces *pieces, const int64_t *length, size_t count, const struct bl_plan_options *options,
                   const struct bl_plan *counts, struct bl_error *e)
{
    enum bl_cut cut = bl_strategies[options->strategy]->cut(options);
    int64_t T = counts->T;
    int64_t longest = options->max_length ? options->max_length : INT64_MAX;
    bool clips = cut == BL_CUT_CLIP || cut == BL_CUT_CLIPS, needs_cutting = false;
    int64_t shortest = options->min_length > 1 ? options->min_length : 1;
    /* A clip has T steps, so shorter sequences are dropped. */
    if (clips && shortest < T)
        shortest = T;
    struct rule rule = {.cut = cut, .shortest = shortest, .longest = longest, .T = T, .overlap = counts->overlap};
    for (int c = 0; c < options->max_column.count && options->oversize == BL_OVERSIZE_DROP; c++)
        rule.columns = options->max_column.each[c].is_field ? &options->max_column : rule.columns;
    *pieces = (struct bl_pieces){.group = options->group,
                                 .is_random = cut == BL_CUT_CLIP,
                                 .lengths = {.length = length,
                                             .count = count,
                                             .shortest = shortest,
                                             .longest = longest < T ? longest : T,
                                             .unit = 1,
                                             .cap = T}};
    /* Usually nothing is cut or dropped: then the counts are known, and no loop is needed. */
    if (!clips && cut != BL_CUT_ROWS && shortest == 1 && counts->longest <= rule.longest && counts->longest <= T &&
        !rule.columns) {
        pieces->count = (size_t)counts->sequences; /* all sequences, uncut */
        pieces->steps = counts->steps;
        return BL_OK;
    }
    int code = pieces_survey(pieces, &rule, &needs_cutting, e);
    if (!code && needs_cutting)
        code = pieces_allocate(pieces, cut, e);
    if (code) {
        bl_pieces_free(pieces);
        return code;
    }
    if (needs_cutting) {
        pieces_cut(pieces, &rule);
        pieces->lengths.length = pieces->length;
        pieces->lengths.count = pieces->count;
        /* Lengths out of range have no piece any more. */
        pieces->lengths.shortest = 1;
        pieces->lengths.longest = T;
    }
    return BL_OK;
}

/* Only the starts depend on the seed; which sequences have a clip does not. */
void bl_pieces_draw(struct bl_pieces *pieces, const int64_t *length, int64_t T, uint64_t seed)
{
    if (!pieces->is_random || !pieces->start)
        return;
    struct bl_random random;
    bl_random_seed(&random, seed, BL_STREAM_CLIP);
    for (size_t i = 0; i < pieces->count; i++) {
        /* A clip of T steps can start at length - T + 1 steps. */
        uint64_t more = (uint64_t)(length[pieces->sequence[i]] - T);
        pieces->start[i] = (int64_t)bl_random_below(&random, more + 1);
    }
}

void bl_pieces_free(struct bl_pieces *pieces)
{
    free(pieces->sequence);
    free(pieces->length);
    free(pieces->start);
    *pieces = (struct bl_pieces){0};
}

/* --- strategies --------------------------------------------------------------------------------------------------- */

#define STRATEGY_ADDRESS(id, name) &bl_strategy_ops_##name,
const struct bl_strategy_ops *const bl_strategies[] = {BL_STRATEGY_LIST(STRATEGY_ADDRESS)};

/* Whole sequences are cut only if they are longer than T, as --oversize says. ERROR cuts nothing: the planner has
 * already refused such a sequence. */
static enum bl_cut strategy_cut_oversize(const struct bl_plan_options *options)
{
    switch (options->oversize) {
    case BL_OVERSIZE_SPLIT:
        return BL_CUT_SPLIT;
    case BL_OVERSIZE_TRUNCATE:
        return BL_CUT_HEAD;
    case BL_OVERSIZE_ERROR:
    case BL_OVERSIZE_DROP:
        break;
    }
    return BL_CUT_NOTHING;
}

/* sample: one random clip of each sequence, or all clips. */
static enum bl_cut strategy_cut_clips(const struct bl_plan_options *options)
{
    return options->clips == BL_CLIPS_ALL ? BL_CUT_CLIPS : BL_CUT_CLIP;
}

/* mix: the first steps of each sequence. */
static enum bl_cut strategy_cut_head(const struct bl_plan_options *options)
{
    (void)options;
    return BL_CUT_HEAD;
}

/* store: sequences are cut where rows end. */
static enum bl_cut strategy_cut_rows(const struct bl_plan_options *options)
{
    (void)options;
    return BL_CUT_ROWS;
}

/* A store keeps the input order by its strategy, other plans by --order keep. */
bool bl_strategy_has_fill(const struct bl_plan_options *options)
{
    const struct bl_strategy_ops *ops = bl_strategies[options->strategy];
    return ops->is_packed && !ops->is_kept && options->order != BL_KEEP_ORDER;
}

const struct bl_strategy_ops bl_strategy_ops_naive = {.cut = strategy_cut_oversize};
const struct bl_strategy_ops bl_strategy_ops_sample = {.is_clipped = true, .cut = strategy_cut_clips};
const struct bl_strategy_ops bl_strategy_ops_mix = {.is_clipped = true, .cut = strategy_cut_head};
const struct bl_strategy_ops bl_strategy_ops_block = {.is_packed = true, .cut = strategy_cut_oversize};
const struct bl_strategy_ops bl_strategy_ops_store = {.is_packed = true, .is_kept = true, .cut = strategy_cut_rows};
