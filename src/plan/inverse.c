/* Factorises the basis of the simplex into steps, and multiplies vectors by its inverse.
 *
 * The order of the columns decides how many entries the steps have. Earlier steps add nothing to a column without an
 * entry in their rows. So columns that have a row to themselves come first, repeatedly as others are removed; columns
 * with a single remaining row come last, in reverse. Only the columns in between need arithmetic, and patterns of
 * blocks have few of these (Suhl and Suhl, 1990, do the same for triangular factors). */
#include "plan/inverse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define NONE UINT32_MAX
#define TINY 1e-9  /* smaller entries count as 0 */
#define STABLE 0.1 /* a pivot's minimum, relative to the largest entry */

int bl_inverse_make(struct bl_inverse *v, size_t rows, struct bl_error *e)
{
    *v = (struct bl_inverse){.rows = rows, .first_capacity = 1, .first = calloc(1, sizeof *v->first)};
    return v->first ? BL_OK : bl_error_memory(e);
}

void bl_inverse_free(struct bl_inverse *v)
{
    free(v->pivot);
    free(v->first);
    free(v->row);
    free(v->value);
    *v = (struct bl_inverse){0};
}

/* Makes room for a step with this many entries. */
static int inverse_reserve(struct bl_inverse *v, size_t entries, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(v->pivot, v->pivot_capacity, v->steps + 1, e));
    BL_TRY(BL_ARRAY_RESERVE(v->first, v->first_capacity, v->steps + 2, e));
    BL_TRY(BL_ARRAY_RESERVE(v->row, v->row_capacity, v->entries + entries, e));
    return BL_ARRAY_RESERVE(v->value, v->value_capacity, v->entries + entries, e);
}

/* Adds an entry to the step in progress; inverse_reserve has made room for it. */
static void inverse_add_entry(struct bl_inverse *v, uint32_t row, double value)
{
    v->row[v->entries] = row;
    v->value[v->entries++] = value;
}

/* Ends the step in progress: r is its pivot row. */
static void inverse_end_step(struct bl_inverse *v, uint32_t r)
{
    v->pivot[v->steps++] = r;
    v->first[v->steps] = v->entries;
}

/* The step is the unit matrix with column r replaced: 1 / column[r] in row r, -column[i] / column[r] in the others. */
int bl_inverse_update(struct bl_inverse *v, const double *column, uint32_t r, struct bl_error *e)
{
    BL_TRY(inverse_reserve(v, v->rows, e));
    inverse_add_entry(v, r, 1 / column[r]);
    for (size_t i = 0; i < v->rows; i++)
        if (fabs(column[i]) > TINY && i != r)
            inverse_add_entry(v, (uint32_t)i, -column[i] / column[r]);
    inverse_end_step(v, r);
    return BL_OK;
}

/* Applies the steps from `step` on. A zero at the pivot makes a step the identity, which is the common case. */
static void inverse_ftran_from(const struct bl_inverse *v, size_t step, double *x)
{
    for (; step < v->steps; step++) {
        double times = x[v->pivot[step]];
        if (times == 0)
            continue;
        x[v->pivot[step]] = 0;
        for (size_t k = v->first[step]; k < v->first[step + 1]; k++)
            x[v->row[k]] += times * v->value[k];
    }
}

void bl_inverse_ftran(const struct bl_inverse *v, double *x)
{
    inverse_ftran_from(v, 0, x);
}

/* The product from the left applies the steps in reverse, and each changes only the entry at its pivot. */
void bl_inverse_btran(const struct bl_inverse *v, double *x)
{
    for (size_t step = v->steps; step-- > 0;) {
        double sum = 0;
        for (size_t k = v->first[step]; k < v->first[step + 1]; k++)
            sum += v->value[k] * x[v->row[k]];
        x[v->pivot[step]] = sum;
    }
}

/* --- factorisation ---------------------------------------------------------------------------------------------- */

struct elimination {
    const struct bl_sparse *m;
    uint32_t *row_of;         /* row of every column taken, or NONE */
    uint32_t *begin, *beside; /* columns of row r: beside[begin[r]] .. beside[begin[r + 1] - 1] */
    uint32_t *in_row;         /* [rows] remaining columns with an entry in the row; NONE: the row is taken */
    uint32_t *in_column;      /* [rows] remaining rows in which the column has an entry */
    uint32_t *order;          /* [rows] columns: the first ones from the front, the last ones from the end */
    size_t front, back;
    uint32_t *queue; /* [rows+2] */
    double *work;    /* [rows] a column during its step, otherwise zeros */
};

