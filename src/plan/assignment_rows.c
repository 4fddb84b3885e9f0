/* Begins an assignment for ranks that wait after every micro-batch.
 *
 * Such ranks lose nothing if the micro-batches of one number, a row, cost the same, whatever other rows cost. So the
 * rows are filled one after the other, each to a height: that of the most expensive bundle left, or the mean of what is
 * left if that is more. A bundle that costs more than the mean then makes one row higher, and no rank waits for it. */
#include <stdlib.h>
#include <string.h>

#include "plan/assignment_problem.h"
#include "plan/differencing.h"

enum { LOOKS = 8 }; /* bundles that are looked at for one with few enough tokens */

/* The bundles that are in no micro-batch yet. */
struct rows_filling {
    const struct bl_assignment_problem *p;
    struct bl_assignment_state *s;
    struct bl_assignment_costed *order; /* [bundles] the most expensive first */
    uint32_t *next; /* [bundles + 1] by place in `order`: the first place from here on that may be free */
    int64_t left;   /* cost */
};

/* Returns the first place from `at` on whose bundle is free; p->bundles if there is none. */
static uint32_t rows_free_from(struct rows_filling *f, uint32_t at)
{
    uint32_t found = at;
    while (f->next[found] != found)
        found = f->next[found];
    while (f->next[at] != found && at != found) {
        uint32_t after = f->next[at];
        f->next[at] = found;
        at = after;
    }
    return found;
}

/* Returns the first place whose bundle costs no more than this. */
static uint32_t rows_place_of(const struct rows_filling *f, int64_t cost)
{
    uint32_t low = 0, high = (uint32_t)f->p->bundles;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (f->order[middle].cost > cost)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Puts the bundle at a place of the order into a micro-batch. */
static void rows_put(struct rows_filling *f, uint32_t place, size_t bin)
{
    uint32_t bundle = f->order[place].number;
    f->s->bin[bundle] = (uint32_t)bin;
    f->s->rank[f->p->group[bundle]] = (uint32_t)(bin / f->p->rows);
    f->s->used[bin] += f->p->length[bundle];
    f->left -= f->order[place].cost;
    f->next[place] = place + 1;
}

/* Returns the place of the most expensive free bundle that costs no more than `room` and has tokens for the
 * micro-batch; p->bundles if a few looks find none. */
static uint32_t rows_find(struct rows_filling *f, int64_t room, size_t bin)
{
    uint32_t none = (uint32_t)f->p->bundles, place = rows_free_from(f, rows_place_of(f, room));
    for (int i = 0; i < LOOKS && place < none; i++) {
        if (!f->p->cap || f->s->used[bin] + f->p->length[f->order[place].number] <= f->p->cap)
            return place;
        /* Cheaper bundles have fewer tokens as a rule, so the next look goes further. */
        place = rows_free_from(f, place + 1 + (none - place - 1) / 16);
    }
    return none;
}

/* Fills a row to its height. */
static void rows_fill_one(struct rows_filling *f, size_t row)
{
    const struct bl_assignment_problem *p = f->p;
    int64_t bins = (int64_t)(p->ranks * (p->rows - row)), mean = f->left / bins;
    uint32_t first = rows_free_from(f, 0), place;
    if (first == p->bundles)
        return;
    int64_t height = f->order[first].cost > mean ? f->order[first].cost : mean;
    for (size_t r = 0; r < p->ranks; r++) {
        int64_t room = height;
        while ((place = rows_find(f, room, r * p->rows + row)) < p->bundles) {
            room -= f->order[place].cost;
            rows_put(f, place, r * p->rows + row);
        }
    }
}

/* Divides what is left among the ranks by the differencing method. *is_found: whether every micro-batch has few enough
 * tokens. */
static int rows_fill_last(struct rows_filling *f, bool *is_found, struct bl_error *e)
{
    const struct bl_assignment_problem *p = f->p;
    size_t count = 0;
    int64_t *cost = malloc((p->bundles + 1) * sizeof *cost);
    uint32_t *place = malloc((p->bundles + 1) * sizeof *place), *part = malloc((p->bundles + 1) * sizeof *part);
    int code = cost && place && part ? BL_OK : bl_error_memory(e);
    for (uint32_t i = 0; !code && (i = rows_free_from(f, i)) < p->bundles; i++) {
        cost[count] = f->order[i].cost;
        place[count++] = i;
    }
    if (!code)
        code = bl_differencing(part, cost, count, p->ranks, false, e);
    for (size_t i = 0; !code && i < count; i++)
        rows_put(f, place[i], part[i] * p->rows + p->rows - 1);
    *is_found = !code;
    for (size_t r = 0; *is_found && p->cap && r < p->ranks; r++)
        *is_found = f->s->used[r * p->rows + p->rows - 1] <= p->cap;
    free(cost);
    free(place);
    free(part);
    return code;
}

int bl_assignment_begin_by_rows(struct bl_assignment_state *s, const struct bl_assignment_problem *p, bool *is_found,
                                struct bl_error *e)
{
    struct rows_filling f = {p, s, malloc((p->bundles + 1) * sizeof *f.order),
                             malloc((p->bundles + 2) * sizeof *f.next), 0};
    int code = f.order && f.next ? BL_OK : bl_error_memory(e);
    *is_found = false;
    for (uint32_t b = 0; !code && b <= p->bundles; b++) {
        f.next[b] = b;
        if (b == p->bundles)
            break;
        f.order[b] = (struct bl_assignment_costed){p->cost[b], b};
        f.left += p->cost[b];
    }
    if (!code) {
        qsort(f.order, p->bundles, sizeof *f.order, bl_assignment_costed_compare);
        for (size_t row = 0; row + 1 < p->rows; row++)
            rows_fill_one(&f, row);
        code = rows_fill_last(&f, is_found, e);
    }
    free(f.order);
    free(f.next);
    return code;
}
