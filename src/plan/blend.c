#include "plan/blend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/fill.h"
#include "plan/random.h"
#include "plan/strategy.h"

#define SEED_OF_SOURCE UINT64_C(0x9e3779b97f4a7c15) /* so that sources of equal lengths are drawn differently */

/* --- sizes ------------------------------------------------------------------------------------------------------ */

static size_t blend_batch(const struct bl_plan_options *o)
{
    return (size_t)(o->world_size ? o->world_size : 1) * (size_t)(o->batch_size ? o->batch_size : 1);
}

static size_t blend_multiple(const struct bl_plan_options *o)
{
    return blend_batch(o) * (size_t)(o->accumulate ? o->accumulate : 1);
}

static bool blend_is_weighted(const struct bl_blend *b)
{
    return b->stream[0].source.weight > 0;
}

static size_t size_up(size_t n, size_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* Without weights: one pass of each; the blocks that make a multiple go to the sources with the most. */
static void blend_size_by_passes(struct bl_blend *b)
{
    size_t sum = 0;
    for (size_t s = 0; s < b->sources; s++)
        sum += b->stream[s].taken = b->stream[s].each;
    b->blocks = size_up(sum, blend_multiple(&b->options));
    for (; sum < b->blocks; sum++) {
        struct bl_blend_stream *most = &b->stream[0];
        for (size_t s = 1; s < b->sources; s++) /* the most a pass for each block that it has got more */
            if (b->stream[s].each * (most->taken - most->each + 1) >
                most->each * (b->stream[s].taken - b->stream[s].each + 1))
                most = &b->stream[s];
        most->taken++;
    }
}

/* With weights: shares by the largest remainder, so that they sum to the blocks. */
static void blend_size_by_weights(struct bl_blend *b, double sum)
{
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
}

/* The most blocks in which no source begins again. */
static size_t blend_unrepeated(const struct bl_blend *b, double sum)
{
    double least = INFINITY;
    for (size_t s = 0; s < b->sources; s++) {
        double blocks = (double)b->stream[s].each * sum / b->stream[s].source.weight;
        least = blocks < least ? blocks : least;
    }
    return (size_t)floor(least + 1e-9);
}

static int blend_check_passes(const struct bl_blend *b, size_t *at, struct bl_error *e)
{
    int64_t most = b->blend.repeat_max;
    for (size_t s = 0; most && s < b->sources; s++) {
        const struct bl_blend_stream *stream = &b->stream[s];
        double passes = (double)stream->taken * (double)b->blend.epochs / (double)stream->each;
        if (passes <= (double)most)
            continue;
        *at = s;
        return bl_error_set(e, BL_EUSAGE,
                            "%lld epochs of %zu blocks go through its %zu blocks %.2f times, more than "
                            "--repeat-max %lld: fewer --epochs or --epoch-steps, or a smaller weight",
                            (long long)b->blend.epochs, stream->taken, stream->each, passes, (long long)most);
    }
    return BL_OK;
}

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
    blend_size_by_weights(b, sum);
    return blend_check_passes(b, at, e);
}

/* --- making ----------------------------------------------------------------------------------------------------- */

static int blend_check(const struct bl_plan_options *o, struct bl_error *e)
{
    bool is_balanced = o->balance > BL_BALANCE_NONE || bl_plan_cost_is_given(&o->cost);
    if (!bl_strategies[o->strategy]->is_packed || bl_fills[o->fill]->is_random)
        return bl_error_set(e, BL_EUSAGE, "several sources with --mix batch need --strategy block --fill optimal");
    if (is_balanced || o->order == BL_KEEP_ORDER)
        return bl_error_set(e, BL_EUSAGE,
                            "several sources with --mix batch have an order of blocks of their own, "
                            "without --balance, --cost and --order keep: use --mix random");
    if (o->remainder == BL_REMAINDER_DROP)
        return bl_error_set(e, BL_EUSAGE,
                            "several sources with --mix batch leave no blocks out: --remainder spread or "
                            "pad, or --mix random");
    return BL_OK;
}

/* The options of one source: its own sequences, and a number of blocks that only the blend decides. */
static struct bl_plan_options stream_options(const struct bl_plan_options *o, const struct bl_blend_source *source,
                                             int64_t T)
{
    struct bl_plan_options own = *o;
    own.T = T;
    own.world_size = own.batch_size = own.accumulate = 1;
    own.remainder = BL_REMAINDER_SPREAD;
    own.group = o->group ? o->group + source->first : NULL;
    for (int c = 0; c < own.max_column.count; c++)
        own.max_column.each[c].value += source->first;
    return own;
}

