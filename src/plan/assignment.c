/* Assigns sequences to ranks and micro-batches: checks what is asked, joins sequences to bundles and groups, finds the
 * fewest micro-batches, and measures the result. The search is in assignment_search.c. */
#include "plan/assignment.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "plan/assignment_problem.h"
#include "plan/histogram.h"

#define TOKENS_MAX (INT64_C(1) << 61) /* of all sequences */
#define ROWS_MAX INT64_C(1048576)     /* micro-batches of a rank */

/* The options, with defaults in place of 0, and the work on the assignment. */
struct assigning {
    const struct bl_assignment_options *o;
    const int64_t *length; /* [count] */
    size_t count;
    int64_t multiple;
    double *cost;      /* [count] */
    uint32_t *bundle;  /* [count] of each sequence */
    uint32_t *opening; /* [bundles] the first sequence of each, for messages */
    struct bl_assignment_problem p;
    bool is_grouped; /* a group has several bundles */
    struct bl_error *e;
};

/* --- checks ------------------------------------------------------------------------------------------------------- */

static int options_check_assignment(const struct bl_assignment_options *o, struct bl_error *e)
{
    if (o->ranks < 1 || o->ranks > BL_ASSIGNMENT_RANKS_MAX)
        return bl_error_set(e, BL_EUSAGE, "ranks is %" PRId64 ", not 1 to %d", o->ranks, BL_ASSIGNMENT_RANKS_MAX);
    if (o->micro_batches < 0 || o->micro_batches > ROWS_MAX)
        return bl_error_set(e, BL_EUSAGE, "micro_batches is %" PRId64 ", not 1 to %" PRId64, o->micro_batches,
                            ROWS_MAX);
    if (o->max_tokens < 0 || o->max_tokens > BL_T_MAX)
        return bl_error_set(e, BL_EUSAGE, "max_tokens is %" PRId64 ", not 1 to %" PRId64, o->max_tokens, BL_T_MAX);
    if (!o->micro_batches && !o->max_tokens)
        return bl_error_set(e, BL_EUSAGE, "at least one of micro_batches and max_tokens is needed");
    if (o->multiple < 0 || o->multiple > ROWS_MAX)
        return bl_error_set(e, BL_EUSAGE, "multiple is %" PRId64 ", not 1 to %" PRId64, o->multiple, ROWS_MAX);
    if (o->multiple && o->micro_batches % o->multiple)
        return bl_error_set(e, BL_EUSAGE, "micro_batches is %" PRId64 ", not a multiple of %" PRId64, o->micro_batches,
                            o->multiple);
    if (!(o->cost_alpha >= 0 && o->cost_beta >= 0 && isfinite(o->cost_alpha) && isfinite(o->cost_beta)))
        return bl_error_set(e, BL_EUSAGE, "the cost %g,%g has a negative number, or one that is not finite",
                            o->cost_alpha, o->cost_beta);
    if (o->cost && (o->cost_alpha > 0 || o->cost_beta > 0))
        return bl_error_set(e, BL_EUSAGE, "the cost of each sequence and a cost of its length are both given");
    return BL_OK;
}

/* Checks the lengths, and sets the costs of the sequences. */
static int sequences_check(struct assigning *a)
{
    const struct bl_assignment_options *o = a->o;
    bool by_tokens = !o->cost && o->cost_alpha == 0 && o->cost_beta == 0;
    int64_t tokens = 0;
    double sum = 0;
    for (size_t i = 0; i < a->count; i++) {
        double length = (double)a->length[i];
        if (a->length[i] < 0)
            return bl_error_set(a->e, BL_EUSAGE, "sequence %zu has the length %" PRId64, i, a->length[i]);
        if (a->length[i] > TOKENS_MAX - tokens)
            return bl_error_set(a->e, BL_EUSAGE, "the lengths up to sequence %zu, of %" PRId64 " tokens, exceed 2^61",
                                i, a->length[i]);
        tokens += a->length[i];
        a->cost[i] = o->cost     ? o->cost[i]
                     : by_tokens ? length
                                 : length * o->cost_alpha + length * length * o->cost_beta;
        if (!(a->cost[i] >= 0) || !isfinite(sum += a->cost[i]))
            return bl_error_set(a->e, BL_EUSAGE, "sequence %zu has the cost %g", i, a->cost[i]);
    }
    /* All costs together are about 2^50 units. A scale that is a power of two keeps whole costs exact. */
    double scale = by_tokens || sum < DBL_MIN ? 1 : ldexp(1, 50 - ilogb(sum));
    a->p.cost = calloc(a->count + 1, sizeof *a->p.cost);
    a->p.length = calloc(a->count + 1, sizeof *a->p.length);
    if (!a->p.cost || !a->p.length)
        return bl_error_memory(a->e);
    for (size_t i = 0; i < a->count; i++) {
        a->p.length[a->bundle[i]] += a->length[i];
        a->p.cost[a->bundle[i]] += by_tokens ? a->length[i] : (int64_t)(a->cost[i] * scale + 0.5);
    }
    return BL_OK;
}

