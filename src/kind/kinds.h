/* The kinds that the tool has. */
#ifndef BL_KINDS_H
#define BL_KINDS_H

#include "kind/kind.h"

#define BL_KINDS_MAX 16

/* Kinds of sources, ended by NULL; and "auto" and their names, as choices of --kind. */
extern const struct bl_kind *const bl_kinds[];
extern const char *const bl_kind_choices[];

/* By name, or NULL. */
const struct bl_kind *bl_kind_find(const char *name);

/* The first kind that takes files of this name by its extension ("-": standard input), but no folders; or NULL. */
const struct bl_kind *bl_kind_find_by_file(const char *name);

/* Whether a kind counts rows by one of these columns, a tab before each, for the manifest. */
bool bl_kinds_count(const char *columns);

/* Its index in bl_kinds. */
int bl_kind_index(const struct bl_kind *kind);

/* By name, a kind that only follows others; or NULL. */
const struct bl_kind *bl_kind_find_follower(const char *name);

/* The kind that gives each step of another kind a part of this kind's files; or NULL. */
const struct bl_kind *bl_kind_find_per_step(const struct bl_kind *kind);

#endif
