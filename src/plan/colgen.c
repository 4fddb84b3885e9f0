/* Column generation for the linear relaxation of the packing: knapsack problem, master problem, pool of columns, and
 * the loop that joins them.
 *
 *     prices  = duals of the master problem, rounded down to integers
 *     worth   = the greatest sum of prices that a block can hold (knapsack)
 *     bound   = ceil(sum(count * price) / worth)
 *     columns = blocks of a worth over 1, added to the master; stop if there are none
 *
 * An example with T = 10: 3 sequences of length 6 and 3 of length 4 have the prices 1 and 0; the best block is worth
 * 1, and the bound is 3 blocks. */
#include "plan/colgen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sort.h"

static void master_free(struct bl_master *m);

/* --- knapsack problem --------------------------------------------------------------------------------------------- */

/* 8 doubles are one vector of AVX-512, two of AVX2. */
enum { RUN = 8 };

/* Returns the limit of sequences, or 0 if even blocks of the shortest length cannot exceed it: the table then needs no
 * layer for each number of sequences. */
static uint32_t knapsack_limit(const struct bl_histogram *h, uint32_t T, uint32_t sequences)
{
    return sequences < T / h->length[0] ? sequences : 0;
}

/* Returns how often a block may hold a bucket: as often as T, the limit and the histogram allow. */
static uint32_t knapsack_copies(const struct bl_histogram *h, size_t b, uint32_t T, uint32_t limit)
{
    uint32_t copies = T / h->length[b], count = bl_histogram_count(h, b);
    copies = limit && limit < copies ? limit : copies;
    return count < copies ? count : copies;
}

/* Results are capped at INT64_MAX / 64, so that callers can multiply them by small numbers. */
int64_t bl_knapsack_work(const struct bl_histogram *h, uint32_t T, uint32_t sequences, bool is_bounded)
{
    uint32_t limit = knapsack_limit(h, T, sequences);
    int64_t layers = limit ? limit : 1, rows = (int64_t)h->distinct;
    for (size_t b = 0; is_bounded && b < h->distinct; b++)
        rows += knapsack_copies(h, b, T, limit);
    return rows * T > INT64_MAX / 64 / layers ? INT64_MAX / 64 : rows * T * layers / 2;
}

/* Returns the number of entries of the table, or INT64_MAX if that overflows. */
static int64_t knapsack_entries(const struct bl_histogram *h, uint32_t T, uint32_t sequences, bool is_bounded)
{
    int64_t row = (int64_t)T + 1, tables = is_bounded ? (int64_t)h->distinct + 1 : 1;
    int64_t layers = (int64_t)knapsack_limit(h, T, sequences) + 1;
    return row * layers > INT64_MAX / tables ? INT64_MAX : row * layers * tables;
}

int bl_knapsack_make(struct bl_knapsack *k, const struct bl_histogram *h, uint32_t T, uint32_t sequences,
                     bool is_bounded, struct bl_error *e)
{
    size_t entries = (size_t)knapsack_entries(h, T, sequences, is_bounded);
    *k = (struct bl_knapsack){.h = h, .T = T, .sequences = knapsack_limit(h, T, sequences), .is_bounded = is_bounded};
    k->price = malloc((h->distinct + 1) * sizeof *k->price);
    k->worth = malloc(entries * sizeof *k->worth);
    if (k->price && k->worth)
        return BL_OK;
    bl_knapsack_free(k);
    return bl_error_memory(e);
}

/* Leaves *k empty, so that a second call does no harm. */
void bl_knapsack_free(struct bl_knapsack *k)
{
    free(k->price);
    free(k->worth);
    *k = (struct bl_knapsack){0};
}

/* Sets to[t] = max(to[t], from[t] + price) for t < n. Runs of a constant size let compilers use vectors even at -O2.
 * `to` and `from` must not overlap. */
