/* Checks a finished plan against the lengths of its sequences, and counts its padding, pieces and deleted steps. The
 * check shares no code with planning except the histogram for the lower bound, so that a bug in the planner cannot
 * hide itself.
 *
 * A bitmap over the sequences shows whether steps can occur twice. Most plans place every sequence whole, and one pass
 * over the pieces is enough; only a plan in which a sequence has several pieces needs to sort the pieces by sequence
 * and start.
 *
 * Every violation is BL_EFAIL: a wrong plan is a bug of the planner or damage of a file, never a matter of the input.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "base/vector.h"
#include "plan/histogram.h"
#include "plan/plan.h"

enum { AHEAD = 32 }; /* pieces whose sequences are prefetched: they are in random order */

struct check {
    struct bl_plan *plan;
    const int64_t *length;
    size_t count;
    uint8_t *seen;             /* one bit per sequence: it has a piece */
    bool is_sorted_needed;     /* a sequence has several pieces, or one that should continue another */
    int64_t continued;         /* pieces that do not begin their sequence */
    int64_t placed;            /* steps in all pieces */
    int64_t between;           /* steps between pieces */
    int64_t whole;             /* pieces that are whole sequences */
    int64_t distinct;          /* sequences with a piece */
    int64_t joined;            /* of these, whole in several pieces */
    int64_t shortest, longest; /* of the pieces */
    struct bl_error *e;
};

/* Returns the step of its sequence with which piece p begins; plans of whole sequences have no such array. */
static int64_t plan_source_start(const struct bl_plan *plan, size_t p)
{
    return plan->source_start ? plan->source_start[p] : 0;
}

/* Checks T and the table of blocks, so that later loops over block_ptr stay within the arrays. */
static int plan_check_shape(struct check *c)
{
    const struct bl_plan *plan = c->plan;
    if (plan->T < 1 || plan->T > BL_T_MAX)
        return bl_error_set(c->e, BL_EFAIL, "T = %lld is not between 1 and %lld", (long long)plan->T,
                            (long long)BL_T_MAX);
    if (plan->blocks == 0 || plan->pieces > BL_SEQUENCES_MAX)
        return bl_error_set(c->e, BL_EFAIL, "a plan cannot have %zu blocks and %zu pieces", plan->blocks, plan->pieces);
    if (plan->block_ptr[0] != 0)
        return bl_error_set(c->e, BL_EFAIL, "block 0 does not begin with piece 0");
    for (size_t b = 0; b < plan->blocks; b++) {
        if (plan->block_ptr[b + 1] < plan->block_ptr[b])
            return bl_error_set(c->e, BL_EFAIL, "block %zu ends before it begins", b);
        if ((uint64_t)plan->block_ptr[b + 1] > plan->pieces)
            return bl_error_set(c->e, BL_EFAIL, "block %zu ends after the last piece", b);
    }
    if ((uint64_t)plan->block_ptr[plan->blocks] != plan->pieces)
        return bl_error_set(c->e, BL_EFAIL, "%zu pieces, but the blocks hold %lld", plan->pieces,
                            (long long)plan->block_ptr[plan->blocks]);
    return BL_OK;
}

/* Checks one piece on its own: its sequence exists, its steps lie in the sequence, and a whole sequence occurs once.
 * Pieces of the same sequence that overlap are found later, in plan_check_overlaps. */
static int plan_check_piece(struct check *c, size_t block, size_t p)
{
    uint32_t sequence = c->plan->sequence[p];
    if (sequence >= c->count)
        return bl_error_set(c->e, BL_EFAIL, "block %zu: there is no sequence %u", block, (unsigned)sequence);
    int64_t start = plan_source_start(c->plan, p), length = bl_plan_piece_length(c->plan, c->length, p);
    if (length < 1)
        return bl_error_set(c->e, BL_EFAIL, "block %zu: the piece of sequence %u is empty", block, (unsigned)sequence);
    if (start < 0 || start > c->length[sequence] || length > c->length[sequence] - start)
        return bl_error_set(
            c->e, BL_EFAIL, "block %zu: a piece has %lld steps from step %lld on, but sequence %u has %lld steps",
            block, (long long)length, (long long)start, (unsigned)sequence, (long long)c->length[sequence]);
    bool whole = length == c->length[sequence];
    uint8_t bit = (uint8_t)(1u << sequence % 8);
    if (c->seen[sequence / 8] & bit) {
        /* A whole sequence that occurs again is placed twice in any order of its pieces. */
        if (whole)
            return bl_error_set(c->e, BL_EFAIL, "block %zu: sequence %u is placed a second time", block,
                                (unsigned)sequence);
        c->is_sorted_needed = true;
    }
    /* A piece that continues another must repeat exactly `overlap` steps, which only the sorted pieces show. */
    c->is_sorted_needed |= c->plan->overlap && start > 0;
    c->continued += start > 0;
    c->distinct += (c->seen[sequence / 8] & bit) == 0;
    c->seen[sequence / 8] |= bit;
    c->whole += whole;
    c->shortest = length < c->shortest ? length : c->shortest;
    c->longest = length > c->longest ? length : c->longest;
    return BL_OK;
}

