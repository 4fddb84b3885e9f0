/* Reads tables of a user that add columns to the table of sequences by id, and joins a finished table with them. */
#ifndef BL_ATTRIBUTES_H
#define BL_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/output.h"
#include "kind/row.h"
#include "scan/selection.h"
#include "scan/part.h"
#include "store/sequences.h"

/* --- attributes --------------------------------------------------------------------------------------------------- */

/* Attributes are columns of a table of the user, joined to the sequences by id.
 *
 * A sequence claims the row that has its id; otherwise the row of its id without the extension ({id} of
 * kind/composite/composite.h); otherwise the row of its id without folders, with or without the extension ({stem}).
 * Example: the sequence train/a.mp4 looks for the rows train/a.mp4, train/a, a.mp4 and a. It is an error if two
 * sequences claim one row, since it is unknown to which of them the row belongs. */

/* The most columns of one table. A table of sequences may have 256 columns, including its standard ones. */
#define BL_ATTRIBUTE_COLUMNS_MAX 192

struct bl_attributes_source {
    const char *path;    /* the table */
    const char *id;      /* name of the column of ids; NULL: "id", otherwise the first column */
    const char *columns; /* names, with commas between them; NULL: all other columns */
};

struct bl_attributes;

/* Reads the whole table. Memory: a copy of ids and chosen columns, and about 30 bytes a row. Errors begin with file and
 * line: BL_EFAIL for an invalid table (no header, a wrong number of values in a row, a duplicate or empty id, what
 * base/records.h refuses), BL_EUSAGE for columns that are missing or duplicate, or whose names sequences.tsv cannot
 * have. cancel: as in base/instream.h. */
int bl_attributes_open(struct bl_attributes **attributes, const struct bl_attributes_source *source,
                       const struct bl_cancel *cancel, struct bl_error *e);

void bl_attributes_close(struct bl_attributes *attributes);

/* Makes an empty table that has no file. path: the source of its content, for messages; it must outlive the table. */
int bl_attributes_make(struct bl_attributes **attributes, const char *path, struct bl_error *e);

/* Adds a column and sets *column to its number. The caller must have checked the name. BL_EUSAGE: there are too many
 * columns. */
int bl_attributes_add_column(struct bl_attributes *attributes, const char *name, int *column, struct bl_error *e);

/* Returns the number of the column of that name, or -1. */
int bl_attributes_find(const struct bl_attributes *attributes, const char *name);

/* Adds a row with the next number as its line. values: as in bl_attributes_claim, after all columns are added. No
 * other row has the id. */
int bl_attributes_add_row(struct bl_attributes *attributes, const char *id, const char *values, struct bl_error *e);

/* Returns a digest of ids, names and values. Call it after all rows are added. */
uint64_t bl_attributes_digest(const struct bl_attributes *attributes);

/* Checks that a column can have this name in the table of sequences, where some mean something to the tool, and as a
 * tensor. advice: what to do about it. BL_EUSAGE, after path and line. */
int bl_attributes_check_name(const char *name, const char *path, int64_t line, const char *advice, struct bl_error *e);

/* Returns the number of the chosen columns. */
int bl_attributes_count(const struct bl_attributes *attributes);

/* Returns the name of a chosen column, in the order of the table or of the list that chose them. */
const char *bl_attributes_name(const struct bl_attributes *attributes, int column);

/* Appends their names, escaped, a tab before each. */
void bl_attributes_columns(const struct bl_attributes *attributes, struct bl_buffer *out);

/* Claims the row for the sequence with this id. *values: its values, escaped, a tab before each, valid as long as the
 * object; NULL: no row matches. *line, unless line is NULL: where the row begins. BL_EFAIL: another sequence has
 * claimed it. Callable by many threads at once, once for each sequence. */
int bl_attributes_claim(struct bl_attributes *attributes, const char *id, const char **values, int64_t *line,
                        struct bl_error *e);

/* Makes a usable row of the table of sequences a skipped row, since no row of this table matches. text holds the
 * reason. */
int bl_attributes_missing(const struct bl_attributes *attributes, struct bl_row *row, struct bl_buffer *text,
                          struct bl_error *e);

/* Returns the path of the table, as bl_attributes_open got it. */
const char *bl_attributes_path(const struct bl_attributes *attributes);

/* Returns the number of rows, and sets *last to the line where the last one begins, from 1 (0: there are no rows). */
int64_t bl_attributes_rows(const struct bl_attributes *attributes, int64_t *last);

/* Returns the number of rows that no sequence claimed, and sets id and line of the first of them. */
int64_t bl_attributes_unused(const struct bl_attributes *attributes, const char **id, int64_t *line);

/* --- join of a table ---------------------------------------------------------------------------------------------- */

/* Joins a table of sequences with attributes, and excludes rows of it. */

/* Writes the table in the file at path, with the attributes (or NULL) as its last columns, and excluded rows (or NULL)
 * as dropped. Columns that it has already must hold the same values; otherwise BL_EUSAGE names the first row that
 * differs. Rows without attributes become skipped ones and are reported. */
int bl_join_run(const char *path, struct bl_attributes *attributes, struct bl_exclusion *exclusion,
                struct bl_output *out, bl_scan_fault *fault, void *sink, struct bl_error *e);

#endif
