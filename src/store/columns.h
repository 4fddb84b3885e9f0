/* The columns of sequences.tsv, which may have any order. The tool interprets the known columns, and copies the others
 * unchanged. */
#ifndef BL_COLUMNS_H
#define BL_COLUMNS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

#define BL_SEQUENCES_COLUMNS "id\tlength\tkind\tpath\tbytes\tstatus\treason\tsampling\tstream\tcontent"
#define BL_SEQUENCES_HEADER BL_SEQUENCES_COLUMNS "\n"

#define BL_COLUMNS_MAX 256 /* maximum number of columns of a table */

enum bl_column {
    BL_COLUMN_ID,
    BL_COLUMN_LENGTH,
    BL_COLUMN_KIND,
    BL_COLUMN_PATH,
    BL_COLUMN_BYTES,
    BL_COLUMN_STATUS,
    BL_COLUMN_REASON,
    BL_COLUMN_SAMPLING,
    BL_COLUMN_STREAM,
    BL_COLUMN_CONTENT,
    BL_COLUMNS, /* the basic columns, which every table that we write has; those that follow are extra columns that some
                   kinds know */
    BL_COLUMN_START = BL_COLUMNS,
    BL_COLUMN_DURATION,
    BL_COLUMN_CHANNEL,
    BL_COLUMN_CLIP_BEGIN,
    BL_COLUMN_CLIP_END,
    BL_COLUMN_CLIP_SEEK,
    BL_COLUMNS_ALL
};

/* The columns of a file, from its header line. */
struct bl_columns {
    int place[BL_COLUMNS_ALL]; /* index of each known column, -1 where the file has none */
    int count;                 /* number of columns in the file */
    char *extra;               /* names of the extra columns, a tab before each; owned */
};

/* Parses a header line, in place. BL_EFAIL: no id or length, or too many columns. path is for the message. */
int bl_columns_read(struct bl_columns *columns, char *header, const char *path, struct bl_error *e);

/* Splits a line at its tabs, in place. Returns the number of fields, which may exceed BL_COLUMNS_MAX: those beyond are
 * not stored. */
int bl_columns_split(char *line, char **field);

/* Returns the value of a known column without escapes, which are decoded in place, or the argument `missing` if the
 * file has no such column; NULL: an escape is invalid. */
const char *bl_columns_unescape(const struct bl_columns *columns, char *const *field, enum bl_column column,
                                const char *missing);

/* Sets out to the values of the extra columns, with a tab before each. */
int bl_columns_extra(const struct bl_columns *columns, char *const *field, struct bl_buffer *out, struct bl_error *e);

/* Returns true if the basic columns come first and in their order, as in tables that the tool writes. */
bool bl_columns_are_ordered(const struct bl_columns *columns);

/* Returns the name of a known column. */
const char *bl_columns_name(enum bl_column column);

/* Returns the known column of that name (enum bl_column), or -1. */
int bl_columns_parse(const char *name);

/* Returns the index of a column in a header line, or -1. */
int bl_columns_find(const char *header, const char *name);

#endif
