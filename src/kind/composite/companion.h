/* Partners: where the file of a sequence lies, and what the table says of it. */
#ifndef BL_COMPANION_H
#define BL_COMPANION_H

#include "kind/composite/composite.h"

/* A companion's path has {id}: the sequence's id without its extension; {stem}: that without folders; or {name}: the id
 * as it is. BL_EUSAGE: none of them, or something else in braces. */
int bl_companion_check(const char *path, struct bl_error *e);

/* Appends the path of a sequence's file. */
void bl_companion_append_path(const char *path, const char *id, struct bl_buffer *out);

/* Appends the names of a companion's columns, a tab before each: those of its file, if it has any, NAME.path,
 * NAME.bytes, NAME.length (of one that follows, in units of its own: NAME.samples), NAME.stream, NAME.reason,
 * NAME.content, and those of its kind. */
void bl_companion_append_columns(const struct bl_composite_part *part, struct bl_buffer *out);

/* Appends what a scan found of it to those columns; row NULL: nothing. */
void bl_companion_append_values(const struct bl_composite_part *part, const struct bl_row *row, struct bl_buffer *out);

/* Appends what the sequence's own reason says of a companion's file that is damaged. */
void bl_companion_append_damage(const struct bl_composite_part *part, const char *path, const char *reason,
                                struct bl_buffer *out);

/* The row of a companion's file, with the memory that its texts live in; start from {0}, reuse. */
struct bl_companion_row {
    struct bl_row row; /* path is openable */
    char *path;        /* as the table has it; NULL: it has no file */
    struct bl_buffer text, columns, extra;
    char *open_path;
};

/* What the columns of a sequence's row say. BL_EUSAGE: the table has no such columns. */
int bl_companion_row(const struct bl_composite *composite, int part, const struct bl_row *row,
                     struct bl_companion_row *out, struct bl_error *e);
void bl_companion_row_free(struct bl_companion_row *row);

#endif