static void row_raise(double *restrict to, const double *restrict from, double price, size_t n)
{
    size_t t = 0;
    for (; t + RUN <= n; t += RUN)
        for (size_t i = t; i < t + RUN; i++)
            to[i] = to[i] > from[i] + price ? to[i] : from[i] + price;
    for (; t < n; t++)
        to[t] = to[t] > from[t] + price ? to[t] : from[t] + price;
}

/* Solves without a limit of sequences: a length may repeat, so each run of `length` entries reads the run before it,
 * which already holds the blocks with the same length. */
static double knapsack_solve_unlimited(struct bl_knapsack *k)
{
    memset(k->worth, 0, ((size_t)k->T + 1) * sizeof *k->worth);
    for (size_t b = 0; b < k->h->distinct; b++) {
        size_t length = k->h->length[b];
        if (k->price[b] == 0)
            continue;
        for (size_t t = length; t <= k->T; t += length) {
            size_t n = k->T + 1 - t < length ? k->T + 1 - t : length;
            row_raise(k->worth + t, k->worth + t - length, k->price[b], n);
        }
    }
    return k->worth[k->T];
}

/* Solves with a limit: layer n has the worth of the best block with at most n sequences, and follows from layer n - 1.
 */
static double knapsack_solve_limited(struct bl_knapsack *k)
{
    size_t row = (size_t)k->T + 1;
    memset(k->worth, 0, row * sizeof *k->worth);
    for (uint32_t n = 1; n <= k->sequences; n++) {
        double *to = k->worth + n * row;
        memcpy(to, to - row, row * sizeof *to);
        for (size_t b = 0; b < k->h->distinct; b++)
            if (k->price[b] > 0)
                row_raise(to + k->h->length[b], to - row, k->price[b], row - k->h->length[b]);
    }
    return k->worth[k->sequences * row + k->T];
}

/* Returns the row of the table, by room, for lengths below bucket `end` and `left` more sequences. An unbounded table
 * has no `end`, an unlimited one no `left`. */
static double *knapsack_row(const struct bl_knapsack *k, size_t end, uint32_t left)
{
    size_t row = (size_t)k->T + 1, layers = (size_t)k->sequences + 1;
    return k->worth + ((k->is_bounded ? end * layers : 0) + (k->sequences ? left : 0)) * row;
}

/* Solves with bounded numbers: table b + 1 follows from table b by adding 0, 1, 2, ... copies of bucket b. */
static double knapsack_solve_bounded(struct bl_knapsack *k)
{
    size_t row = (size_t)k->T + 1, layers = (size_t)k->sequences + 1;
    memset(k->worth, 0, layers * row * sizeof *k->worth);
    for (size_t b = 0; b < k->h->distinct; b++) {
        size_t length = k->h->length[b];
        uint32_t copies = k->price[b] > 0 ? knapsack_copies(k->h, b, k->T, k->sequences) : 0;
        memcpy(knapsack_row(k, b + 1, 0), knapsack_row(k, b, 0), layers * row * sizeof *k->worth);
        for (uint32_t i = 1; i <= copies; i++)
            for (uint32_t n = k->sequences ? i : 0; n <= k->sequences; n++)
                row_raise(knapsack_row(k, b + 1, n) + i * length, knapsack_row(k, b, k->sequences ? n - i : 0),
                          i * k->price[b], row - i * length);
    }
    return knapsack_row(k, k->h->distinct, k->sequences)[k->T];
}

/* Three programs for one problem, as each limit multiplies the size of the table. */
double bl_knapsack_solve(struct bl_knapsack *k)
{
    if (k->is_bounded)
        return knapsack_solve_bounded(k);
    return k->sequences ? knapsack_solve_limited(k) : knapsack_solve_unlimited(k);
}

/* Returns the worth of the best block that contains this bucket; in a bounded problem, beside shorter lengths only. */
static double knapsack_with(const struct bl_knapsack *k, uint32_t bucket)
{
    return k->price[bucket] + knapsack_row(k, bucket, k->sequences ? k->sequences - 1 : 0)[k->T - k->h->length[bucket]];
}

