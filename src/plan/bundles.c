/* Makes bundles of pieces, and opens them again in a plan.
 *
 * A sort by `together` finds the sequences of each bundle. Bundles have the order of their first sequences, so that
 * --order keep still has a meaning. A bundle that does not fit into a block is refused or dropped, or, with --oversize
 * split, divided into the fewest blocks: into runs of the table where these are as few, otherwise by the planner
 * itself. Example: with T = 10, lengths 6, 3, 5 become {6 3} {5}; lengths 6, 5, 4, 5 become {6 4} {5 5}, as runs would
 * take three blocks. */
#include "plan/bundles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

#define NOTHING UINT32_MAX

/* The states of a sequence: it begins a bundle, follows in one, or is left out of the plan. */
enum { STARTS, FOLLOWS, LEFT_OUT };

/* The state while bundles are made. */
struct bundling {
    struct bl_bundles *b;
    const struct bl_pieces *pieces;
    const struct bl_needs *needs;
    const struct bl_plan_options *options;
    const struct bl_plan *counts;
    const int64_t *length; /* [count] of the sequences */
    size_t count;
    uint32_t *next;    /* [count] the next sequence of the same bundle, or NOTHING */
    uint32_t *piece;   /* [count + 1] the first piece of each sequence; NULL: sequence i is piece i */
    uint8_t *state;    /* [count] of the enum */
    uint32_t *size;    /* [pieces] members of the blocks of a bundle that is split */
    int64_t *steps;    /* [pieces] lengths of the bundles */
    uint32_t *opening; /* [pieces] their first sequences */
    struct bl_bundles_over over;
};

/* --- the members of a bundle -------------------------------------------------------------------------------------- */

/* Returns the first piece of a sequence, and its end through *end; there is none if the sequence was dropped. */
static uint32_t sequence_pieces(const struct bundling *g, size_t sequence, uint32_t *end)
{
    if (!g->piece) {
        *end = (uint32_t)sequence + bl_lengths_has(&g->pieces->lengths, sequence);
        return (uint32_t)sequence;
    }
    *end = g->piece[sequence + 1];
    return g->piece[sequence];
}

/* Lists the sequences of all bundles as keys: the number of the bundle, then the sequence. *keys: how many. NULL: out
 * of memory. */
static uint64_t *bundling_list(const struct bundling *g, size_t *keys)
{
    uint64_t *key = malloc((g->count + 1) * sizeof *key);
    *keys = 0;
    for (size_t i = 0; key && i < g->count; i++) {
        if (g->length[i] > 0 && g->options->together[i] != BL_ALONE)
            key[(*keys)++] = (uint64_t)g->options->together[i] << 32 | i;
    }
    if (key)
        bl_sort_u64(key, *keys, 0);
    return key;
}

/* Links the sequences of one bundle, or leaves all of them out if one of them was dropped. BL_EUSAGE: their groups
 * differ. */
static int bundling_link(struct bundling *g, const uint64_t *key, size_t size, struct bl_error *e)
{
    const uint32_t *group = g->options->group;
    bool is_whole = true;
    uint32_t end;
    for (size_t k = 0; k < size; k++) {
        uint32_t sequence = (uint32_t)key[k], first = (uint32_t)key[0];
        if (group && group[sequence] != group[first])
            return bl_error_set(e, BL_EUSAGE,
                                "sequences %u and %u shall share a block by --together, but their groups differ",
                                (unsigned)first, (unsigned)sequence);
        is_whole &= sequence_pieces(g, sequence, &end) < end;
    }
    for (size_t k = 0; k < size; k++) {
        g->state[(uint32_t)key[k]] = is_whole ? k > 0 ? FOLLOWS : STARTS : LEFT_OUT;
        g->next[(uint32_t)key[k]] = k + 1 < size ? (uint32_t)key[k + 1] : NOTHING;
    }
    g->b->given += is_whole && size > 1;
    return BL_OK;
}

/* Links the sequences of all bundles. */
static int bundling_link_all(struct bundling *g, struct bl_error *e)
{
    size_t keys;
    uint64_t *key = bundling_list(g, &keys);
    int code = key ? BL_OK : bl_error_memory(e);
    for (size_t i = 0, end; i < keys && !code; i = end) {
        for (end = i + 1; end < keys && key[end] >> 32 == key[i] >> 32;)
            end++;
        code = bundling_link(g, key + i, end - i, e);
    }
    free(key);
    return code;
}

