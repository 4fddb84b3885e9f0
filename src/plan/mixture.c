/* Draws the plans of blends and of mixtures, epoch by epoch.
 *
 * A blend with weights 3 and 1 and 8 blocks in batches of 4 takes 6 blocks of the first source and 2 of the second. The
 * dealt blocks are a a a a a a b b; block v goes to batch v mod 2, so that each batch has 3 blocks of a and 1 of b. A
 * mixture draws sequences instead of blocks: it takes sequences of each source until their steps reach the share of the
 * source, and one planner packs all of them together. */
#include "plan/mixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "plan/fill.h"
#include "plan/random.h"
#include "plan/strategy.h"

#define SEED_OF_SOURCE UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio: seeds of sources lie far apart */

/* --- blends ------------------------------------------------------------------------------------------------------- */

/* --- sizes ------------------------------------------------------------------------------------------------------ */

/* Returns the blocks of a global batch. An option that is 0 is not given, and counts as 1. */
static size_t blend_batch(const struct bl_plan_options *o)
{
    return (size_t)(o->world_size ? o->world_size : 1) * (size_t)(o->batch_size ? o->batch_size : 1);
}

/* Returns the blocks of an optimizer step; the blocks of an epoch are a multiple of them. */
static size_t blend_multiple(const struct bl_plan_options *o)
{
    return blend_batch(o) * (size_t)(o->accumulate ? o->accumulate : 1);
}

/* Returns whether the sources have weights. Either all sources have one or none has, so the first decides. */
static bool blend_is_weighted(const struct bl_blend *b)
{
    return b->stream[0].source.weight > 0;
}

static size_t size_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* Sets the blocks of an epoch without weights: one pass of each source. The blocks that are missing to a multiple go to
 * the sources one by one, by the highest quotient each / (1 + blocks received so far), as in the method of D'Hondt, so
 * that large sources receive most of them. */
static void blend_size_by_passes(struct bl_blend *b)
{
    size_t sum = 0;
    for (size_t s = 0; s < b->sources; s++)
        sum += b->stream[s].taken = b->stream[s].each;
    b->blocks = size_up(sum, blend_multiple(&b->options));
    for (; sum < b->blocks; sum++) {
        struct bl_blend_stream *most = &b->stream[0];
        for (size_t s = 1; s < b->sources; s++) /* cross products compare the quotients exactly */
            if (b->stream[s].each * (most->taken - most->each + 1) >
                most->each * (b->stream[s].taken - b->stream[s].each + 1))
                most = &b->stream[s];
        most->taken++;
    }
}

/* Returns the most blocks of an epoch in which no source begins again: n blocks take n * weight / sum of a source,
 * which must be at most the blocks of its pass. sum: of the weights. */
static size_t blend_unrepeated(const struct bl_blend *b, double sum)
{
    double least = INFINITY;
    for (size_t s = 0; s < b->sources; s++) {
        double blocks = (double)b->stream[s].each * sum / b->stream[s].source.weight;
        least = blocks < least ? blocks : least;
    }
    return (size_t)floor(least + 1e-9); /* an integer that rounding errors made slightly smaller stays */
}

/* Sets the blocks of an epoch and how many of them each source gives. BL_EFAIL: no sequence has a step. BL_EUSAGE: a
 * source needs more passes than --repeat-max; *at is then its number. */
