/* The order in which a training run reads the blocks of an epoch, and what windows exchange.
 *
 * All draws sort hashes: the hash of a number is SplitMix64 over the seeds and the number. So Python and C give the
 * same order without sharing a generator, and any part of an order can be computed alone. */
#include "store/training_order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan/random.h"
#include "store/row_reader.h"

/* --- hashes ------------------------------------------------------------------------------------------------------- */

/* Returns output n, counted from 0, of the generator SplitMix64 with seed 0: a hash of n. */
static uint64_t splitmix(uint64_t n)
{
    uint64_t state = n * UINT64_C(0x9E3779B97F4A7C15);
    return bl_random_splitmix(&state);
}

/* Returns the hash of a list of seeds. Adding a number to it and hashing again gives the number's sort key: see scatter
 * in epochs.py. */
static uint64_t bucketing_begin(const uint64_t *seed, int seeds)
{
    uint64_t state = 0;
    for (int i = 0; i < seeds; i++)
        state = splitmix(state + seed[i]);
    return state;
}

/* A number to be shuffled. Numbers are sorted by class, group and hash; the number itself breaks ties. */
struct bucketed {
    uint64_t class, group, hash;
    int64_t number;
};

/* Orders struct bucketed for qsort. */
static int bucketed_compare(const void *a, const void *b)
{
    const struct bucketed *p = a, *q = b;
    if (p->class != q->class)
        return p->class < q->class ? -1 : 1;
    if (p->group != q->group)
        return p->group < q->group ? -1 : 1;
    if (p->hash != q->hash)
        return p->hash < q->hash ? -1 : 1;
    return (p->number > q->number) - (p->number < q->number);
}

/* Shuffles the numbers first to first + count - 1 by sorting their hashes. bundle: [count] or NULL: neighbours with the
 * same number other than BL_ALONE have the hash of the first of them. order: [count], the numbers minus first. */
static int bucketing_order(int64_t first, size_t count, const uint32_t *bundle, const uint64_t *seed, int seeds,
                           int64_t *order, struct bl_error *e)
{
    struct bucketed *all = calloc(count + 1, sizeof *all);
    const uint64_t state = bucketing_begin(seed, seeds);
    if (!all)
        return bl_error_memory(e);
    for (size_t i = 0; i < count; i++) {
        all[i].number = (int64_t)i;
        bool follows = bundle && i && bundle[i] != BL_ALONE && bundle[i] == bundle[i - 1];
        all[i].hash = follows ? all[i - 1].hash : splitmix(state + (uint64_t)first + i);
    }
    qsort(all, count, sizeof *all, bucketed_compare);
    for (size_t i = 0; i < count; i++)
        order[i] = all[i].number;
    free(all);
    return BL_OK;
}

/* --- the order of blocks ------------------------------------------------------------------------------------------ */

int bl_training_order_make(struct bl_training_order *order, const struct bl_training *t, int64_t blocks,
                           struct bl_error *e)
{
    const uint64_t seed[] = {t->seed, (uint64_t)t->epoch};
    const int64_t left = blocks - t->consumed;
    int64_t step = 1; /* blocks of a step of all ranks */
    *order = (struct bl_training_order){.training = t, .blocks = blocks};
    if (left < 0)
        return bl_error_set(e, BL_EUSAGE, "--consumed %" PRId64 ": an epoch has %" PRId64 " blocks", t->consumed,
                            blocks);
    if (__builtin_mul_overflow(t->world_size, t->batch_size, &step))
        return bl_error_set(e, BL_EUSAGE, "--world-size %" PRId64 " times --batch-size %" PRId64 " is too large",
                            t->world_size, t->batch_size);
    const int64_t excess = left % step;
    if (excess && t->remainder == BL_ORDER_ERROR)
        return bl_error_set(e, BL_EUSAGE,
                            "%s %" PRId64 " blocks, which is not a multiple of %" PRId64 " = --world-size %" PRId64
                            " * --batch-size %" PRId64
                            ": a sampler refuses that, unless --remainder pad repeats %" PRId64
                            " of them, or --remainder drop leaves out %" PRId64,
                            t->consumed ? "the rest of the epoch has" : "an epoch has", left, step, t->world_size,
                            t->batch_size, step - excess, excess);
    order->count = left - excess + (excess && t->remainder == BL_ORDER_PAD ? step : 0);
    order->steps = order->count / step;
    order->block = malloc(((size_t)blocks + 1) * sizeof *order->block);
    order->place = malloc(((size_t)blocks + 1) * sizeof *order->place);
    int code = order->block && order->place ? BL_OK : bl_error_memory(e);
    for (int64_t b = 0; b < blocks && !code && !t->is_shuffled; b++)
        order->block[b] = b;
    if (!code && t->is_shuffled)
        code = bucketing_order(0, (size_t)blocks, NULL, seed, 2, order->block, e);
    for (int64_t i = 0; i < blocks && !code; i++)
        order->place[order->block[i]] = i;
    if (code)
        bl_training_order_free(order);
    return code;
}