/* Subtracts the pieces of a sequence that is left out from the counts. */
static void bundling_leave_out(struct bundling *g, size_t sequence)
{
    struct bl_pieces *p = &g->b->pieces;
    uint32_t end, begin = sequence_pieces(g, sequence, &end);
    p->count -= end - begin;
    p->dropped += end > begin;
    p->cut -= end > begin + 1;
    p->repeated -= end > begin ? (int64_t)(end - begin - 1) * g->counts->overlap : 0;
    for (uint32_t i = begin; i < end; i++)
        p->steps -= g->pieces->lengths.length[i];
}

/* --- what fits into a block --------------------------------------------------------------------------------------- */

/* The steps, pieces and columns of a block that is filled with pieces in their order. */
struct filled {
    int64_t steps; /* with their alignment */
    int64_t size;
    int64_t units[BL_NEEDS_MAX]; /* of each column */
};

/* Adds a piece. Returns whether all fit into a block. */
static bool filled_add(const struct bundling *g, struct filled *f, uint32_t piece)
{
    f->steps = bl_plan_next_start(g->counts, f->steps, 0) + g->pieces->lengths.length[piece];
    f->size++;
    bool fits = f->steps <= g->counts->T && f->size <= g->options->max_sequences;
    for (int c = 0; c < g->needs->count; c++)
        fits &= (f->units[c] += g->needs->each[c].of[piece]) <= g->needs->each[c].most;
    return fits;
}

/* Adds pieces to an empty block. */
static struct filled filled_make(const struct bundling *g, const uint32_t *member, size_t count, bool *fits)
{
    struct filled f = {.steps = 0};
    *fits = true;
    for (size_t i = 0; i < count; i++)
        *fits &= filled_add(g, &f, member[i]);
    return f;
}

/* Counts a bundle that does not fit, and remembers the first one. */
static void bundling_count_over(struct bundling *g, const struct filled *f, size_t sequence, size_t sequences)
{
    const struct bl_plan_options *o = g->options;
    if (g->over.count++)
        return;
    g->over = (struct bl_bundles_over){.count = 1, .first = sequence, .sequences = sequences};
    if (f->steps > g->counts->T) {
        g->over.what = "steps";
        g->over.has = (double)f->steps;
        g->over.max = (double)g->counts->T;
    } else if (f->size > o->max_sequences) {
        g->over.what = "sequences";
        g->over.has = (double)f->size;
        g->over.max = (double)o->max_sequences;
    }
    for (int c = 0; c < g->needs->count && !g->over.what; c++) {
        if (f->units[c] <= g->needs->each[c].most)
            continue;
        g->over.what = o->max_column.each[c].name;
        g->over.max = o->max_column.each[c].max;
        g->over.has = (double)f->units[c] / (double)g->needs->each[c].most * g->over.max;
    }
}

/* --- bundles that are split --------------------------------------------------------------------------------------- */

/* Divides pieces into runs, each as long as fits into a block, and sets their sizes. Returns the number of runs. */
static size_t members_divide(const struct bundling *g, const uint32_t *member, size_t count)
{
    struct filled f = {.steps = 0};
    size_t runs = 0;
    for (size_t i = 0; i < count; i++) {
        if (!filled_add(g, &f, member[i]) || i == 0) {
            f = (struct filled){.steps = 0}; /* a piece alone fits */
            filled_add(g, &f, member[i]);
            g->size[runs++] = 0;
        }
        g->size[runs - 1]++;
    }
    return runs;
}

/* Sorts pieces by the blocks of a plan over them, and the blocks by their first pieces. block: [count] of each piece;
 * it is overwritten. */
