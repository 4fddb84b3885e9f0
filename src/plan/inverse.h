/* The inverse of a sparse square matrix, in product form: a sequence of steps, each of which replaces a column of the
 * unit matrix. Exchanging a column of the matrix adds one step.
 *
 * With k nonzero entries in all steps, a product with a vector takes O(k), or less if the vector has zeros. */
#ifndef BL_INVERSE_H
#define BL_INVERSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A square matrix by columns: the entries of column c are row[k] and value[k] for k = first[c] .. first[c + 1] - 1.
 * The arrays belong to the caller. */
struct bl_sparse {
    size_t rows; /* equal to the number of columns */
    uint32_t *first;
    uint32_t *row;
    double *value;
};

/* The steps, in the order in which a vector passes them. A step's entries replace the column `pivot` of the unit
 * matrix. */
struct bl_inverse {
    size_t rows;
    size_t steps, pivot_capacity, first_capacity;
    uint32_t *pivot; /* [steps] pivot row of the step */
    size_t *first;   /* [steps+1] first entry of each step */
    size_t entries, row_capacity, value_capacity;
    uint32_t *row;
    double *value;
};

/* Starts with the unit matrix. Errors here and below: BL_EFAIL, out of memory; the inverse must still be freed. */
int bl_inverse_make(struct bl_inverse *v, size_t rows, struct bl_error *e);
void bl_inverse_free(struct bl_inverse *v);

/* Exchanges the column of row r. column: the inverse times the new column; column[r] must not be 0. */
int bl_inverse_update(struct bl_inverse *v, const double *column, uint32_t r, struct bl_error *e);

/* FTRAN: x = inverse * x. BTRAN: x = x * inverse. */
void bl_inverse_ftran(const struct bl_inverse *v, double *x);
void bl_inverse_btran(const struct bl_inverse *v, double *x);

/* Factorises a matrix again. row_of[c] becomes the row of column c: component row_of[c] of inverse * v is the
 * coefficient of column c in v. *regular: false if the matrix is singular. */
int bl_inverse_factor(struct bl_inverse *v, const struct bl_sparse *m, uint32_t *row_of, bool *regular,
                      struct bl_error *e);

#endif
