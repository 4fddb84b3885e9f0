#include "plan/subset_sum.h"

#include <stdlib.h>
#include <string.h>

#define UNITS_MAX (UINT32_C(1) << 20)

int bl_subset_sum_make(struct bl_subset_sum *s, uint32_t T, int limited, struct bl_error *e)
{
    *s = (struct bl_subset_sum){0};
    while (T >> s->shift > UNITS_MAX)
        s->shift++;
    size_t units = T >> s->shift;
    s->reached = malloc((units / 64 + 1) * sizeof *s->reached);
    s->last = malloc((units + 1) * sizeof *s->last);
    if (limited)
        s->items = malloc((units + 1) * sizeof *s->items);
    if (s->reached && s->last && (s->items || !limited))
        return BL_OK;
    bl_subset_sum_free(s);
    return bl_error_memory(e);
}

void bl_subset_sum_free(struct bl_subset_sum *s)
{
    free(s->reached);
    free(s->last);
    free(s->items);
    *s = (struct bl_subset_sum){0};
}

void bl_subset_sum_begin(struct bl_subset_sum *s, uint32_t room, uint32_t most)
{
    s->room = room >> s->shift;
    s->most = most;
    s->top = 0;
    memset(s->reached, 0, ((size_t)s->room / 64 + 1) * sizeof *s->reached);
    s->reached[0] = 1;
    if (s->items)
        s->items[0] = 0;
}

static uint32_t subset_sum_units(const struct bl_subset_sum *s, uint32_t length)
{
    return (uint32_t)(((uint64_t)length + (UINT64_C(1) << s->shift) - 1) >> s->shift);
}

/* Records which length reached sums for the first time; removes sums with too many lengths. */
static uint64_t subset_sum_record(struct bl_subset_sum *s, uint32_t base, uint64_t fresh, uint32_t bucket,
                                  uint32_t units)
{
    uint64_t kept = fresh;
    for (; fresh; fresh &= fresh - 1) {
        uint32_t sum = base + (uint32_t)__builtin_ctzll(fresh);
        s->last[sum] = bucket;
        if (!s->items)
            continue;
        s->items[sum] = s->items[sum - units] + 1;
        if (s->items[sum] > s->most)
            kept &= ~(UINT64_C(1) << sum % 64);
    }
    return kept;
}

/* Adds one copy: every sum plus the length, from the highest down, so that the copy is used only once. */
static int64_t subset_sum_offer_one(struct bl_subset_sum *s, uint32_t bucket, uint32_t units)
{
    uint32_t high = s->top > s->room - units ? s->room : s->top + units;
    uint32_t words = units / 64, bits = units % 64, top = s->top, found = 0;
    for (uint32_t w = high / 64 + 1; w-- > words;) {
        uint64_t moved = s->reached[w - words] << bits;
        if (bits > 0 && w > words)
            moved |= s->reached[w - words - 1] >> (64 - bits);
        if (w == high / 64)
            moved &= ~UINT64_C(0) >> (63 - high % 64);
        uint64_t fresh = moved & ~s->reached[w];
        if (fresh == 0)
            continue;
        found += (uint32_t)__builtin_popcountll(fresh);
        fresh = subset_sum_record(s, w * 64, fresh, bucket, units);
        s->reached[w] |= fresh;
        if (fresh && w * 64 + 63 - (uint32_t)__builtin_clzll(fresh) > top)
            top = w * 64 + 63 - (uint32_t)__builtin_clzll(fresh);
    }
    s->top = top;
    return (int64_t)(high / 64 + 1 - words) + 8 * (int64_t)found;
}

int64_t bl_subset_sum_offer(struct bl_subset_sum *s, uint32_t bucket, uint32_t length, uint32_t copies)
{
    uint32_t units = subset_sum_units(s, length);
    int64_t work = 8;
    for (uint32_t i = 0; i < copies && units <= s->room && !bl_subset_sum_is_full(s); i++) {
        if ((uint64_t)units * (i + 1) > s->room)
            break;
        work += subset_sum_offer_one(s, bucket, units);
    }
    return work;
}

uint32_t bl_subset_sum_take(const struct bl_subset_sum *s, uint32_t *sum, const uint32_t *length)
{
    uint32_t bucket = s->last[*sum];
    *sum -= subset_sum_units(s, length[bucket]);
    return bucket;
}