static int members_sort(const struct bundling *g, uint32_t *member, size_t count, uint32_t *block, size_t blocks,
                        struct bl_error *e)
{
    uint32_t *turn = malloc((blocks + 1) * sizeof *turn), *sorted = malloc((count + 1) * sizeof *sorted);
    uint32_t next = 0;
    size_t to = 0;
    int code = turn && sorted ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    memset(turn, 0xff, (blocks + 1) * sizeof *turn);
    memset(g->size, 0, blocks * sizeof *g->size);
    for (size_t i = 0; i < count; i++) {
        turn[block[i]] = turn[block[i]] == NOTHING ? next++ : turn[block[i]];
        block[i] = turn[block[i]];
        g->size[block[i]]++;
    }
    turn[0] = 0; /* from here on: the place of the next piece of each block */
    for (size_t b = 0; b + 1 < blocks; b++)
        turn[b + 1] = turn[b] + g->size[b];
    for (size_t i = 0; i < count; i++)
        sorted[turn[block[i]]++] = member[i];
    for (; to < count; to++)
        member[to] = sorted[to];
out:
    free(turn);
    free(sorted);
    return code;
}

/* Plans the pieces of one bundle, without the limits of other bundles. The caller frees *plan and *length. */
static int members_plan(const struct bundling *g, const uint32_t *member, size_t count, struct bl_plan *plan,
                        struct bl_error *e)
{
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK,
                                .T = g->counts->T,
                                .align = g->counts->align,
                                .max_sequences = g->options->max_sequences,
                                .effort = 1};
    int columns = g->needs->count;
    int64_t *length = malloc((count + 1) * sizeof *length);
    double *value = malloc(((size_t)columns * count + 1) * sizeof *value);
    int code = length && value ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < count && !code; i++)
        length[i] = g->pieces->lengths.length[member[i]];
    for (int c = 0; c < columns && !code; c++) {
        struct bl_plan_column *column = &o.max_column.each[o.max_column.count++];
        *column = (struct bl_plan_column){.max = (double)g->needs->each[c].most, .value = value + (size_t)c * count};
        snprintf(column->name, sizeof column->name, "%d", c);
        for (size_t i = 0; i < count; i++)
            value[(size_t)c * count + i] = g->needs->each[c].of[member[i]];
    }
    if (!code)
        code = bl_plan_make(plan, length, count, &o, e);
    free(length);
    free(value);
    return code;
}

/* Sorts the pieces of a bundle so that they fill as few blocks as possible, one after the other, and sets g->size.
 * *blocks: how many. */
static int members_split(const struct bundling *g, uint32_t *member, size_t count, size_t *blocks, struct bl_error *e)
{
    struct bl_plan plan = {0};
    uint32_t *block = NULL;
    int64_t steps = 0;
    *blocks = members_divide(g, member, count);
    for (size_t i = 0; i < count; i++)
        steps += g->pieces->lengths.length[member[i]];
    if ((int64_t)*blocks <= (steps + g->counts->T - 1) / g->counts->T)
        return BL_OK;
    int code = members_plan(g, member, count, &plan, e);
    if (code || plan.blocks >= *blocks)
        goto out;
    *blocks = plan.blocks;
    block = malloc((count + 1) * sizeof *block);
    code = block ? BL_OK : bl_error_memory(e);
    for (size_t b = 0; b < plan.blocks && !code; b++)
        for (int64_t p = plan.block_ptr[b]; p < plan.block_ptr[b + 1]; p++)
            block[plan.sequence[p]] = (uint32_t)b;
    if (!code)
        code = members_sort(g, member, count, block, *blocks, e);
out:
    free(block);
    bl_plan_free(&plan);
    return code;
}

/* --- making ------------------------------------------------------------------------------------------------------- */

/* Adds the next `size` members as a bundle. */
static void bundling_add(struct bundling *g, size_t size)
{
    struct bl_bundles *b = g->b;
    bool fits;
    const uint32_t *member = b->member + b->first[b->count];
    uint32_t piece = member[0];
    g->steps[b->count] = filled_make(g, member, size, &fits).steps;
    g->opening[b->count] = g->pieces->sequence ? g->pieces->sequence[piece] : piece;
    b->first[b->count + 1] = b->first[b->count] + (uint32_t)size;
    b->count++;
}

