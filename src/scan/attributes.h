/* Attributes: columns of a table that a user keeps beside the sources, joined to the sequences by id.
 *
 * A sequence takes the row that bears its id; else its id without the extension, {id} in the words of further fields
 * (kind/composite/companion.h); else its id without folders, with the extension or without ({stem}). A row that two
 * sequences would take is an error: which one it means cannot be known. */
#ifndef BL_ATTRIBUTES_H
#define BL_ATTRIBUTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "kind/row.h"

#define BL_ATTRIBUTE_COLUMNS_MAX 192 /* of one table: a table of sequences has 256, its own among them */

/* What the user said. */
struct bl_attributes_source {
    const char *path;    /* the table */
    const char *id;      /* the column of ids; NULL: the one called id, else the first */
    const char *columns; /* those that are wanted, commas between them; NULL: all others */
};

struct bl_attributes;

/* Reads the whole table. Memory: a copy of the columns that are wanted, and about 25 bytes a row. Errors begin with
 * file and line: BL_EFAIL for a table that is none (no header, rows of another number of values, an id twice or empty,
 * what base/csv.h refuses), BL_EUSAGE for columns that are not there, that come twice, or whose names cannot be
 * those of columns of sequences.tsv. cancel: as in base/instream.h. */
int bl_attributes_open(struct bl_attributes **attributes, const struct bl_attributes_source *source,
                       const struct bl_cancel *cancel, struct bl_error *e);

/* NULL is fine. */
void bl_attributes_close(struct bl_attributes *attributes);

/* The columns that are wanted, in the order of the table. */
int bl_attributes_count(const struct bl_attributes *attributes);
const char *bl_attributes_name(const struct bl_attributes *attributes, int column);

/* Appends their names, escaped, a tab before each. */
void bl_attributes_columns(const struct bl_attributes *attributes, struct bl_buffer *out);

/* The values in the row of the sequence with this id, escaped, a tab before each: as long-lived as the object. NULL:
 * there is no row for it. line, unless NULL: on which that begins. BL_EFAIL: another sequence took it before.
 * Callable by many threads at once, for each sequence once. */
int bl_attributes_claim(struct bl_attributes *attributes, const char *id, const char **values, int64_t *line,
                        struct bl_error *e);

/* A row of the table of sequences for which there is none here: if it was of use it is skipped, with a reason, which
 * lives in text. */
int bl_attributes_missing(const struct bl_attributes *attributes, struct bl_row *row, struct bl_buffer *text,
                          struct bl_error *e);

/* The table's path, how many rows it has, and the line on which the last of them begins (0: it has none). */
const char *bl_attributes_path(const struct bl_attributes *attributes);
int64_t bl_attributes_rows(const struct bl_attributes *attributes, int64_t *last);

/* How many rows no sequence took; the first one's id and line. */
int64_t bl_attributes_unused(const struct bl_attributes *attributes, const char **id, int64_t *line);

#endif