/* --- bundles and groups ------------------------------------------------------------------------------------------- */

/* Numbers the classes of sequences with one value, in order of their first sequence. value NULL, or
 * BL_ALONE: the sequence is a class of its own. class: [count], set. BL_EFAIL: out of memory. */
static int classes_number(uint32_t *class, size_t *classes, const uint32_t *value, size_t count, struct bl_error *e)
{
    uint64_t *word = malloc((count + 1) * sizeof *word);
    size_t words = 0;
    if (!word)
        return bl_error_memory(e);
    for (size_t i = 0; i < count; i++) {
        class[i] = (uint32_t)i; /* for now, the first sequence of the class */
        if (value && value[i] != BL_ALONE)
            word[words++] = (uint64_t)value[i] << 32 | i;
    }
    bl_sort_u64(word, words, 0);
    for (size_t i = 1; i < words; i++)
        if (word[i] >> 32 == word[i - 1] >> 32)
            class[(uint32_t)word[i]] = class[(uint32_t)word[i - 1]];
    free(word);
    *classes = 0;
    for (size_t i = 0; i < count; i++)
        class[i] = class[i] == i ? (uint32_t)(*classes)++ : class[class[i]];
    return BL_OK;
}

/* Returns the class that stands for all that were joined with this one, and shortens the way to it. */
static uint32_t joined_find(uint32_t *joined, uint32_t class)
{
    while (joined[class] != class)
        class = joined[class] = joined[joined[class]];
    return class;
}

/* Sets the groups of the bundles. Groups that share a bundle are one: all of it is on one rank. */
static int groups_number(struct assigning *a)
{
    struct bl_assignment_problem *p = &a->p;
    size_t count = a->count, classes;
    uint32_t *class = malloc((count + 1) * sizeof *class), *joined = malloc((count + 1) * sizeof *joined);
    p->group = malloc((count + 1) * sizeof *p->group);
    int code =
        class && joined && p->group ? classes_number(class, &classes, a->o->group, count, a->e) : bl_error_memory(a->e);
    for (size_t i = 0; !code && i < count; i++)
        joined[i] = (uint32_t)i;
    /* The class of the first sequence of a bundle is joined with those of the others. */
    for (size_t i = 0; !code && i < count; i++) {
        uint32_t x = joined_find(joined, class[i]), y = joined_find(joined, class[a->opening[a->bundle[i]]]);
        joined[x > y ? x : y] = x > y ? y : x;
    }
    for (size_t i = 0; !code && i < count; i++)
        p->group[a->bundle[i]] = joined_find(joined, class[i]);
    /* The numbers that are left get new ones without gaps. */
    if (!code)
        memset(class, 0xff, count * sizeof *class);
    p->groups = 0;
    for (size_t b = 0; !code && b < p->bundles; b++) {
        uint32_t *number = &class[p->group[b]];
        *number = *number == UINT32_MAX ? (uint32_t)p->groups++ : *number;
        p->group[b] = *number;
    }
    free(class);
    free(joined);
    return code;
}

