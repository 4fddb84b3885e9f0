/* Columns of sequences.tsv, which may stand in any order: those that mean something to the tool, and extra ones,
 * which are carried along. */
#ifndef BL_COLUMNS_H
#define BL_COLUMNS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

#define BL_SEQUENCES_COLUMNS "id\tlength\tkind\tpath\tbytes\tstatus\treason\tsampling\tstream\tcontent"
#define BL_SEQUENCES_HEADER BL_SEQUENCES_COLUMNS "\n"

#define BL_COLUMNS_MAX 256 /* of a table */

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
    BL_COLUMNS, /* so many every table of ours has; those behind are extra ones, that mean something to some kinds */
    BL_COLUMN_START = BL_COLUMNS,
    BL_COLUMN_DURATION,
    BL_COLUMN_CHANNEL,
    BL_COLUMNS_ALL
};

/* What the header line of a file tells. */
struct bl_columns {
    int place[BL_COLUMNS_ALL]; /* of each known column, -1 where the file has none */
    int count;                 /* how many the file has */
    char *extra;               /* names of those that every table need not have, a tab before each; to be freed */
};

/* Takes a header line to pieces, in place. BL_EFAIL: no id or length, too many columns; the path is for the message. */
int bl_columns_read(struct bl_columns *columns, char *header, const char *path, struct bl_error *e);

/* Splits a line at its tabs, in place. Returns how many fields it has, or more than BL_COLUMNS_MAX. */
int bl_columns_split(char *line, char **field);

/* The field of a known column, escaped as it stands there, or what stands for a column that is not there. */
static inline const char *bl_columns_value(const struct bl_columns *columns, char *const *field, enum bl_column column,
                                           const char *missing)
{
    int at = columns->place[column];
    return at < 0 ? missing : field[at];
}

/* The fields of the extra columns, a tab before each. */
int bl_columns_extra(const struct bl_columns *columns, char *const *field, struct bl_buffer *out, struct bl_error *e);

/* The name of a known column. */
const char *bl_columns_name(enum bl_column column);

/* Whether a column of that name means something to the tool. */
bool bl_columns_is_known(const char *name);

/* The place of a column in a header line, or -1. */
int bl_columns_find(const char *header, const char *name);

#endif