static int blend_size(struct bl_blend *b, size_t *at, struct bl_error *e)
{
    size_t multiple = blend_multiple(&b->options);
    double sum = 0;
    for (size_t s = 0; s < b->sources; s++)
        sum += b->stream[s].source.weight;
    if (!blend_is_weighted(b)) {
        blend_size_by_passes(b);
        return b->blocks ? BL_OK : bl_error_set(e, BL_EFAIL, "nothing to plan: no sequence has a step");
    }
    int64_t T = b->T;
    if (b->blend.epoch_steps)
        b->blocks = size_up((size_t)((b->blend.epoch_steps + T - 1) / T), multiple);
    else
        b->blocks = blend_unrepeated(b, sum) / multiple * multiple;
    if (!b->blocks)
        b->blocks = multiple;
    /* The shares of the sources are rounded by the largest remainder: 10 blocks by weights 1, 1 and 1 are 4, 3 and 3.
     * So they sum to the number of blocks. */
    size_t given = 0;
    for (size_t s = 0; s < b->sources; s++)
        given += b->stream[s].taken = (size_t)((double)b->blocks * (b->stream[s].source.weight / sum));
    while (given < b->blocks) {
        size_t best = 0;
        double most = -1;
        for (size_t s = 0; s < b->sources; s++) {
            double left = (double)b->blocks * (b->stream[s].source.weight / sum) - (double)b->stream[s].taken;
            if (left > most) {
                most = left;
                best = s;
            }
        }
        b->stream[best].taken++;
        given++;
    }
    /* The passes are counted over all epochs, since a pass goes on from one epoch to the next. */
    int64_t most = b->blend.repeat_max;
    for (size_t s = 0; most && s < b->sources; s++) {
        const struct bl_blend_stream *stream = &b->stream[s];
        double passes = (double)stream->taken * (double)b->blend.epochs / (double)stream->each;
        if (passes <= (double)most)
            continue;
        *at = s;
        return bl_error_set(e, BL_EUSAGE,
                            "%lld epochs of %zu blocks use its %zu blocks %.2f times, more than --repeat-max %lld: "
                            "give fewer --epochs or --epoch-steps, or a smaller weight",
                            (long long)b->blend.epochs, stream->taken, stream->each, passes, (long long)most);
    }
    return BL_OK;
}

/* --- making ----------------------------------------------------------------------------------------------------- */

/* Rejects options that a blend cannot fulfil: the order of the blocks follows from the batches, so neither costs nor
 * the input order can decide it. BL_EUSAGE. */
static int blend_check(const struct bl_plan_options *o, struct bl_error *e)
{
    /* A cost without a balance is measured, and a blend has no measure of it either. */
    bool is_balanced = o->balance > BL_BALANCE_NONE || bl_plan_cost_is_given(&o->cost);
    if (!bl_strategies[o->strategy]->is_packed || bl_fills[o->fill]->is_random)
        return bl_error_set(e, BL_EUSAGE, "several sources with --mix batch need --strategy block --fill optimal");
    if (is_balanced || o->order == BL_KEEP_ORDER)
        return bl_error_set(
            e, BL_EUSAGE,
            "several sources with --mix batch exclude --balance, --cost and --order keep: use --mix random");
    if (o->remainder == BL_REMAINDER_DROP)
        return bl_error_set(e, BL_EUSAGE,
                            "several sources with --mix batch exclude --remainder drop: use --remainder spread or pad, "
                            "or --mix random");
    return BL_OK;
}

/* Makes the planner of one source and counts the blocks of a pass. The planner reads the arrays of the blend from the
 * first sequence of the source on, so it numbers the sequences from 0. */
static int blend_stream_make(struct bl_blend_stream *stream, const struct bl_blend *b,
                             const struct bl_blend_source *source, struct bl_error *e)
{
    /* A planner refuses a list without sequences, so such a source has none. */
    bool any = source->weight > 0; /* with a weight, a source without sequences is an error of its planner */
    stream->source = *source;
    /* The planner of a source knows no ranks: only the whole blend has a multiple of their blocks. */
    struct bl_plan_options *own = &stream->options;
    *own = b->options;
    own->T = b->T;
    own->world_size = own->batch_size = own->accumulate = 1;
    own->remainder = BL_REMAINDER_SPREAD;
    own->group = b->options.group ? b->options.group + source->first : NULL;
    own->together = b->options.together ? b->options.together + source->first : NULL;
    for (int c = 0; c < own->max_column.count; c++)
        own->max_column.each[c].value += source->first;
    for (size_t i = 0; i < source->count && !any; i++)
        any = b->length[source->first + i] > 0;
    if (!any)
        return BL_OK;
    /* One pass is drawn to count its blocks, and freed. */
    BL_TRY(bl_planner_make(&stream->planner, b->length + source->first, source->count, &stream->options, e));
    int code = bl_planner_draw(&stream->planner, b->options.seed, 0, false, &stream->pass, e);
    stream->each = code ? 0 : stream->pass.blocks;
    bl_plan_free(&stream->pass);
    return code;
}

