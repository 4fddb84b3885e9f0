/* Names of the columns of a list: what --columns calls them, and which of them is the path. */
#ifndef BL_CLIP_NAMES_H
#define BL_CLIP_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

#define BL_CLIP_RENAMES_MAX 64

/* A text without a zero byte at its end. */
struct bl_clip_name {
    const char *text;
    size_t size;
};

/* Checks the form of --columns: "NAME=COLUMN,...". BL_EUSAGE. */
int bl_clip_names_check(const char *renames, struct bl_error *e);

/* The name that a column gets: that of --columns, or its own. renames: "NAME=COLUMN,...", checked, or NULL. *number: of
 * the pair of renames that names it, or -1. */
struct bl_clip_name bl_clip_names_find(const char *renames, const char *column, size_t size, int *number);

/* The COLUMN of the pair with this number; size 0: there are fewer. */
struct bl_clip_name bl_clip_names_column(const char *renames, int number);

bool bl_clip_name_is(struct bl_clip_name name, const char *text);

/* Which column of a list is the path. */
struct bl_clip_path {
    bool found;    /* one is */
    char name[24]; /* it has this name, a usual one, such as "file_name"; "": its name is "path" */
};

/* Finds it by a table's header, or by an object's keys. BL_EUSAGE: none is called "path", and several have a usual name
 * of it. */
int bl_clip_path_of_header(struct bl_clip_path *path, const char *renames, char *const *column, size_t count,
                           struct bl_error *e);
int bl_clip_path_of_object(struct bl_clip_path *path, const char *renames, const struct bl_json_value *object,
                           struct bl_error *e);

#endif
