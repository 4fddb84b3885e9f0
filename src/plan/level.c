/* Brings the costs of the blocks of a draft to one level by exchanges of sequences.
 *
 * Ranks wait for the most expensive block of a step, so equal costs save training time. Each round sorts the blocks by
 * their distance from the target and tries exchanges between expensive and cheap ones (plan/exchange.h). A block with
 * a very long sequence cannot reach the level; such blocks are put into rows of equals, so that they wait for each
 * other only.
 *
 * Costs with several points have a level for each. A round treats one point after the other: its order decides which
 * blocks exchange sequences, and an exchange is judged by all points. */
#include "plan/level.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "plan/exchange.h"

/* --- levelling ---------------------------------------------------------------------------------------------------- */

enum {
    ROUNDS = 24,
    PARTNERS = 5,         /* blocks with which a block tries an exchange in a round, if many are off their targets */
    PARTNERS_MAX = 60,    /* the same, if few are off */
    TOLERANCE_PART = 400, /* of the level: blocks within it are left alone */
    CHEAP = 4,            /* tolerances below the target: a cheap block keeps no rank waiting */
    IDLE_MAX = 6,         /* rounds without an exchange, after which a block above its target is left alone */
    RAISE_PART = 4,       /* of the level: the target of a block in a row is at most so much above its cost */
    WORK = 220,           /* sets for each piece; the pass over the rows may use a fifth */
    WORK_LEAST = 300000000
};

struct levelling {
    const struct bl_level *l;
    struct bl_block_exchange m;
    int points, point; /* point: that of this part of a round */
    uint64_t *order;   /* [count] ascending: the leading bits of an excess, then the place in `member` */
    uint32_t *member;  /* [count] blocks of one group */
    size_t count;
    int64_t level[BL_COST_POINTS];
    int64_t tolerance, least; /* tolerance: of one point; least: the excess with key 0 in `order` */
    int64_t work;             /* at which to stop */
    int partners, shift;      /* shift: of excesses, to 32 bits */
};

/* Returns what block b costs at point p. */
static struct bl_exchange_cost *level_at(const struct levelling *v, uint32_t b, int p)
{
    return bl_block_exchange_at(&v->m, b, p);
}

/* Returns by how much block b costs more than its target at point p; negative if it costs less. */
static int64_t level_excess(const struct levelling *v, uint32_t b, int p)
{
    const struct bl_exchange_cost *at = level_at(v, b, p);
    return at->cost - at->target;
}

/* The tolerance is wider below the target: a cheap block makes no rank wait, an expensive one makes all others wait.
 */
static bool level_is_off(const struct levelling *v, uint32_t b, int p)
{
    int64_t excess = level_excess(v, b, p);
    return excess > v->tolerance || excess < -CHEAP * v->tolerance;
}

/* Sets the tolerance of a point by the level of a whole step, which is the sum over the points. */
static void level_set_tolerance(struct levelling *v)
{
    int64_t level = 0;
    for (int p = 0; p < v->points; p++)
        level += v->level[p];
    v->tolerance = level / TOLERANCE_PART / v->points;
}

/* --- one block -------------------------------------------------------------------------------------------------- */

/* Draws a block whose cost is below its target by about `excess`, from the neighbours of that place in `order`; or any
 * block, if is_any. `order` is that of the beginning of the round, so costs may have changed since. */
static uint32_t level_draw_partner(struct levelling *v, int64_t excess, bool is_any)
{
    size_t low = 0, high = v->count;
    uint64_t key = -excess > v->least ? (uint64_t)(-excess - v->least) >> v->shift : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->order[middle] >> 32 < key)
            low = middle + 1;
        else
            high = middle;
    }
    size_t width = is_any ? v->count : v->count / 64 + 8, first = low;
    width = width < v->count ? width : v->count;
    first = first > width / 2 ? first - width / 2 : 0;
    first = first + width < v->count ? first : v->count - width;
    return v->member[v->order[first + bl_random_below(&v->m.random, width)] & UINT32_MAX];
}

