/* Needs: what the pieces take of the columns of --max-column, in whole units that add up alike on every machine. */
#ifndef BL_NEEDS_H
#define BL_NEEDS_H

#include <stdbool.h>

#include "plan/piece.h"
#include "plan/plan.h"

struct bl_need {
    int64_t *of;   /* [pieces] units, rounded up, at most `most`; 0 for pieces that are not planned */
    int64_t most;  /* units in a block, rounded down: 1 to BL_T_MAX */
    bool is_exact; /* nothing was rounded */
};

struct bl_needs {
    struct bl_need each[BL_PLAN_COLUMNS_MAX];
    int count;
};

/* Makes the needs of the pieces; a piece of a sequence that was cut has the share of its steps. Units are a power of
 * ten that all values are multiples of, if a block has no more than 2^30 of them. length: of the sequences. Free it in
 * any case. BL_EUSAGE names a sequence with a value that is no number of at least 0, or more than the maximum.
 * BL_EFAIL: out of memory. */
int bl_needs_make(struct bl_needs *needs, const struct bl_pieces *pieces, const int64_t *length,
                  const struct bl_plan_columns *columns, struct bl_error *e);
void bl_needs_free(struct bl_needs *needs);

/* Returns the lengths of the same pieces by a column, in its units: those that need nothing of it are out of range. */
struct bl_lengths bl_needs_lengths(const struct bl_need *need, const struct bl_lengths *lengths);

/* Returns a proven bound on the blocks by the sum of a column. */
int64_t bl_needs_bound(const struct bl_need *need, const struct bl_lengths *lengths);

/* Sequences that take more of a column than a block has, among those that are planned and not cut. */
struct bl_needs_over {
    const struct bl_plan_column *column; /* the first one; NULL: there are none */
    size_t first, count;
};

void bl_needs_find_over(struct bl_needs_over *over, const int64_t *length, size_t count,
                        const struct bl_plan_options *options);

#endif
