/* Searches for integer solutions of the linear relaxation by dives.
 *
 * A dive solves the linear relaxation, fixes some of its columns, and goes on with the remaining lengths, until nothing
 * remains or the bound shows that too many blocks would be needed. Then the dive resumes at an earlier point, with
 * another first column there. The number of such discrepancies is limited (Harvey and Ginsberg, 1995; for column
 * generation Sadykov et al., 2019), since the first choices are the best informed. */
#include <math.h>
#include <stdlib.h>

#include "plan/colgen.h"
#include "plan/histogram.h"
#include "plan/search.h"

enum {
    POINTS_MAX = 256, /* points of one path; later steps do not make points */
    CHOICES_MAX = 3,  /* columns tried first at one point */
    RUNS_MAX = 64,
    RUN_SHARE = 8,         /* one run has an eighth of the work */
    DISCREPANCIES_MAX = 3, /* on one path; the first runs allow fewer */
    ONE_BY_ONE = 24,       /* so many remaining blocks are fixed singly, those with the longest length first */
    AT_ONCE = 4,           /* of more remaining blocks, at most a fourth is fixed at once */
};

/* Both tolerances are far above the rounding errors of the linear program. */
#define WHOLE 0.02    /* blocks: an amount that is this close to the next integer is rounded up */
#define NOTICED 0.001 /* blocks: a column with less counts as unused */

/* A solved relaxation to which the dive can return. */
struct dive_point {
    size_t patterns;             /* number of patterns fixed before */
    uint64_t tried[CHOICES_MAX]; /* hashes of the columns that were fixed first here */
    int choices;
    int discrepancies; /* of the path that leads here */
};

struct dive {
    const struct bl_histogram *h;
    struct bl_limits limits;
    int64_t work;           /* operations left */
    size_t target;          /* blocks of a sufficient solution */
    int discrepancies_most; /* on one path */
    double nearly;          /* blocks from which columns beside the first are fixed */
    uint32_t salt;          /* number of the run: gives another optimum of the relaxation */
    uint32_t *left;         /* [distinct of h] remaining count */
    struct bl_remaining rest;
    struct bl_patterns fixed; /* the path so far, by the buckets of h */
    struct bl_patterns pool;  /* all columns known so far */
    struct dive_point point[POINTS_MAX];
    size_t points;
    bool is_resumed; /* the last point exists already */
};

struct dive_choice {
    double amount;
    uint32_t row;
};

/* Orders choices by amount, the highest first, then by row, so that the order is the same on every machine. */
static int dive_choice_compare(const void *a, const void *b)
{
    const struct dive_choice *x = a, *y = b;
    if (x->amount != y->amount)
        return x->amount < y->amount ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Returns a hash of the lengths of a column (FNV-1a over the pairs of bucket and times), by which the column is
 * recognised in another relaxation. */
static uint64_t dive_column_hash(const struct dive *d, const struct bl_master *m, const struct bl_master_column *c)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t k = c->first; k < c->first + c->count; k++)
        hash =
            (hash ^ ((uint64_t)d->rest.bucket[m->bucket[k]] << 32 | (uint64_t)m->times[k])) * UINT64_C(0x100000001b3);
    return hash;
}

/* Returns whether a column was fixed first at this point before. */
static bool point_has_tried(const struct dive_point *p, uint64_t hash)
{
    for (int i = 0; i < p->choices; i++)
        if (p->tried[i] == hash)
            return true;
    return false;
}

/* Starts a point at the present patterns. With POINTS_MAX points, the last one remains the one to which the dive
 * returns. */
static void dive_add_point(struct dive *d)
{
    const struct dive_point *before = d->points ? &d->point[d->points - 1] : NULL;
    if (d->points == POINTS_MAX)
        return;
    d->point[d->points++] = (struct dive_point){
        .patterns = d->fixed.count,
        .discrepancies = before ? before->discrepancies + before->choices - 1 : 0,
    };
}

/* Removes the patterns from `patterns` on, and returns their lengths to left[]. */
static void dive_undo(struct dive *d, size_t patterns)
{
    for (size_t p = patterns; p < d->fixed.count; p++)
        for (uint32_t k = d->fixed.first[p]; k < d->fixed.first[p + 1]; k++)
            d->left[d->fixed.bucket[k]] += d->fixed.use[p];
    bl_patterns_truncate(&d->fixed, patterns);
}

