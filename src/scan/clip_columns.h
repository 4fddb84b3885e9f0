/* The columns of lists: how --columns renames them and which one is the path, and which columns
 * describe clips or become attributes. */
#ifndef BL_CLIP_COLUMNS_H
#define BL_CLIP_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/json.h"
#include "kind/list.h"
#include "scan/clip_template.h"

/* --- names of columns --------------------------------------------------------------------------------------------- */

#define BL_CLIP_RENAMES_MAX 64

/* Checks the syntax of --columns: "NAME=COLUMN,...". BL_EUSAGE. */
int bl_clip_names_check(const char *renames, struct bl_error *e);

/* The template that --columns gives for the path or the id of clips, such as "videos/{id}.mp4" (scan/clip_template.h);
 * size 0: it gives none. */
struct bl_clip_name bl_clip_names_template(const char *renames, enum bl_clip_value value);

/* The COLUMN of the pair with this number; size 0: there are fewer. */
struct bl_clip_name bl_clip_names_column(const char *renames, int number);

/* Which column of a list is the path. */
struct bl_clip_path {
    bool found;    /* one is */
    char name[24]; /* it has this name, a usual one, such as "file_name"; "": its name is "path", or it is made by
                      the template of --columns */
};

/* Finds it by a table's header, or by an object's keys. BL_EUSAGE: none is called "path", and several have a usual name
 * of it. */
int bl_clip_path_of_header(struct bl_clip_path *path, const char *renames, char *const *column, size_t count,
                           struct bl_error *e);
int bl_clip_path_of_object(struct bl_clip_path *path, const char *renames, const struct bl_json_value *object,
                           struct bl_error *e);

/* --- columns of clips --------------------------------------------------------------------------------------------- */

/* The columns of lists of clips: those that say what a clip is, and further ones, which become attributes; and the
 * further columns of manifests of speech.
 *
 * A list is a table (CSV, TSV) with a header line; or has a JSON object in each line, whose keys are the columns; or is
 * a plain list with the columns path and label. --columns gives columns other names. Without a
 * column "path", one with a usual name of it, such as "file_name", is the path. */

struct bl_kind;

struct bl_clip_columns {
    bool are_clips; /* the lists of this scan are lists of clips; otherwise manifests of speech, if there are any */
    bool known;     /* a list has decided are_clips */
    bl_list_values *values; /* of manifests: what becomes further columns */
    bool channels;          /* the further column "channel" says which channels of its file a clip has */
    char **name;            /* the further columns of all lists, in the order in which they have them; owned */
    size_t count, capacity;
    const char *renames; /* of --columns, checked, or NULL; not owned */
    uint64_t renamed;    /* which of these some list has, by their number */
    bool numbers;        /* the kind takes numbers in the names of images: the column stop_frame */
    bool stops;          /* some list has this column */
};

/* Adds the columns of a list, by its header or, if it is JSON, by all of its lines, under their new names. path: to
 * open; shown: for messages. A list that cannot be read adds nothing: whoever reads its lines says why. BL_EUSAGE: no
 * list of this kind, a column that occurs twice, or whose name a table of sequences cannot have, or a list of clips
 * beside a manifest of speech. */
int bl_clip_columns_add(struct bl_clip_columns *columns, const struct bl_kind *kind, const char *path,
                        const char *shown, const struct bl_cancel *cancel, struct bl_error *e);
void bl_clip_columns_free(struct bl_clip_columns *columns);

/* The places of columns beside enum bl_clip_value: of the one that becomes the end with BL_CLIP_END_FRAME, and of the
 * first of the further ones. */
#define BL_CLIP_STOP_FRAME ((size_t)BL_CLIP_VALUES)
#define BL_CLIP_FURTHER (BL_CLIP_STOP_FRAME + 1)

/* The place of a list's column among the values of a clip: an enum bl_clip_value, BL_CLIP_STOP_FRAME, or, from
 * BL_CLIP_FURTHER on, a further column; SIZE_MAX: there is none of that name. */
size_t bl_clip_columns_place(const struct bl_clip_columns *columns, const struct bl_clip_path *path, const char *name,
                             size_t size);

/* The number of a further column, or SIZE_MAX. */
size_t bl_clip_columns_find(const struct bl_clip_columns *columns, const char *name, size_t size);

/* The line as an object, for bl_json_next_member. False: it is none. */
bool bl_clip_columns_object(const char *line, size_t size, struct bl_json_value *object, struct bl_json_fault *fault);

/* Whether the name is that of a table: CSV or TSV. */
bool bl_clip_columns_is_table(const char *path);

#endif