/* Adds the bundle that begins with a sequence: as one, or as several where it is split. */
static int bundling_add_bundle(struct bundling *g, size_t sequence, struct bl_error *e)
{
    uint32_t *member = g->b->member + g->b->first[g->b->count];
    size_t size = 0, sequences = 0, blocks = 1;
    bool fits;
    for (uint32_t i = (uint32_t)sequence; i != NOTHING; i = g->next[i], sequences++) {
        uint32_t end;
        for (uint32_t p = sequence_pieces(g, i, &end); p < end; p++)
            member[size++] = p;
    }
    struct filled f = filled_make(g, member, size, &fits);
    g->size[0] = (uint32_t)size;
    if (!fits && g->options->oversize == BL_OVERSIZE_DROP) {
        g->b->given -= sequences > 1;
        for (uint32_t i = (uint32_t)sequence; i != NOTHING; i = g->next[i])
            bundling_leave_out(g, i);
        return BL_OK;
    }
    if (!fits && g->options->oversize == BL_OVERSIZE_SPLIT) {
        g->b->split += sequences > 1;
        BL_TRY(members_split(g, member, size, &blocks, e));
    } else if (!fits) {
        bundling_count_over(g, &f, sequence, sequences);
        return BL_OK;
    }
    for (size_t i = 0; i < blocks; i++)
        bundling_add(g, g->size[i]);
    return BL_OK;
}

/* Adds the bundles in the order of their first sequences. */
static int bundling_add_all(struct bundling *g, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; i < g->count && !code; i++) {
        uint32_t end, begin = sequence_pieces(g, i, &end);
        bool is_alone = g->options->together[i] == BL_ALONE;
        if (g->state[i] == LEFT_OUT)
            bundling_leave_out(g, i);
        else if (!is_alone && g->state[i] == STARTS && g->length[i] > 0)
            code = bundling_add_bundle(g, i, e);
        for (uint32_t p = begin; p < end && is_alone; p++) {
            g->b->member[g->b->first[g->b->count]] = p;
            bundling_add(g, 1);
        }
    }
    return code;
}

/* Allocates the arrays. */
static int bundling_allocate(struct bundling *g, struct bl_error *e)
{
    size_t pieces = g->pieces->lengths.count;
    g->b->first = calloc(pieces + 1, sizeof *g->b->first);
    g->b->member = malloc((pieces + 1) * sizeof *g->b->member);
    g->next = malloc((g->count + 1) * sizeof *g->next);
    g->state = calloc(g->count + 1, sizeof *g->state);
    g->size = malloc((pieces + 1) * sizeof *g->size);
    g->steps = malloc((pieces + 1) * sizeof *g->steps);
    g->opening = malloc((pieces + 1) * sizeof *g->opening);
    g->piece = g->pieces->sequence ? calloc(g->count + 2, sizeof *g->piece) : NULL;
    if (!g->b->first || !g->b->member || !g->next || !g->state || !g->size || !g->steps || !g->opening ||
        (g->pieces->sequence && !g->piece))
        return bl_error_memory(e);
    for (size_t p = 0; g->piece && p < pieces; p++)
        g->piece[g->pieces->sequence[p] + 1]++;
    for (size_t i = 0; g->piece && i < g->count; i++)
        g->piece[i + 1] += g->piece[i];
    return BL_OK;
}

/* Moves the bundles to *pieces. */
static void bundling_finish(struct bundling *g, struct bl_pieces *pieces)
{
    const struct bl_pieces *members = &g->b->pieces;
    *pieces = (struct bl_pieces){.sequence = g->opening,
                                 .length = g->steps,
                                 .group = members->group,
                                 .count = g->b->count,
                                 .steps = members->steps,
                                 .repeated = members->repeated,
                                 .cut = members->cut,
                                 .dropped = members->dropped};
    pieces->lengths = members->lengths;
    pieces->lengths.length = g->steps;
    pieces->lengths.count = g->b->count;
    pieces->lengths.shortest = 1;
    pieces->lengths.longest = g->counts->T;
    g->opening = NULL;
    g->steps = NULL;
}

/* Gives the pieces back where each is alone, so that they are planned as without bundles. */
static void bundling_undo(struct bl_bundles *b, struct bl_pieces *pieces)
{
    *pieces = b->pieces;
    b->pieces = (struct bl_pieces){0};
    bl_bundles_free(b);
}

