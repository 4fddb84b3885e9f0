#include "plan/column_pool.h"

#include <string.h>

enum { COLUMNS_MAX = 4096 };

static void columns_drop_oldest(struct bl_patterns *pool)
{
    size_t drop = pool->count / 2, from = pool->first[drop], n = pool->count - drop;
    memmove(pool->bucket, pool->bucket + from, (pool->entries - from) * sizeof *pool->bucket);
    for (size_t i = 0; i < n; i++)
        pool->use[i] = pool->use[drop + i];
    for (size_t i = 0; i <= n; i++)
        pool->first[i] = pool->first[drop + i] - (uint32_t)from;
    pool->count = n;
    pool->entries -= from;
}

int bl_column_pool_keep(struct bl_patterns *pool, const struct bl_remainder *rest, const struct bl_master *m,
                        size_t from, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = from; !code && i < m->columns; i++) {
        const struct bl_master_column *c = &m->column[i];
        for (uint32_t k = c->first; !code && k < c->first + c->count; k++)
            for (int times = (int)m->times[k]; !code && times > 0; times--)
                code = bl_patterns_push(pool, rest->bucket[m->bucket[k]], e);
        if (!code)
            code = bl_patterns_close(pool, 1, e);
    }
    if (pool->count > COLUMNS_MAX)
        columns_drop_oldest(pool);
    return code;
}

/* Writes a column by the buckets of the remainder. Returns their number, or 0 if some of the lengths are used up. */
static size_t column_translate(const struct bl_patterns *pool, size_t p, const struct bl_remainder *rest,
                               const uint32_t *left, uint32_t *item, size_t capacity)
{
    uint32_t same = 0;
    size_t n = 0;
    for (uint32_t k = pool->first[p]; k < pool->first[p + 1]; k++) {
        uint32_t b = pool->bucket[k];
        same = k > pool->first[p] && pool->bucket[k - 1] == b ? same + 1 : 1;
        if (left[b] < same || n == capacity)
            return 0;
        item[n++] = rest->at[b];
    }
    return n;
}

int bl_column_pool_offer(const struct bl_patterns *pool, const struct bl_remainder *rest, const uint32_t *left,
                         struct bl_colgen *g, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t p = 0; !code && p < pool->count; p++) {
        size_t n = column_translate(pool, p, rest, left, g->item, g->item_capacity);
        if (n > 1)
            code = bl_master_add(&g->master, g->item, n, e);
    }
    return code;
}
