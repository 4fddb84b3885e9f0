/* The results of a scan by several tasks: the counts that each task reports, and the file with the rows that it
 * found. */
#ifndef BL_PART_H
#define BL_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/output.h"
#include "kind/kind.h"

/* --- progress of a scan ------------------------------------------------------------------------------------------- */

/* Called for each row that is skipped or damaged, in order, on the caller's thread. A code other than BL_OK stops the
 * scan. */
typedef int bl_scan_fault(void *sink, const struct bl_row *row, struct bl_error *e);

struct bl_scan_progress {
    int64_t files, rows, steps;
    int64_t skipped, damaged; /* rows */
    int64_t excluded;         /* rows: --exclude */
    int64_t empty;            /* skipped rows without a fault */
    int64_t adjusted;         /* rows with a field that was adjusted to their length */
    struct bl_totals totals;  /* of the usable rows */
    int64_t parts;            /* thousandths of files, by weight, including files in progress */
    const char *file;         /* the file that holds the scan up at present; or NULL */
    uint64_t drained;         /* checksum of standard input, if it is an input */
    int64_t suppressed;       /* faults that were not reported: a chunk had too many */
    int64_t needed;           /* the most bytes for decoding one input, if that is more than a reader has */
};

/* Counts a row; totals too, if kind is not NULL. */
void bl_scan_progress_count(struct bl_scan_progress *found, const struct bl_kind *kind, const struct bl_row *row);

/* Adds the counts of rows. */
void bl_scan_progress_add(struct bl_scan_progress *all, const struct bl_scan_progress *some);

/* --- files of parts ----------------------------------------------------------------------------------------------- */

/* A part: the rows that one of several tasks found, in DIR/.bload/scan-00003, until all parts are merged.
 *
 *   bload scan part 1: task 3 of 16
 *   columns ID...                             the header line of the table
 *   attributes ROWS LINE PATH                 of the table that rows were joined with; or a bare word
 *   stretch NUMBER FILE AT FILE AT BYTES CLAIMED FORM
 *   ...                                       BYTES of rows as in the table, then CLAIMED bytes of line numbers, one a
 *                                             line: the attributes that the rows claimed
 *   ...                                       more chunks
 *   total CHUNKS ROWS STEPS SKIPPED EMPTY DAMAGED ADJUSTED EXCLUDED
 *   end CHECKSUM                              of all before it
 *
 * "stretch" begins a chunk. Its begin and end are the number of a file and a place in it (a byte, or the number of
 * lines read of a list), so that the merge notices tasks that did not see the same files, and missing chunks. FORM is
 * "-" or, after "=", the format of the only row of the chunk, which the merge compares with that of the first row. */

struct bl_part_head {
    int64_t task, tasks;
    const char *columns;    /* the table's header line, without its newline */
    const char *attributes; /* path of their table, or NULL: none were joined */
    int64_t attribute_rows; /* of that table */
    int64_t attribute_line; /* on which its last row begins */
};

struct bl_part_place {
    int64_t file, at;
};

struct bl_part_chunk {
    int64_t number;
    struct bl_part_place begin, end;
    int64_t bytes, claimed;
    const char *form; /* or NULL; of a part that is read: valid until the next call */
};

/* Appends the path of a part in that folder. */
int bl_part_path(const char *folder, int64_t task, struct bl_buffer *path, struct bl_error *e);

/* Writing: create, begin, then for each chunk its head and by bl_part_write its rows and lines; publish at the end.
 * bl_part_abort does nothing to an empty object, which is left by publish, too. */
struct bl_part_writer {
    struct bl_output out;
    struct bl_checksum_state sum;
    struct bl_buffer line;
};

int bl_part_create(struct bl_part_writer *writer, const char *path, struct bl_error *e);
int bl_part_begin(struct bl_part_writer *writer, const struct bl_part_head *head, struct bl_error *e);
int bl_part_chunk(struct bl_part_writer *writer, const struct bl_part_chunk *chunk, struct bl_error *e);
int bl_part_write(void *writer, const void *data, size_t size, struct bl_error *e);
/* chunks: of all tasks. BL_EFAIL: another part has this name. The same part is no error. */
int bl_part_publish(struct bl_part_writer *writer, int64_t chunks, const struct bl_scan_progress *found,
                    struct bl_error *e);
void bl_part_abort(struct bl_part_writer *writer);

/* For reading in pieces; the file does not stay open. Allocate it aligned to 64 bytes, as its checksum is. */
struct bl_part {
    char *path;
    struct bl_part_head head;
    int64_t chunks; /* of all tasks; known at the end, as the counts of rows in found */
    struct bl_scan_progress found;
    int64_t at; /* offset in the file of the first byte after data */
    char *data;
    size_t begin, end, capacity;
    struct bl_checksum_state sum;
    struct bl_buffer line, columns, attributes;
};

/* Reads the head of the part of a task, one of `tasks`, by at most capacity bytes at a time. Errors here and below:
 * BL_EDATA, the part is damaged. */
int bl_part_open(struct bl_part *part, const char *folder, int64_t task, int64_t tasks, size_t capacity,
                 struct bl_error *e);

/* Reads the head of the next chunk. All bytes of the previous chunk must have been read. *found is false at the end;
 * then the counts are known and the checksum has been verified. */
int bl_part_next(struct bl_part *part, struct bl_part_chunk *chunk, bool *found, struct bl_error *e);

/* Returns 1 to max bytes of the chunk in *data, valid until the next call. */
int bl_part_read(struct bl_part *part, int64_t max, const char **data, size_t *size, struct bl_error *e);
void bl_part_close(struct bl_part *part);

/* Sets the error of a damaged part, with the reason and with advice, and returns BL_EDATA. */
int bl_part_damaged(const struct bl_part *part, const char *why, struct bl_error *e);

/* Reads and checks all of a part, if it exists (*found). *counts: of its rows. BL_EDATA: it is damaged. */
int bl_part_check(const char *folder, int64_t task, int64_t tasks, struct bl_scan_progress *counts, bool *found,
                  struct bl_error *e);

#endif
