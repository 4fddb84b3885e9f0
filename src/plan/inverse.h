/* The inverse of a sparse square matrix, in product form: a sequence of steps, each of which replaces a column of the
 * unit matrix. Exchanging a column of the matrix is one step more.
 *
 * With k nonzero entries in all steps a product with a vector takes O(k), or less where the vector has zeros. */
#ifndef BL_INVERSE_H
#define BL_INVERSE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Columns, one after the other: the entries of column c are those from first[c] to first[c + 1] - 1. */
struct bl_sparse {
    size_t rows; /* and columns */
    uint32_t *first;
    uint32_t *row;
    double *value;
};

struct bl_inverse {
    size_t rows;
    size_t steps, step_capacity;
    uint32_t *pivot; /* [steps] the row that the step was taken in */
    size_t *first;   /* [steps+1] its first entry */
    size_t entries, entry_capacity;
    uint32_t *row;
    double *value;
};

/* Begins with the unit matrix. Errors here and below: BL_EFAIL, no memory; the inverse is then still to be freed. */
int bl_inverse_make(struct bl_inverse *v, size_t rows, struct bl_error *e);
void bl_inverse_free(struct bl_inverse *v);

/* Exchanges the column that belongs to row r; `column` is the inverse times the new one, column[r] is not 0. */
int bl_inverse_update(struct bl_inverse *v, const double *column, uint32_t r, struct bl_error *e);

/* FTRAN: x = inverse * x. BTRAN: x = x * inverse. */
void bl_inverse_ftran(const struct bl_inverse *v, double *x);
void bl_inverse_btran(const struct bl_inverse *v, double *x);

/* Factorises a matrix anew. row_of[c] becomes the row that column c belongs to: component row_of[c] of inverse * v is
 * how much of column c is in v. *regular: 0 where the matrix cannot be inverted. */
int bl_inverse_factor(struct bl_inverse *v, const struct bl_sparse *m, uint32_t *row_of, int *regular,
                      struct bl_error *e);

#endif