/* Prefetches as bl_plan_prefetch_length does, for a plan whose sequence numbers are not checked yet. */
BL_PREFETCHES void plan_prefetch(const struct check *c, size_t p)
{
    if (p + AHEAD >= c->plan->pieces || c->plan->sequence[p + AHEAD] >= c->count)
        return;
    __builtin_prefetch(&c->length[c->plan->sequence[p + AHEAD]]);
    __builtin_prefetch(&c->seen[c->plan->sequence[p + AHEAD] / 8], 1);
}

/* Checks that the pieces of block b lie one after the other within T, each at the next aligned start. */
static int plan_check_block(struct check *c, size_t b)
{
    struct bl_plan *plan = c->plan;
    size_t first = (size_t)plan->block_ptr[b], end = (size_t)plan->block_ptr[b + 1];
    int64_t start = 0, end_before = 0, steps = 0;
    for (size_t p = first; p < end; p++) {
        plan_prefetch(c, p);
        BL_TRY(plan_check_piece(c, b, p));
        int64_t length = bl_plan_piece_length(plan, c->length, p);
        /* This comparison cannot overflow, and it is also true if the alignment puts `start` after T. */
        if (length > plan->T - start)
            return bl_error_set(c->e, BL_EFAIL,
                                "block %zu: sequence %u does not fit: T = %lld, and %lld steps are taken", b,
                                (unsigned)plan->sequence[p], (long long)plan->T, (long long)start);
        c->between += start - end_before;
        end_before = start + length;
        start = bl_plan_next_start(plan, start, length);
        steps += length;
    }
    /* Padding and deleted steps follow from the sum over all blocks. */
    c->placed += steps;
    if ((int64_t)(end - first) > plan->max_sequences)
        plan->max_sequences = (int64_t)(end - first);
    return BL_OK;
}

/* Checks that the steps of own fields in block b keep to the capacities, and counts them. A sequence without a piece in
 * the block adds nothing. */
static int plan_check_own(struct check *c, size_t b)
{
    struct bl_plan *plan = c->plan;
    for (int f = 0; f < plan->own.count; f++) {
        struct bl_plan_own_field *field = &plan->own.field[f];
        int64_t steps = 0;
        for (size_t p = (size_t)plan->block_ptr[b]; p < (size_t)plan->block_ptr[b + 1]; p++) {
            double length = field->length ? field->length[plan->sequence[p]] : field->piece[p];
            if (!(length >= 0 && length <= BL_T_MAX && length == (double)(int64_t)length))
                return bl_error_set(c->e, BL_EFAIL, "sequence %u has %g steps of %s: not a number of steps",
                                    (unsigned)plan->sequence[p], length, field->name);
            int64_t own = bl_plan_own_length(plan, f, p), all = plan_source_start(plan, p) ? 0 : (int64_t)length;
            if (own != all)
                return bl_error_set(c->e, BL_EFAIL,
                                    "block %zu: a piece of sequence %u has %lld steps of %s, but the sequence has %lld "
                                    "for it",
                                    b, (unsigned)plan->sequence[p], (long long)own, field->name, (long long)all);
            steps += own;
            if (steps > (field->capacity ? field->capacity : BL_T_MAX))
                return bl_error_set(c->e, BL_EFAIL,
                                    "block %zu has more than %lld steps of %s, the capacity of that field", b,
                                    (long long)(field->capacity ? field->capacity : BL_T_MAX), field->name);
        }
        field->steps += steps;
        field->highest = steps > field->highest ? steps : field->highest;
    }
    return BL_OK;
}

/* Checks the own steps of all blocks, and sets the capacities that are not given. */
static int plan_check_owns(struct check *c)
{
    struct bl_plan_own *own = &c->plan->own;
    int code = BL_OK;
    for (int f = 0; f < own->count; f++)
        own->field[f].steps = own->field[f].highest = 0;
    for (size_t b = 0; own->count && !code && b < c->plan->blocks; b++)
        code = plan_check_own(c, b);
    for (int f = 0; f < own->count; f++) {
        struct bl_plan_own_field *field = &own->field[f];
        int64_t least = field->highest ? field->highest : 1;
        field->capacity = field->capacity ? field->capacity : least;
    }
    return code;
}