int bl_blend_make(struct bl_blend *b, const int64_t *length, size_t count, const struct bl_blend_source *source,
                  size_t sources, const struct bl_plan_options *options, const struct bl_blend_options *given,
                  size_t *at, struct bl_error *e)
{
    *b = (struct bl_blend){.options = *options, .blend = *given, .length = length, .count = count, .sources = sources};
    *at = sources;
    int code = blend_check(options, e);
    if (!code)
        code = bl_plan_T(&b->T, length, count, options, e);
    if (code)
        return code;
    b->stream = calloc(sources, sizeof *b->stream);
    if (!b->stream)
        return bl_error_memory(e);
    for (size_t s = 0; s < sources && !code; s++) {
        *at = s;
        code = blend_stream_make(&b->stream[s], b, &source[s], e);
    }
    if (!code) {
        *at = sources;
        code = blend_size(b, at, e);
    }
    if (code)
        bl_blend_free(b);
    return code;
}

void bl_blend_free(struct bl_blend *b)
{
    for (size_t s = 0; b->stream && s < b->sources; s++) {
        bl_planner_free(&b->stream[s].planner);
        bl_plan_free(&b->stream[s].pass);
        bl_partitions_free(&b->stream[s].former);
    }
    free(b->stream);
    *b = (struct bl_blend){0};
}

/* --- drawing ---------------------------------------------------------------------------------------------------- */

/* The blocks of an epoch in the order in which they are taken: all blocks of the first source, then those of the
 * second, and so on. */
struct dealt {
    struct bl_plan plan; /* in this order; sequences count from the first of all sources */
    size_t capacity;     /* of pieces */
};

/* Draws the next pass of source s, with a partition that none of its earlier passes has, if there is one. */
static int blend_stream_begin_pass(struct bl_blend *b, struct bl_blend_stream *stream, size_t s, struct bl_error *e)
{
    bool spreads = !blend_is_weighted(b) && b->options.remainder == BL_REMAINDER_SPREAD;
    size_t least = spreads ? stream->taken : 0; /* otherwise empty blocks follow, or the next pass */
    uint64_t seed = b->options.seed + SEED_OF_SOURCE * (uint64_t)s + (uint64_t)stream->passes++;
    bl_plan_free(&stream->pass);
    stream->next = 0;
    stream->planner.taken = &stream->former;
    int code = bl_planner_draw(&stream->planner, seed, least, false, &stream->pass, e);
    b->is_repeated |= !code && stream->planner.is_repeated;
    return code;
}

/* Appends block `next` of the present pass of a source, or an empty block after the last one. BL_EFAIL: out of
 * memory. */
static int dealt_append(struct dealt *d, const struct bl_blend *b, const struct bl_blend_stream *stream, size_t next,
                        struct bl_error *e)
{
    const struct bl_plan *pass = &stream->pass;
    bool is_empty = next >= pass->blocks;
    int64_t first = is_empty ? 0 : pass->block_ptr[next], end = is_empty ? 0 : pass->block_ptr[next + 1];
    int code = bl_plan_reserve(&d->plan, &d->capacity, d->plan.pieces + (size_t)(end - first), e);
    for (int64_t p = first; p < end && !code; p++) {
        size_t to = d->plan.pieces++;
        d->plan.sequence[to] = pass->sequence[p] + (uint32_t)stream->source.first;
        d->plan.length[to] = bl_plan_piece_length(pass, b->length + stream->source.first, (size_t)p);
        d->plan.source_start[to] = pass->source_start ? pass->source_start[p] : 0;
    }
    d->plan.block_ptr[++d->plan.blocks] = (int64_t)d->plan.pieces;
    return code;
}

/* Appends the blocks that source s gives to this epoch. With weights, a pass goes on in the next epoch; without
 * weights, every epoch is one pass, and ends with empty blocks if the pass has too few. */
