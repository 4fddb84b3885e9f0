/* The rows of sequences.tsv in memory, and reading and writing a single row. */
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
 * Only 16 bytes per row are kept: the length, and the offset of the row in its file. Strings stay on disk and are read
 * back row by row, by any thread. Several files can form one table, whose rows are numbered continuously, file after
 * file. */

struct bl_sequences_file {
    char *path;
    int fd;       /* -1: stdin, whose rows cannot be read again */
    size_t first; /* number of its first row, counted through all files */
    struct bl_columns columns;
    uint64_t checksum; /* of all bytes of the file as it was read */
};

#define BL_SEQUENCES_NUMBERS_MAX 17

struct bl_sequences {
    struct bl_sequences_file *file;
    int files;
    size_t count;
    int64_t *length; /* [count] steps; 0 for rows that are not ok; plans are made from these lengths */
    uint32_t *group; /* [count] equal for rows with the same value in the requested column; NULL: none was requested */
    uint32_t *together; /* [count] the same for the requested column of bundles; BL_ALONE for an empty value */
    double *number[BL_SEQUENCES_NUMBERS_MAX]; /* [count] each: the requested columns of numbers, 0 for rows that are not
                                                 ok; NULL: not requested */
    int64_t *offset;                          /* [count] offset of the row in its file; NULL for plain lengths */
    int64_t *repeated;                        /* [repeats] ascending: rows with an id that another row has; or NULL */
    size_t repeats;
    int64_t by_status[4];               /* rows by enum bl_row_status */
    int64_t damaged;                    /* ok rows with a reason */
    int64_t excluded;                   /* dropped rows without a length, which an option made the scan leave out */
    int64_t held;                       /* excluded rows whose steps another row has */
    struct bl_left_out_counts left_out; /* excluded rows by option, if the reason of the row names it */
    int64_t empty;                      /* skipped rows that are not faults */
    int64_t steps;                      /* of the ok rows */
    char *kind, *sampling; /* of the first ok row; "" if the table lacks the column, NULL if there is no such row */
    size_t mixed;          /* first row of another kind or sampling, or SIZE_MAX */
};

void bl_sequences_close(struct bl_sequences *sequences);

/* Closes the files, so that they can be removed. Rows cannot be read back afterwards. */
void bl_sequences_close_files(struct bl_sequences *sequences);

/* Returns the number of dropped sequences: dropped rows whose steps no other row has. */
int64_t bl_sequences_dropped(const struct bl_sequences *sequences);

/* Returns the number of unusable inputs: skipped and failed rows, except empty inputs. */
int64_t bl_sequences_unusable(const struct bl_sequences *sequences);

/* Returns true if all inputs were usable and none is damaged. */
bool bl_sequences_is_clean(const struct bl_sequences *sequences);

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Tables in memory have no strings, so a row is read back from its file when it is needed. */

/* A row that was read, and the memory of its strings. Initialize it with {0}, reuse it for other rows of the same
 * table, and free it with bl_row_reader_free. */
struct bl_row_reader {
    struct bl_row row;
    const struct bl_columns *columns; /* of the row's file */
    struct bl_buffer line, extra;
    char *field[BL_COLUMNS_MAX];
    struct bl_buffer ahead; /* part of the file that was read ahead */
    int64_t ahead_at, next; /* offset of `ahead` in the file; offset of the line after the row */
    size_t most;            /* size of the last read in bytes; reads of consecutive rows grow */
    int fd;
    struct bl_checksum_state *sum; /* not owned: updated with every line that is read; NULL: none */
};

/* Reads row i into text->row. Columns that the tool does not know go to row.extra. A column that the table lacks has
 * the value kind "", path "", bytes -1, status ok, sampling "", stream -1 or content 0. */
int bl_row_reader_read(const struct bl_sequences *sequences, size_t i, struct bl_row_reader *text, struct bl_error *e);

/* Reads only the text of row i, with its newline, into text->line. */
int bl_row_reader_line(const struct bl_sequences *sequences, size_t i, struct bl_row_reader *text, struct bl_error *e);

void bl_row_reader_free(struct bl_row_reader *text);

/* Returns the row's value in a known column, which is valid until the next row is read; NULL: the tool does not know
 * the column, or the file lacks it. */
const char *bl_row_reader_field(const struct bl_row_reader *text, const char *name);

/* Appends the row's value in a column, known or not. Returns false if the file lacks it, or an escape is invalid. */
bool bl_row_reader_value(const struct bl_row_reader *text, const char *name, struct bl_buffer *out);

/* Appends a row as a line, with its newline. */
void bl_row_format(const struct bl_row *row, struct bl_buffer *out);

#endif