/* Returns to the last point at which another choice is allowed, and removes the points after it. Returns false if there
 * is no such point: the run ends. */
static bool dive_resume(struct dive *d)
{
    for (; d->points > 0; d->points--) {
        const struct dive_point *p = &d->point[d->points - 1];
        if (p->choices > 0 && p->choices < CHOICES_MAX && p->discrepancies + p->choices <= d->discrepancies_most) {
            dive_undo(d, p->patterns);
            d->is_resumed = true;
            return true;
        }
    }
    return false;
}

/* Returns whether a column has the longest remaining length. */
static bool column_has_longest(const struct dive *d, const struct bl_master *m, const struct bl_master_column *c)
{
    return m->bucket[c->first + c->count - 1] == d->rest.h.distinct - 1; /* buckets of a column ascend */
}

/* Lists the columns that may be fixed first at the last point, the most used ones in front, and returns their number.
 * is_single: only columns with the longest length. choice: [rows]. */
static size_t dive_list_choices(const struct dive *d, const struct bl_master *m, bool is_single,
                                struct dive_choice *choice)
{
    const struct dive_point *p = &d->point[d->points - 1];
    size_t n = 0;
    for (uint32_t r = 0; r < m->rows; r++) {
        if (m->basis[r] >= BL_SURPLUS || m->amount[r] < NOTICED)
            continue;
        const struct bl_master_column *c = &m->column[m->basis[r]];
        if (!point_has_tried(p, dive_column_hash(d, m, c)) && (!is_single || column_has_longest(d, m, c)))
            choice[n++] = (struct dive_choice){m->amount[r], r};
    }
    qsort(choice, n, sizeof *choice, dive_choice_compare);
    return n;
}

/* Fixes columns of a solved relaxation, and records the first at the last point. *is_open: false if there is none to
 * fix. BL_EFAIL: out of memory. */
static int dive_fix(struct dive *d, const struct bl_master *m, bool *is_open, struct bl_error *e)
{
    struct dive_point *p = &d->point[d->points - 1];
    size_t before = d->fixed.blocks, remaining = d->target - before;
    bool is_single = remaining <= ONE_BY_ONE;
    size_t most = is_single ? 1 : remaining / AT_ONCE;
    struct dive_choice *choice = malloc((m->rows + 1) * sizeof *choice);
    int code = choice ? BL_OK : bl_error_memory(e);
    size_t n = choice ? dive_list_choices(d, m, is_single, choice) : 0;
    *is_open = n > 0 && p->choices < CHOICES_MAX;
    if (*is_open)
        p->tried[p->choices++] = dive_column_hash(d, m, &m->column[m->basis[choice[0].row]]);
    for (size_t i = 0; !code && *is_open && i < n && d->fixed.blocks < before + most; i++) {
        double whole = floor(choice[i].amount + WHOLE);
        if (i > 0 && choice[i].amount < d->nearly)
            break;
        whole = whole < 1 ? 1 : whole > (double)most ? (double)most : whole;
        code = bl_master_use(m, &m->column[m->basis[choice[i].row]], (uint32_t)whole, d->rest.bucket, d->left,
                             &d->fixed, e);
    }
    *is_open = d->fixed.blocks > before;
    free(choice);
    return code;
}

/* Solves the relaxation of the remaining lengths, with all columns known so far. The caller frees *g. */
static int dive_relax(struct dive *d, struct bl_colgen *g, int64_t enough, struct bl_error *e)
{
    int code = bl_colgen_make(g, &d->rest.h, &d->limits, true, d->salt, e);
    g->work = d->work;
    g->enough = enough;
    if (!code)
        code = bl_column_pool_offer(&d->pool, &d->rest, d->left, g, e);
    size_t known = g->master.columns;
    if (!code)
        code = bl_colgen_run(g, e);
    d->work = g->work;
    if (!code)
        code = bl_column_pool_keep(&d->pool, &d->rest, &g->master, known, e);
    return code;
}