static int dealt_take(struct dealt *d, struct bl_blend *b, size_t s, struct bl_error *e)
{
    struct bl_blend_stream *stream = &b->stream[s];
    bool begun = stream->passes && blend_is_weighted(b);
    int code = begun || !stream->taken ? BL_OK : blend_stream_begin_pass(b, stream, s, e);
    for (size_t k = 0; k < stream->taken && !code; k++) {
        if (blend_is_weighted(b) && stream->next >= stream->pass.blocks)
            code = blend_stream_begin_pass(b, stream, s, e);
        if (!code)
            code = dealt_append(d, b, stream, stream->next++, e);
    }
    return code;
}

/* Writes the order of the blocks: order[k] is the number of the dealt block that becomes block k. Dealt block v belongs
 * to batch v mod batches, so every batch has the shares to within one block. The batches, and the blocks in each, are
 * shuffled. order: [blocks]; batch: [batches], overwritten. */
static void blend_order(const struct bl_blend *b, int64_t *order, int64_t *batch)
{
    size_t each = blend_batch(&b->options), batches = b->blocks / each;
    struct bl_random random;
    bl_random_seed(&random, b->options.seed + (uint64_t)b->epoch, BL_STREAM_BLEND);
    for (size_t g = 0; g < batches; g++)
        batch[g] = (int64_t)g;
    bl_random_shuffle_i64(&random, batch, batches);
    for (size_t g = 0; g < batches; g++) {
        for (size_t m = 0; m < each; m++)
            order[g * each + m] = (int64_t)(m * batches) + batch[g];
        bl_random_shuffle_i64(&random, order + g * each, each);
    }
}

/* Sets the counts of a plan that may have only some sequences, or a sequence several times. bl_plan_recount refuses
 * such a plan, so the counts are made here; lower_bound stays unchanged. length: [count]. BL_EFAIL: out of memory. */
static int plan_count_placed(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e)
{
    uint8_t *seen = calloc(count / 4 + 1, 1); /* two bits for each: it has a piece; a piece is not whole */
    if (!seen)
        return bl_error_memory(e);
    plan->sequences = plan->steps = plan->longest = plan->cut = plan->max_sequences = plan->repeated = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        int64_t n = plan->block_ptr[b + 1] - plan->block_ptr[b];
        plan->max_sequences = n > plan->max_sequences ? n : plan->max_sequences;
    }
    for (size_t p = 0; p < plan->pieces; p++) {
        uint32_t row = plan->sequence[p];
        int64_t steps = bl_plan_piece_length(plan, length, p);
        int shift = (int)(row % 4) * 2;
        plan->sequences += !(seen[row / 4] >> shift & 1);
        plan->cut += steps < length[row] && !(seen[row / 4] >> shift & 2);
        seen[row / 4] |= (uint8_t)((steps < length[row] ? 3 : 1) << shift);
        plan->steps += steps;
        plan->repeated += plan->source_start && plan->source_start[p] > 0 ? plan->overlap : 0;
        plan->longest = length[row] > plan->longest ? length[row] : plan->longest;
    }
    free(seen);
    plan->deleted = plan->dropped = 0;
    plan->padding = (int64_t)plan->blocks * plan->T - plan->steps;
    plan->steps -= plan->repeated;
    plan->align_padding = bl_plan_align_padding(plan, length);
    return BL_OK;
}

/* Sets the counts, the fill of the columns and the lower bound of a plan. With weights, the steps of the sequences that
 * were drawn give the bound; without weights, the proven bounds of the sources add up, as no block has two sources. */
