/* Computes what the pieces need of the columns of --max-column: integers in units that fit the values, because integers
 * add up alike in any order and on every machine. */
#ifndef BL_NEEDS_H
#define BL_NEEDS_H

#include <stdbool.h>

#include "plan/plan.h"
#include "plan/strategy.h"

/* A need is what each piece takes of a column of --max-column, in whole units that add up alike on every machine. */

#define BL_NEEDS_MAX (BL_PLAN_COLUMNS_MAX + 1)

struct bl_need {
    int32_t *of;     /* [pieces] units, rounded up, at most `most`; 0 for pieces that are not planned */
    int64_t most;    /* units in a block, rounded down: 1 to BL_T_MAX */
    int64_t rounded; /* a piece has up to so many units too many, as its values were rounded up; 0: nothing was */
};

struct bl_needs {
    struct bl_need each[BL_NEEDS_MAX]; /* [count] in the order of the options; of bundles, then the number of pieces */
    int count;
};

/* Makes the needs of the pieces; a piece of a cut sequence has the share of its steps. The units for 1 of a column are
 * the smallest power of ten that makes all values whole, unless a block would have more than 2^30 of them. length: of
 * the sequences. Free *needs in any case. BL_EUSAGE names a sequence with a value that is no number of at least 0, or
 * more than the maximum. BL_EFAIL: out of memory. */
int bl_needs_make(struct bl_needs *needs, const struct bl_pieces *pieces, const int64_t *length,
                  const struct bl_plan_columns *columns, struct bl_error *e);
void bl_needs_free(struct bl_needs *needs);

/* Sets *by_column to the same pieces with what they need of a column in the place of their lengths, so that the
 * searches for blocks pack the column. Pieces that need nothing of it are out of range. *units: [lengths->count], the
 * array that *by_column refers to; the caller frees it. BL_EFAIL: out of memory. */
int bl_needs_lengths(struct bl_lengths *by_column, int64_t **units, const struct bl_need *need,
                     const struct bl_lengths *lengths, struct bl_error *e);

/* Returns a proven lower bound on the blocks: the sum of a column by its maximum, rounded up. */
int64_t bl_needs_bound(const struct bl_need *need, const struct bl_lengths *lengths);

/* Sequences with more of a column than a block may have, among those that are planned and not cut. */
struct bl_needs_over {
    const struct bl_plan_column *column; /* the first one; NULL: there are none */
    size_t first, count;                 /* the index of the first such sequence; how many there are for this column */
};

/* Finds these sequences, so that a command can name them before it plans. length: [count]. */
void bl_needs_find_over(struct bl_needs_over *over, const int64_t *length, size_t count,
                        const struct bl_plan_options *options);

#endif
