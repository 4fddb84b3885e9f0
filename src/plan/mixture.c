#include "plan/mixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "plan/planner.h"
#include "plan/random.h"

#define SEED_OF_SOURCE UINT64_C(0x9e3779b97f4a7c15) /* so that sources of equal lengths are drawn differently */

/* --- drawing sequences ------------------------------------------------------------------------------------------ */

static void stream_begin_pass(const struct bl_mixture *m, struct bl_mixture_stream *stream)
{
    struct bl_random random;
    uint64_t source = (uint64_t)(stream - m->stream);
    bl_random_seed(&random, m->options.seed + SEED_OF_SOURCE * source + (uint64_t)stream->passes++, BL_STREAM_MIXTURE);
    bl_random_shuffle_u32(&random, stream->row, stream->rows);
    stream->next = 0;
}

/* Goes back to the first epoch. */
static void mixture_rewind(struct bl_mixture *m)
{
    m->epoch = 0;
    m->taken.count = 0;
    for (size_t s = 0; s < m->sources; s++) {
        struct bl_mixture_stream *stream = &m->stream[s];
        size_t rows = 0;
        for (size_t i = 0; i < stream->source.count; i++) {
            if (m->length[stream->source.first + i] > 0)
                stream->row[rows++] = (uint32_t)(stream->source.first + i);
        }
        stream->passes = stream->taken = 0;
        stream_begin_pass(m, stream);
    }
}

/* Takes the next sequences of a source, up to the steps that are due after this epoch. */
static int stream_take(struct bl_mixture *m, struct bl_mixture_stream *stream, struct bl_error *e)
{
    double due = stream->share * m->epoch_steps * (double)(m->epoch + 1);
    for (;;) {
        if (stream->next == stream->rows)
            stream_begin_pass(m, stream);
        uint32_t row = stream->row[stream->next];
        if ((double)stream->taken + (double)m->length[row] / 2 > due)
            return BL_OK;
        int code = BL_ARRAY_RESERVE(m->item, m->capacity, m->items + 1, e);
        if (code)
            return code;
        m->item[m->items++] = row;
        stream->taken += m->length[row];
        stream->next++;
    }
}

/* --- packing them ----------------------------------------------------------------------------------------------- */

/* The lengths, groups and columns of the items. */
struct items {
    struct bl_plan_options options;
    int64_t *length;
    uint32_t *group;
    double *column, *value[BL_PLAN_COLUMNS_MAX];
};

static double *items_column(const struct bl_mixture *m, const double *of)
{
    double *column = of ? malloc((m->items + 1) * sizeof *column) : NULL;
    for (size_t i = 0; column && i < m->items; i++)
        column[i] = of[m->item[i]];
    return column;
}

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
    o->column = items->column;
    return BL_OK;
}

static void items_free(struct items *items)
{
    free(items->length);
    free(items->group);
    free(items->column);
    for (int c = 0; c < BL_PLAN_COLUMNS_MAX; c++)
        free(items->value[c]);
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
    /* With fewer sequences than the other epochs have blocks, some stay empty. */
    if (!code && planner.pieces.lengths.count < m->blocks && planner.options.remainder == BL_REMAINDER_SPREAD)
        planner.options.remainder = BL_REMAINDER_PAD;
    planner.taken = &m->taken;
    planner.name = m->item;
    if (!code)
        code = bl_planner_draw(&planner, seed, m->blocks, true, plan, e);
    m->is_repeated = !code && planner.is_repeated;
    if (!code && m->blocks && plan->blocks != m->blocks)
        code = bl_error_set(e, BL_EFAIL, "epoch %lld needs %zu blocks, and the others have %zu: --remainder pad",
                            (long long)m->epoch, plan->blocks, m->blocks);
    for (size_t p = 0; p < plan->pieces && !code; p++)
        plan->sequence[p] = m->item[plan->sequence[p]];
    if (!code)
        code = bl_plan_count_placed(plan, m->length, m->count, e);
    m->epoch++;
    bl_planner_free(&planner);
    items_free(&items);
    if (code)
        bl_plan_free(plan);
    return code;
}

/* --- making ----------------------------------------------------------------------------------------------------- */

static int stream_make(struct bl_mixture *m, struct bl_mixture_stream *stream, const struct bl_blend_source *source,
                       double sum, struct bl_error *e)
{
    *stream = (struct bl_mixture_stream){.source = *source, .share = source->weight / sum};
    stream->row = malloc((source->count + 1) * sizeof *stream->row);
    if (!stream->row)
        return bl_error_memory(e);
    for (size_t i = 0; i < source->count; i++) {
        stream->rows += m->length[source->first + i] > 0;
        stream->steps += m->length[source->first + i];
    }
    return stream->rows ? BL_OK : bl_error_set(e, BL_EFAIL, "it has no sequence to plan");
}

/* The steps of an epoch: as given, or as many as there are before the first source would begin again. */
static int mixture_size(struct bl_mixture *m, size_t *at, struct bl_error *e)
{
    double least = INFINITY;
    for (size_t s = 0; s < m->sources; s++)
        least = fmin(least, (double)m->stream[s].steps / m->stream[s].share);
    m->epoch_steps = m->blend.epoch_steps ? (double)m->blend.epoch_steps : least;
    for (size_t s = 0; s < m->sources && m->blend.repeat_max; s++) {
        const struct bl_mixture_stream *stream = &m->stream[s];
        double passes = m->epoch_steps * stream->share * (double)m->blend.epochs / (double)stream->steps;
        if (passes <= (double)m->blend.repeat_max * (1 + 1e-9))
            continue;
        *at = s;
        return bl_error_set(e, BL_EUSAGE,
                            "%lld epochs go through its %lld steps %.2f times, more than --repeat-max %lld: fewer "
                            "--epochs or --epoch-steps, or a smaller weight",
                            (long long)m->blend.epochs, (long long)stream->steps, passes,
                            (long long)m->blend.repeat_max);
    }
    return BL_OK;
}

/* The most blocks of any epoch, which all of them have. */
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
    bl_partitions_free(&m->taken);
    *m = (struct bl_mixture){0};
}