static int blend_count(const struct bl_blend *b, struct bl_plan *plan, struct bl_error *e)
{
    int64_t bound = 0, multiple = (int64_t)blend_multiple(&b->options);
    bool weighted = blend_is_weighted(b);
    /* The passes of the sources are taken for their blocks in this epoch: a pass that goes on has about the same
     * means. */
    for (int c = 0; c < b->options.max_column.count; c++) {
        struct bl_plan_filled *filled = &plan->filled[c];
        for (size_t s = 0; s < b->sources; s++) {
            const struct bl_plan_filled *pass = &b->stream[s].pass.filled[c];
            filled->mean += pass->mean * (double)b->stream[s].taken / (double)b->blocks;
            filled->highest = pass->highest > filled->highest ? pass->highest : filled->highest;
        }
    }
    int code =
        weighted ? plan_count_placed(plan, b->length, b->count, e) : bl_plan_recount(plan, b->length, b->count, e);
    for (size_t s = 0; s < b->sources; s++) {
        plan->bundles += b->stream[s].planner.counts.bundles;
        plan->bundles_split += b->stream[s].planner.counts.bundles_split;
        plan->bundle_pairs += b->stream[s].pass.bundle_pairs;
    }
    for (size_t s = 0; s < b->sources && !weighted; s++)
        bound += b->stream[s].pass.lower_bound;
    if (weighted)
        bound = (bl_plan_placed(plan) + plan->T - 1) / plan->T;
    /* The bound is rounded up to whole optimizer steps of all ranks, as the blocks are. */
    bound = (bound + multiple - 1) / multiple * multiple;
    plan->lower_bound = bound < (int64_t)plan->blocks ? bound : (int64_t)plan->blocks;
    return code;
}

int bl_blend_draw(struct bl_blend *b, struct bl_plan *plan, struct bl_error *e)
{
    struct dealt d = {0};
    *plan = (struct bl_plan){.T = b->T, .align = bl_plan_options_align(&b->options), .overlap = b->options.overlap};
    b->is_repeated = false;
    int64_t *order = malloc(2 * b->blocks * sizeof *order);
    /* The number of blocks is known, so this table has its size at once; the tables of pieces grow. */
    d.plan.block_ptr = calloc(b->blocks + 1, sizeof *d.plan.block_ptr);
    int code = order && d.plan.block_ptr ? BL_OK : bl_error_memory(e);
    for (size_t s = 0; s < b->sources && !code; s++)
        code = dealt_take(&d, b, s, e);
    if (code)
        goto out;
    blend_order(b, order, order + b->blocks);
    size_t capacity = 0;
    plan->block_ptr = malloc((d.plan.blocks + 1) * sizeof *plan->block_ptr);
    code = plan->block_ptr ? bl_plan_reserve(plan, &capacity, d.plan.pieces, e) : bl_error_memory(e);
    if (code)
        goto out;
    plan->blocks = d.plan.blocks;
    /* Copies the blocks from the order in which they were dealt to the order of the plan. */
    for (size_t k = 0; k < d.plan.blocks; k++) {
        size_t first = (size_t)d.plan.block_ptr[order[k]], n = (size_t)d.plan.block_ptr[order[k] + 1] - first;
        plan->block_ptr[k] = (int64_t)plan->pieces;
        memcpy(plan->sequence + plan->pieces, d.plan.sequence + first, n * sizeof *plan->sequence);
        memcpy(plan->length + plan->pieces, d.plan.length + first, n * sizeof *plan->length);
        memcpy(plan->source_start + plan->pieces, d.plan.source_start + first, n * sizeof *plan->source_start);
        plan->pieces += n;
    }
    plan->block_ptr[plan->blocks] = (int64_t)plan->pieces;
    code = blend_count(b, plan, e);
    b->epoch++;
out:
    free(order);
    bl_plan_free(&d.plan);
    if (code)
        bl_plan_free(plan);
    return code;
}

/* --- mixtures ----------------------------------------------------------------------------------------------------- */

/* --- drawing sequences ------------------------------------------------------------------------------------------ */

/* Shuffles the sequences of a source for its next pass. The seed depends on the source and the number of the pass
 * alone, so that a rewound mixture draws the same epochs again. */
static void stream_begin_pass(const struct bl_mixture *m, struct bl_mixture_stream *stream)
{
    struct bl_random random;
    uint64_t source = (uint64_t)(stream - m->stream);
    bl_random_seed(&random, m->options.seed + SEED_OF_SOURCE * source + (uint64_t)stream->passes++, BL_STREAM_MIXTURE);
    bl_random_shuffle_u32(&random, stream->row, stream->rows);
    stream->next = 0;
}

/* Goes back to before the first epoch. The rows are listed from the start, since a shuffle changes the order that it is
 * given. */