/* Checks all blocks in one pass. The bitmap takes one bit a sequence and lives for this pass alone. */
static int plan_check_blocks(struct check *c)
{
    c->seen = calloc(c->count / 8 + 1, 1);
    if (!c->seen)
        return bl_error_memory(c->e);
    int code = BL_OK;
    c->plan->max_sequences = 0;
    c->shortest = BL_T_MAX;
    for (size_t b = 0; !code && b < c->plan->blocks; b++)
        code = plan_check_block(c, b);
    free(c->seen);
    return code ? code : plan_check_owns(c);
}

/* A piece as the steps [start, end) of its sequence, with its block for the message. */
struct span {
    int64_t start, end;
    uint32_t sequence, block;
};

/* Orders by sequence, then by start. */
static int span_compare(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* Without an overlap, no step of a sequence may lie in two pieces. span: sorted. */
static int spans_check_apart(const struct check *c, const struct span *span)
{
    for (size_t p = 1; p < c->plan->pieces; p++)
        if (span[p].sequence == span[p - 1].sequence && span[p].start < span[p - 1].end)
            return bl_error_set(c->e, BL_EFAIL,
                                "blocks %u and %u both hold step %lld of sequence %u, which only --overlap allows",
                                (unsigned)span[p - 1].block, (unsigned)span[p].block, (long long)span[p].start,
                                (unsigned)span[p].sequence);
    return BL_OK;
}

/* With an overlap, each piece must continue the one before: then readers know which of its steps are repeated. */
static int spans_check_continued(const struct check *c, const struct span *span)
{
    const int64_t overlap = c->plan->overlap;
    for (size_t p = 0; p < c->plan->pieces; p++) {
        bool is_first = !p || span[p].sequence != span[p - 1].sequence;
        int64_t start = is_first ? 0 : span[p - 1].end - overlap;
        if (span[p].start != start)
            return bl_error_set(c->e, BL_EFAIL,
                                "block %u: a piece of sequence %u begins with step %lld, not %lld: with an overlap of "
                                "%lld, a piece begins that many steps before the previous piece ends",
                                (unsigned)span[p].block, (unsigned)span[p].sequence, (long long)span[p].start,
                                (long long)start, (long long)overlap);
        if (!is_first && span[p].end <= span[p - 1].end)
            return bl_error_set(
                c->e, BL_EFAIL,
                "block %u: a piece of sequence %u has only steps of the previous piece: it ends at step %lld",
                (unsigned)span[p].block, (unsigned)span[p].sequence, (long long)span[p].end);
    }
    return BL_OK;
}

/* Sorts the pieces by sequence and start, checks neighbours, and counts the sequences that are whole in several
 * pieces. Memory: 24 bytes a piece. */
static int plan_check_overlaps(struct check *c)
{
    const struct bl_plan *plan = c->plan;
    struct span *span = malloc(plan->pieces * sizeof *span);
    if (!span)
        return bl_error_memory(c->e);
    for (size_t b = 0; b < plan->blocks; b++)
        for (size_t p = (size_t)plan->block_ptr[b]; p < (size_t)plan->block_ptr[b + 1]; p++) {
            int64_t start = plan_source_start(plan, p), end = start + bl_plan_piece_length(plan, c->length, p);
            span[p] = (struct span){start, end, plan->sequence[p], (uint32_t)b};
        }
    bool is_sorted = true; /* The pieces of a store lie in order already, so it needs no qsort. */
    for (size_t p = 1; p < plan->pieces && is_sorted; p++)
        is_sorted = span_compare(&span[p - 1], &span[p]) <= 0;
    if (!is_sorted)
        qsort(span, plan->pieces, sizeof *span, span_compare);
    int code = plan->overlap ? spans_check_continued(c, span) : spans_check_apart(c, span);
    if (!code) {
        /* Counts the sequences that are whole in several pieces. span: sorted, without overlaps. */
        size_t pieces = c->plan->pieces;
        for (size_t p = 0, end; p < pieces; p = end) {
            int64_t steps = 0;
            for (end = p; end < pieces && span[end].sequence == span[p].sequence; end++)
                steps += span[end].end - span[end].start;
            c->joined += end - p > 1 && steps == c->length[span[p].sequence];
        }
    }
    free(span);
    return code;
}

/* Sets the lengths of the pieces for the histogram: the caller's array if exactly the sequences with a piece have
 * lengths in the range, otherwise a copy in *own, which the caller frees. */
static int plan_piece_lengths(const struct check *c, struct bl_lengths *lengths, int64_t **own)
{
    const struct bl_plan *plan = c->plan;
    *own = NULL;
    *lengths = (struct bl_lengths){plan->length, NULL, plan->pieces, 1, plan->T, 1, plan->T};
    if (plan->length)
        return BL_OK;
    *lengths = (struct bl_lengths){c->length, NULL, c->count, c->shortest, c->longest, 1, plan->T};
    size_t in_range = 0;
    for (size_t i = 0; i < c->count; i++)
        in_range += (size_t)bl_lengths_has(lengths, i);
    if (in_range == plan->pieces)
        return BL_OK;
    *own = malloc(plan->pieces * sizeof **own);
    if (!*own)
        return bl_error_memory(c->e);
    for (size_t p = 0; p < plan->pieces; p++)
        (*own)[p] = c->length[plan->sequence[p]];
    *lengths = (struct bl_lengths){*own, NULL, plan->pieces, 1, plan->T, 1, plan->T};
    return BL_OK;
}

/* Checks everything except the lower bound, and sets the counts of the plan. */
static int plan_recount(struct check *c)
{
    /* The limit of 2^62 steps keeps every later sum of steps, padding included, within 64 bits. */
    struct bl_plan *plan = c->plan;
    plan->sequences = plan->steps = plan->longest = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->length[i] < 0)
            return bl_error_set(c->e, BL_EFAIL, "sequence %zu has a negative length", i);
        if (c->length[i] > (INT64_C(1) << 62) - plan->steps)
            return bl_error_set(c->e, BL_EFAIL, "more than 2^62 steps in all, from sequence %zu on", i);
        plan->steps += c->length[i];
        plan->sequences += c->length[i] > 0;
        if (c->length[i] > plan->longest)
            plan->longest = c->length[i];
    }

    int code = plan_check_shape(c);
    if (code)
        return code;
    code = plan_check_blocks(c);
    if (code)
        return code;
    if (c->is_sorted_needed)
        code = plan_check_overlaps(c);
    if (code)
        return code;
    /* Steps that an overlap repeats are placed twice, so they do not count as kept steps of the sequences. */
    c->plan->repeated = c->continued * c->plan->overlap;
    c->plan->deleted = c->plan->steps - (c->placed - c->plan->repeated);
    c->plan->padding = (int64_t)c->plan->blocks * c->plan->T - c->placed;
    c->plan->align_padding = c->between;
    /* In a store, a sequence that several pieces hold completely is not cut. */
    c->plan->cut = c->distinct - c->whole - (c->plan->is_store ? c->joined : 0);
    c->plan->dropped = c->plan->sequences - c->distinct;
    return BL_OK;
}