/* Returns the bucket whose addition gave the room its worth, or SIZE_MAX if none did. Sums of integer prices are
 * exact, so the comparison of doubles is. */
static size_t knapsack_last_bucket(const struct bl_knapsack *k, const double *worth, const double *before,
                                   uint32_t room)
{
    for (size_t b = bl_histogram_below(k->h, room); b-- > 0;)
        if (k->price[b] > 0 && before[room - k->h->length[b]] + k->price[b] == worth[room])
            return b;
    return SIZE_MAX;
}

/* Traces a bounded solution: adds lengths below bucket `end` to the n items of a block. Returns the new number, or 0
 * if the capacity is too small. */
static size_t knapsack_trace_bounded(const struct bl_knapsack *k, size_t end, uint32_t room, uint32_t left,
                                     uint32_t *item, size_t n, size_t capacity)
{
    for (; end > 0; end--) {
        double worth = knapsack_row(k, end, left)[room], price = k->price[end - 1];
        uint32_t length = k->h->length[end - 1], i = 0;
        while (knapsack_row(k, end - 1, left)[room] + i * price != worth) {
            i++;
            room -= length;
            left -= left > 0;
            if (n == capacity)
                return 0;
            item[n++] = (uint32_t)(end - 1);
        }
    }
    return n;
}

/* Traces an unbounded solution from the full room down. Returns the number of items, or 0 if the capacity is too
 * small. */
static size_t knapsack_trace(const struct bl_knapsack *k, uint32_t room, uint32_t left, uint32_t *item, size_t n,
                             size_t capacity)
{
    for (;;) {
        const double *worth = knapsack_row(k, 0, left), *before = knapsack_row(k, 0, left ? left - 1 : 0);
        if (worth[room] == 0 || (k->sequences && left == 0))
            return n;
        size_t b = knapsack_last_bucket(k, worth, before, room);
        if (b == SIZE_MAX) { /* equal to the worth with fewer sequences, or with less room */
            if (k->sequences && before[room] == worth[room])
                left--;
            else
                room--;
            continue;
        }
        /* A block of more sequences than the capacity is useless to the caller. */
        if (n == capacity)
            return 0;
        item[n++] = (uint32_t)b;
        room -= k->h->length[b];
        left -= left > 0;
    }
}

/* With a bucket, the block contains it, and the trace fills the remaining room. */
size_t bl_knapsack_block(const struct bl_knapsack *k, uint32_t bucket, uint32_t *item, size_t capacity)
{
    uint32_t room = k->T, left = k->sequences;
    size_t n = 0;
    if (bucket != BL_KNAPSACK_ANY) {
        item[n++] = bucket;
        room -= k->h->length[bucket];
        left -= left > 0;
    }
    if (k->is_bounded)
        return knapsack_trace_bounded(k, bucket != BL_KNAPSACK_ANY ? bucket : k->h->distinct, room, left, item, n,
                                      capacity);
    return knapsack_trace(k, room, left, item, n, capacity);
}

/* --- master problem ----------------------------------------------------------------------------------------------- */

#define TINY 1e-9

enum {
    STEPS_MAX = 100, /* simplex steps before the basis is factorised again, which restores precision and sparsity */
    IN_TURN = 1024,  /* columns checked in one pricing, if one of them saves enough */
};

/* Allocates the arrays with a value for each row. BL_EFAIL: out of memory; master_make then frees them. */
static int master_allocate(struct bl_master *m, struct bl_error *e)
{
    size_t n = m->rows;
    m->demand = malloc((n + 1) * sizeof *m->demand);
    m->amount = malloc((n + 1) * sizeof *m->amount);
    m->dual = malloc((n + 1) * sizeof *m->dual);
    m->basis = malloc((n + 1) * sizeof *m->basis);
    m->step = malloc((n + 1) * sizeof *m->step);
    if (!m->demand || !m->amount || !m->dual || !m->basis || !m->step)
        return bl_error_memory(e);
    return bl_inverse_make(&m->inverse, n, e);
}

