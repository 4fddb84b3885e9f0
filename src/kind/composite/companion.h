/* Companions: the paths of their files, and their columns in the table. */
#ifndef BL_COMPANION_H
#define BL_COMPANION_H

#include "kind/composite/composite.h"

/* Checks the path of a companion's files, which has a placeholder: {id}: the sequence's id without its extension;
 * {stem}: that without folders; or {name}: the whole id. Or it is "{key}." and an extension: the member beside the
 * sequence in its tar. BL_EUSAGE: none of them, or another. */
int bl_companion_check(const char *path, struct bl_error *e);

/* The extension of such a member, within path; NULL: it is the path of a file. */
const char *bl_companion_extension(const char *path);

/* The directory that the paths of a companion's files refer to, or NULL. */
const char *bl_companion_base(const struct bl_composite *composite, const struct bl_composite_part *part);

/* Appends the path of a sequence's file. */
void bl_companion_append_path(const char *path, const char *id, struct bl_buffer *out);

/* Appends the names of a companion's columns, a tab before each: if it has files, NAME.path, NAME.bytes, NAME.length
 * (for a kind that follows, in its own units: NAME.samples), NAME.stream, NAME.reason, NAME.content; and those of its
 * kind. */
void bl_companion_append_columns(const struct bl_composite_part *part, struct bl_buffer *out);

/* Appends the values of those columns by the row of its file; NULL: empty ones. */
void bl_companion_append_values(const struct bl_composite_part *part, const struct bl_row *row, struct bl_buffer *out);

/* Appends the part of the sequence's reason that reports damage to a companion's file. */
void bl_companion_append_damage(const struct bl_composite_part *part, const char *path, const char *reason,
                                struct bl_buffer *out);

/* The row of a companion's file, and the memory of its texts. Initialize with {0}; reusable. */
struct bl_companion_row {
    struct bl_row row; /* path is openable */
    char *path;        /* in the table; NULL: it has no file */
    struct bl_buffer text, columns, extra, seek;
    char *open_path;
};

/* Makes it of the columns of a sequence's row. BL_EUSAGE: the table does not have them; BL_EFAIL: malformed values. */
int bl_companion_row_read(const struct bl_composite *composite, int part, const struct bl_row *row,
                          struct bl_companion_row *out, struct bl_error *e);
void bl_companion_row_free(struct bl_companion_row *row);

#endif
