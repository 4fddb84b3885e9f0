/* Each side has 2^parcels sets, too many to try all pairs. Up to BL_CHOICES_MAX of each are taken: all where there are
 * so few, else a random walk that takes in or leaves out one parcel at a time, so that sums cost one addition. The
 * sets of one side are then sorted by their units into cells, and each set of the other side meets only those that the
 * room of the two blocks allows. */
#include "plan/exchange.h"

#include <string.h>

enum {
    CELLS = 1024,
    WALK = 16, /* steps of a walk before it begins anew with the empty set */

    CHECKS_MAX = 20000 /* pairs looked at: many fit where blocks have much room */
};

static inline __attribute__((always_inline)) void choice_toggle(struct bl_choice *c, const struct bl_parcel *parcel,
                                                                int i)
{
    int32_t leaves = -(int32_t)(c->set >> i & 1); /* -1, or 0: (x ^ -1) + 1 is -x */
    c->set ^= UINT32_C(1) << i;
    c->units += (parcel[i].units ^ leaves) - leaves;
    c->cost += (parcel[i].cost ^ leaves) - leaves;
    c->sequences += (parcel[i].sequences ^ leaves) - leaves;
}

/* Returns the number of sets; the first is empty. */
static int choices_make(struct bl_choice *choice, const struct bl_exchange_side *side, int limit,
                        struct bl_random *random)
{
    int n = side->parcels;
    struct bl_choice now = {0};
    choice[0] = now;
    if (n < 10 && 1 << n <= limit) { /* all, in the order of a Gray code */
        for (int i = 1; i < 1 << n; i++) {
            choice_toggle(&now, side->parcel, __builtin_ctz((unsigned)i));
            choice[i] = now;
        }
        return 1 << n;
    }
    for (int i = 1; i < limit; i++) {
        uint64_t bits = bl_random_next(random);
        if (i % WALK == 1)
            now = (struct bl_choice){0};
        for (int end = i + 3 < limit ? i + 3 : limit - 1; i <= end; i++, bits >>= 16) {
            choice_toggle(&now, side->parcel, (int)((bits & 0xffff) * (uint32_t)n >> 16));
            choice[i] = now;
        }
        i--;
    }
    return limit;
}

/* Sorts the sets into cells of 2^shift units. */
static void choices_sort(struct bl_exchange *x, int count)
{
    const struct bl_choice *choice = x->choice[0];
    int32_t most = 0;
    for (int i = 0; i < count; i++)
        most = choice[i].units > most ? choice[i].units : most;
    for (x->shift = 0; most >> x->shift >= CELLS;)
        x->shift++;
    memset(x->begin, 0, sizeof x->begin);
    for (int i = 0; i < count; i++)
        x->begin[(choice[i].units >> x->shift) + 1]++;
    for (int c = 0; c < CELLS; c++)
        x->begin[c + 1] = (uint16_t)(x->begin[c + 1] + x->begin[c]);
    uint16_t next[CELLS];
    memcpy(next, x->begin, sizeof next);
    for (int i = 0; i < count; i++)
        x->by_units[next[choice[i].units >> x->shift]++] = (uint16_t)i;
}

struct best {
    int64_t wish, error, moved;
    uint32_t set[2];
    int checks;
};

/* Looks at the own sets that can be exchanged for one of the other side. */
static void choice_match(const struct bl_exchange *x, const struct bl_choice *c, const struct bl_exchange_side *other,
                         struct best *best)
{
    const struct bl_exchange_side *own = x->own;
    int64_t least = c->units - own->room + own->keep, most = c->units + other->room - other->keep;
    if (most < 0)
        return;
    int64_t low = least > 0 ? least >> x->shift : 0, high = most >> x->shift;
    if (low >= CELLS)
        return;
    uint16_t end = x->begin[high < CELLS ? high + 1 : CELLS];
    for (uint16_t i = x->begin[low]; i < end; i++) {
        const struct bl_choice *back = &x->choice[0][x->by_units[i]];
        int64_t moved = c->cost - back->cost, more = c->sequences - back->sequences;
        int64_t error = moved > best->wish ? moved - best->wish : best->wish - moved;
        best->checks++;
        if (error >= best->error || back->units < least || back->units > most || more > own->places ||
            more > other->spare || -more > other->places || -more > own->spare)
            continue;
        best->error = error;
        best->moved = moved;
        best->set[0] = back->set;
        best->set[1] = c->set;
    }
}

void bl_exchange_begin(struct bl_exchange *x, const struct bl_exchange_side *own, struct bl_random *random)
{
    int count = choices_make(x->choice[0], own, BL_CHOICES_MAX, random);
    x->own = own;
    x->work += count;
    choices_sort(x, count);
}

bool bl_exchange_find(struct bl_exchange *x, const struct bl_exchange_side *other, int choices, int64_t wish,
                      int64_t tolerance, struct bl_random *random, uint32_t set[2], int64_t *moved)
{
    int count = choices_make(x->choice[1], other, choices, random);
    x->work += count;
    struct best best = {.wish = wish, .error = INT64_MAX};
    for (int i = 0; i < count && best.error > tolerance && best.checks < CHECKS_MAX; i++)
        choice_match(x, &x->choice[1][i], other, &best);
    set[0] = best.set[0];
    set[1] = best.set[1];
    *moved = best.moved;
    return best.error < INT64_MAX;
}