/* Makes one step of a dive: solves the relaxation and fixes columns. *is_open: false if the remaining lengths need too
 * many blocks, or all choices were tried. Before anything is fixed, the bound holds for all lengths, and raises
 * *bound. */
static int dive_step(struct dive *d, int64_t *bound, bool *is_open, struct bl_error *e)
{
    struct bl_colgen g;
    int64_t enough = (int64_t)d->target - (int64_t)d->fixed.blocks + 1;
    *is_open = enough > 1 && bl_bound_blocks(&d->rest.h, d->limits.T) < enough;
    if (!*is_open)
        return BL_OK;
    int code = dive_relax(d, &g, enough, e);
    if (!code && d->fixed.blocks == 0 && g.bound > *bound)
        *bound = g.bound;
    *is_open = g.bound < enough;
    if (!code && *is_open) {
        if (!d->is_resumed)
            dive_add_point(d);
        d->is_resumed = false;
        code = dive_fix(d, &g.master, is_open, e);
    }
    bl_colgen_free(&g);
    return code;
}

/* Runs one dive with its points. *found: whether d->fixed has all lengths, in at most d->target blocks. */
static int dive_run(struct dive *d, int64_t *bound, bool *found, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t b = 0; b < d->h->distinct; b++)
        d->left[b] = bl_histogram_count(d->h, b);
    bl_patterns_truncate(&d->fixed, 0);
    d->points = 0;
    d->is_resumed = false;
    *found = false;
    while (!code && d->work > 0 && !bl_limits_cancelled(&d->limits)) {
        bool is_open;
        bl_remainder_set(&d->rest, d->h, d->left);
        *found = d->rest.h.distinct == 0 && d->fixed.blocks <= d->target;
        if (*found)
            break;
        code = dive_step(d, bound, &is_open, e);
        if (!code && !is_open && !dive_resume(d))
            break;
    }
    return code;
}

/* Runs dives that differ in what they fix at once and in how often they return. Each solution lowers the target, and
 * the search ends when the target is below the bound. */
static int dive_repeat(struct dive *d, struct bl_patterns *patterns, int64_t *bound, struct bl_error *e)
{
    static const double nearly[] = {0.8, 0.99, 0.6};
    int64_t left = d->limits.work;
    int code = BL_OK;
    for (uint32_t run = 0; !code && run < RUNS_MAX && left > 0 && (int64_t)d->target >= *bound; run++) {
        int64_t share = d->limits.work / RUN_SHARE < left ? d->limits.work / RUN_SHARE : left;
        bool found;
        d->salt = run;
        d->discrepancies_most = run < DISCREPANCIES_MAX ? (int)run : DISCREPANCIES_MAX;
        d->nearly = nearly[run % 3];
        d->work = share;
        code = dive_run(d, bound, &found, e);
        left -= share - d->work;
        if (code || !found)
            continue;
        bl_patterns_free(patterns);
        *patterns = d->fixed;
        d->fixed = (struct bl_patterns){0};
        d->target = patterns->blocks - 1;
    }
    bl_limits_use(&d->limits, d->limits.work - left);
    return code;
}

int bl_search_dive(struct bl_patterns *patterns, int64_t *bound, const struct bl_histogram *h,
                   const struct bl_patterns *known, const struct bl_limits *limits, struct bl_error *e)
{
    *patterns = (struct bl_patterns){0};
    if (limits->without & BL_SEARCH_DIVE || !bl_colgen_is_affordable(h, limits, true))
        return BL_OK;
    struct dive *d = calloc(1, sizeof *d);
    if (!d)
        return bl_error_memory(e);
    d->h = h;
    d->limits = *limits;
    d->target = known->blocks - 1;
    d->left = malloc((h->distinct + 1) * sizeof *d->left);
    int code = d->left ? bl_remainder_make(&d->rest, h, e) : bl_error_memory(e);
    if (!code)
        code = bl_patterns_append(&d->pool, known, 0, known->count, NULL, e);
    if (!code)
        code = dive_repeat(d, patterns, bound, e);
    bl_patterns_free(&d->fixed);
    bl_patterns_free(&d->pool);
    bl_remainder_free(&d->rest);
    free(d->left);
    free(d);
    if (code)
        bl_patterns_free(patterns);
    return code;
}
