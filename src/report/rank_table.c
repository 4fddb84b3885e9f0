#include "report/rank_table.h"

#include <stdlib.h>

int bl_rank_table_open(struct bl_rank_table *t, int64_t world_size, int64_t batch_size, struct bl_error *e)
{
    *t = (struct bl_rank_table){.world_size = world_size, .batch_size = batch_size > 0 ? batch_size : 1};
    t->rank = calloc((size_t)world_size, sizeof *t->rank);
    return t->rank ? BL_OK : bl_error_memory(e);
}

void bl_rank_table_free(struct bl_rank_table *t)
{
    free(t->rank);
    *t = (struct bl_rank_table){0};
}

static void rank_range_add(struct bl_rank_range *range, int64_t value, bool first)
{
    range->least = first || value < range->least ? value : range->least;
    range->most = first || value > range->most ? value : range->most;
    range->sum += (double)value;
}

/* All ranks have their blocks of a step of training. */
static void rank_table_end_step(struct bl_rank_table *t)
{
    int64_t dearest = 0;
    double all = 0;
    for (int64_t r = 0; r < t->world_size; r++) {
        struct bl_rank *rank = &t->rank[r];
        struct bl_rank_range *range[] = {&rank->sequences, &rank->steps, &rank->cost};
        dearest = rank->present[2] > dearest ? rank->present[2] : dearest;
        all += (double)rank->present[2];
        for (int k = 0; k < 3; k++) {
            rank_range_add(range[k], rank->present[k], !t->steps);
            rank->present[k] = 0;
        }
    }
    t->steps++;
    t->dearest += (double)dearest;
    t->costs += all / (double)t->world_size;
}

void bl_rank_table_add(struct bl_rank_table *t, int64_t sequences, int64_t steps, int64_t cost)
{
    struct bl_rank *rank = &t->rank[t->blocks++ % t->world_size];
    rank->present[0] += sequences;
    rank->present[1] += steps;
    rank->present[2] += cost;
    if (t->blocks % (t->world_size * t->batch_size) == 0)
        rank_table_end_step(t);
}

double bl_rank_table_imbalance(const struct bl_rank_table *t)
{
    return t->costs > 0 ? t->dearest / t->costs - 1 : 0;
}