/* Lists the bundles of each group, the longest first. */
static int groups_list(struct assigning *a)
{
    struct bl_assignment_problem *p = &a->p;
    p->first = calloc(p->groups + 2, sizeof *p->first);
    p->member = malloc((p->bundles + 1) * sizeof *p->member);
    p->group_length = calloc(p->groups + 1, sizeof *p->group_length);
    p->group_cost = calloc(p->groups + 1, sizeof *p->group_cost);
    uint64_t *word = malloc((p->bundles + 1) * sizeof *word);
    if (!p->first || !p->member || !p->group_length || !p->group_cost || !word) {
        free(word);
        return bl_error_memory(a->e);
    }
    /* The lengths of bundles exceed 32 bits only where there is no maximum, and their order does not matter. */
    for (size_t b = 0; b < p->bundles; b++) {
        uint64_t length = p->length[b] < UINT32_MAX ? (uint64_t)p->length[b] : UINT32_MAX;
        word[b] = (UINT32_MAX - length) << 32 | b;
        p->first[p->group[b] + 2]++;
        p->group_length[p->group[b]] += p->length[b];
        p->group_cost[p->group[b]] += p->cost[b];
    }
    bl_sort_u64(word, p->bundles, 0);
    for (size_t g = 0; g < p->groups; g++)
        p->first[g + 2] += p->first[g + 1];
    for (size_t i = 0; i < p->bundles; i++) {
        uint32_t b = (uint32_t)word[i];
        p->member[p->first[p->group[b] + 1]++] = b;
    }
    free(word);
    a->is_grouped = p->groups < p->bundles;
    return BL_OK;
}

/* --- bounds ------------------------------------------------------------------------------------------------------- */

static int descending_compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* Returns what one of `parts` parts has at least, however the values are divided: their mean, rounded up; and of the
 * k * parts + 1 greatest values, k + 1 are in one part. *bound: set. BL_EFAIL: out of memory. */
static int bound_parts(int64_t *bound, const int64_t *value, size_t count, size_t parts, struct bl_error *e)
{
    int64_t *sorted = malloc((count + 1) * sizeof *sorted), sum = 0;
    if (!sorted)
        return bl_error_memory(e);
    memcpy(sorted, value, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, descending_compare);
    for (size_t i = 0; i < count; i++)
        sum += sorted[i];
    *bound = sum / (int64_t)parts + (sum % (int64_t)parts > 0);
    for (size_t k = 0; k * parts < count; k++) {
        int64_t least = 0;
        for (size_t i = k * parts - k; i <= k * parts; i++)
            least += sorted[i];
        *bound = least > *bound ? least : *bound;
    }
    free(sorted);
    return BL_OK;
}

/* Returns the micro-batches that every rank has if all bundles take so many: a multiple. */
static int64_t rows_of(const struct assigning *a, int64_t rows)
{
    rows = rows > 1 ? rows : 1;
    return (rows + a->multiple - 1) / a->multiple * a->multiple;
}

/* Sets the micro-batches that all bundles need at least, without regard to ranks. */
static int blocks_bound(struct assigning *a)
{
    struct bl_assignment_problem *p = &a->p;
    const struct bl_lengths lengths = {
        .length = p->length, .count = p->bundles, .shortest = 1, .longest = p->cap, .unit = 1, .cap = p->cap};
    struct bl_histogram h;
    BL_TRY(bl_histogram_make(&h, &lengths, a->e));
    p->blocks = h.distinct ? bl_bound_blocks(&h, p->cap) : 0;
    bl_histogram_free(&h);
    return BL_OK;
}

/* Sets *rows to the micro-batches of a rank that max_tokens needs at least. */
static int rows_bound(struct assigning *a, int64_t *rows)
{
    const struct bl_assignment_problem *p = &a->p;
    int64_t ranks = (int64_t)p->ranks, tokens;
    *rows = rows_of(a, (p->blocks + ranks - 1) / ranks);
    if (!p->cap)
        return BL_OK;
    BL_TRY(bound_parts(&tokens, p->group_length, p->groups, p->ranks, a->e));
    int64_t most = tokens / p->cap + (tokens % p->cap > 0);
    /* Two bundles that are longer than half of the maximum never share a micro-batch. */
    for (size_t g = 0; g < p->groups; g++) {
        int64_t halves = 0;
        for (uint32_t i = p->first[g]; i < p->first[g + 1] && 2 * p->length[p->member[i]] > p->cap; i++)
            halves++;
        most = halves > most ? halves : most;
    }
    most = rows_of(a, most);
    *rows = most > *rows ? most : *rows;
    return BL_OK;
}

/* --- micro-batches ------------------------------------------------------------------------------------------------ */

