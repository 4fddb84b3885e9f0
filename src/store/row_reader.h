/* Rows of sequences.tsv: reading and writing one, the groups of rows, and the columns that a plan needs. */
#ifndef BL_ROW_READER_H
#define BL_ROW_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"
#include "kind/row.h"
#include "plan/plan.h"
#include "store/columns.h"
#include "store/sequences.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* A row is read back from its file when it is needed, as tables in memory have no strings. */

/* A row that was read, and the memory of its strings. Start from {0}, reuse it for other rows of the same table, free
 * with bl_row_reader_free. */
struct bl_row_reader {
    struct bl_row row;
    const struct bl_columns *columns; /* of the row's file */
    struct bl_buffer line, extra;
    char *field[BL_COLUMNS_MAX];
    struct bl_buffer ahead; /* part of the file that was read ahead, from byte ahead_at on */
    int64_t ahead_at, next; /* next: where the line after the row begins */
    size_t most;            /* bytes of the last read */
    int fd;
    struct bl_checksum_state *sum; /* of the lines that were read; the caller's, NULL: not wanted */
};

/* Reads row i. Columns that the tool does not know are row.extra. Values of columns that the table lacks: kind "", path
 * "", bytes -1, status ok, sampling "", stream -1, content 0. */
int bl_row_reader_read(const struct bl_sequences *sequences, size_t i, struct bl_row_reader *text, struct bl_error *e);

/* Reads only the text of row i, with its newline, into text->line. */
int bl_row_reader_line(const struct bl_sequences *sequences, size_t i, struct bl_row_reader *text, struct bl_error *e);

void bl_row_reader_free(struct bl_row_reader *text);

/* The row's value in a known column of its file, valid as long as the row; NULL: it is not known, or not there. */
const char *bl_row_reader_field(const struct bl_row_reader *text, const char *name);

/* Appends a row as a line, with its newline. */
void bl_row_format(const struct bl_row *row, struct bl_buffer *out);

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
