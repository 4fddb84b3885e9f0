/* Keeps the pieces that have no block yet while blocks are filled under several maxima.
 *
 * Example: a block has room for 300 steps and 2 images, and images count more. In a tree of 8192 pieces, a search
 * visits some ten nodes until it has found the piece with 2 images that has the most steps up to 300. */
#include "plan/pool.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { LEAF = 4 }; /* pieces that a node is not divided below */

/* The root is node 1, and the halves of node n are 2 n and 2 n + 1. */

int bl_pool_make(struct bl_pool *p, int kinds, size_t capacity, struct bl_error *e)
{
    size_t nodes = 2;
    while (nodes * LEAF / 2 < capacity)
        nodes *= 2;
    *p = (struct bl_pool){.kinds = kinds,
                          .capacity = capacity,
                          .row = malloc((capacity + 1) * (size_t)(1 + kinds) * sizeof *p->row),
                          .leaf = malloc((capacity + 1) * sizeof *p->leaf),
                          .members = calloc(nodes, sizeof *p->members),
                          .span = malloc(nodes * 2 * (size_t)kinds * sizeof *p->span)};
    return p->row && p->leaf && p->members && p->span ? BL_OK : bl_error_memory(e);
}

void bl_pool_free(struct bl_pool *p)
{
    free(p->row);
    free(p->leaf);
    free(p->members);
    free(p->span);
    *p = (struct bl_pool){0};
}

/* --- tree --------------------------------------------------------------------------------------------------------- */

static uint32_t *pool_row(struct bl_pool *p, size_t place)
{
    return p->row + place * (size_t)(1 + p->kinds);
}

/* A new piece is in no node, but counts as not taken. */
uint32_t *bl_pool_add(struct bl_pool *p)
{
    p->leaf[p->count] = 1;
    p->left++;
    return pool_row(p, p->count++);
}

/* Moves the pieces that are left to the front. */
void bl_pool_drop_taken(struct bl_pool *p)
{
    size_t to = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (!p->leaf[i])
            continue;
        memcpy(pool_row(p, to), pool_row(p, i), (size_t)(1 + p->kinds) * sizeof *p->row);
        p->leaf[to++] = 1;
    }
    p->count = to;
}

static void rows_swap(struct bl_pool *p, size_t a, size_t b)
{
    uint32_t *x = pool_row(p, a), *y = pool_row(p, b);
    for (int k = 0; k <= p->kinds; k++) {
        uint32_t kept = x[k];
        x[k] = y[k];
        y[k] = kept;
    }
}

/* Orders the places begin .. end - 1 so that those before the middle have no more of a kind than those from there on
 * (quickselect: Hoare, 1961). */
static void rows_divide(struct bl_pool *p, size_t begin, size_t end, int kind)
{
    int64_t low = (int64_t)begin, high = (int64_t)end - 1, middle = low + (high + 1 - low) / 2;
    while (low < high) {
        uint32_t pivot = pool_row(p, (size_t)(low + (high - low) / 2))[1 + kind];
        int64_t i = low, j = high;
        while (i <= j) {
            while (pool_row(p, (size_t)i)[1 + kind] < pivot)
                i++;
            while (pool_row(p, (size_t)j)[1 + kind] > pivot)
                j--;
            if (i <= j)
                rows_swap(p, (size_t)i++, (size_t)j--);
        }
        if (middle > j && middle < i)
            return;
        *(middle <= j ? &high : &low) = middle <= j ? j : i;
    }
}