/* Equal buckets become one entry with a number of times: {2, 2, 5} is bucket 2 twice and bucket 5 once. */
int bl_master_add(struct bl_master *m, uint32_t *item, size_t n, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(m->column, m->column_capacity, m->columns + 1, e));
    BL_TRY(BL_ARRAY_RESERVE(m->bucket, m->bucket_capacity, m->entries + n, e));
    BL_TRY(BL_ARRAY_RESERVE(m->times, m->times_capacity, m->entries + n, e));
    bl_sort_u32(item, n);
    struct bl_master_column *c = &m->column[m->columns++];
    *c = (struct bl_master_column){0, (uint32_t)m->entries};
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && item[i] == item[i - 1]) {
            m->times[m->entries - 1]++;
            continue;
        }
        m->bucket[m->entries] = item[i];
        m->times[m->entries++] = 1;
        c->count++;
    }
    return BL_OK;
}

/* A block may hold a length several times. */
int bl_master_use(const struct bl_master *m, const struct bl_master_column *c, uint32_t use, const uint32_t *as,
                  uint32_t *left, struct bl_patterns *patterns, struct bl_error *e)
{
    for (uint32_t k = c->first; k < c->first + c->count; k++) {
        uint32_t possible = left[as ? as[m->bucket[k]] : m->bucket[k]] / (uint32_t)m->times[k];
        use = possible < use ? possible : use;
    }
    int code = BL_OK;
    for (uint32_t k = c->first; !code && use > 0 && k < c->first + c->count; k++) {
        uint32_t bucket = as ? as[m->bucket[k]] : m->bucket[k];
        left[bucket] -= use * (uint32_t)m->times[k];
        for (uint32_t i = 0; !code && i < (uint32_t)m->times[k]; i++)
            code = bl_patterns_push(patterns, bucket, e);
    }
    return !code && use > 0 ? bl_patterns_close(patterns, use, e) : code;
}

/* Factorises the basis again and updates all that depends on it. *regular: false if it is singular. */
static int master_refactor(struct bl_master *m, bool *regular, struct bl_error *e);

/* Makes the master problem with a column for each length: as many copies as fit into a block, or, if bounded, no more
 * than there are. Adds to the counts at most a hundredth of a block in total: equal counts cause steps of length zero,
 * in which the simplex could cycle. salt: selects this perturbation; 2654435761 is the multiplier of Knuth's hash.
 * BL_EFAIL: out of memory; then *m is empty. */
static int master_make(struct bl_master *m, const struct bl_histogram *h, int64_t T, uint32_t sequences,
                       bool is_bounded, uint32_t salt, struct bl_error *e)
{
    *m = (struct bl_master){.rows = h->distinct};
    int code = master_allocate(m, e);
    bool regular;
    double apart = 0.005 / (double)(m->rows + 1);
    for (size_t i = 0; !code && i < m->rows; i++) {
        int64_t fit = T / h->length[i];
        uint32_t bucket = (uint32_t)i;
        code = bl_master_add(m, &bucket, 1, e);
        if (code)
            break;
        fit = fit < (int64_t)sequences ? fit : (int64_t)sequences;
        if (is_bounded && bl_histogram_count(h, i) < fit)
            fit = bl_histogram_count(h, i);
        m->times[m->entries - 1] = (double)fit;
        m->demand[i] = bl_histogram_count(h, i) + apart * (1 + (double)((i + salt) * 2654435761 % 4096) / 4096);
        m->basis[i] = bucket;
    }
    if (!code)
        code = master_refactor(m, &regular, e);
    if (code)
        master_free(m);
    return code;
}

static void master_free(struct bl_master *m)
{
    bl_inverse_free(&m->inverse);
    free(m->demand);
    free(m->amount);
    free(m->dual);
    free(m->basis);
    free(m->step);
    free(m->column);
    free(m->bucket);
    free(m->times);
    *m = (struct bl_master){0};
}