/* In doubles: the square of a cost can exceed 63 bits. */
static double level_square(int64_t excess)
{
    return (double)excess * (double)excess;
}

/* Returns the cost that should come to a block with the excess `mine` from one with the excess `its`. Two blocks on the
 * same side of their targets share the difference equally. For opposite excesses it is the smaller of the two, so that
 * one block reaches its target and the other does not pass its own. */
static int64_t level_wish(int64_t mine, int64_t its)
{
    if ((mine > 0) == (its > 0))
        return (its - mine) / 2;
    return mine > 0 ? (its < -mine ? -mine : its) : (its > -mine ? -mine : its);
}

/* Exchanges sets of sequences with another block so that one of the two reaches its target, or comes as near as the
 * sets allow. An exchange is made only if the sum of the squares of the excesses of both falls. *gained: whether it was
 * made. */
static int level_exchange(struct levelling *v, uint32_t own, uint32_t other, int choices, bool *gained,
                          struct bl_error *e)
{
    int64_t wish[BL_COST_POINTS], moved[BL_COST_POINTS];
    uint32_t set[2];
    double before = 0, after = 0;
    bool found;
    for (int p = 0; p < v->points; p++)
        wish[p] = level_wish(level_excess(v, own, p), level_excess(v, other, p));
    int code = bl_block_exchange_find(&v->m, other, choices, wish, v->tolerance * v->points / 2, set, moved, &found, e);
    for (int p = 0; p < v->points && !code && found; p++) {
        int64_t mine = level_excess(v, own, p), its = level_excess(v, other, p);
        before += level_square(mine) + level_square(its);
        after += level_square(mine + moved[p]) + level_square(its - moved[p]);
    }
    *gained = after < before;
    if (*gained)
        bl_block_exchange_apply(&v->m, set, moved);
    return code;
}

/* Tries exchanges of a block that is off its target with v->partners others: drawn in turn near the opposite excess,
 * and from all blocks. */
static int level_improve(struct levelling *v, uint32_t own, struct bl_error *e)
{
    const int p = v->point;
    bool gained = true, ever = false;
    int code = BL_OK;
    for (int i = 0; i < v->partners && !code && level_is_off(v, own, p); i++) {
        uint32_t other = level_draw_partner(v, level_excess(v, own, p), i % 2);
        if (other == own || (level_excess(v, own, p) > 0) != (level_excess(v, own, p) > level_excess(v, other, p)))
            continue;
        /* The sets of the own block are still valid unless an exchange changed its sequences. */
        if (gained)
            code = bl_block_exchange_begin(&v->m, own, e);
        if (!code)
            code = level_exchange(v, own, other, i < 1 ? BL_CHOICES_MAX / 2 : BL_CHOICES_MAX, &gained, e);
        ever |= gained;
    }
    uint8_t *idle = &level_at(v, own, p)->idle;
    *idle = ever ? 0 : (uint8_t)(*idle + (*idle < UINT8_MAX));
    return code;
}

/* --- rounds ----------------------------------------------------------------------------------------------------- */

/* Returns the sum of the excesses, without sign, of the blocks that are off at point p, and adds their number to *off.
 * Blocks whose most expensive sequence alone exceeds the level do not count, since no exchange brings them to it. */
static double level_measure(const struct levelling *v, int p, size_t *off)
{
    double sum = 0;
    for (size_t i = 0; i < v->count; i++) {
        uint32_t b = v->member[i];
        int64_t excess = level_excess(v, b, p);
        if (level_at(v, b, p)->is_above_target || !level_is_off(v, b, p))
            continue;
        sum += (double)(excess < 0 ? -excess : excess);
        ++*off;
    }
    return sum;
}

/* Returns the sum over all points. *off: the blocks that are off, counted at each point. */
static double level_measure_all(const struct levelling *v, size_t *off)
{
    double sum = 0;
    *off = 0;
    for (int p = 0; p < v->points; p++)
        sum += level_measure(v, p, off);
    return sum;
}

