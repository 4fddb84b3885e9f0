/* Rows of sequences.tsv: reading and writing one, the groups of rows, and the columns that a plan needs. */
#ifndef BL_ROW_READER_H
#define BL_ROW_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"
#include "kind/row.h"
#include "store/columns.h"

/* --- table -------------------------------------------------------------------------------------------------------- */

/* The rows of sequences.tsv in memory.
 *
 * 16 bytes per row are kept: the length, and the row's place in the file. Strings stay on disk and are read back row by
 * row (store/row_reader.h), by any thread. Several files can form one table, whose rows are numbered through. */

struct bl_sequences_file {
    char *path;
    int fd;       /* -1: stdin, whose rows cannot be read again */
    size_t first; /* row of the whole table that is the first one of this file */
    struct bl_columns columns;
    uint64_t checksum; /* of all of it, as it was read here */
};

#define BL_SEQUENCES_NUMBERS_MAX 9

struct bl_sequences {
    struct bl_sequences_file *file;
    int files;
    size_t count;
    int64_t *length; /* [count] steps; 0 for rows that are not ok. Plans are made from it */
    uint32_t *group; /* [count] equal for rows with the same value in the requested column; or NULL */
    double *number[BL_SEQUENCES_NUMBERS_MAX]; /* [count] each, the requested columns of numbers, 0 for rows that are not
                                                 ok; or NULL */
    int64_t *offset;                          /* [count] byte of the row in its file; NULL for plain lengths */
    int64_t *repeated;                        /* [repeats] rows whose id another row has, too, ascending; or NULL */
    size_t repeats;
    int64_t by_status[4];               /* rows by enum bl_row_status */
    int64_t damaged;                    /* ok rows with a reason */
    int64_t excluded;                   /* dropped rows without a length: the scan left them out by request */
    int64_t held;                       /* of these, those whose steps another row has */
    struct bl_left_out_counts left_out; /* the same by option, as far as their reasons tell it */
    int64_t empty;                      /* skipped rows that are not faults */
    int64_t steps;                      /* of the ok rows */
    char *kind, *sampling; /* of the first ok row; "" if the table lacks the column, NULL if there is no such row */
    size_t mixed;          /* first row of another kind or sampling, or SIZE_MAX */
};

void bl_sequences_close(struct bl_sequences *sequences);

/* Closes the files, which are to be removed: rows cannot be read back any more. */
void bl_sequences_close_files(struct bl_sequences *sequences);

/* Sequences that are dropped: rows of which no other row has the steps. */
int64_t bl_sequences_dropped(const struct bl_sequences *sequences);

/* Inputs that are unusable: skipped and failed rows, but not the empty ones. */
int64_t bl_sequences_unusable(const struct bl_sequences *sequences);

/* Whether all inputs were usable, and none is damaged. */
bool bl_sequences_is_clean(const struct bl_sequences *sequences);

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

#endif
