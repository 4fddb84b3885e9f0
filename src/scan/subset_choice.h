/* Which rows of a table a subset takes; for subset.c alone. */
#ifndef BL_SUBSET_CHOICE_H
#define BL_SUBSET_CHOICE_H

#include "base/buffer.h"
#include "scan/extend.h"
#include "scan/subset.h"
#include "store/row_reader.h"

#define BL_SUBSET_SPLIT "split" /* the column */

/* Marks are enum bl_left_out, or from here on the number of a condition, then that of a dataset. */
#define BL_SUBSET_MARK_CONDITION BL_LEFT_OUT_OPTIONS
#define BL_SUBSET_MARK_HELD (BL_SUBSET_MARK_CONDITION + BL_TEXTS_MAX)
#define BL_SUBSET_MARK_EXCLUDED UINT8_MAX /* BL_LEFT_OUT_EXCLUDE is 0, which marks nothing */

/* A row at a time. Set subset and table; free with bl_subset_choice_free. */
struct bl_subset_choice {
    struct bl_subset *subset;
    const struct bl_sequences *table;
    struct bl_row_reader text, twin;
    struct bl_buffer value, named;
    struct bl_hash seen;          /* rows by their content */
    struct bl_hash seen_text;     /* rows by their text */
    struct bl_buffer same_column; /* which has the texts, or their digests */
    bool is_digest;
    struct bl_buffer same_value[2]; /* of two rows that are compared */
    struct bl_same_text_buffers same[2];
    struct bl_extend extend;
    uint8_t part; /* of the last row, for --split */
    int64_t chosen;
};

void bl_subset_choice_free(struct bl_subset_choice *choice);

/* Whether rows of these columns have one of that name. */
bool bl_subset_has_column(const struct bl_columns *columns, const char *name);

/* The option that a mark stands for. */
enum bl_left_out bl_subset_mark_option(uint8_t mark);

/* The name of the row's part: of --split, which a column of that name must confirm, or else of that column. Without
 * either it is empty. BL_EUSAGE: they differ. */
int bl_subset_choice_part(struct bl_subset_choice *choice, struct bl_buffer *part, struct bl_error *e);

/* Sets the subset's marks, parts, twins, counts and notes. may_be_held: none need be left if a dataset holds some.
 * Errors as of bl_subset_open. */
int bl_subset_choose(struct bl_subset *subset, const struct bl_sequences *table, bool may_be_held, struct bl_error *e);

#endif