/* Sorts the blocks by their excess at v->point, and tries exchanges for those that are off, the most expensive first.
 * The fewer there are, the more partners each may try. */
static int level_round(struct levelling *v, struct bl_error *e)
{
    const int p = v->point;
    int code = BL_OK;
    size_t off = 0;
    level_measure(v, p, &off);
    size_t more = v->count / (off + 1);
    v->partners = more > PARTNERS_MAX - PARTNERS ? PARTNERS_MAX : PARTNERS + (int)more;
    int64_t most = INT64_MIN;
    v->least = INT64_MAX;
    for (size_t i = 0; i < v->count; i++) {
        int64_t excess = level_excess(v, v->member[i], p);
        v->least = excess < v->least ? excess : v->least;
        most = excess > most ? excess : most;
    }
    /* Excesses take 32 bits in the words that are sorted; their lowest bits are dropped if they need more. */
    for (v->shift = 0; (uint64_t)(most - v->least) >> v->shift > UINT32_MAX;)
        v->shift++;
    for (size_t i = 0; i < v->count; i++)
        v->order[i] = (uint64_t)(level_excess(v, v->member[i], p) - v->least) >> v->shift << 32 | i;
    bl_sort_u64(v->order, v->count, 32);
    for (size_t i = v->count; i-- > 0 && !code && v->m.exchange.work < v->work;) {
        uint32_t b = v->member[v->order[i] & UINT32_MAX];
        code = bl_limits_check(v->l->limits, e);
        if (!code && (!level_at(v, b, p)->is_above_target || level_at(v, b, p)->idle < IDLE_MAX))
            code = level_improve(v, b, e);
    }
    return code;
}

/* Sets the targets of all blocks at point p to the mean cost of those that can reach it. A block that holds a sequence
 * which alone costs more than the level cannot, and is left out of the mean. */
static void level_set_targets_at(struct levelling *v, int p)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++) {
        struct bl_exchange_cost *at = level_at(v, v->member[i], p);
        at->is_above_target = v->l->cost->point[p].block + at->max_cost > v->level[p];
        if (at->is_above_target)
            continue;
        sum += (double)at->cost;
        count++;
    }
    if (count)
        v->level[p] = (int64_t)(sum / (double)count);
    for (size_t i = 0; i < v->count; i++)
        level_at(v, v->member[i], p)->target = v->level[p];
}

static void level_set_targets(struct levelling *v)
{
    for (int p = 0; p < v->points; p++)
        level_set_targets_at(v, p);
    level_set_tolerance(v);
}

/* Runs rounds until no block is off, the work is used up, or a round gains less than 5 %. is_first: targets follow the
 * mean after each round; later, rows have fixed targets. */
static int level_rounds(struct levelling *v, bool is_first, struct bl_error *e)
{
    size_t off;
    int code = BL_OK;
    double before, now = level_measure_all(v, &off);
    for (int round = 0; round < ROUNDS && !code && off > 0 && v->m.exchange.work < v->work; round++) {
        for (v->point = 0; v->point < v->points && !code; v->point++)
            code = level_round(v, e);
        if (is_first)
            level_set_targets(v);
        before = now;
        now = level_measure_all(v, &off);
        if (now > 0.95 * before && round > 0)
            break;
    }
    return code;
}

/* --- one group -------------------------------------------------------------------------------------------------- */

/* Makes one exchange after which both blocks have v->m.keep units of room, within an eighth of the level of no change
 * in cost. The later rounds repair the costs. */
static int level_take_room(struct levelling *v, uint32_t own, uint32_t other, struct bl_error *e)
{
    static const int64_t wish[BL_COST_POINTS] = {0};
    int64_t moved[BL_COST_POINTS], level = 0;
    uint32_t set[2];
    bool found;
    for (int p = 0; p < v->points; p++)
        level += v->level[p];
    int code = bl_block_exchange_begin(&v->m, own, e);
    if (!code)
        code = bl_block_exchange_find(&v->m, other, BL_CHOICES_MAX / 2, wish, level / 8, set, moved, &found, e);
    if (!code && found)
        bl_block_exchange_apply(&v->m, set, moved);
    return code;
}