static void mixture_rewind(struct bl_mixture *m)
{
    m->epoch = 0;
    m->taken.count = 0;
    for (size_t s = 0; s < m->sources; s++) {
        struct bl_mixture_stream *stream = &m->stream[s];
        size_t rows = 0;
        for (size_t i = 0; i < stream->source.count; i++) {
            size_t row = stream->source.first + i;
            if (m->length[row] > 0 && !(m->follows && m->follows[row]))
                stream->row[rows++] = (uint32_t)row;
        }
        stream->passes = stream->taken = 0;
        stream_begin_pass(m, stream);
    }
}

/* Returns the steps of a sequence and the others of its bundle. */
static int64_t mixture_steps(const struct bl_mixture *m, uint32_t row)
{
    int64_t steps = m->length[row];
    for (uint32_t i = row; m->next && (i = m->next[i]) != BL_ALONE;)
        steps += m->length[i];
    return steps;
}

/* Adds a sequence, and the others of its bundle, to the items. BL_EFAIL: out of memory. */
static int mixture_add(struct bl_mixture *m, uint32_t row, struct bl_error *e)
{
    size_t first = m->items;
    for (uint32_t i = row; i != BL_ALONE; i = m->next ? m->next[i] : BL_ALONE) {
        BL_TRY(BL_ARRAY_RESERVE(m->item, m->capacity, m->items + 1, e));
        if (m->next)
            BL_TRY(BL_ARRAY_RESERVE(m->bundle, m->bundle_capacity, m->items + 1, e));
        if (m->next)
            m->bundle[m->items] = m->next[row] == BL_ALONE ? BL_ALONE : (uint32_t)first;
        m->item[m->items++] = i;
    }
    return BL_OK;
}

/* Adds the next sequences of a source to the items, up to the steps that are due after this epoch. A sequence, or a
 * bundle, is taken if at least half of its steps are due: so the error stays below half a sequence and does not grow
 * with the epochs. With 100 steps due in each epoch and sequences of 40, the epochs take 3, 2, 3, 2... of them. */
static int stream_take(struct bl_mixture *m, struct bl_mixture_stream *stream, struct bl_error *e)
{
    double due = stream->share * m->epoch_steps * (double)(m->epoch + 1);
    for (;;) {
        if (stream->next == stream->rows)
            stream_begin_pass(m, stream);
        uint32_t row = stream->row[stream->next];
        int64_t steps = mixture_steps(m, row);
        if ((double)stream->taken + (double)steps / 2 > due)
            return BL_OK;
        BL_TRY(mixture_add(m, row, e));
        stream->taken += steps;
        stream->next++;
    }
}

/* --- packing them ----------------------------------------------------------------------------------------------- */

/* What a planner needs of the items: their lengths, groups and columns, copied from those of all sequences. The struct
 * owns the arrays, and bl_mixture_draw frees them, also after errors. */
struct items {
    struct bl_plan_options options;
    int64_t *length;
    uint32_t *group;
    double *column, *value[BL_PLAN_COLUMNS_MAX];
};

/* Returns a copy of a column for the items, which the caller frees. NULL: there is no column, or out of memory. */
static double *items_column(const struct bl_mixture *m, const double *of)
{
    double *column = of ? malloc((m->items + 1) * sizeof *column) : NULL;
    for (size_t i = 0; column && i < m->items; i++)
        column[i] = of[m->item[i]];
    return column;
}

/* Copies the lengths, groups and columns of the items, and points the options to the copies. BL_EFAIL: out of
 * memory. */
static int items_make(struct items *items, const struct bl_mixture *m, struct bl_error *e)
{
    struct bl_plan_options *o = &items->options;
    *items = (struct items){.options = m->options};
    items->length = malloc((m->items + 1) * sizeof *items->length);
    items->group = o->group ? malloc((m->items + 1) * sizeof *items->group) : NULL;
    items->column = items_column(m, o->column);
    bool whole = items->length && (items->group || !o->group) && (items->column || !o->column);
    for (int c = 0; c < o->max_column.count; c++) {
        items->value[c] = items_column(m, o->max_column.each[c].value);
        whole &= items->value[c] != NULL;
        o->max_column.each[c].value = items->value[c];
    }
    if (!whole)
        return bl_error_memory(e);
    for (size_t i = 0; i < m->items; i++) {
        items->length[i] = m->length[m->item[i]];
        if (items->group)
            items->group[i] = o->group[m->item[i]];
    }
    o->group = items->group;
    o->together = m->bundle; /* a bundle that is drawn twice is two bundles */
    o->column = items->column;
    return BL_OK;
}

