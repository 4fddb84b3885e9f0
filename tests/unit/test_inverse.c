#include "plan/inverse.h"

#include <math.h>

#include "plan/random.h"
#include "unit.h"

enum { ROWS_MAX = 60 };

/* A matrix with some entries in every column; the unit matrix permuted, so that most are regular, and more. */
struct matrix {
    size_t n;
    double at[ROWS_MAX][ROWS_MAX]; /* by row */
};

static void draw(struct matrix *m, size_t n, uint32_t more, struct bl_random *r)
{
    uint32_t order[ROWS_MAX];
    memset(m, 0, sizeof *m);
    m->n = n;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    bl_random_shuffle_u32(r, order, n);
    for (size_t c = 0; c < n; c++) {
        m->at[order[c]][c] = 1 + (double)bl_random_below(r, 5);
        for (uint64_t k = bl_random_below(r, more + 1); k > 0; k--)
            m->at[bl_random_below(r, n)][c] = 1 + (double)bl_random_below(r, 5);
    }
}

static void make_sparse(const struct matrix *m, struct bl_sparse *s)
{
    *s = (struct bl_sparse){m->n, malloc((m->n + 1) * sizeof *s->first), malloc(m->n * m->n * sizeof *s->row),
                            malloc(m->n * m->n * sizeof *s->value)};
    uint32_t k = 0;
    for (size_t c = 0; c < m->n; c++) {
        s->first[c] = k;
        for (uint32_t r = 0; r < m->n; r++) {
            if (m->at[r][c] == 0)
                continue;
            s->row[k] = r;
            s->value[k++] = m->at[r][c];
        }
    }
    s->first[m->n] = k;
}

static void free_sparse(struct bl_sparse *s)
{
    free(s->first);
    free(s->row);
    free(s->value);
}

/* The matrix times x, column c being that of row row_of[c]; and a row times the matrix. */
static void assert_inverse(const struct bl_inverse *inverse, const struct matrix *m, const uint32_t *row_of,
                           struct bl_random *r)
{
    double x[ROWS_MAX], product[ROWS_MAX] = {0}, y[ROWS_MAX], back[ROWS_MAX];
    for (size_t i = 0; i < m->n; i++)
        x[i] = y[i] = (double)bl_random_below(r, 9) - 4;
    for (size_t i = 0; i < m->n; i++)
        for (size_t c = 0; c < m->n; c++)
            product[i] += m->at[i][c] * x[row_of[c]];
    bl_inverse_ftran(inverse, product);
    for (size_t i = 0; i < m->n; i++)
        ck_assert_double_eq_tol(product[i], x[i], 1e-6);
    for (size_t c = 0; c < m->n; c++) {
        back[row_of[c]] = 0;
        for (size_t i = 0; i < m->n; i++)
            back[row_of[c]] += y[i] * m->at[i][c];
    }
    bl_inverse_btran(inverse, back);
    for (size_t i = 0; i < m->n; i++)
        ck_assert_double_eq_tol(back[i], y[i], 1e-6);
}

UNIT_LOOP(products_with_the_inverse, unit_times(200))
{
    struct bl_random r;
    struct matrix m;
    struct bl_sparse s;
    struct bl_inverse inverse;
    uint32_t row_of[ROWS_MAX];
    bool regular;
    bl_random_seed(&r, (uint64_t)_i, BL_STREAM_FILL);
    size_t n = 1 + bl_random_below(&r, ROWS_MAX);
    draw(&m, n, (uint32_t)_i % 5, &r);
    make_sparse(&m, &s);
    ck_assert_int_eq(bl_inverse_make(&inverse, n, NULL), 0);
    ck_assert_int_eq(bl_inverse_factor(&inverse, &s, row_of, &regular, NULL), 0);
    if (regular)
        assert_inverse(&inverse, &m, row_of, &r);
    else
        ck_assert_int_ne(_i % 5, 0); /* only what was added can have made it singular */
    for (int k = 0; regular && k < 20; k++) {
        double column[ROWS_MAX], step[ROWS_MAX];
        size_t c = bl_random_below(&r, n);
        for (size_t i = 0; i < n; i++)
            column[i] = step[i] = (double)bl_random_below(&r, 3);
        bl_inverse_ftran(&inverse, step);
        if (fabs(step[row_of[c]]) < 0.05)
            continue;
        ck_assert_int_eq(bl_inverse_update(&inverse, step, row_of[c], NULL), 0);
        for (size_t i = 0; i < n; i++)
            m.at[i][c] = column[i];
        assert_inverse(&inverse, &m, row_of, &r);
    }
    bl_inverse_free(&inverse);
    free_sparse(&s);
}

UNIT_LOOP(singular_matrices_are_found, 2)
{
    struct matrix m = {.n = 3, .at = {{1, 2, 3}, {2, 4, 1}, {0, 0, 5}}}, empty = {.n = 2, .at = {{1, 0}, {0, 0}}};
    const struct matrix *all[] = {&m, &empty};
    struct bl_sparse s;
    struct bl_inverse inverse;
    uint32_t row_of[3];
    bool regular;
    make_sparse(all[_i], &s);
    ck_assert_int_eq(bl_inverse_make(&inverse, s.rows, NULL), 0);
    ck_assert_int_eq(bl_inverse_factor(&inverse, &s, row_of, &regular, NULL), 0);
    ck_assert(!regular);
    bl_inverse_free(&inverse);
    free_sparse(&s);
}
