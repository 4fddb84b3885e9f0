/* sequences.tsv, which has one row for every input found: the table in memory, reading it, and the files that its rows
 * refer to. */
#ifndef BL_SEQUENCES_H
#define BL_SEQUENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"
#include "plan/plan.h"
#include "store/columns.h"
#include "store/row_reader.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

#define BL_SEQUENCES_FILE "sequences.tsv"

/* Reads tables as one table ("-" is stdin). If lengths is true, the files are lists with lines of "length" or "length
 * count" instead. BL_EFAIL: a file lacks the column id or length, has an invalid length or status, has an id twice, or
 * is truncated; the message names file and line. */
int bl_sequences_open(struct bl_sequences *sequences, const char *const *paths, int count, bool lengths,
                      struct bl_error *e);
/* Further columns to read. */
struct bl_sequences_columns {
    const char *group_by; /* column whose values are groups; NULL: none */
    const char *together; /* column whose values are bundles; NULL: none */
    struct {
        const char *name, *option;      /* the option that asks for it, for messages */
    } number[BL_SEQUENCES_NUMBERS_MAX]; /* their values are numbers of at least 0 */
    int numbers;
    bool may_repeat;         /* several rows may have the same id, because the tables are those of several datasets */
    const uint8_t *left_out; /* [rows] of the table of all files, or NULL: an ok row with a value other than 0 counts as
                                dropped; then `repeated` is not set, since it depends on all rows */
    size_t rows;
};

/* Reads tables with further columns. Further errors: BL_EFAIL, a table lacks the column of groups or bundles;
 * BL_EUSAGE, a table lacks a column of numbers, or a value is not a number of at least 0. */
int bl_sequences_open_columns(struct bl_sequences *sequences, const char *const *paths, int count,
                              const struct bl_sequences_columns *columns, struct bl_error *e);
/* Reads the table of the dataset in dir in the same way. columns may be NULL. */
int bl_sequences_open_dataset(struct bl_sequences *sequences, const char *dir,
                              const struct bl_sequences_columns *columns, struct bl_error *e);
/* Reads only the beginning of a table: its header line, and the kind of its first ok row with its escapes. kind is
 * empty if there is no ok row or no such column. */
int bl_sequences_peek(const char *path, struct bl_buffer *header, struct bl_buffer *kind, struct bl_error *e);

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* Calls visit once for each path of an ok row, in the order of the rows. If visit returns a code other than BL_OK, the
 * function stops and returns it. */
int bl_sequence_paths_visit(const struct bl_sequences *sequences,
                            int (*visit)(void *context, const char *path, struct bl_error *e), void *context,
                            struct bl_error *e);

/* --- groups ------------------------------------------------------------------------------------------------------- */

/* Groups of rows: rows with the same value in a column get the same group number. Numbers count from 0 in order of
 * appearance. Two values with the same 64-bit hash are taken as equal. */

struct bl_groups {
    struct bl_hash table;
    uint64_t *hash; /* [count] of each group's value */
    size_t count, capacity;
};

/* Finds or adds the group of a value; *id is its number. Initialize the groups with {0}, and free them with
 * bl_groups_free. BL_EFAIL: memory ran out. */
int bl_groups_find(struct bl_groups *g, const char *value, size_t size, uint32_t *id, struct bl_error *e);
void bl_groups_free(struct bl_groups *g);

/* --- columns of a plan -------------------------------------------------------------------------------------------- */

/* The columns of a table that a plan needs: groups, costs, and those with a maximum. */

/* Returns the columns that the options name. The strings belong to the options. */
struct bl_sequences_columns bl_plan_columns_wanted(const char *group_by, const struct bl_plan_options *options);

/* Sets the values of these columns in the options, except options->together: group is that of struct bl_sequences, and
 * number has the order of the columns that bl_plan_columns_wanted returned. */
void bl_plan_columns_set(struct bl_plan_options *options, const uint32_t *group, double *const *number);

#endif