/* Makes the lists of columns by row with a counting sort. On BL_EFAIL (out of memory) the caller still frees the
 * arrays. */
static int elimination_make(struct elimination *x, const struct bl_sparse *m, uint32_t *row_of, struct bl_error *e)
{
    size_t n = m->rows, entries = m->first[n];
    *x = (struct elimination){.m = m, .row_of = row_of, .back = n};
    x->begin = calloc(n + 2, sizeof *x->begin);
    x->beside = malloc((entries + 1) * sizeof *x->beside);
    x->in_row = malloc((n + 1) * sizeof *x->in_row);
    x->in_column = malloc((n + 1) * sizeof *x->in_column);
    x->order = malloc((n + 1) * sizeof *x->order);
    x->queue = malloc((n + 2) * sizeof *x->queue);
    x->work = calloc(n + 1, sizeof *x->work);
    if (!x->begin || !x->beside || !x->in_row || !x->in_column || !x->order || !x->queue || !x->work)
        return bl_error_memory(e);
    /* Shifted by two: the loop that lists the columns advances begin[r + 1], which then is where row r ends. */
    for (size_t k = 0; k < entries; k++)
        x->begin[m->row[k] + 2]++;
    for (size_t r = 0; r < n; r++) {
        x->in_row[r] = x->begin[r + 2];
        x->begin[r + 2] += x->begin[r + 1];
    }
    for (size_t c = 0; c < n; c++) {
        row_of[c] = NONE;
        x->in_column[c] = m->first[c + 1] - m->first[c];
        for (uint32_t k = m->first[c]; k < m->first[c + 1]; k++)
            x->beside[x->begin[m->row[k] + 1]++] = (uint32_t)c;
    }
    return BL_OK;
}

/* Takes column c with pivot row r, and reduces the counts of the rows and columns that remain. */
static void elimination_assign(struct elimination *x, uint32_t c, uint32_t r)
{
    x->row_of[c] = r;
    x->in_row[r] = NONE;
    for (uint32_t k = x->m->first[c]; k < x->m->first[c + 1]; k++)
        x->in_row[x->m->row[k]] -= x->in_row[x->m->row[k]] != NONE;
    for (uint32_t k = x->begin[r]; k < x->begin[r + 1]; k++)
        x->in_column[x->beside[k]]--;
}

/* Takes columns that have a row to themselves, repeatedly. A row reaches one column only once. */
static void elimination_assign_front(struct elimination *x)
{
    size_t n = 0, next = 0;
    for (uint32_t r = 0; r < x->m->rows; r++)
        if (x->in_row[r] == 1)
            x->queue[n++] = r;
    for (; next < n; next++) {
        uint32_t r = x->queue[next];
        /* Another column has taken the row since it was queued. */
        if (x->in_row[r] != 1)
            continue;
        uint32_t at = x->begin[r];
        while (x->row_of[x->beside[at]] != NONE)
            at++;
        uint32_t c = x->beside[at]; /* the only column left in the row */
        elimination_assign(x, c, r);
        x->order[x->front++] = c;
        for (uint32_t k = x->m->first[c]; k < x->m->first[c + 1]; k++)
            if (x->in_row[x->m->row[k]] == 1)
                x->queue[n++] = x->m->row[k];
    }
}

/* Takes columns with a single row, repeatedly. */
static void elimination_assign_back(struct elimination *x)
{
    size_t n = 0, next = 0;
    for (uint32_t c = 0; c < x->m->rows; c++)
        if (x->row_of[c] == NONE && x->in_column[c] == 1)
            x->queue[n++] = c;
    for (; next < n; next++) {
        uint32_t c = x->queue[next];
        /* Another row has been taken since, and the column has none left. */
        if (x->in_column[c] != 1)
            continue;
        uint32_t at = x->m->first[c];
        while (x->in_row[x->m->row[at]] == NONE)
            at++;
        uint32_t r = x->m->row[at]; /* the only row left in the column */
        elimination_assign(x, c, r);
        x->order[--x->back] = c;
        for (uint32_t k = x->begin[r]; k < x->begin[r + 1]; k++)
            if (x->row_of[x->beside[k]] == NONE && x->in_column[x->beside[k]] == 1)
                x->queue[n++] = x->beside[k];
    }
}