int bl_plan_count_own(struct bl_plan *plan, size_t count, struct bl_error *e)
{
    struct check c = {.plan = plan, .count = count, .e = e};
    for (size_t p = 0; p < plan->pieces; p++) {
        if (plan->sequence[p] >= count)
            return bl_error_set(e, BL_EFAIL, "there is no sequence %u", (unsigned)plan->sequence[p]);
    }
    return plan_check_owns(&c);
}

int bl_plan_recount(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e)
{
    struct check c = {.plan = plan, .length = length, .count = count, .e = e};
    return plan_recount(&c);
}

int bl_plan_check(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e)
{
    struct check c = {.plan = plan, .length = length, .count = count, .e = e};
    BL_TRY(plan_recount(&c));
    struct bl_lengths lengths;
    struct bl_histogram h;
    int64_t *own;
    BL_TRY(plan_piece_lengths(&c, &lengths, &own));
    /* The bound counts pieces, not sequences: pieces that were cut are the lengths that had to be packed. */
    int code = bl_histogram_make(&h, &lengths, c.e);
    free(own);
    if (code)
        return code;
    int64_t bound = bl_bound_blocks(&h, c.plan->T);
    bl_histogram_free(&h);
    /* A plan with fewer blocks than a proven bound has lost pieces, or the bound is wrong: both are bugs. */
    c.plan->lower_bound = bound > c.plan->lower_bound ? bound : c.plan->lower_bound;
    if (c.plan->lower_bound <= (int64_t)c.plan->blocks)
        return BL_OK;
    return bl_error_set(c.e, BL_EFAIL, "%zu blocks are fewer than the lower bound, %lld", c.plan->blocks,
                        (long long)c.plan->lower_bound);
}

/* --- bundles ------------------------------------------------------------------------------------------------------ */

