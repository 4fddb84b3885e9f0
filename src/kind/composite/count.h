/* Counting and reading the sequences of a composite: the functions that handle the files of all its parts. */
#ifndef BL_KIND_COMPOSITE_COUNT_H
#define BL_KIND_COMPOSITE_COUNT_H

#include "kind/composite/composite.h"

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* Counting makes a row from that of the primary, and adds what the companions' files hold. */

/* See struct bl_kind; config is a struct bl_composite. */
int bl_composite_open_counter(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                              struct bl_error *e);
int bl_composite_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                       struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reading writes the steps of each part into the part's own fields. */

/* See struct bl_kind; config is a struct bl_composite. */
int bl_composite_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                      struct bl_reader **reader, struct bl_error *e);

#endif