/* Checks that every bundle is within max_tokens. */
static int bundles_check(const struct assigning *a)
{
    const struct bl_assignment_problem *p = &a->p;
    for (size_t b = 0; b < p->bundles && p->cap; b++) {
        uint32_t first = a->opening[b];
        if (p->length[b] <= p->cap)
            continue;
        if (p->length[b] == a->length[first])
            return bl_error_set(a->e, BL_EUSAGE,
                                "sequence %" PRIu32 " has %" PRId64 " tokens, more than max_tokens = %" PRId64, first,
                                p->length[b], p->cap);
        return bl_error_set(a->e, BL_EUSAGE,
                            "sequence %" PRIu32 " and those together with it have %" PRId64
                            " tokens, more than max_tokens = %" PRId64,
                            first, p->length[b], p->cap);
    }
    return BL_OK;
}

/* Searches with this number of micro-batches on each rank. */
static int rows_try(struct assigning *a, int64_t rows, struct bl_assignment_state *s, bool *is_found)
{
    struct bl_assignment_problem *p = &a->p;
    if (rows > ROWS_MAX || rows * (int64_t)p->ranks > BL_ASSIGNMENT_BINS_MAX)
        return bl_error_set(a->e, BL_EUSAGE, "%" PRId64 " micro-batches on each of %zu ranks are too many", rows,
                            p->ranks);
    p->rows = (size_t)rows;
    return bl_assignment_search(s, p, is_found, a->e);
}

/* Finds the fewest micro-batches, from `rows` on, with which the search finds an assignment: in wider and wider steps,
 * then between the last two. */
static int rows_search(struct assigning *a, int64_t rows, struct bl_assignment_state *s)
{
    bool is_found = false;
    int64_t low = rows - a->multiple, high = rows, step = a->multiple; /* low: not found */
    BL_TRY(rows_try(a, high, s, &is_found));
    for (; !is_found; step *= 2) {
        low = high;
        high += step;
        BL_TRY(rows_try(a, high, s, &is_found));
    }
    while (high - low > a->multiple) {
        struct bl_assignment_state fewer;
        int64_t middle = low + (high - low) / a->multiple / 2 * a->multiple;
        int code = rows_try(a, middle, &fewer, &is_found);
        if (code) {
            bl_assignment_state_free(s);
            return code;
        }
        if (is_found) {
            bl_assignment_state_free(s);
            *s = fewer;
            high = middle;
        } else {
            low = middle;
        }
    }
    a->p.rows = (size_t)high;
    return BL_OK;
}

/* Finds the assignment: with the micro-batches that are asked for, or with as few as possible. *rows: the bound. */
static int assigning_search(struct assigning *a, struct bl_assignment_state *s, int64_t *rows)
{
    int64_t asked = a->o->micro_batches;
    bool is_found = false;
    BL_TRY(rows_bound(a, rows));
    if (!asked) {
        BL_TRY(rows_search(a, *rows, s));
        return rows_bound(a, rows); /* the search may have proven more */
    }
    if (asked >= *rows) {
        BL_TRY(rows_try(a, asked, s, &is_found));
        if (is_found)
            return rows_bound(a, rows);
    }
    BL_TRY(rows_search(a, asked >= *rows ? asked + a->multiple : *rows, s));
    bl_assignment_state_free(s);
    return bl_error_set(a->e, BL_EUSAGE,
                        "the sequences do not fit into %" PRId64 " micro-batches of at most %" PRId64
                        " tokens on each of %zu ranks; %zu would do",
                        asked, a->p.cap, a->p.ranks, a->p.rows);
}

/* --- result ------------------------------------------------------------------------------------------------------- */

/* Returns the sum over the synchronization points of the highest cost of a rank. */
static double result_highest(const struct bl_assignment *r, bool is_micro)
{
    double sum = 0, highest = 0;
    for (int64_t m = 0; m < r->micro_batches && is_micro; m++) {
        double most = 0;
        for (int64_t k = 0; k < r->ranks; k++)
            most = fmax(most, r->cost[k * r->micro_batches + m]);
        sum += most;
    }
    for (int64_t k = 0; k < r->ranks && !is_micro; k++) {
        double cost = 0;
        for (int64_t m = 0; m < r->micro_batches; m++)
            cost += r->cost[k * r->micro_batches + m];
        highest = fmax(highest, cost);
    }
    return is_micro ? sum : highest;
}

