/* Minimum bin slack on counts. Where T is small the subset sums decide alone; where it is large they are dear, and an
 * exact pair, found by two fingers over the lengths that are left, is tried first. */
#include <stdlib.h>
#include <string.h>

#include "plan/fill.h"
#include "plan/marks.h"
#include "plan/subset.h"

enum {
    PAIRS_FROM = 8192,     /* T from which pairs are tried before subset sums */
    PAIR_STEPS = 4096,     /* of the two fingers, for one block */
    SUBSET_WORK = 1 << 20, /* for one block */
};

struct slack {
    const struct bl_histogram *h;
    const struct bl_fill_limits *limits;
    struct bl_patterns *patterns;
    uint32_t *left;        /* [D] how many of each bucket */
    struct bl_marks marks; /* of those that are left */
    struct bl_subset subset;
    uint32_t *chosen; /* the block in the making */
    size_t count, capacity;
    int64_t work;
};

static void take(struct slack *s, size_t bucket, uint32_t times)
{
    s->left[bucket] -= times;
    if (s->left[bucket] == 0)
        bl_marks_remove(&s->marks, bucket);
}

static int choose(struct slack *s, size_t bucket, struct bl_error *e)
{
    if (s->count == s->capacity) {
        size_t capacity = s->capacity * 2 + 64;
        uint32_t *larger = realloc(s->chosen, capacity * sizeof *larger);
        if (!larger)
            return bl_error_memory(e);
        s->chosen = larger;
        s->capacity = capacity;
    }
    s->chosen[s->count++] = (uint32_t)bucket;
    return 0;
}

/* The longest bucket that is left and fits, or BL_MARKS_NONE. */
static size_t longest_fitting(const struct slack *s, uint32_t room)
{
    size_t below = bl_histogram_below(s->h, room);
    return below ? bl_marks_previous(&s->marks, below - 1) : BL_MARKS_NONE;
}

/* Two lengths that fill the room exactly, the shorter one as long as can be. */
static int find_pair(struct slack *s, uint32_t room, size_t pair[2])
{
    const uint32_t *length = s->h->length;
    size_t low = longest_fitting(s, room / 2),
           high = bl_marks_next(&s->marks, bl_histogram_below(s->h, (room - 1) / 2));
    for (int step = 0; step < PAIR_STEPS && low != BL_MARKS_NONE && high != BL_MARKS_NONE; step++) {
        s->work -= 4;
        uint64_t sum = (uint64_t)length[low] + length[high];
        if (sum == room && (low != high || s->left[low] > 1)) {
            pair[0] = high;
            pair[1] = low;
            return 1;
        }
        if (sum < room)
            high = bl_marks_next(&s->marks, high + 1);
        else
            low = low ? bl_marks_previous(&s->marks, low - 1) : BL_MARKS_NONE;
    }
    return 0;
}

static int choose_subset(struct slack *s, uint32_t room, uint32_t most, struct bl_error *e)
{
    int64_t spent = 0;
    bl_subset_begin(&s->subset, room, most);
    size_t b = longest_fitting(s, room);
    while (b != BL_MARKS_NONE && !bl_subset_is_full(&s->subset) && spent < SUBSET_WORK) {
        spent += bl_subset_offer(&s->subset, (uint32_t)b, s->h->length[b], s->left[b]);
        b = b ? bl_marks_previous(&s->marks, b - 1) : BL_MARKS_NONE;
    }
    s->work -= spent + room / 64;
    int rc = 0;
    for (uint32_t sum = s->subset.top; rc == 0 && sum > 0;)
        rc = choose(s, bl_subset_take(&s->subset, &sum, s->h->length), e);
    return rc;
}

/* What goes beside the first length of a block. */
static int complete(struct slack *s, uint32_t room, uint32_t most, struct bl_error *e)
{
    size_t pair[2], one = longest_fitting(s, room);
    if (one == BL_MARKS_NONE || most == 0)
        return 0;
    if (s->h->length[one] == room || most == 1)
        return choose(s, one, e);
    if (s->limits->T >= PAIRS_FROM && find_pair(s, room, pair)) {
        int rc = choose(s, pair[0], e);
        return rc == 0 ? choose(s, pair[1], e) : rc;
    }
    return choose_subset(s, room, most, e);
}

static int by_bucket(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* How many blocks can be filled as the chosen one; takes what they need. */
static uint32_t repeat(struct slack *s)
{
    uint32_t times = UINT32_MAX;
    qsort(s->chosen, s->count, sizeof *s->chosen, by_bucket);
    for (int applying = 0; applying < 2; applying++)
        for (size_t i = 0, j; i < s->count; i = j) {
            for (j = i; j < s->count && s->chosen[j] == s->chosen[i]; j++)
                ;
            uint32_t uses = (uint32_t)(j - i), possible = s->left[s->chosen[i]] / uses;
            if (applying)
                take(s, s->chosen[i], uses * times);
            else
                times = possible < times ? possible : times;
        }
    return times;
}

/* The first length is set aside while the others are looked for. */
static int fill_block(struct slack *s, size_t longest, struct bl_error *e)
{
    s->count = 0;
    s->work -= 64;
    take(s, longest, 1);
    int rc = complete(s, (uint32_t)s->limits->T - s->h->length[longest], s->limits->sequences - 1, e);
    if (s->left[longest]++ == 0)
        bl_marks_add(&s->marks, longest);
    if (rc == 0)
        rc = choose(s, longest, e);
    if (rc < 0)
        return rc;
    uint32_t times = repeat(s);
    for (size_t i = s->count; rc == 0 && i-- > 0;)
        rc = bl_patterns_push(s->patterns, s->chosen[i], e);
    return rc == 0 ? bl_patterns_close(s->patterns, times, e) : rc;
}

static int make(struct slack *s, struct bl_error *e)
{
    size_t D = s->h->distinct;
    s->left = malloc((D + 1) * sizeof *s->left);
    if (!s->left)
        return bl_error_memory(e);
    int rc = bl_marks_make(&s->marks, D, e);
    if (rc == 0)
        rc = bl_subset_make(&s->subset, (uint32_t)s->limits->T, s->limits->sequences < s->limits->T, e);
    for (size_t b = 0; rc == 0 && b < D; b++) {
        s->left[b] = bl_histogram_count(s->h, b);
        if (s->left[b])
            bl_marks_add(&s->marks, b);
    }
    return rc;
}

int bl_fill_slack(struct bl_patterns *patterns, const struct bl_histogram *h, const struct bl_fill_limits *limits,
                  struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    struct slack s = {.h = h, .limits = limits, .patterns = patterns, .work = limits->work / 8};
    int rc = make(&s, e);
    size_t longest;
    while (rc == 0 && s.work > 0 && (longest = bl_marks_previous(&s.marks, h->distinct - 1)) != BL_MARKS_NONE)
        rc = fill_block(&s, longest, e);
    if (rc == 0)
        rc = bl_fill_rest(patterns, h, s.left, limits, 0, e);
    bl_marks_free(&s.marks);
    bl_subset_free(&s.subset);
    free(s.left);
    free(s.chosen);
    if (rc < 0)
        bl_patterns_free(patterns);
    return rc;
}
