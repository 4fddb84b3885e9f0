/* The kinds that the tool has. */
#ifndef BL_KINDS_H
#define BL_KINDS_H

#include "kind/kind.h"

#define BL_KINDS_MAX 16

/* Kinds of sources, ended by NULL; and "auto" and their names, as choices of --kind. */
extern const struct bl_kind *const bl_kinds[];
extern const char *const bl_kind_choices[];

/* Returns the kind of sources with this name, or NULL. */
const struct bl_kind *bl_kind_find(const char *name);

/* Returns the first kind of files that takes this name by its extension ("-": standard input), or NULL. Kinds whose
 * inputs are folders do not count. */
const struct bl_kind *bl_kind_find_by_file(const char *name);

/* Returns whether a kind counts rows by one of these columns for the manifest. columns has a tab before each name. */
bool bl_kinds_count(const char *columns);

/* Returns the index of the kind in bl_kinds. */
int bl_kind_index(const struct bl_kind *kind);

/* Returns the kind of this name that only follows others, or NULL. */
const struct bl_kind *bl_kind_find_follower(const char *name);

/* Returns the kind that gives each step of another kind a part of this kind's files, or NULL. */
const struct bl_kind *bl_kind_find_per_step(const struct bl_kind *kind);

/* Returns the kind of a field with steps of its own that has this name or, with name NULL, takes the extension of the
 * path. NULL: there is none. */
const struct bl_kind *bl_kind_find_own(const char *name, const char *path);

#endif