/* A bundle of a plan. */
struct bundle_seen {
    uint32_t runs;      /* of its pieces in blocks: 1 if they lie next to each other in one block */
    uint32_t sequences; /* all, also those without a piece */
    uint32_t first;     /* sequence */
    bool is_large;      /* it does not fit into a block */
};

/* Counts the runs of each bundle, and checks that their pieces have the order of the sequences. */
static int bundles_check_runs(struct bl_plan *plan, const uint32_t *together, struct bundle_seen *seen,
                              struct bl_error *e)
{
    int64_t size = 0; /* of the present run */
    plan->bundle_pairs = 0;
    for (size_t b = 0; b < plan->blocks; b++)
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++) {
            uint32_t sequence = plan->sequence[p], bundle = together[sequence];
            if (bundle == BL_ALONE)
                continue;
            uint32_t before = p > plan->block_ptr[b] ? plan->sequence[p - 1] : sequence;
            bool continues = p > plan->block_ptr[b] && together[before] == bundle;
            if (continues && before > sequence)
                return bl_error_set(e, BL_EFAIL,
                                    "block %zu: sequence %u of a bundle lies behind %u, which follows it in the table",
                                    b, (unsigned)sequence, (unsigned)before);
            seen[bundle].runs += !continues;
            size = continues ? size + 1 : 1;
            plan->bundle_pairs += size - 1;
        }
    return BL_OK;
}

/* Marks the bundles whose sequences have more than `most` of one thing: steps, if value is NULL. sum: [count], zeros;
 * zeros again afterwards. */
static void bundles_mark_large(struct bundle_seen *seen, double *sum, const struct bl_plan *plan, const int64_t *length,
                               size_t count, const uint32_t *together, const double *value, double most)
{
    for (size_t i = 0; i < count; i++) {
        if (length[i] < 1 || together[i] == BL_ALONE)
            continue;
        double *own = &sum[together[i]];
        *own = value ? *own + value[i] : (double)(bl_plan_next_start(plan, (int64_t)*own, 0) + length[i]);
        seen[together[i]].is_large |= *own > most;
    }
    for (size_t i = 0; i < count; i++)
        sum[i] = 0;
}

/* Counts the sequences of the bundles, and marks those that do not fit into a block. BL_EFAIL: out of memory. */
static int bundles_measure(struct bundle_seen *seen, const struct bl_plan *plan, const int64_t *length, size_t count,
                           const struct bl_plan_options *o, struct bl_error *e)
{
    double *sum = calloc(count + 1, sizeof *sum);
    if (!sum)
        return bl_error_memory(e);
    for (size_t i = 0; i < count; i++) {
        if (length[i] < 1 || o->together[i] == BL_ALONE)
            continue;
        struct bundle_seen *s = &seen[o->together[i]];
        s->first = s->sequences++ ? s->first : (uint32_t)i;
        s->is_large |= o->max_sequences && s->sequences > (uint64_t)o->max_sequences;
    }
    bundles_mark_large(seen, sum, plan, length, count, o->together, NULL, (double)plan->T);
    for (int c = 0; c < o->max_column.count; c++) /* the planner rounds values up */
        bundles_mark_large(seen, sum, plan, length, count, o->together, o->max_column.each[c].value,
                           o->max_column.each[c].max * (1 - 1e-6));
    free(sum);
    return BL_OK;
}

int bl_plan_check_bundles(struct bl_plan *plan, const int64_t *length, size_t count, const struct bl_plan_options *o,
                          struct bl_error *e)
{
    struct bundle_seen *seen = calloc(count + 1, sizeof *seen);
    int code = seen ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < count && !code; i++) {
        if (o->together[i] != BL_ALONE && o->together[i] >= count)
            code = bl_error_set(e, BL_EFAIL, "sequence %zu is in a bundle %u", i, (unsigned)o->together[i]);
    }
    if (!code)
        code = bundles_check_runs(plan, o->together, seen, e);
    if (!code)
        code = bundles_measure(seen, plan, length, count, o, e);
    plan->bundles = plan->bundles_split = 0;
    for (size_t i = 0; i < count && !code; i++) {
        const struct bundle_seen *s = &seen[i];
        plan->bundles += s->runs && s->sequences > 1;
        plan->bundles_split += s->runs > 1 && s->sequences > 1;
        if (s->runs > 1 && !(s->is_large && o->oversize == BL_OVERSIZE_SPLIT))
            code = bl_error_set(e, BL_EFAIL, "the %u sequences of a bundle, from sequence %u on, do not share a block",
                                (unsigned)s->sequences, (unsigned)s->first);
    }
    free(seen);
    return code;
}