int bl_bundles_make(struct bl_bundles *bundles, struct bl_pieces *pieces, const struct bl_needs *needs,
                    const int64_t *length, size_t count, const struct bl_plan_options *options,
                    const struct bl_plan *counts, struct bl_error *e)
{
    *bundles = (struct bl_bundles){.pieces = *pieces};
    struct bundling g = {.b = bundles,
                         .pieces = &bundles->pieces,
                         .needs = needs,
                         .options = options,
                         .counts = counts,
                         .length = length,
                         .count = count};
    int64_t dropped = pieces->dropped;
    *pieces = (struct bl_pieces){0};
    int code = bundling_allocate(&g, e);
    if (!code)
        code = bundling_link_all(&g, e);
    if (!code)
        code = bundling_add_all(&g, e);
    if (!code && g.over.count)
        code = bl_error_set(e, BL_EFAIL,
                            "the bundle of sequence %zu has %.15g %s in %zu sequences, more than %.15g (too long: %zu "
                            "bundles): use a larger T, or --oversize split or drop",
                            g.over.first, g.over.has, g.over.what, g.over.sequences, g.over.max, g.over.count);
    if (!code && !bundles->given && bundles->pieces.dropped == dropped)
        bundling_undo(bundles, pieces);
    else if (!code)
        bundling_finish(&g, pieces);
    free(g.next);
    free(g.state);
    free(g.size);
    free(g.piece);
    free(g.steps);
    free(g.opening);
    return code;
}

void bl_bundles_free(struct bl_bundles *b)
{
    bl_pieces_free(&b->pieces);
    free(b->first);
    free(b->member);
    *b = (struct bl_bundles){0};
}

/* --- needs ---------------------------------------------------------------------------------------------------- */

/* Sets what bundles need, of a column or, with of NULL, of the limit on sequences. */
static int need_bundle(struct bl_need *n, const struct bl_bundles *b, const int32_t *of, struct bl_error *e)
{
    int64_t largest = 1;
    n->of = calloc(b->count + 1, sizeof *n->of);
    if (!n->of)
        return bl_error_memory(e);
    for (size_t i = 0; i < b->count; i++) {
        int64_t size = (int64_t)bl_bundle_size(b, i);
        for (uint32_t k = b->first[i]; k < b->first[i + 1]; k++)
            n->of[i] += of ? of[b->member[k]] : 1; /* a bundle fits, so the sum is at most n->most */
        largest = size > largest ? size : largest;
    }
    n->rounded *= largest;
    return BL_OK;
}