void bl_training_order_free(struct bl_training_order *order)
{
    free(order->block);
    free(order->place);
    *order = (struct bl_training_order){0};
}

/* The order is read from consumed on, and begins again there if the last step needs more blocks: reading number i is of
 * the block at consumed + i % left. */
bool bl_training_order_find(const struct bl_training_order *order, int64_t block, int64_t n, struct bl_reading *reading)
{
    const struct bl_training *t = order->training;
    const int64_t left = order->blocks - t->consumed, at = order->place[block] - t->consumed;
    if (at < 0 || n > (order->count - 1 - at) / left || at >= order->count)
        return false;
    const int64_t number = at + n * left, step = t->world_size * t->batch_size, within = number % step;
    const bool blocks = t->deal == BL_DEAL_BLOCKS;
    *reading = (struct bl_reading){.step = number / step,
                                   .rank = blocks ? within % t->world_size : within / t->batch_size,
                                   .place = blocks ? within / t->world_size : within % t->batch_size};
    return true;
}

int64_t bl_training_order_block(const struct bl_training_order *order, const struct bl_reading *r)
{
    const struct bl_training *t = order->training;
    const int64_t within =
        t->deal == BL_DEAL_BLOCKS ? r->place * t->world_size + r->rank : r->rank * t->batch_size + r->place;
    const int64_t number = r->step * t->world_size * t->batch_size + within;
    return order->block[t->consumed + number % (order->blocks - t->consumed)];
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

/* What bl_window_groups reads of the rows. */
struct window_columns {
    struct bl_view *view;
    struct bl_buffer names, key, bundle; /* names: each with a NUL after it */
    const char *together;                /* the column of bundles, or "" */
    struct bl_groups groups, bundles;
};

/* Appends the value of a column of a row. */
static int window_append_value(const struct window_columns *w, const struct bl_dataset *dataset, const char *name,
                               struct bl_buffer *out, struct bl_error *e)
{
    if (!bl_row_reader_value(&dataset->row, name, out))
        return bl_error_set(e, BL_EDATA, "%s has no column \"%s\", which its windows need", w->view->dir, name);
    return bl_buffer_check(out, e);
}

/* Finds the group and the bundle of a row. The key of its group has its value in each of the columns, with a tab after
 * it, as values have tabs only as escapes. A sequence of a bundle keeps its place: its group is its own. */
static int window_find_group(struct window_columns *w, int64_t number, uint32_t *group, uint32_t *bundle,
                             struct bl_error *e)
{
    const struct bl_manifest *m = &w->view->manifest;
    const struct bl_row *row = NULL;
    const struct bl_view_source *from = m->sources ? bl_view_source_of_row(m->source, m->sources, number) : NULL;
    const struct bl_dataset *dataset = &w->view->source[from ? from - m->source : 0];
    BL_TRY(bl_view_row(w->view, number, &row, e));
    bl_buffer_clear(&w->key);
    bl_buffer_clear(&w->bundle);
    for (size_t at = 0; at < w->names.size; at += strlen(w->names.data + at) + 1) {
        BL_TRY(window_append_value(w, dataset, w->names.data + at, &w->key, e));
        bl_buffer_byte(&w->key, '\t');
    }
    if (bundle) {
        BL_TRY(window_append_value(w, dataset, w->together, &w->bundle, e));
        *bundle = BL_ALONE;
        if (w->bundle.size) {
            bl_buffer_printf(&w->key, "%" PRId64, number);
            BL_TRY(bl_groups_find(&w->bundles, w->bundle.data, w->bundle.size, bundle, e));
        }
    }
    BL_TRY(bl_buffer_check(&w->key, e));
    return bl_groups_find(&w->groups, w->key.data, w->key.size, group, e);
}

/* The columns are those of --group-by and of --max-column, which the manifest records as "NAME=MAXIMUM,NAME=MAXIMUM",
 * and that of --together. A name may contain "=", so that the last one divides it from its maximum. */
int bl_window_groups(struct bl_view *view, uint32_t **group, uint32_t **bundle, struct bl_error *e)
{
    const struct bl_manifest *m = &view->manifest;
    struct window_columns w = {.view = view, .together = bl_manifest_option(m, "together")};
    const char *group_by = bl_manifest_option(m, "group-by"), *maxima = bl_manifest_option(m, "max-column");
    *group = *bundle = NULL;
    if (*group_by)
        bl_buffer_append(&w.names, group_by, strlen(group_by) + 1);
    while (*maxima) {
        size_t size = strcspn(maxima, ","), name = size;
        while (name && maxima[name] != '=')
            name--;
        bl_buffer_append(&w.names, maxima, name);
        if (name)
            bl_buffer_byte(&w.names, '\0');
        maxima += size + (maxima[size] == ',');
    }
    bool any = w.names.size || *w.together;
    int code = bl_buffer_check(&w.names, e);
    if (!code && any && !(*group = malloc(((size_t)m->rows + 1) * sizeof **group)))
        code = bl_error_memory(e);
    if (!code && *w.together && !(*bundle = malloc(((size_t)m->rows + 1) * sizeof **bundle)))
        code = bl_error_memory(e);
    for (int64_t row = 0; row < m->rows && any && !code; row++)
        code = window_find_group(&w, row, *group + row, *bundle ? *bundle + row : NULL, e);
    bl_groups_free(&w.groups);
    bl_groups_free(&w.bundles);
    bl_buffer_free(&w.names);
    bl_buffer_free(&w.key);
    bl_buffer_free(&w.bundle);
    return code;
}

int bl_window_draw(const struct bl_window *w, const struct bl_training *t, const uint32_t *group, int64_t *drawn,
                   struct bl_error *e)
{
    const uint64_t seed[] = {t->window_seed, (uint64_t)t->epoch}, state = bucketing_begin(seed, 2);
    struct bucketed *place = calloc(w->count + 1, sizeof *place), *piece = calloc(w->count + 1, sizeof *piece);
    int code = place && piece ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < w->count && !code; i++) {
        place[i] = (struct bucketed){
            .class = (uint64_t)w->length[i], .group = group ? group[w->sequence[i]] : 0, .number = (int64_t)i};
        piece[i] = place[i];
        piece[i].hash = splitmix(state + (uint64_t)w->first + i);
    }
    /* Both lists have the same classes and groups. The places are sorted by class, group and number, the pieces by
     * class, group and hash: so the pieces of each group take the places of their group in random order. */
    if (!code) {
        qsort(place, w->count, sizeof *place, bucketed_compare);
        qsort(piece, w->count, sizeof *piece, bucketed_compare);
    }
    for (size_t i = 0; i < w->count && !code; i++)
        drawn[place[i].number] = piece[i].number;
    free(place);
    free(piece);
    return code;
}

int bl_window_order(int64_t block, int64_t first, size_t count, const uint32_t *bundle, const struct bl_training *t,
                    int64_t *order, struct bl_error *e)
{
    const uint64_t seed[] = {t->window_seed, (uint64_t)t->epoch, (uint64_t)block};
    return bucketing_order(first, count, bundle, seed, 3, order, e);
}