/* Returns the sum of the duals of a column: above 1, a block of it saves blocks. */
static double master_column_worth(const struct bl_master *m, const struct bl_master_column *c)
{
    double sum = 0;
    for (uint32_t k = c->first; k < c->first + c->count; k++)
        sum += m->times[k] * m->dual[m->bucket[k]];
    return sum;
}

/* Sets dual = costs of the basis * inverse: a real column costs 1 block, a surplus 0. */
static void master_set_duals(struct bl_master *m)
{
    for (size_t i = 0; i < m->rows; i++)
        m->dual[i] = m->basis[i] < BL_SURPLUS;
    bl_inverse_btran(&m->inverse, m->dual);
}

/* Writes the basic columns as a matrix, whose arrays the caller frees, also after BL_EFAIL (out of memory). The
 * surplus of row r is the column with -1 in row r. */
static int master_gather_basis(const struct bl_master *m, struct bl_sparse *b, struct bl_error *e)
{
    size_t entries = 0;
    for (size_t i = 0; i < m->rows; i++)
        entries += m->basis[i] < BL_SURPLUS ? m->column[m->basis[i]].count : 1;
    *b = (struct bl_sparse){m->rows, malloc((m->rows + 1) * sizeof *b->first), malloc((entries + 1) * sizeof *b->row),
                            malloc((entries + 1) * sizeof *b->value)};
    if (!b->first || !b->row || !b->value)
        return bl_error_memory(e);
    uint32_t n = 0;
    for (size_t i = 0; i < m->rows; i++) {
        b->first[i] = n;
        if (m->basis[i] >= BL_SURPLUS) {
            b->row[n] = m->basis[i] - BL_SURPLUS;
            b->value[n++] = -1;
            continue;
        }
        const struct bl_master_column *c = &m->column[m->basis[i]];
        memcpy(b->row + n, m->bucket + c->first, c->count * sizeof *b->row);
        memcpy(b->value + n, m->times + c->first, c->count * sizeof *b->value);
        n += c->count;
    }
    b->first[m->rows] = n;
    return BL_OK;
}

static int master_refactor(struct bl_master *m, bool *regular, struct bl_error *e)
{
    struct bl_sparse b;
    uint32_t *row_of = malloc((m->rows + 1) * sizeof *row_of), *basis = malloc((m->rows + 1) * sizeof *basis);
    int code = master_gather_basis(m, &b, e);
    if (code)
        goto out;
    code = row_of && basis ? bl_inverse_factor(&m->inverse, &b, row_of, regular, e) : bl_error_memory(e);
    if (code || !*regular)
        goto out;
    /* The factorisation assigns columns to rows; the basis follows, so that basis[r] is the column with the amount of
     * row r. */
    memcpy(basis, m->basis, m->rows * sizeof *basis);
    for (size_t c = 0; c < m->rows; c++)
        m->basis[row_of[c]] = basis[c];
    memcpy(m->amount, m->demand, m->rows * sizeof *m->amount);
    bl_inverse_ftran(&m->inverse, m->amount);
    master_set_duals(m);
    m->fresh = m->inverse.steps;
    m->fresh_entries = m->inverse.entries;
out:
    free(b.first);
    free(b.row);
    free(b.value);
    free(row_of);
    free(basis);
    return code;
}

/* Brings a column into the basis (a pivot). Reduces *work by the operations of the pivot. *entered: false if there is
 * no stable pivot, or the column saves nothing by exact duals: the numbers have lost their precision. */