/* Sets the tables of the result, and what is lost. */
static int result_make(struct bl_assignment *r, const struct assigning *a, const struct bl_assignment_state *s,
                       int64_t rows)
{
    const struct bl_assignment_problem *p = &a->p;
    size_t bins = p->ranks * p->rows;
    *r = (struct bl_assignment){.ranks = (int64_t)p->ranks,
                                .micro_batches = (int64_t)p->rows,
                                .micro_batches_bound = rows < (int64_t)p->rows ? rows : (int64_t)p->rows,
                                .place = malloc((a->count + 1) * sizeof *r->place),
                                .cost = calloc(bins, sizeof *r->cost),
                                .tokens = calloc(bins, sizeof *r->tokens)};
    if (!r->place || !r->cost || !r->tokens)
        return bl_error_memory(a->e);
    double sum = 0, units = 0;
    for (size_t i = 0; i < a->count; i++) {
        r->place[i] = s->bin[a->bundle[i]];
        r->cost[r->place[i]] += a->cost[i];
        r->tokens[r->place[i]] += a->length[i];
        sum += a->cost[i];
    }
    for (size_t g = 0; g < p->groups; g++)
        units += (double)p->group_cost[g];
    if (sum <= 0)
        return BL_OK;
    r->lost = fmax(0, result_highest(r, p->is_micro) * (double)p->ranks / sum - 1);
    r->bound = fmin(r->lost, fmax(0, (double)p->target * (double)p->ranks / units - 1));
    return BL_OK;
}

static void assigning_free(struct assigning *a)
{
    struct bl_assignment_problem *p = &a->p;
    free(a->cost);
    free(a->bundle);
    free(a->opening);
    free(p->length);
    free(p->cost);
    free(p->group);
    free(p->first);
    free(p->member);
    free(p->group_length);
    free(p->group_cost);
}

/* Sets the problem: bundles, groups, and the bound of what is lost. */
static int assigning_prepare(struct assigning *a)
{
    struct bl_assignment_problem *p = &a->p;
    a->cost = malloc((a->count + 1) * sizeof *a->cost);
    a->bundle = malloc((a->count + 1) * sizeof *a->bundle);
    a->opening = malloc((a->count + 1) * sizeof *a->opening);
    if (!a->cost || !a->bundle || !a->opening)
        return bl_error_memory(a->e);
    BL_TRY(classes_number(a->bundle, &p->bundles, a->o->together, a->count, a->e));
    for (size_t i = a->count; i-- > 0;)
        a->opening[a->bundle[i]] = (uint32_t)i;
    BL_TRY(sequences_check(a));
    BL_TRY(bundles_check(a));
    BL_TRY(groups_number(a));
    BL_TRY(groups_list(a));
    BL_TRY(bound_parts(&p->target, p->group_cost, p->groups, p->ranks, a->e));
    return p->cap ? blocks_bound(a) : BL_OK;
}

int bl_assignment_make(struct bl_assignment *result, const int64_t *length, size_t count,
                       const struct bl_assignment_options *o, struct bl_error *e)
{
    struct assigning a = {.o = o, .length = length, .count = count, .multiple = o->multiple ? o->multiple : 1, .e = e};
    struct bl_assignment_state s = {0};
    int64_t rows = 0;
    *result = (struct bl_assignment){0};
    BL_TRY(options_check_assignment(o, e));
    if (count >= UINT32_MAX)
        return bl_error_set(e, BL_EUSAGE, "%zu sequences are too many", count);
    a.p = (struct bl_assignment_problem){
        .ranks = (size_t)o->ranks, .cap = o->max_tokens, .is_micro = o->sync == BL_SYNC_MICRO, .cancel = o->cancel};
    int code = assigning_prepare(&a);
    if (!code)
        code = assigning_search(&a, &s, &rows);
    if (!code)
        code = result_make(result, &a, &s, rows);
    if (code)
        bl_assignment_free(result);
    bl_assignment_state_free(&s);
    assigning_free(&a);
    return code;
}

void bl_assignment_free(struct bl_assignment *a)
{
    free(a->place);
    free(a->cost);
    free(a->tokens);
    *a = (struct bl_assignment){0};
}
