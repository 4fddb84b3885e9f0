/* Rows of a table: read back from its file, and written. */
#ifndef BL_ROW_READER_H
#define BL_ROW_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"
#include "store/columns.h"
#include "store/sequence_table.h"

/* A row read back, with the memory that its texts live in; start from {0}, reuse for rows of the same table, free with
 * bl_row_reader_free. */
struct bl_row_reader {
    struct bl_row row;
    struct bl_buffer line, extra;
    char *field[BL_COLUMNS_MAX];
    struct bl_buffer ahead; /* of the file: what was read at once, from the byte ahead_at on */
    int64_t ahead_at, next; /* next: where the line behind the row begins */
    size_t most;            /* bytes of the read before */
    int fd;
};

/* Reads row i; columns that are not known come as row.extra. A column that the table does not have: kind "", path "",
 * bytes -1, status ok, sampling "", stream -1, content 0. */
int bl_row_reader_read(const struct bl_sequences *sequences, size_t i, struct bl_row_reader *text, struct bl_error *e);
void bl_row_reader_free(struct bl_row_reader *text);

/* One line of a table, with its newline. */
void bl_row_format(const struct bl_row *row, struct bl_buffer *out);

#endif
