/* Minimum bin slack on counts. For a small T only subset sums are used. For a large T they are expensive, so an exact
 * pair, found with two pointers over the remaining lengths, is tried first. */
#include "plan/search.h"
#include "plan/residual.h"
#include "plan/subset_sum.h"

enum {
    PAIRS_FROM = 8192,     /* smallest T for which pairs are tried before subset sums */
    PAIR_STEPS = 4096,     /* steps of the two pointers, for one block */
    SUBSET_WORK = 1 << 20, /* for one block */
};

struct slack {
    const struct bl_limits *limits;
    struct bl_residual residual;
    struct bl_subset_sum subset;
    int64_t work;
};

/* Finds two lengths that fill the room exactly, the shorter one as long as possible. */
static bool slack_find_pair(struct slack *s, uint32_t room, size_t pair[2])
{
    const struct bl_histogram *h = s->residual.h;
    const struct bl_bitset *nonempty = &s->residual.nonempty;
    const uint32_t *length = h->length;
    size_t low = bl_residual_fitting(&s->residual, room / 2),
           high = bl_bitset_next(nonempty, bl_histogram_below(h, (room - 1) / 2));
    for (int step = 0; step < PAIR_STEPS && low != BL_BITSET_NONE && high != BL_BITSET_NONE; step++) {
        s->work -= 4;
        uint64_t sum = (uint64_t)length[low] + length[high];
        if (sum == room && (low != high || s->residual.left[low] > 1)) {
            pair[0] = high;
            pair[1] = low;
            return true;
        }
        if (sum < room)
            high = bl_bitset_next(nonempty, high + 1);
        else
            low = low ? bl_bitset_previous(nonempty, low - 1) : BL_BITSET_NONE;
    }
    return false;
}

static int slack_choose_subset(struct slack *s, uint32_t room, uint32_t most, struct bl_error *e)
{
    struct bl_residual *residual = &s->residual;
    int64_t spent = 0;
    bl_subset_sum_begin(&s->subset, room, most);
    size_t b = bl_residual_fitting(residual, room);
    while (b != BL_BITSET_NONE && !bl_subset_sum_is_full(&s->subset) && spent < SUBSET_WORK) {
        spent += bl_subset_sum_offer(&s->subset, (uint32_t)b, residual->h->length[b], residual->left[b]);
        b = b ? bl_bitset_previous(&residual->nonempty, b - 1) : BL_BITSET_NONE;
    }
    s->work -= spent + room / 64;
    int code = BL_OK;
    for (uint32_t sum = s->subset.top; !code && sum > 0;)
        code = bl_residual_choose(residual, bl_subset_sum_take(&s->subset, &sum, residual->h->length), e);
    return code;
}

/* Chooses the lengths that join the first length of a block. */
static int slack_complete_block(struct slack *s, uint32_t room, uint32_t most, struct bl_error *e)
{
    size_t pair[2], one = bl_residual_fitting(&s->residual, room);
    if (one == BL_BITSET_NONE || most == 0)
        return BL_OK;
    if (s->residual.h->length[one] == room || most == 1)
        return bl_residual_choose(&s->residual, one, e);
    if (s->limits->T >= PAIRS_FROM && slack_find_pair(s, room, pair)) {
        int code = bl_residual_choose(&s->residual, pair[0], e);
        if (code)
            return code;
        return bl_residual_choose(&s->residual, pair[1], e);
    }
    return slack_choose_subset(s, room, most, e);
}

static int slack_fill_block(struct slack *s, size_t longest, struct bl_patterns *patterns, struct bl_error *e)
{
    uint32_t room = (uint32_t)s->limits->T - s->residual.h->length[longest], use;
    s->work -= 64;
    int code = bl_residual_choose(&s->residual, longest, e);
    if (!code)
        code = slack_complete_block(s, room, s->limits->sequences - 1, e);
    if (code)
        return code;
    return bl_residual_close(&s->residual, UINT32_MAX, patterns, &use, e);
}

int bl_search_min_slack(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                        struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    if (limits->without & BL_SEARCH_MIN_SLACK)
        return BL_OK;
    struct slack s = {.limits = limits, .work = limits->work / (limits->T < PAIRS_FROM ? 8 : 32)};
    int code = bl_residual_make(&s.residual, h, e);
    if (!code)
        code = bl_subset_sum_make(&s.subset, (uint32_t)limits->T, limits->sequences < limits->T, e);
    size_t longest;
    while (!code && s.work > 0 &&
           (longest = bl_bitset_previous(&s.residual.nonempty, h->distinct - 1)) != BL_BITSET_NONE)
        code = slack_fill_block(&s, longest, patterns, e);
    bl_limits_use(limits, limits->work / (limits->T < PAIRS_FROM ? 8 : 32) - s.work);
    if (!code)
        code = bl_search_residual(patterns, h, s.residual.left, limits, bl_search_bestfit, e);
    bl_residual_free(&s.residual);
    bl_subset_sum_free(&s.subset);
    if (code)
        bl_patterns_free(patterns);
    return code;
}

int bl_search_greedy(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_limits *limits,
                     struct bl_error *e)
{
    return bl_search_either(patterns, h, limits, bl_search_bestfit, bl_search_min_slack, e);
}