int bl_mixture_draw(struct bl_mixture *m, struct bl_plan *plan, struct bl_error *e)
{
    struct bl_planner planner = {0};
    struct items items = {0};
    uint64_t seed = m->options.seed + (uint64_t)m->epoch;
    int code = BL_OK;
    *plan = (struct bl_plan){0};
    m->items = 0;
    for (size_t s = 0; s < m->sources && !code; s++)
        code = stream_take(m, &m->stream[s], e);
    if (!code)
        code = items_make(&items, m, e);
    if (!code)
        code = bl_planner_make(&planner, items.length, m->items, &items.options, e);
    /* An epoch with fewer sequences than the other epochs have blocks cannot be spread over them, so it has empty
     * blocks. */
    if (!code && planner.pieces.lengths.count < m->blocks && planner.options.remainder == BL_REMAINDER_SPREAD)
        planner.options.remainder = BL_REMAINDER_PAD;
    /* The names are the sequences of the items, so that the partitions of epochs with different items can be
     * compared. */
    planner.taken = &m->taken;
    planner.name = m->item;
    if (!code)
        code = bl_planner_draw(&planner, seed, m->blocks, true, plan, e);
    m->is_repeated = !code && planner.is_repeated;
    if (!code && m->blocks && plan->blocks != m->blocks)
        code =
            bl_error_set(e, BL_EFAIL, "epoch %lld needs %zu blocks, but the other epochs have %zu: use --remainder pad",
                         (long long)m->epoch, plan->blocks, m->blocks);
    for (size_t p = 0; p < plan->pieces && !code; p++)
        /* The planner numbers the items; a plan numbers the sequences of all sources. */
        plan->sequence[p] = m->item[plan->sequence[p]];
    if (!code)
        code = plan_count_placed(plan, m->length, m->count, e);
    /* An epoch counts even after an error, as its sequences are taken. */
    m->epoch++;
    bl_planner_free(&planner);
    free(items.length);
    free(items.group);
    free(items.column);
    for (int c = 0; c < BL_PLAN_COLUMNS_MAX; c++)
        free(items.value[c]);
    if (code)
        bl_plan_free(plan);
    return code;
}

/* --- making ----------------------------------------------------------------------------------------------------- */

/* Sets the share of a source, allocates its rows, and counts its sequences and steps; mixture_rewind lists them.
 * BL_EFAIL: out of memory, or the source has no sequence. */
static int stream_make(struct bl_mixture *m, struct bl_mixture_stream *stream, const struct bl_blend_source *source,
                       double sum, struct bl_error *e)
{
    *stream = (struct bl_mixture_stream){.source = *source, .share = source->weight / sum};
    stream->row = malloc((source->count + 1) * sizeof *stream->row);
    if (!stream->row)
        return bl_error_memory(e);
    for (size_t i = 0; i < source->count; i++) {
        stream->rows += m->length[source->first + i] > 0 && !(m->follows && m->follows[source->first + i]);
        stream->steps += m->length[source->first + i];
    }
    return stream->rows ? BL_OK : bl_error_set(e, BL_EFAIL, "it has no sequence to plan");
}

/* Sets the steps of an epoch: the given number, or as many as there are before the first source would begin again.
 * BL_EUSAGE: a source needs more passes than --repeat-max; *at is then its number. */
