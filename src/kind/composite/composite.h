/* A composite: several kinds whose fields share the steps of a sequence, as one kind.
 *
 * The first part, the primary, decides which sequences there are and how many steps they have. Every other part is a
 * companion. A companion has a file for each sequence, which is named after the sequence and has as many steps; or it
 * has a clip of a file for each sequence, found in a list; or it follows the primary, with a file or without. The path
 * of the companion's file, and what the scan found in it, are extra columns of the row. */
#ifndef BL_COMPOSITE_H
#define BL_COMPOSITE_H

#include "base/archive.h"
#include "base/buffer.h"
#include "base/error.h"
#include "kind/kind.h"
#include "kind/list.h"

/* --- clip lists --------------------------------------------------------------------------------------------------- */

/* The clips of a companion: the lines of one list, which stay in memory and are found by the id of a sequence. */

/* Start from {0}, and free with bl_clip_list_free. */
struct bl_clip_list {
    struct bl_buffer text; /* of each clip its id, with a zero byte, then its line in the form of kind/list.h */
    struct bl_clip_place {
        size_t id, line, size; /* where they begin in the text, and bytes of the line */
        int64_t number;        /* of the line, from 1 */
    } * place;
    size_t count, capacity;
    struct bl_hash by_id;
};

/* Adds a line. BL_EDATA: it is no clip, or has the id of another one. */
int bl_clip_list_add(struct bl_clip_list *list, const struct bl_line *line, struct bl_error *e);

/* Sets the line with the id of a sequence or, if there is none, with that id without its extension. Returns false if
 * the list has neither. */
bool bl_clip_list_find(const struct bl_clip_list *list, const char *id, struct bl_line *line);

/* Returns the digest of all lines. */
uint64_t bl_clip_list_digest(const struct bl_clip_list *list);
void bl_clip_list_free(struct bl_clip_list *list);

/* --- parts -------------------------------------------------------------------------------------------------------- */

struct bl_composite_part {
    const struct bl_kind *kind;
    void *config;
    /* Of companions: */
    const char *name;           /* of its field; of several fields, the prefix of their names */
    const char *path;           /* of its files; placeholders: bl_companion_check. NULL: it follows, without files */
    int64_t tolerance;          /* steps by which its length may differ; -1: not given */
    bool zeros;                 /* a sequence without its file has zeros: bl_kind_options.has_zeros */
    struct bl_clip_list *clips; /* path is that of a list, of these; or NULL */
};

/* The caller sets the members up to `parts` and owns everything to which they point; bl_composite_make sets the others.
 */
struct bl_composite {
    const char *base;                             /* directory that companions' relative paths refer to, or NULL */
    const char *sources_base;                     /* the same for those of the sources */
    const struct bl_member_index *members;        /* of tars, for companions that are beside the sequence in one */
    struct bl_composite_part part[BL_FIELDS_MAX]; /* the primary first */
    int parts;
    struct bl_rational rate; /* of the primary's steps; den 0: unknown */
    struct bl_kind kind;     /* its config is the whole struct */
    struct bl_kind_scan scan;
    struct bl_kind_read read;
    struct bl_total total[BL_TOTALS_MAX + 1];
    char total_column[BL_TOTALS_MAX][2 * BL_FIELD_NAME_MAX];
};

/* Returns whether a kind has one file for each sequence, and so can be a part. */
bool bl_composite_accepts(const struct bl_kind *kind);

/* Returns whether a part follows the primary and needs the times of its steps, or their numbers (enum bl_follow_needs).
 */
bool bl_composite_needs_times(const struct bl_composite *composite, int part);

/* --- companions --------------------------------------------------------------------------------------------------- */

/* Companions: the paths of their files, and their columns in the table. */

/* Checks the path of a companion's files, which has a placeholder: {id}: the sequence's id without its extension;
 * {stem}: that without folders; or {name}: the whole id. Or it is "{key}." and an extension: the member beside the
 * sequence in its tar. BL_EUSAGE: none of them, or another. */
int bl_companion_check(const char *path, struct bl_error *e);

/* Returns the extension of such a member, within path; NULL: path is the path of files. */
const char *bl_companion_extension(const char *path);

/* Returns the directory to which the paths of a companion's files refer, or NULL. */
const char *bl_companion_base(const struct bl_composite *composite, const struct bl_composite_part *part);

/* Appends the path of a sequence's file: of "poses/{stem}.npy" and the id "b/a.mp4", "poses/a.npy". The path must have
 * been checked by bl_companion_check. */
void bl_companion_append_path(const char *path, const char *id, struct bl_buffer *out);

/* Appends the names of a companion's columns, a tab before each: if it has files, NAME.path, NAME.bytes, NAME.length
 * (for a kind that follows, in its own units: NAME.samples), NAME.stream, NAME.reason, NAME.content; and those of its
 * kind. */
void bl_companion_append_columns(const struct bl_composite_part *part, struct bl_buffer *out);

/* Appends the values of those columns by the row of its file; NULL: empty ones. */
void bl_companion_append_values(const struct bl_composite_part *part, const struct bl_row *row, struct bl_buffer *out);

/* Appends the part of the sequence's reason that reports damage to a companion's file, after "; " if there is one
 * before it: "poses: poses/a.npy: cut short". Without a reason it appends nothing. */
void bl_companion_append_damage(const struct bl_composite_part *part, const char *path, const char *reason,
                                struct bl_buffer *out);

/* Sets *own to a row's reason without the damage at its end, which bl_companion_append_damage formatted again. If the
 * texts differ, as after an edit of the table, *own is the whole reason. */
int bl_companion_cut_damage(const char *reason, const struct bl_buffer *damage, struct bl_buffer *own,
                            struct bl_error *e);

/* The row of a companion's file, and the memory of its texts. Initialize with {0}; reusable. */
struct bl_companion_row {
    struct bl_row row; /* path is openable */
    char *path;        /* in the table; NULL: it has no file */
    struct bl_buffer text, columns, extra, seek;
    char *open_path;
};

/* Makes the companion's row from the columns of a sequence's row. BL_EUSAGE: the table does not have the columns;
 * BL_EFAIL: their values are malformed. */
int bl_companion_row_read(const struct bl_composite *composite, int part, const struct bl_row *row,
                          struct bl_companion_row *out, struct bl_error *e);
void bl_companion_row_free(struct bl_companion_row *row);

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Opens a reader, which writes the steps of each part into the part's own fields. See struct bl_kind_read; config is a
 * struct bl_composite. */
bl_reader_open bl_composite_open;

#endif