/* Gives full blocks a part of the room of those with more than 4 times the mean. Without free units, hardly any two
 * sets of sequences can be exchanged. */
static int level_share_room(struct levelling *v, struct bl_error *e)
{
    double sum = 0;
    size_t pool = 0;
    for (size_t i = 0; i < v->count; i++)
        sum += (double)v->m.block[v->member[i]].room;
    int64_t mean = (int64_t)(sum / (double)v->count);
    v->m.keep = mean / 2;
    for (size_t i = 0; i < v->count; i++)
        if (v->m.block[v->member[i]].room > 4 * mean + 4)
            v->order[pool++] = v->member[i];
    int code = BL_OK;
    for (size_t i = 0; i < v->count && pool && mean && !code; i++) {
        size_t at = bl_random_below(&v->m.random, pool);
        uint32_t own = v->member[i], other = (uint32_t)v->order[at];
        if (v->m.block[own].room >= v->m.keep || own == other)
            continue;
        code = level_take_room(v, own, other, e);
        if (v->m.block[other].room < 2 * mean)
            v->order[at] = v->order[--pool];
    }
    return code;
}

/* Finds the level at point p by water filling: every block costs at least its most expensive sequence. From the most
 * expensive minimum down, a block whose minimum exceeds the mean of the others keeps that minimum, and the others share
 * the remaining cost. Minima 10, 3, 2 and a sum of 18: the first keeps 10, the level is (18 - 10) / 2 = 4. */
static void level_find(struct levelling *v, int p)
{
    double sum = 0;
    for (size_t i = 0; i < v->count; i++) {
        const struct bl_exchange_cost *at = level_at(v, v->member[i], p);
        sum += (double)at->cost;
        v->order[i] = (uint64_t)(v->l->cost->point[p].block + at->max_cost);
    }
    bl_sort_u64(v->order, v->count, 0);
    size_t left = v->count;
    while (left > 1 && (double)v->order[left - 1] * (double)left > sum)
        sum -= (double)v->order[--left];
    v->level[p] = (int64_t)(sum / (double)left);
}

/* Lowers the target at point p of the blocks that are in no row by the deficit of the rows, evenly. */
static void level_lower(struct levelling *v, int p)
{
    double lack = 0, sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++) {
        uint32_t b = v->member[i];
        if (level_at(v, b, p)->is_in_row) {
            lack -= (double)level_excess(v, b, p);
            continue;
        }
        sum += (double)level_at(v, b, p)->cost;
        count++;
    }
    if (count && sum > lack)
        v->level[p] = (int64_t)((sum - lack) / (double)count);
    for (size_t i = 0; i < v->count; i++)
        if (!level_at(v, v->member[i], p)->is_in_row)
            level_at(v, v->member[i], p)->target = v->level[p];
}

static int level_group(struct levelling *v, bool is_first, struct bl_error *e)
{
    for (int p = 0; p < v->points; p++) {
        if (is_first)
            level_find(v, p);
        else
            level_lower(v, p);
    }
    level_set_tolerance(v);
    if (is_first) {
        level_set_targets(v);
        BL_TRY(level_share_room(v, e));
    }
    return level_rounds(v, is_first, e);
}

/* Returns the group of a block, which all its sequences share. */
static uint32_t level_group_of(const struct levelling *v, size_t block)
{
    const struct bl_draft *d = v->m.draft;
    return bl_pieces_group(v->l->cost->pieces, d->sequence[d->first[block]]);
}

/* Levels each group on its own: sequences of different groups never share a block, and the blocks of a group follow
 * one another in a draft. Empty blocks are last. */