int bl_bundles_need(const struct bl_bundles *bundles, struct bl_needs *needs, int64_t max_sequences, struct bl_error *e)
{
    for (int c = 0; c < needs->count; c++) {
        int32_t *of = needs->each[c].of;
        int code = need_bundle(&needs->each[c], bundles, of, e);
        free(of);
        if (code)
            return code;
    }
    if (max_sequences >= BL_T_MAX)
        return BL_OK;
    struct bl_need *sequences = &needs->each[needs->count++];
    *sequences = (struct bl_need){.most = max_sequences};
    return need_bundle(sequences, bundles, NULL, e);
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

int bl_bundles_open(const struct bl_bundles *b, struct bl_plan *plan, struct bl_error *e)
{
    size_t pieces = 0, next = 0;
    if (!b->count)
        return BL_OK;
    for (size_t i = 0; i < plan->pieces; i++)
        pieces += bl_bundle_size(b, plan->sequence[i]);
    uint32_t *piece = malloc((pieces + 1) * sizeof *piece);
    if (!piece)
        return bl_error_memory(e);
    plan->max_sequences = plan->bundle_pairs = 0;
    for (size_t k = 0; k < plan->blocks; k++) {
        size_t begin = (size_t)plan->block_ptr[k], end = (size_t)plan->block_ptr[k + 1], first = next;
        for (size_t i = begin; i < end; i++) {
            size_t size = bl_bundle_size(b, plan->sequence[i]);
            memcpy(piece + next, b->member + b->first[plan->sequence[i]], size * sizeof *piece);
            plan->bundle_pairs += (int64_t)(size * (size - 1) / 2);
            next += size;
        }
        plan->block_ptr[k] = (int64_t)first;
        plan->max_sequences =
            (int64_t)(next - first) > plan->max_sequences ? (int64_t)(next - first) : plan->max_sequences;
    }
    plan->block_ptr[plan->blocks] = (int64_t)next;
    free(plan->sequence);
    plan->sequence = piece;
    plan->pieces = pieces;
    return BL_OK;
}

/* The check needs numbers below count: that of the first piece of a bundle, whose parts follow each other. */
int bl_bundles_recount(const struct bl_bundles *b, struct bl_plan *plan, const int64_t *length, size_t count,
                       const struct bl_plan_options *options, struct bl_error *e)
{
    struct bl_plan_options o = *options;
    uint32_t *number = b->count ? malloc((count + 1) * sizeof *number) : NULL, last = BL_ALONE, first = 0;
    if (!b->count)
        return BL_OK;
    if (!number)
        return bl_error_memory(e);
    memset(number, 0xff, (count + 1) * sizeof *number);
    for (size_t k = 0; k < b->first[b->count]; k++) {
        uint32_t piece = b->member[k], sequence = b->pieces.sequence ? b->pieces.sequence[piece] : piece;
        uint32_t bundle = options->together[sequence];
        first = bundle != BL_ALONE && bundle == last ? first : sequence;
        number[sequence] = bundle == BL_ALONE ? BL_ALONE : first;
        last = bundle;
    }
    o.together = number;
    int code = bl_plan_check_bundles(plan, length, count, &o, e);
    free(number);
    return code;
}

/* --- bundles that do not fit -------------------------------------------------------------------------------------- */

/* Returns what sequence i has of limit k: steps, sequences, or column k - 2. */
static double limit_value(const struct bl_plan_options *o, int k, int64_t length, size_t i)
{
    return k == 0 ? (double)length : k == 1 ? 1 : o->max_column.each[k - 2].value[i];
}

/* Sets sum[] to what all sequences of each bundle have of limit k, but not where a limit on lengths drops one of them,
 * and with it the bundle: then it is below 0. */
static void limit_sum(double *sum, const struct bl_plan_options *o, int k, const int64_t *length, size_t count)
{
    const struct bl_plan aligned = {.align = k == 0 ? bl_plan_options_align(o) : 0};
    int64_t longest = o->max_length ? o->max_length : INT64_MAX;
    for (size_t i = 0; i < count; i++)
        sum[i] = 0;
    for (size_t i = 0; i < count; i++) {
        if (length[i] < 1 || o->together[i] == BL_ALONE)
            continue;
        double *own = &sum[o->together[i]];
        if (length[i] < o->min_length || length[i] > longest || *own < 0)
            *own = -1;
        else
            *own = (double)bl_plan_next_start(&aligned, (int64_t)*own, 0) * (k == 0) + *own * (k > 0) +
                   limit_value(o, k, length[i], i);
    }
}

int bl_bundles_find_over(struct bl_bundles_over *over, const int64_t *length, size_t count,
                         const struct bl_plan_options *o, struct bl_error *e)
{
    double *sum = malloc((count + 1) * sizeof *sum);
    *over = (struct bl_bundles_over){.count = 0};
    if (!sum)
        return bl_error_memory(e);
    for (int k = 0; k < 2 + o->max_column.count && !over->count; k++) {
        over->what = k == 0 ? "steps" : k == 1 ? "sequences" : o->max_column.each[k - 2].name;
        over->max = k == 0 ? (double)o->T : k == 1 ? (double)o->max_sequences : o->max_column.each[k - 2].max;
        limit_sum(sum, o, k, length, count);
        for (size_t i = 0; i < count && over->max > 0; i++) {
            double *own = o->together[i] == BL_ALONE ? NULL : &sum[o->together[i]];
            if (length[i] < 1 || !own || *own <= over->max)
                continue;
            over->first = over->count++ ? over->first : i;
            over->has = over->count == 1 ? *own : over->has;
            *own = -1; /* it is counted */
        }
    }
    for (size_t i = over->first; i < count && over->count; i++)
        over->sequences += length[i] > 0 && o->together[i] == o->together[over->first];
    free(sum);
    return BL_OK;
}