static int stream_make(struct bl_blend_stream *stream, const struct bl_blend *b, const struct bl_blend_source *source,
                       struct bl_error *e)
{
    bool any = source->weight > 0; /* else a source without sequences gives no blocks */
    stream->source = *source;
    stream->options = stream_options(&b->options, source, b->T);
    for (size_t i = 0; i < source->count && !any; i++)
        any = b->length[source->first + i] > 0;
    if (!any)
        return BL_OK;
    int code = bl_planner_make(&stream->planner, b->length + source->first, source->count, &stream->options, e);
    if (code)
        return code;
    code = bl_planner_draw(&stream->planner, b->options.seed, 0, false, &stream->pass, e);
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
        code = stream_make(&b->stream[s], b, &source[s], e);
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

/* The blocks of an epoch, one source after the other. */
struct dealt {
    struct bl_plan plan; /* in this order; sequences count from the first of all sources */
    size_t capacity;     /* of pieces */
};

static int stream_begin_pass(struct bl_blend *b, struct bl_blend_stream *stream, size_t s, struct bl_error *e)
{
    bool spreads = !blend_is_weighted(b) && b->options.remainder == BL_REMAINDER_SPREAD;
    size_t least = spreads ? stream->taken : 0; /* else empty blocks follow, or the next pass */
    uint64_t seed = b->options.seed + SEED_OF_SOURCE * (uint64_t)s + (uint64_t)stream->passes++;
    bl_plan_free(&stream->pass);
    stream->next = 0;
    stream->planner.taken = &stream->former;
    int code = bl_planner_draw(&stream->planner, seed, least, false, &stream->pass, e);
    b->is_repeated |= !code && stream->planner.is_repeated;
    return code;
}

static int dealt_reserve(struct dealt *d, size_t pieces, struct bl_error *e)
{
    size_t capacity = d->capacity;
    if (pieces <= capacity)
        return BL_OK;
    while (capacity < pieces)
        capacity = capacity ? capacity + capacity / 2 : 1024;
    uint32_t *sequence = realloc(d->plan.sequence, capacity * sizeof *sequence);
    if (sequence)
        d->plan.sequence = sequence;
    int64_t *length = realloc(d->plan.length, capacity * sizeof *length);
    if (length)
        d->plan.length = length;
    int64_t *source_start = realloc(d->plan.source_start, capacity * sizeof *source_start);
    if (source_start)
        d->plan.source_start = source_start;
    if (!sequence || !length || !source_start)
        return bl_error_memory(e);
    d->capacity = capacity;
    return BL_OK;
}

/* Appends a block of a pass; next >= blocks: an empty one. */
static int dealt_append(struct dealt *d, const struct bl_blend *b, const struct bl_blend_stream *stream, size_t next,
                        struct bl_error *e)
{
    const struct bl_plan *pass = &stream->pass;
    bool is_empty = next >= pass->blocks;
    int64_t first = is_empty ? 0 : pass->block_ptr[next], end = is_empty ? 0 : pass->block_ptr[next + 1];
    int code = dealt_reserve(d, d->plan.pieces + (size_t)(end - first), e);
    for (int64_t p = first; p < end && !code; p++) {
        size_t to = d->plan.pieces++;
        d->plan.sequence[to] = pass->sequence[p] + (uint32_t)stream->source.first;
        d->plan.length[to] = bl_plan_piece_length(pass, b->length + stream->source.first, (size_t)p);
        d->plan.source_start[to] = pass->source_start ? pass->source_start[p] : 0;
    }
    d->plan.block_ptr[++d->plan.blocks] = (int64_t)d->plan.pieces;
    return code;
}

static int dealt_take(struct dealt *d, struct bl_blend *b, size_t s, struct bl_error *e)
{
    struct bl_blend_stream *stream = &b->stream[s];
    bool begun = stream->passes && blend_is_weighted(b);
    int code = begun || !stream->taken ? BL_OK : stream_begin_pass(b, stream, s, e);
    for (size_t k = 0; k < stream->taken && !code; k++) {
        if (blend_is_weighted(b) && stream->next >= stream->pass.blocks)
            code = stream_begin_pass(b, stream, s, e);
        if (!code)
            code = dealt_append(d, b, stream, stream->next++, e);
    }
    return code;
}

/* The place of each block of the epoch: place v of the dealt blocks goes to batch v mod batches. Batches, and the
 * blocks in each, are shuffled. order: [blocks] */
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

static int plan_reorder(struct bl_plan *plan, const struct bl_plan *from, const int64_t *order, struct bl_error *e)
{
    plan->block_ptr = malloc((from->blocks + 1) * sizeof *plan->block_ptr);
    plan->sequence = malloc((from->pieces + 1) * sizeof *plan->sequence);
    plan->length = malloc((from->pieces + 1) * sizeof *plan->length);
    plan->source_start = malloc((from->pieces + 1) * sizeof *plan->source_start);
    if (!plan->block_ptr || !plan->sequence || !plan->length || !plan->source_start)
        return bl_error_memory(e);
    plan->blocks = from->blocks;
    for (size_t k = 0; k < from->blocks; k++) {
        size_t first = (size_t)from->block_ptr[order[k]], n = (size_t)from->block_ptr[order[k] + 1] - first;
        plan->block_ptr[k] = (int64_t)plan->pieces;
        memcpy(plan->sequence + plan->pieces, from->sequence + first, n * sizeof *plan->sequence);
        memcpy(plan->length + plan->pieces, from->length + first, n * sizeof *plan->length);
        memcpy(plan->source_start + plan->pieces, from->source_start + first, n * sizeof *plan->source_start);
        plan->pieces += n;
    }
    plan->block_ptr[plan->blocks] = (int64_t)plan->pieces;
    return BL_OK;
}

int bl_plan_count_placed(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e)
{
    uint8_t *seen = calloc(count / 4 + 1, 1); /* two bits each: it is there; it was cut */
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

/* How full the blocks are of columns with a maximum, by the present passes. */
static void blend_count_columns(const struct bl_blend *b, struct bl_plan *plan)
{
    for (int c = 0; c < b->options.max_column.count; c++) {
        struct bl_plan_filled *filled = &plan->filled[c];
        for (size_t s = 0; s < b->sources; s++) {
            const struct bl_plan_filled *pass = &b->stream[s].pass.filled[c];
            filled->mean += pass->mean * (double)b->stream[s].taken / (double)b->blocks;
            filled->highest = pass->highest > filled->highest ? pass->highest : filled->highest;
        }
    }
}

static int blend_count(const struct bl_blend *b, struct bl_plan *plan, struct bl_error *e)
{
    int64_t bound = 0, multiple = (int64_t)blend_multiple(&b->options);
    bool weighted = blend_is_weighted(b);
    blend_count_columns(b, plan);
    int code =
        weighted ? bl_plan_count_placed(plan, b->length, b->count, e) : bl_plan_recount(plan, b->length, b->count, e);
    for (size_t s = 0; s < b->sources && !weighted; s++)
        bound += b->stream[s].pass.lower_bound;
    if (weighted)
        bound = (bl_plan_placed(plan) + plan->T - 1) / plan->T;
    bound = (bound + multiple - 1) / multiple * multiple;
    plan->lower_bound = bound < (int64_t)plan->blocks ? bound : (int64_t)plan->blocks;
    return code;
}

int bl_blend_draw(struct bl_blend *b, struct bl_plan *plan, struct bl_error *e)
{
    struct dealt d = {0};
    *plan = (struct bl_plan){.T = b->T, .align = b->options.align, .overlap = b->options.overlap};
    b->is_repeated = false;
    int64_t *order = malloc(2 * b->blocks * sizeof *order);
    d.plan.block_ptr = calloc(b->blocks + 1, sizeof *d.plan.block_ptr);
    int code = order && d.plan.block_ptr ? BL_OK : bl_error_memory(e);
    for (size_t s = 0; s < b->sources && !code; s++)
        code = dealt_take(&d, b, s, e);
    if (code)
        goto out;
    blend_order(b, order, order + b->blocks);
    code = plan_reorder(plan, &d.plan, order, e);
    if (!code)
        code = blend_count(b, plan, e);
    b->epoch++;
out:
    free(order);
    bl_plan_free(&d.plan);
    if (code)
        bl_plan_free(plan);
    return code;
}
