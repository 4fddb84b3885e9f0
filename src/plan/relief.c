/* Exchanges of elements between two holders, so that the most expensive holder of a row costs less.
 *
 * The most expensive holder of a row gives one element to another holder, and may get a cheaper one back. The other
 * holder stays below the most expensive one of its own row. So no row becomes more expensive, and in each exchange one
 * row has one most expensive holder less: the search ends. Both holders have their elements sorted by cost, so the
 * exchange that moves nearly a wished cost is found in one pass over both. */
#include "plan/relief.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARTNERS = 64,  /* holders with which a holder tries an exchange */
    NEIGHBOURS = 3, /* elements on either side of the wished cost that are tried if the first do not fit */
};

/* Returns the place of an element in its holder, or the place at which it is to be added. */
static uint32_t holder_place(const struct bl_holder *h, uint32_t element, const int64_t *cost)
{
    uint32_t low = 0, high = h->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, other = h->element[middle];
        if (cost[other] != cost[element] ? cost[other] > cost[element] : other < element)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int bl_holder_add(struct bl_holder *h, uint32_t element, const int64_t *cost, struct bl_error *e)
{
    if (h->count == h->capacity) {
        uint32_t capacity = h->capacity ? 2 * h->capacity : 4;
        uint32_t *more = realloc(h->element, capacity * sizeof *more);
        if (!more)
            return bl_error_memory(e);
        h->element = more;
        h->capacity = capacity;
    }
    uint32_t at = holder_place(h, element, cost);
    memmove(h->element + at + 1, h->element + at, (h->count - at) * sizeof *h->element);
    h->element[at] = element;
    h->count++;
    h->cost += cost[element];
    return BL_OK;
}

static void holder_remove(struct bl_holder *h, uint32_t element, const int64_t *cost)
{
    uint32_t at = holder_place(h, element, cost);
    h->count--;
    h->cost -= cost[element];
    memmove(h->element + at, h->element + at + 1, (h->count - at) * sizeof *h->element);
}

void bl_holders_free(struct bl_holder *holder, size_t holders)
{
    for (size_t h = 0; holder && h < holders; h++)
        free(holder[h].element);
    free(holder);
}

/* Returns the most expensive holder of a row. */
static size_t relief_highest(const struct bl_relief *r, size_t row)
{
    size_t highest = row;
    for (size_t h = row; h < r->holders; h += r->rows)
        if (r->holder[h].cost > r->holder[highest].cost)
            highest = h;
    return highest;
}

int64_t bl_relief_lost(const struct bl_relief *r)
{
    int64_t sum = 0;
    for (size_t row = 0; row < r->rows; row++)
        sum += r->holder[relief_highest(r, row)].cost;
    return sum;
}

/* --- one exchange ------------------------------------------------------------------------------------------------- */

/* An exchange that moves a cost above 0 and below `limit`, as near as possible to half of it. */
struct relief_pair {
    size_t from, to;
    int64_t limit, error; /* error: the distance from the wish */
    uint32_t x, y;
};

/* Keeps the exchange of x and y if it is better than the best one so far, and fits. */
static void relief_offer(const struct bl_relief *r, struct relief_pair *p, uint32_t x, uint32_t y)
{
    int64_t moved = r->cost[x] - (y == BL_RELIEF_NONE ? 0 : r->cost[y]), error = 2 * moved - p->limit;
    error = error < 0 ? -error : error;
    if (moved <= 0 || moved >= p->limit || error >= p->error || !r->fits(r->context, p->from, x, p->to, y))
        return;
    p->error = error;
    p->x = x;
    p->y = y;
}

/* Looks for the best exchange between p->from and p->to. Returns whether there is one. */
static bool relief_find(struct bl_relief *r, struct relief_pair *p)
{
    const struct bl_holder *own = &r->holder[p->from], *other = &r->holder[p->to];
    uint32_t j = 0; /* the first element of the other holder that costs no more than is wished to come back */
    p->error = INT64_MAX;
    for (uint32_t i = 0; i < own->count && p->error > 1; i++) {
        uint32_t x = own->element[i];
        while (j < other->count && 2 * (r->cost[x] - r->cost[other->element[j]]) < p->limit)
            j++;
        for (uint32_t k = 0; k < NEIGHBOURS; k++) {
            if (j + k < other->count)
                relief_offer(r, p, x, other->element[j + k]);
            if (j > k)
                relief_offer(r, p, x, other->element[j - 1 - k]);
        }
        if (own->count > 1)
            relief_offer(r, p, x, BL_RELIEF_NONE);
    }
    r->work -= own->count * (2 * NEIGHBOURS) + other->count;
    return p->error < INT64_MAX;
}

/* --- partners ----------------------------------------------------------------------------------------------------- */

/* A holder that can take some cost before it keeps others waiting. */
struct relief_partner {
    int64_t room;
    size_t holder;
};

/* The state of a search. */
struct relieving {
    struct bl_relief *r;
    int64_t *highest; /* [rows] the highest cost of a holder */
    bool *is_stuck;   /* [rows] no exchange was found for its most expensive holder */
};

/* Lists the holders with the most room, up to PARTNERS of them, those with most first. Returns their number. */
static size_t relieving_list(struct relieving *v, size_t own, struct relief_partner *list)
{
    const struct bl_relief *r = v->r;
    size_t count = 0;
    for (size_t h = 0, row = 0; h < r->holders; h++, row = row + 1 < r->rows ? row + 1 : 0) {
        int64_t room = v->highest[row] - r->holder[h].cost;
        if (h == own || room < 2 || (count == PARTNERS && room <= list[count - 1].room))
            continue;
        size_t at = count < PARTNERS ? count++ : count - 1;
        for (; at > 0 && list[at - 1].room < room; at--)
            list[at] = list[at - 1];
        list[at] = (struct relief_partner){room, h};
    }
    v->r->work -= (int64_t)r->holders / 2;
    return count;
}

/* Makes the exchange, and tells the caller of it before the elements change places. */
static int relieving_exchange(struct relieving *v, const struct relief_pair *p, struct bl_error *e)
{
    struct bl_relief *r = v->r;
    struct bl_holder *own = &r->holder[p->from], *other = &r->holder[p->to];
    r->exchange(r->context, p->from, p->x, p->to, p->y);
    holder_remove(own, p->x, r->cost);
    if (p->y != BL_RELIEF_NONE) {
        holder_remove(other, p->y, r->cost);
        BL_TRY(bl_holder_add(own, p->y, r->cost, e));
    }
    BL_TRY(bl_holder_add(other, p->x, r->cost, e));
    size_t row = p->from % r->rows;
    v->highest[row] = r->holder[relief_highest(r, row)].cost;
    return BL_OK;
}

/* Relieves the most expensive holder of a row by one exchange. *gained: whether one was found. */
static int relieving_row(struct relieving *v, size_t row, bool *gained, struct bl_error *e)
{
    struct relief_partner list[PARTNERS];
    struct relief_pair p = {.from = relief_highest(v->r, row)};
    size_t count = relieving_list(v, p.from, list);
    *gained = false;
    for (size_t i = 0; i < count && v->r->work > 0; i++) {
        p.to = list[i].holder;
        p.limit = list[i].room;
        if (relief_find(v->r, &p)) {
            *gained = true;
            return relieving_exchange(v, &p, e);
        }
    }
    return BL_OK;
}

/* Goes over the rows again and again. After an exchange, every row may find another one. */
int bl_relief_run(struct bl_relief *r, struct bl_error *e)
{
    struct relieving v = {r, malloc((r->rows + 1) * sizeof *v.highest), calloc(r->rows + 1, sizeof *v.is_stuck)};
    int code = v.highest && v.is_stuck ? BL_OK : bl_error_memory(e);
    int64_t lost = 0;
    for (size_t row = 0; !code && row < r->rows; row++)
        lost += v.highest[row] = r->holder[relief_highest(r, row)].cost;
    for (bool any = true; any && !code && r->work > 0 && lost > r->target;) {
        any = false;
        for (size_t row = 0; row < r->rows && !code && r->work > 0 && lost > r->target; row++) {
            bool gained = false;
            int64_t before = v.highest[row];
            if (!v.is_stuck[row])
                code = relieving_row(&v, row, &gained, e);
            v.is_stuck[row] = !gained;
            lost -= before - v.highest[row];
            any |= gained;
        }
        if (any)
            memset(v.is_stuck, 0, r->rows * sizeof *v.is_stuck);
    }
    free(v.highest);
    free(v.is_stuck);
    return code;
}