/* Makes the node of the places begin .. end - 1, and those below it. */
static void pool_make_node(struct bl_pool *p, uint32_t node, size_t begin, size_t end, const double *weight)
{
    uint32_t *least = p->span + (size_t)node * 2 * (size_t)p->kinds, *most = least + p->kinds;
    p->members[node] = (uint32_t)(end - begin);
    for (int k = 0; k < p->kinds; k++) {
        least[k] = UINT32_MAX;
        most[k] = 0;
    }
    for (size_t i = begin; i < end; i++) {
        const uint32_t *amount = pool_row(p, i) + 1;
        for (int k = 0; k < p->kinds; k++) {
            least[k] = amount[k] < least[k] ? amount[k] : least[k];
            most[k] = amount[k] > most[k] ? amount[k] : most[k];
        }
    }
    if (end - begin <= LEAF) {
        for (size_t i = begin; i < end; i++)
            p->leaf[i] = node;
        return;
    }
    int widest = 0;
    for (int k = 1; k < p->kinds; k++)
        if ((most[k] - least[k]) * weight[k] > (most[widest] - least[widest]) * weight[widest])
            widest = k;
    rows_divide(p, begin, end, widest);
    size_t middle = begin + (end - begin) / 2;
    pool_make_node(p, 2 * node, begin, middle, weight);
    pool_make_node(p, 2 * node + 1, middle, end, weight);
}

void bl_pool_index(struct bl_pool *p, const double *weight)
{
    if (p->count)
        pool_make_node(p, 1, 0, p->count, weight);
    p->work += (int64_t)p->count * p->kinds * 64; /* about: 12 levels, and the divisions */
}

/* The nodes keep their spans: they become too wide, which costs some visits, until the next index. */
void bl_pool_take(struct bl_pool *p, uint32_t place)
{
    for (uint32_t node = p->leaf[place]; node; node /= 2)
        p->members[node]--;
    p->leaf[place] = 0;
    p->left--;
}

/* --- search ------------------------------------------------------------------------------------------------------- */

/* Returns the most that a piece of a node can have of what the query values; -DBL_MAX: none fits, or all were taken. */
static double node_bound(const struct bl_pool *p, uint32_t node, const struct bl_pool_query *query)
{
    const uint32_t *least = p->span + (size_t)node * 2 * (size_t)p->kinds, *most = least + p->kinds;
    double sum = 0;
    if (!p->members[node])
        return -DBL_MAX;
    for (int k = 0; k < p->kinds; k++) {
        int64_t room = query->room.of[k];
        if (least[k] > room)
            return -DBL_MAX;
        int64_t amount = query->weight[k] < 0 ? least[k] : most[k] < room ? most[k] : room;
        sum += query->weight[k] * (double)amount;
    }
    return sum;
}

/* Compares the pieces of the lowest node. */
static uint32_t leaf_find(const struct bl_pool *p, struct bl_pool_query *query, size_t begin, size_t end)
{
    uint32_t found = BL_POOL_NONE;
    for (size_t i = begin; i < end; i++) {
        const uint32_t *amount = bl_pool_row(p, i) + 1;
        bool fits = p->leaf[i] && i != query->without;
        double sum = 0;
        for (int k = 0; k < p->kinds; k++) {
            fits &= amount[k] <= query->room.of[k];
            sum += query->weight[k] * (double)amount[k];
        }
        if (!fits || sum <= query->value)
            continue;
        query->value = sum;
        found = (uint32_t)i;
    }
    return found;
}

/* Searches the half that promises more first: what it finds often makes the other half superfluous. */
static uint32_t node_find(struct bl_pool *p, struct bl_pool_query *query, uint32_t node, size_t begin, size_t end)
{
    p->work += p->kinds;
    if (end - begin <= LEAF)
        return leaf_find(p, query, begin, end);
    size_t middle = begin + (end - begin) / 2;
    double low = node_bound(p, 2 * node, query), high = node_bound(p, 2 * node + 1, query);
    uint32_t found = BL_POOL_NONE;
    for (int i = 0; i < 2; i++) {
        bool is_high = (high >= low) == (i == 0);
        if ((is_high ? high : low) <= query->value)
            continue;
        uint32_t better =
            is_high ? node_find(p, query, 2 * node + 1, middle, end) : node_find(p, query, 2 * node, begin, middle);
        found = better != BL_POOL_NONE ? better : found;
    }
    return found;
}

uint32_t bl_pool_find(struct bl_pool *p, struct bl_pool_query *query)
{
    if (!p->left || node_bound(p, 1, query) <= query->value)
        return BL_POOL_NONE;
    return node_find(p, query, 1, 0, p->count);
}