static int level_groups(struct levelling *v, bool is_first, struct bl_error *e)
{
    size_t blocks = v->m.draft->blocks;
    int code = BL_OK;
    int64_t most = WORK_LEAST + WORK * (int64_t)v->m.draft->pieces;
    v->work = v->m.exchange.work + (is_first ? most : most / 5);
    for (size_t b = 0; b < blocks && bl_draft_size(v->m.draft, b) && !code;) {
        uint32_t group = level_group_of(v, b);
        for (v->count = 0; b < blocks && bl_draft_size(v->m.draft, b) && level_group_of(v, b) == group; b++)
            v->member[v->count++] = (uint32_t)b;
        code = level_group(v, is_first, e);
    }
    return code;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* Returns whether block b is in a row, of any point. */
static bool level_is_in_row(const struct levelling *v, uint32_t b)
{
    bool any = false;
    for (int p = 0; p < v->points; p++)
        any |= level_at(v, b, p)->is_in_row;
    return any;
}

/* Sorts the blocks that are neither empty nor in a row into `order`, by the leading 32 bits of their costs at point p.
 * Returns their number. */
static size_t level_sort_all(struct levelling *v, int p)
{
    size_t full = 0, count = 0;
    uint64_t most = 0;
    for (; full < v->m.draft->blocks && v->m.block[full].size; full++)
        most |= (uint64_t)level_at(v, (uint32_t)full, p)->cost;
    for (v->shift = 0; most >> v->shift > UINT32_MAX;)
        v->shift++;
    for (size_t b = 0; b < full; b++)
        if (!level_is_in_row(v, (uint32_t)b))
            v->order[count++] = (uint64_t)level_at(v, (uint32_t)b, p)->cost >> v->shift << 32 | b;
    bl_sort_u64(v->order, count, 32);
    return count;
}

/* Cuts the blocks above their targets at point p into rows of `row` blocks, from the most expensive on, and sets the
 * targets of a row to the cost of its most expensive block. Blocks of a step of training then cost alike, and no rank
 * waits although they cost more than the mean. A block is in one row, of the first point that puts it into one. Returns
 * whether there are any rows. */
static bool level_set_rows(struct levelling *v, int p)
{
    size_t left = level_sort_all(v, p), row = v->l->row;
    bool any = false;
    while (row > 1 && left >= row) {
        const struct bl_exchange_cost *first = level_at(v, v->order[left - 1] & UINT32_MAX, p);
        int64_t most = first->cost, level = first->target, step = 0;
        for (int k = 0; k < v->points; k++)
            step += level_at(v, v->order[left - 1] & UINT32_MAX, k)->target;
        if (most <= level + CHEAP * (step / TOLERANCE_PART / v->points))
            break;
        for (size_t i = left - row; i < left; i++) {
            struct bl_exchange_cost *at = level_at(v, v->order[i] & UINT32_MAX, p);
            int64_t raised = at->cost + level / RAISE_PART;
            at->target = raised < most ? raised : most;
            at->is_above_target = false;
            at->is_in_row = true;
        }
        left -= row;
        any = true;
    }
    for (size_t i = 0; i < left; i++)
        level_at(v, v->order[i] & UINT32_MAX, p)->is_above_target = false;
    return any;
}

/* Two passes: the first brings the blocks to one level, the second levels the rows of those that cannot reach it. */
int bl_level_blocks(struct bl_draft *d, const struct bl_level *level, struct bl_error *e)
{
    struct levelling *v = calloc(1, sizeof *v);
    if (!v)
        return bl_error_memory(e);
    v->l = level;
    v->points = level->cost->points;
    v->order = malloc((d->blocks + 1) * sizeof *v->order);
    v->member = malloc((d->blocks + 1) * sizeof *v->member);
    int code = bl_block_exchange_make(&v->m, d, level->cost, level->limits, level->needs, level->seed, e);
    if (!code && (!v->order || !v->member))
        code = bl_error_memory(e);
    if (!code)
        code = level_groups(v, true, e);
    bool any = false;
    for (int p = 0; p < v->points && !code; p++)
        any |= level_set_rows(v, p);
    if (any)
        code = level_groups(v, false, e);
    if (!code)
        bl_block_exchange_write(&v->m);
    bl_block_exchange_free(&v->m);
    free(v->order);
    free(v->member);
    free(v);
    return code;
}
