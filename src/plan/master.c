#include "plan/master.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"

#define TINY 1e-9

enum {
    STEPS_MAX = 100, /* simplex steps before the basis is factorised again */
    IN_TURN = 1024,  /* columns checked per pricing */
};

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

static int master_reserve(struct bl_master *m, size_t entries, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(m->column, m->column_capacity, m->columns + 1, e))
        return BL_EFAIL;
    if (m->entries + entries <= m->entry_capacity)
        return BL_OK;
    size_t capacity = bl_array_capacity(m->entry_capacity, m->entries + entries);
    int code = BL_ARRAY_RESIZE(m->bucket, capacity, e);
    if (code)
        return code;
    code = BL_ARRAY_RESIZE(m->times, capacity, e);
    if (code)
        return code;
    m->entry_capacity = capacity;
    return BL_OK;
}

int bl_master_add(struct bl_master *m, uint32_t *item, size_t n, struct bl_error *e)
{
    int code = master_reserve(m, n, e);
    if (code)
        return code;
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

/* Factorises the basis again and updates all that depends on it. *regular: false if it is singular. */
static int master_refactor(struct bl_master *m, bool *regular, struct bl_error *e);

/* Perturbs the counts by at most a hundredth of a block in total: equal counts cause steps of length zero, and the
 * simplex could cycle. */
int bl_master_make(struct bl_master *m, const struct bl_histogram *h, int64_t T, uint32_t sequences, bool is_bounded,
                   uint32_t salt, struct bl_error *e)
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
        bl_master_free(m);
    return code;
}

void bl_master_free(struct bl_master *m)
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

static double master_column_worth(const struct bl_master *m, const struct bl_master_column *c)
{
    double sum = 0;
    for (uint32_t k = c->first; k < c->first + c->count; k++)
        sum += m->times[k] * m->dual[m->bucket[k]];
    return sum;
}

uint32_t bl_master_price(struct bl_master *m, double *saving, int64_t *work)
{
    uint32_t best = 0;
    *saving = 0;
    for (size_t i = 0; i < m->rows; i++)
        if (-m->dual[i] > *saving) {
            *saving = -m->dual[i];
            best = BL_SURPLUS + (uint32_t)i;
        }
    for (size_t seen = 0; seen < m->columns && (seen % IN_TURN || *saving < BL_SAVING_MIN); seen++) {
        m->next = m->next + 1 < m->columns ? m->next + 1 : 0;
        double more = master_column_worth(m, &m->column[m->next]) - 1;
        *work -= 2 * m->column[m->next].count;
        if (more > *saving) {
            *saving = more;
            best = (uint32_t)m->next;
        }
    }
    return best;
}

/* Sets step = inverse * column. Returns the reduced cost of a block of the column: negative if it saves blocks. */
static double master_set_step(struct bl_master *m, uint32_t column)
{
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
    return cost;
}

/* Returns the basic column that reaches zero first; among equals the one with the largest step, for precision. */
static size_t master_leaving_row(const struct bl_master *m)
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

static void master_set_duals(struct bl_master *m)
{
    for (size_t i = 0; i < m->rows; i++)
        m->dual[i] = m->basis[i] < BL_SURPLUS;
    bl_inverse_btran(&m->inverse, m->dual);
}

/* Writes the basic columns as a matrix. */
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

int bl_master_pivot(struct bl_master *m, uint32_t column, int64_t *work, bool *entered, struct bl_error *e)
{
    double cost = master_set_step(m, column);
    size_t r = master_leaving_row(m);
    *entered = r != SIZE_MAX && cost < 0;
    if (!*entered)
        return BL_OK;
    double amount = m->amount[r] / m->step[r];
    for (size_t i = 0; i < m->rows; i++)
        m->amount[i] -= amount * m->step[i];
    m->amount[r] = amount;
    m->basis[r] = column;
    *work -= (int64_t)(8 * m->rows + 4 * m->inverse.entries);
    if (m->inverse.steps - m->fresh >= STEPS_MAX || m->inverse.entries > 2 * m->fresh_entries + 16 * m->rows)
        return master_refactor(m, entered, e);
    int code = bl_inverse_update(&m->inverse, m->step, (uint32_t)r, e);
    master_set_duals(m);
    return code;
}

double bl_master_objective(const struct bl_master *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->rows; i++)
        sum += m->basis[i] < BL_SURPLUS ? m->amount[i] : 0;
    return sum;
}