/* Adds the step of a column as it is in the matrix: no earlier step has its pivot in a row of the column, so the
 * product of the earlier steps leaves it unchanged. */
static int elimination_step_triangular(const struct elimination *x, struct bl_inverse *v, uint32_t c,
                                       struct bl_error *e)
{
    const struct bl_sparse *m = x->m;
    uint32_t r = x->row_of[c], first = m->first[c], end = m->first[c + 1];
    double pivot = 0;
    BL_TRY(inverse_reserve(v, end - first, e));
    for (uint32_t k = first; k < end; k++)
        pivot = m->row[k] == r ? m->value[k] : pivot;
    for (uint32_t k = first; k < end; k++)
        inverse_add_entry(v, m->row[k], m->row[k] == r ? 1 / pivot : -m->value[k] / pivot);
    inverse_end_step(v, r);
    return BL_OK;
}

/* Adds the step of a column after the earlier steps are applied to it. *regular: false if no entry is left that could
 * be a pivot, so that the matrix is singular. */
static int elimination_step_general(struct elimination *x, struct bl_inverse *v, uint32_t c, bool *regular,
                                    struct bl_error *e)
{
    const struct bl_sparse *m = x->m;
    for (uint32_t k = m->first[c]; k < m->first[c + 1]; k++)
        x->work[m->row[k]] = m->value[k];
    /* The first x->front steps have their pivots in rows without an entry of this column. */
    inverse_ftran_from(v, x->front, x->work);
    /* Markowitz with a threshold: of the rows whose entry is at least STABLE of the largest, the one with the fewest
     * columns, so that later steps stay sparse. */
    uint32_t r = NONE;
    double largest = 0;
    for (size_t i = 0; i < x->m->rows; i++)
        if (x->in_row[i] != NONE && fabs(x->work[i]) > largest)
            largest = fabs(x->work[i]);
    for (uint32_t i = 0; i < x->m->rows && largest > TINY; i++)
        if (x->in_row[i] != NONE && fabs(x->work[i]) >= STABLE * largest && (r == NONE || x->in_row[i] < x->in_row[r]))
            r = i;
    *regular = r != NONE;
    int code = *regular ? bl_inverse_update(v, x->work, r, e) : 0;
    if (*regular)
        elimination_assign(x, c, r);
    memset(x->work, 0, m->rows * sizeof *x->work);
    return code;
}

int bl_inverse_factor(struct bl_inverse *v, const struct bl_sparse *m, uint32_t *row_of, bool *regular,
                      struct bl_error *e)
{
    struct elimination x;
    int code = elimination_make(&x, m, row_of, e);
    v->steps = v->entries = 0;
    *regular = true;
    if (!code) {
        elimination_assign_front(&x);
        elimination_assign_back(&x);
        /* Orders the remaining columns by their number of rows with a counting sort: sparse ones first keep the later
         * ones sparse. */
        size_t n = x.m->rows, at = x.front;
        memset(x.queue, 0, (n + 2) * sizeof *x.queue);
        for (uint32_t c = 0; c < n; c++)
            if (x.row_of[c] == NONE)
                x.queue[x.in_column[c] + 1]++;
        for (size_t i = 1; i <= n + 1; i++)
            x.queue[i] += x.queue[i - 1];
        for (uint32_t c = 0; c < n; c++)
            if (x.row_of[c] == NONE)
                x.order[at + x.queue[x.in_column[c]]++] = c;
    }
    for (size_t i = 0; !code && *regular && i < m->rows; i++) {
        if (i < x.front || i >= x.back)
            code = elimination_step_triangular(&x, v, x.order[i], e);
        else
            code = elimination_step_general(&x, v, x.order[i], regular, e);
    }
    free(x.begin);
    free(x.beside);
    free(x.in_row);
    free(x.in_column);
    free(x.order);
    free(x.queue);
    free(x.work);
    return code;
}
