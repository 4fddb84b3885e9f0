#include "plan/master.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TINY 1e-9
#define CACHED 700 /* rows: a larger inverse comes from memory at every step, at twice the cost */

static int make_arrays(struct bl_master *m, struct bl_error *e)
{
    size_t n = m->rows;
    m->inverse = calloc(n * n + 1, sizeof *m->inverse);
    m->amount = malloc((n + 1) * sizeof *m->amount);
    m->dual = malloc((n + 1) * sizeof *m->dual);
    m->basis = malloc((n + 1) * sizeof *m->basis);
    m->step = malloc((n + 1) * sizeof *m->step);
    m->pivot = malloc((n + 1) * sizeof *m->pivot);
    return m->inverse && m->amount && m->dual && m->basis && m->step && m->pivot ? 0 : bl_error_memory(e);
}

static int reserve(struct bl_master *m, size_t entries, struct bl_error *e)
{
    if (m->columns == m->column_capacity) {
        size_t capacity = m->column_capacity * 2 + 256;
        struct bl_column *larger = realloc(m->column, capacity * sizeof *larger);
        if (!larger)
            return bl_error_memory(e);
        m->column = larger;
        m->column_capacity = capacity;
    }
    if (m->entries + entries > m->entry_capacity) {
        size_t capacity = m->entry_capacity * 2 + entries + 1024;
        uint32_t *bucket = realloc(m->bucket, capacity * sizeof *bucket);
        if (bucket)
            m->bucket = bucket;
        double *times = realloc(m->times, capacity * sizeof *times);
        if (times)
            m->times = times;
        if (!bucket || !times)
            return bl_error_memory(e);
        m->entry_capacity = capacity;
    }
    return 0;
}

static int by_bucket(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int bl_master_add(struct bl_master *m, uint32_t *item, size_t n, struct bl_error *e)
{
    int rc = reserve(m, n, e);
    if (rc < 0)
        return rc;
    qsort(item, n, sizeof *item, by_bucket);
    struct bl_column *c = &m->column[m->columns++];
    *c = (struct bl_column){0, (uint32_t)m->entries};
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && item[i] == item[i - 1]) {
            m->times[m->entries - 1]++;
            continue;
        }
        m->bucket[m->entries] = item[i];
        m->times[m->entries++] = 1;
        c->count++;
    }
    return 0;
}

/* The counts are set a little apart, by no more than a hundredth of a block in all: equal ones make steps of length
 * zero, and the simplex could go in circles. */
int bl_master_make(struct bl_master *m, const struct bl_histogram *h, int64_t T, uint32_t sequences, struct bl_error *e)
{
    *m = (struct bl_master){.rows = h->distinct};
    int rc = make_arrays(m, e);
    double apart = 0.005 / (double)(m->rows + 1);
    for (size_t i = 0; rc == 0 && i < m->rows; i++) {
        int64_t fit = T / h->length[i];
        double times = (double)(fit < (int64_t)sequences ? fit : (int64_t)sequences);
        uint32_t bucket = (uint32_t)i;
        rc = bl_master_add(m, &bucket, 1, e);
        if (rc < 0)
            break;
        m->times[m->entries - 1] = times;
        m->inverse[i * m->rows + i] = m->dual[i] = 1 / times;
        m->amount[i] = (bl_histogram_count(h, i) + apart * (1 + (double)(i * 2654435761 % 4096) / 4096)) / times;
        m->basis[i] = bucket;
    }
    if (rc < 0)
        bl_master_free(m);
    return rc;
}

void bl_master_free(struct bl_master *m)
{
    free(m->inverse);
    free(m->amount);
    free(m->dual);
    free(m->basis);
    free(m->step);
    free(m->pivot);
    free(m->column);
    free(m->bucket);
    free(m->times);
    *m = (struct bl_master){0};
}

static double worth(const struct bl_master *m, const struct bl_column *c)
{
    double sum = 0;
    for (uint32_t k = c->first; k < c->first + c->count; k++)
        sum += m->times[k] * m->dual[m->bucket[k]];
    return sum;
}

uint32_t bl_master_price(const struct bl_master *m, double *saving)
{
    uint32_t best = 0;
    *saving = 0;
    for (size_t i = 0; i < m->columns; i++) {
        double more = worth(m, &m->column[i]) - 1;
        if (more > *saving) {
            *saving = more;
            best = (uint32_t)i;
        }
    }
    for (size_t i = 0; i < m->rows; i++)
        if (-m->dual[i] > *saving) {
            *saving = -m->dual[i];
            best = BL_SURPLUS + (uint32_t)i;
        }
    return best;
}

static void add(double *restrict to, const double *restrict from, double factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += factor * from[i];
}

/* step = inverse * column. What a block of it costs at the present prices: below 0, it saves. */
static double set_step(struct bl_master *m, uint32_t column)
{
    size_t n = m->rows;
    memset(m->step, 0, n * sizeof *m->step);
    if (column >= BL_SURPLUS) {
        add(m->step, m->inverse + (column - BL_SURPLUS) * n, -1, n);
        return m->dual[column - BL_SURPLUS];
    }
    const struct bl_column *c = &m->column[column];
    for (uint32_t k = c->first; k < c->first + c->count; k++)
        add(m->step, m->inverse + m->bucket[k] * n, m->times[k], n);
    return 1 - worth(m, c);
}

/* The basic column that reaches zero first; among equals the one with the largest step, for precision. */
static size_t leaving_row(const struct bl_master *m)
{
    size_t best = SIZE_MAX;
    double least = INFINITY;
    for (size_t i = 0; i < m->rows; i++) {
        if (m->step[i] <= TINY)
            continue;
        double ratio = (m->amount[i] > 0 ? m->amount[i] : 0) / m->step[i];
        if (ratio < least - TINY || (ratio <= least + TINY && best != SIZE_MAX && m->step[i] > m->step[best])) {
            least = ratio < least ? ratio : least;
            best = i;
        }
    }
    return best;
}

int64_t bl_master_enter(struct bl_master *m, uint32_t column)
{
    double cost = set_step(m, column);
    size_t r = leaving_row(m), n = m->rows, changed = 2;
    if (r == SIZE_MAX || cost >= 0)
        return 0;
    double scale = 1 / m->step[r], amount = m->amount[r] * scale;
    m->step[r] -= 1; /* row r becomes the pivot, the others lose step times the pivot */
    for (size_t j = 0; j < n; j++) {
        m->pivot[j] = m->inverse[j * n + r] * scale;
        if (m->pivot[j] == 0)
            continue;
        add(m->inverse + j * n, m->step, -m->pivot[j], n);
        changed++;
    }
    add(m->amount, m->step, -amount, n);
    add(m->dual, m->pivot, cost, n);
    m->basis[r] = column;
    return (int64_t)(changed * n) * (n > CACHED ? 2 : 1);
}

double bl_master_blocks(const struct bl_master *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->rows; i++)
        sum += m->basis[i] < BL_SURPLUS ? m->amount[i] : 0;
    return sum;
}
