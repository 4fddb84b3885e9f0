/* Divides items into parts of nearly equal cost by the largest differencing method.
 *
 * A state is a division of some items into parts. At first every item has a state of its own. The two states whose
 * parts differ most are joined again and again: the most expensive part of one with the cheapest part of the other.
 * Example with two parts and the costs 8, 7, 6, 5: 8|7 and 6|5 differ by 1 each, and become 8+5|7+6. */
#include "plan/differencing.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* A part of a state: a list of items, and their cost. */
struct slot {
    int64_t cost;
    uint32_t head, tail;
};

/* The parts that have items, the most expensive first; the other parts of a state are empty. */
struct state {
    struct slot *slot; /* NULL: `one` is the only part */
    struct slot one;
    size_t used;
};

struct differencing {
    struct state *state; /* [states] */
    uint32_t *heap;      /* [states] numbers of the states, the one that differs most first */
    size_t states, parts;
    uint32_t *next; /* [count] the next item of the same part */
};

static struct slot *state_slots(struct state *s)
{
    return s->slot ? s->slot : &s->one;
}

/* Returns the difference of the most expensive part and the cheapest. */
static int64_t state_difference(const struct differencing *d, uint32_t number)
{
    struct state *s = &d->state[number];
    return state_slots(s)[0].cost - (s->used < d->parts ? 0 : state_slots(s)[s->used - 1].cost);
}

/* Returns whether state a is joined before state b. Ties are broken by number, so that the result is always the
 * same. */
static bool differencing_precedes(const struct differencing *d, uint32_t a, uint32_t b)
{
    int64_t x = state_difference(d, a), y = state_difference(d, b);
    return x != y ? x > y : a < b;
}

/* Moves the state at place i of the heap down until no state below it precedes it. */
static void heap_sink(struct differencing *d, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < d->states; i = child) {
        child += child + 1 < d->states && differencing_precedes(d, d->heap[child + 1], d->heap[child]);
        if (!differencing_precedes(d, d->heap[child], d->heap[i]))
            return;
        uint32_t number = d->heap[i];
        d->heap[i] = d->heap[child];
        d->heap[child] = number;
    }
}

/* Orders parts, the most expensive first. A part is known by its first item, which breaks ties. */
static int slot_compare(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return (x->head > y->head) - (x->head < y->head);
}

/* Puts the last part of a state, the only one that may be out of order, in its place. */
static void state_insert_last(struct slot *slot, size_t used)
{
    struct slot last = slot[used - 1];
    size_t low = 0, high = used - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slot_compare(&slot[middle], &last) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(slot + low + 1, slot + low, (used - 1 - low) * sizeof *slot);
    slot[low] = last;
}

/* Joins state b to state a. Parts that have no partner stay as they are. BL_EFAIL: out of memory. */
static int differencing_join(struct differencing *d, struct state *a, struct state *b, struct bl_error *e)
{
    struct slot *own, *other = state_slots(b);
    if (!a->slot) {
        if (!(a->slot = malloc(d->parts * sizeof *a->slot)))
            return bl_error_memory(e);
        a->slot[0] = a->one;
    }
    own = a->slot;
    /* The i-th part of b joins the part of a that is i-th from the end. */
    for (size_t i = 0; i < b->used; i++) {
        size_t at = d->parts - 1 - i;
        if (at >= a->used) {
            own[a->used + i] = other[i];
            continue;
        }
        d->next[own[at].tail] = other[i].head;
        own[at].tail = other[i].tail;
        own[at].cost += other[i].cost;
    }
    a->used = a->used + b->used < d->parts ? a->used + b->used : d->parts;
    if (b->used == 1)
        state_insert_last(own, a->used);
    else
        qsort(own, a->used, sizeof *own, slot_compare);
    free(b->slot);
    b->slot = NULL;
    return BL_OK;
}

/* Makes the first states: one for each item; or one for each row of as many items as there are parts, so that every
 * part receives one item of each row. sorted: [count] the items, the most expensive first. */
static int differencing_begin(struct differencing *d, const struct slot *sorted, size_t count, bool is_even,
                              struct bl_error *e)
{
    size_t row = is_even ? d->parts : 1;
    for (size_t first = 0; first < count; first += row) {
        struct state *s = &d->state[d->states];
        *s = (struct state){.one = sorted[first], .used = count - first < row ? count - first : row};
        if (s->used > 1 && !(s->slot = malloc(d->parts * sizeof *s->slot)))
            return bl_error_memory(e);
        if (s->slot)
            memcpy(s->slot, sorted + first, s->used * sizeof *s->slot);
        d->heap[d->states] = (uint32_t)d->states;
        d->states++;
    }
    for (size_t i = d->states / 2; i-- > 0;)
        heap_sink(d, i);
    return BL_OK;
}

/* Joins the two states that differ most until one is left. */
static int differencing_run(struct differencing *d, struct bl_error *e)
{
    while (d->states > 1) {
        uint32_t first = d->heap[0];
        d->heap[0] = d->heap[--d->states];
        heap_sink(d, 0);
        BL_TRY(differencing_join(d, &d->state[first], &d->state[d->heap[0]], e));
        d->heap[0] = first;
        heap_sink(d, 0);
    }
    return BL_OK;
}

int bl_differencing(uint32_t *part, const int64_t *cost, size_t count, size_t parts, bool is_even, struct bl_error *e)
{
    struct differencing d = {.parts = parts};
    struct slot *sorted = malloc((count + 1) * sizeof *sorted);
    d.state = calloc(count + 1, sizeof *d.state);
    d.heap = malloc((count + 1) * sizeof *d.heap);
    d.next = malloc((count + 1) * sizeof *d.next);
    int code = sorted && d.state && d.heap && d.next ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; !code && i < count; i++) {
        sorted[i] = (struct slot){cost[i], (uint32_t)i, (uint32_t)i};
        d.next[i] = NOBODY;
    }
    if (!code && count > 0) {
        qsort(sorted, count, sizeof *sorted, slot_compare);
        code = differencing_begin(&d, sorted, count, is_even, e);
        if (!code)
            code = differencing_run(&d, e);
    }
    if (!code && count > 0) {
        struct state *s = &d.state[d.heap[0]];
        for (size_t k = 0; k < s->used; k++)
            for (uint32_t i = state_slots(s)[k].head; i != NOBODY; i = d.next[i])
                part[i] = (uint32_t)k;
    }
    for (size_t s = 0; d.state && s < count; s++)
        free(d.state[s].slot);
    free(sorted);
    free(d.state);
    free(d.heap);
    free(d.next);
    return code;
}