static int mixture_size(struct bl_mixture *m, size_t *at, struct bl_error *e)
{
    double least = INFINITY;
    for (size_t s = 0; s < m->sources; s++)
        least = fmin(least, (double)m->stream[s].steps / m->stream[s].share);
    m->epoch_steps = m->blend.epoch_steps ? (double)m->blend.epoch_steps : least;
    for (size_t s = 0; s < m->sources && m->blend.repeat_max; s++) {
        const struct bl_mixture_stream *stream = &m->stream[s];
        double passes = m->epoch_steps * stream->share * (double)m->blend.epochs / (double)stream->steps;
        /* The tolerance accepts exactly repeat_max passes in spite of rounding errors of the shares. */
        if (passes <= (double)m->blend.repeat_max * (1 + 1e-9))
            continue;
        *at = s;
        return bl_error_set(e, BL_EUSAGE,
                            "%lld epochs use its %lld steps %.2f times, more than --repeat-max %lld: give fewer "
                            "--epochs or --epoch-steps, or a smaller weight",
                            (long long)m->blend.epochs, (long long)stream->steps, passes,
                            (long long)m->blend.repeat_max);
    }
    return BL_OK;
}

/* Sets the number of blocks of every epoch: the most that any epoch needs. All epochs are drawn once for this, then the
 * mixture is rewound. A single epoch has as few blocks as its sequences need, and m->blocks stays 0. */
static int mixture_find_blocks(struct bl_mixture *m, struct bl_error *e)
{
    size_t most = 0;
    int code = BL_OK;
    for (int64_t k = 0; m->blend.epochs > 1 && k < m->blend.epochs && !code; k++) {
        struct bl_plan plan;
        code = bl_mixture_draw(m, &plan, e);
        most = !code && plan.blocks > most ? plan.blocks : most;
        if (!code)
            bl_plan_free(&plan);
    }
    m->blocks = most;
    mixture_rewind(m);
    return code;
}

/* Links the sequences of each bundle. options.together: numbers below count. BL_EFAIL: out of memory. */
static int mixture_link(struct bl_mixture *m, struct bl_error *e)
{
    uint32_t *last = malloc((m->count + 1) * sizeof *last); /* by bundle */
    m->next = malloc((m->count + 1) * sizeof *m->next);
    m->follows = calloc(m->count + 1, sizeof *m->follows);
    int code = last && m->next && m->follows ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < m->count && !code; i++)
        last[i] = m->next[i] = BL_ALONE;
    for (size_t i = 0; i < m->count && !code; i++) {
        uint32_t bundle = m->options.together[i];
        if (m->length[i] < 1 || bundle == BL_ALONE)
            continue;
        m->follows[i] = last[bundle] != BL_ALONE;
        if (m->follows[i])
            m->next[last[bundle]] = (uint32_t)i;
        last[bundle] = (uint32_t)i;
    }
    free(last);
    return code;
}

int bl_mixture_make(struct bl_mixture *m, const int64_t *length, size_t count, const struct bl_blend_source *source,
                    size_t sources, const struct bl_plan_options *options, const struct bl_blend_options *given,
                    size_t *at, struct bl_error *e)
{
    double sum = 0;
    *m =
        (struct bl_mixture){.options = *options, .blend = *given, .length = length, .count = count, .sources = sources};
    *at = sources;
    m->stream = calloc(sources, sizeof *m->stream);
    int code = m->stream ? bl_plan_T(&m->options.T, length, count, options, e) : bl_error_memory(e);
    if (!code && options->together)
        code = mixture_link(m, e);
    for (size_t s = 0; s < sources; s++)
        sum += source[s].weight;
    for (size_t s = 0; s < sources && !code; s++) {
        *at = s;
        code = stream_make(m, &m->stream[s], &source[s], sum, e);
    }
    if (!code) {
        *at = sources;
        code = mixture_size(m, at, e);
    }
    if (!code) {
        mixture_rewind(m);
        code = mixture_find_blocks(m, e);
    }
    if (code)
        bl_mixture_free(m);
    return code;
}

void bl_mixture_free(struct bl_mixture *m)
{
    for (size_t s = 0; m->stream && s < m->sources; s++)
        free(m->stream[s].row);
    free(m->stream);
    free(m->item);
    free(m->bundle);
    free(m->next);
    free(m->follows);
    bl_partitions_free(&m->taken);
    *m = (struct bl_mixture){0};
}
