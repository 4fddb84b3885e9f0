/* sequences.tsv: one row for every input found.
 *
 * Reading keeps 16 bytes per row in memory, the length and the row's place in the file; texts stay on disk and are read
 * back row by row (store/row_reader.h), by any thread. Several tables can be read as one: rows count on. */
#ifndef BL_SEQUENCES_H
#define BL_SEQUENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/columns.h"

struct bl_sequences_file {
    char *path;
    int fd;       /* -1 for stdin, whose rows cannot be read again */
    size_t first; /* row of the merged table that is this file's first */
    struct bl_columns columns;
};

struct bl_sequences {
    struct bl_sequences_file *file;
    int files;
    size_t count;
    int64_t *length;       /* [count] steps; 0 for rows that are not ok: what a plan is made from */
    uint32_t *group;       /* [count] rows with the same value in the column that was asked for; or NULL */
    int64_t *offset;       /* [count] byte of the row in its file, or NULL for plain lengths */
    int64_t by_status[4];  /* rows by enum bl_row_status */
    int64_t damaged;       /* ok rows with a reason */
    int64_t excluded;      /* dropped rows that never had a length: the scan left them out by request */
    int64_t empty;         /* skipped rows that are no fault */
    int64_t steps;         /* of the ok rows */
    char *kind, *sampling; /* of the first ok row ("" when the table does not say); NULL without any */
    size_t mixed;          /* first row of another kind or sampling, or SIZE_MAX */
};

/* Reads tables ("-": stdin), or with lengths true lists of "length" or "length count" lines. Errors name file and line:
 * a table without id or length, a length that is none, a status that is none, an id twice, a file that ends in
 * mid-line. */
int bl_sequences_open(struct bl_sequences *sequences, const char *const *paths, int count, bool lengths,
                      struct bl_error *e);
/* The same for tables, with the groups that a column's values make. BL_EFAIL too: a table without that column. */
int bl_sequences_open_grouped(struct bl_sequences *sequences, const char *const *paths, int count, const char *column,
                              struct bl_error *e);
void bl_sequences_close(struct bl_sequences *sequences);

/* A look at a table without reading all of it: its header line, and the kind of its first ok row, escaped as it stands
 * there: "" when it has no such row, or no such column. */
int bl_sequences_peek(const char *path, struct bl_buffer *header, struct bl_buffer *kind, struct bl_error *e);

/* Rows that are of no use and should be: skipped and failed ones, but not the empty ones. */
int64_t bl_sequences_unusable(const struct bl_sequences *sequences);

/* True when every input could be used wholly: no row useless, none damaged. */
bool bl_sequences_is_clean(const struct bl_sequences *sequences);

#endif