static int master_pivot(struct bl_master *m, uint32_t column, int64_t *work, bool *entered, struct bl_error *e)
{
    /* step = inverse * column. cost: the reduced cost of a block of the column, negative if it saves blocks. */
    memset(m->step, 0, m->rows * sizeof *m->step);
    double cost;
    if (column >= BL_SURPLUS) {
        m->step[column - BL_SURPLUS] = -1;
        cost = m->dual[column - BL_SURPLUS];
    } else {
        const struct bl_master_column *c = &m->column[column];
        for (uint32_t k = c->first; k < c->first + c->count; k++)
            m->step[m->bucket[k]] = m->times[k];
        cost = 1 - master_column_worth(m, c);
    }
    bl_inverse_ftran(&m->inverse, m->step);
    /* The basic column that reaches zero first leaves; among equals the one with the largest step, for precision. */
    size_t r = SIZE_MAX;
    double least = INFINITY;
    for (size_t i = 0; i < m->rows; i++) {
        if (m->step[i] <= TINY)
            continue;
        double ratio = (m->amount[i] > 0 ? m->amount[i] : 0) / m->step[i];
        if (ratio < least - TINY || (ratio <= least + TINY && r != SIZE_MAX && m->step[i] > m->step[r])) {
            least = ratio < least ? ratio : least;
            r = i;
        }
    }
    *entered = r != SIZE_MAX && cost < 0;
    if (!*entered)
        return BL_OK;
    /* The entering column takes the place of the leaving one in row r; the other amounts change along the step. */
    double amount = m->amount[r] / m->step[r];
    for (size_t i = 0; i < m->rows; i++)
        m->amount[i] -= amount * m->step[i];
    m->amount[r] = amount;
    m->basis[r] = column;
    *work -= (int64_t)(8 * m->rows + 4 * m->inverse.entries);
    /* Factorises again after many steps, or when the entries of the inverse have doubled: each product costs as many
     * operations as the inverse has entries. */
    if (m->inverse.steps - m->fresh >= STEPS_MAX || m->inverse.entries > 2 * m->fresh_entries + 16 * m->rows)
        return master_refactor(m, entered, e);
    int code = bl_inverse_update(&m->inverse, m->step, (uint32_t)r, e);
    master_set_duals(m);
    return code;
}

/* Returns the sum of the amounts of real columns: the value of the relaxation. */
static double master_objective(const struct bl_master *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->rows; i++)
        sum += m->basis[i] < BL_SURPLUS ? m->amount[i] : 0;
    return sum;
}

/* --- column pool -------------------------------------------------------------------------------------------------- */

enum { COLUMNS_MAX = 4096 };

/* Drops the older half of the columns: new columns fit the present remainder better. */
static void columns_drop_oldest(struct bl_patterns *pool)
{
    size_t drop = pool->count / 2, from = pool->first[drop], n = pool->count - drop;
    memmove(pool->bucket, pool->bucket + from, (pool->entries - from) * sizeof *pool->bucket);
    for (size_t i = 0; i < n; i++)
        pool->use[i] = pool->use[drop + i];
    for (size_t i = 0; i <= n; i++)
        pool->first[i] = pool->first[drop + i] - (uint32_t)from;
    pool->count = n;
    pool->entries -= from;
}

/* A column that uses a bucket 3 times has 3 entries in the pool, as in every pattern. */
int bl_column_pool_keep(struct bl_patterns *pool, const struct bl_remaining *rest, const struct bl_master *m,
                        size_t from, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = from; !code && i < m->columns; i++) {
        const struct bl_master_column *c = &m->column[i];
        for (uint32_t k = c->first; !code && k < c->first + c->count; k++)
            for (int times = (int)m->times[k]; !code && times > 0; times--)
                code = bl_patterns_push(pool, rest->bucket[m->bucket[k]], e);
        if (!code)
            code = bl_patterns_close(pool, 1, e);
    }
    if (pool->count > COLUMNS_MAX)
        columns_drop_oldest(pool);
    return code;
}

/* Writes a column of the pool as buckets of the remainder. Returns their number, or 0 if the remainder has too few of
 * a length or the capacity is too small. */
