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
    int64_t *repeated; /* [repeats] rows that need another id, as bl_duplicates_collect lists them; or NULL */
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

#endif
