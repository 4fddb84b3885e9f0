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

/* Reads tables ("-": stdin) or, with lengths set, lists of "length" or "length count" lines. BL_EFAIL names file and
 * line: no id or length column, an invalid length or status, a duplicate id, a truncated file. */
int bl_sequences_open(struct bl_sequences *sequences, const char *const *paths, int count, bool lengths,
                      struct bl_error *e);
/* Columns that are read besides. */
struct bl_sequences_columns {
    const char *group_by; /* its values are groups; NULL: none */
    struct {
        const char *name, *option;      /* the option that asks for it, for messages */
    } number[BL_SEQUENCES_NUMBERS_MAX]; /* their values are numbers of at least 0 */
    int numbers;
    bool may_repeat;         /* several rows may have an id: those of datasets that become one table */
    const uint8_t *left_out; /* [rows] of the whole table; an ok row with another value than 0 counts as dropped, and
                                `repeated` is left to the whole table; NULL: none does */
    size_t rows;
};

/* Asks for a column of numbers for an option. */
static inline void bl_sequences_columns_add(struct bl_sequences_columns *columns, const char *name, const char *option)
{
    columns->number[columns->numbers].name = name;
    columns->number[columns->numbers++].option = option;
}

/* The same for tables, with further columns. BL_EFAIL also if a table lacks the column to group by; BL_EUSAGE: it lacks
 * one of numbers, or a value is none. */
int bl_sequences_open_columns(struct bl_sequences *sequences, const char *const *paths, int count,
                              const struct bl_sequences_columns *columns, struct bl_error *e);
/* The same for the table of the dataset in dir; columns may be NULL. */
int bl_sequences_open_dataset(struct bl_sequences *sequences, const char *dir,
                              const struct bl_sequences_columns *columns, struct bl_error *e);
/* Reads only the beginning of a table: its header line, and the kind of its first ok row, still escaped; "" if there is
 * no such row or column. */
int bl_sequences_peek(const char *path, struct bl_buffer *header, struct bl_buffer *kind, struct bl_error *e);

/* --- paths -------------------------------------------------------------------------------------------------------- */

/* The files that a table refers to. */

/* Calls visit with the paths of all ok rows, each once, in the order of the rows. A code other than BL_OK ends it. */
int bl_sequence_paths_visit(const struct bl_sequences *sequences,
                            int (*visit)(void *context, const char *path, struct bl_error *e), void *context,
                            struct bl_error *e);

/* --- groups ------------------------------------------------------------------------------------------------------- */

/* Groups of rows: equal values of a column get the same number, counted from 0 in order of appearance. Values are
 * identified by their 64-bit hash. */

struct bl_groups {
    struct bl_hash table;
    uint64_t *hash; /* [count] of each group's value */
    size_t count, capacity;
};

/* The number of a value. BL_EFAIL: out of memory. Start from {0}; free with bl_groups_free. */
int bl_groups_find(struct bl_groups *g, const char *value, size_t size, uint32_t *id, struct bl_error *e);
void bl_groups_free(struct bl_groups *g);

/* --- columns of a plan -------------------------------------------------------------------------------------------- */

/* The columns of a table that a plan needs: groups, costs, and those with a maximum. */

/* Asks for the columns that the options name. The names belong to the options. */
struct bl_sequences_columns bl_plan_columns_wanted(const char *group_by, const struct bl_plan_options *options);

/* Gives the options the values of these columns: group as in struct bl_sequences, and number, in the order of what was
 * asked for. */
void bl_plan_columns_set(struct bl_plan_options *options, const uint32_t *group, double *const *number);

#endif