static size_t column_translate(const struct bl_patterns *pool, size_t p, const struct bl_remaining *rest,
                               const uint32_t *left, uint32_t *item, size_t capacity)
{
    uint32_t same = 0;
    size_t n = 0;
    for (uint32_t k = pool->first[p]; k < pool->first[p + 1]; k++) {
        uint32_t b = pool->bucket[k];
        same = k > pool->first[p] && pool->bucket[k - 1] == b ? same + 1 : 1;
        if (left[b] < same || n == capacity)
            return 0;
        item[n++] = rest->at[b];
    }
    return n;
}

int bl_column_pool_offer(const struct bl_patterns *pool, const struct bl_remaining *rest, const uint32_t *left,
                         struct bl_colgen *g, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t p = 0; !code && p < pool->count; p++) {
        size_t n = column_translate(pool, p, rest, left, g->item, g->item_capacity);
        /* A column of one sequence is useless: the master already starts with single lengths. */
        if (n > 1)
            code = bl_master_add(&g->master, g->item, n, e);
    }
    return code;
}

/* --- column generation -------------------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 u128;

enum {
    ROWS_MAX = 4096,       /* lengths; more would need more simplex steps than the work limit allows */
    WORTH_MAX = 1 << 26,   /* entries of the knapsack table */
    BOUNDED_MAX = 1 << 22, /* entries of a bounded table, which is solved thousands of times */
    SOLUTIONS_MIN = 48, /* solutions of the knapsack that the work must allow: fewer do not reach a useful relaxation */
    COLUMNS_AT_ONCE = 24, /* from one knapsack solution */
};

#define EXACT_MAX 9007199254740992.0 /* 2^53 */

/* Raises the bound to ceil(sum(count * price) / worth), Farley's bound. Integers of 128 bits hold the sum exactly; a
 * worth from 2^53 on is not exact, and proves nothing. */
static void colgen_raise_bound(struct bl_colgen *g, double worth)
{
    u128 sum = 0;
    if (!(worth > 0 && worth < EXACT_MAX))
        return;
    for (size_t b = 0; b < g->h->distinct; b++)
        sum += (u128)bl_histogram_count(g->h, b) * (uint64_t)g->knapsack.price[b];
    int64_t bound = (int64_t)((sum + (uint64_t)worth - 1) / (uint64_t)worth);
    if (bound > g->bound)
        g->bound = bound;
}

/* Adds the best block that contains the bucket; a block with more items than the capacity is left out. */
static int colgen_add_column(struct bl_colgen *g, uint32_t bucket, struct bl_error *e)
{
    size_t n = bl_knapsack_block(&g->knapsack, bucket, g->item, g->item_capacity);
    return n ? bl_master_add(&g->master, g->item, n, e) : 0;
}

/* Adds the best block, and the best ones of 24 ranges of lengths if they gain at least half as much. One solution of
 * the knapsack, the costly part, then gives columns for many simplex steps. */
static int colgen_add_columns(struct bl_colgen *g, double worth, struct bl_error *e)
{
    double good = BL_PRICE_ONE + (worth - BL_PRICE_ONE) / 2;
    int code = colgen_add_column(g, BL_KNAPSACK_ANY, e);
    size_t D = g->h->distinct, stride = D / COLUMNS_AT_ONCE + 1;
    for (size_t from = 0; !code && from < D; from += stride) {
        size_t best = from;
        for (size_t b = from; b < D && b < from + stride; b++)
            if (knapsack_with(&g->knapsack, (uint32_t)b) > knapsack_with(&g->knapsack, (uint32_t)best))
                best = b;
        if (knapsack_with(&g->knapsack, (uint32_t)best) > good)
            code = colgen_add_column(g, (uint32_t)best, e);
    }
    return code;
}

int bl_colgen_run(struct bl_colgen *g, struct bl_error *e)
{
    int64_t solve_work = bl_knapsack_work(g->h, (uint32_t)g->limits->T, g->limits->sequences, g->knapsack.is_bounded);
    int code = BL_OK;
    while (!code && g->work > 0 && !bl_limits_cancelled(g->limits)) {
        /* Partial pricing: takes the best of IN_TURN columns of the pool, or a surplus, and goes on in turn while none
         * saves enough. saving: blocks saved by a block of the column; 0 if no column saves any. */
        struct bl_master *m = &g->master;
        uint32_t column = 0;
        double saving = 0;
        for (size_t i = 0; i < m->rows; i++)
            if (-m->dual[i] > saving) {
                saving = -m->dual[i];
                column = BL_SURPLUS + (uint32_t)i;
            }
        for (size_t seen = 0; seen < m->columns && (seen % IN_TURN || saving < BL_SAVING_MIN); seen++) {
            m->next = m->next + 1 < m->columns ? m->next + 1 : 0;
            double more = master_column_worth(m, &m->column[m->next]) - 1;
            g->work -= 2 * m->column[m->next].count;
            if (more > saving) {
                saving = more;
                column = (uint32_t)m->next;
            }
        }
        if (saving > BL_SAVING_MIN) {
            bool entered;
            code = master_pivot(&g->master, column, &g->work, &entered, e);
            if (!entered)
                break;
            continue;
        }
        /* No column of the pool saves anything: rounds the duals down to integer prices and solves the knapsack for new
         * ones. Rounding down keeps the bound valid. */
        for (size_t b = 0; b < g->h->distinct; b++) {
            double dual = g->master.dual[b];
            g->knapsack.price[b] = dual <= 0 ? 0 : floor((dual < 1 ? dual : 1) * BL_PRICE_ONE);
        }
        double worth = bl_knapsack_solve(&g->knapsack);
        g->work -= solve_work;
        colgen_raise_bound(g, worth);
        /* The bound cannot exceed the relaxation rounded up, which only decreases. 0.01: the perturbation of the
         * counts. */
        if (g->bound >= g->enough || (double)g->bound >= ceil(master_objective(&g->master) - 0.01) ||
            worth <= BL_PRICE_ONE * (1 + BL_SAVING_MIN))
            break;
        code = colgen_add_columns(g, worth, e);
    }
    return code;
}

/* The columns are copied, since bl_master_add sorts them. */
int bl_colgen_offer(struct bl_colgen *g, const uint32_t *bucket, size_t n, struct bl_error *e)
{
    memcpy(g->item, bucket, n * sizeof *g->item);
    return bl_master_add(&g->master, g->item, n, e);
}

/* rows * rows approximates the simplex steps that follow one solution of the knapsack. */
bool bl_colgen_is_affordable(const struct bl_histogram *h, const struct bl_limits *limits, bool is_bounded)
{
    uint32_t T = (uint32_t)limits->T, sequences = limits->sequences;
    int64_t rows = (int64_t)h->distinct, most = is_bounded ? BOUNDED_MAX : WORTH_MAX;
    if (rows > ROWS_MAX || knapsack_entries(h, T, sequences, is_bounded) > most)
        return false;
    return (bl_knapsack_work(h, T, sequences, is_bounded) + rows * rows) * SOLUTIONS_MIN <= limits->work;
}

int bl_colgen_make(struct bl_colgen *g, const struct bl_histogram *h, const struct bl_limits *limits, bool is_bounded,
                   uint32_t salt, struct bl_error *e)
{
    *g = (struct bl_colgen){.h = h, .limits = limits, .enough = INT64_MAX};
    g->item_capacity = (size_t)(limits->T / h->length[0]);
    /* T / shortest length is the most sequences that a block can hold. */
    g->item = malloc((g->item_capacity + 1) * sizeof *g->item);
    int code = g->item ? BL_OK : bl_error_memory(e);
    if (!code)
        code = bl_knapsack_make(&g->knapsack, h, (uint32_t)limits->T, limits->sequences, is_bounded, e);
    if (code)
        return code;
    return master_make(&g->master, h, limits->T, limits->sequences, is_bounded, salt, e);
}

void bl_colgen_free(struct bl_colgen *g)
{
    master_free(&g->master);
    bl_knapsack_free(&g->knapsack);
    free(g->item);
    *g = (struct bl_colgen){0};
}
