/* Counting composite sequences: a row of the primary, and beside it what the companions' files hold. */
#ifndef BL_KIND_COMPOSITE_COUNT_H
#define BL_KIND_COMPOSITE_COUNT_H

#include "kind/composite/composite.h"

/* --- count -------------------------------------------------------------------------------------------------------- */

/* See struct bl_kind; config is a struct bl_composite. */
int bl_composite_open_counter(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                              struct bl_error *e);
void bl_composite_close_counter(struct bl_counter *counter);
int bl_composite_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                       struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);

/* --- read --------------------------------------------------------------------------------------------------------- */

/* Reading composite sequences: each part into its own fields. */

/* See struct bl_kind; config is a struct bl_composite. */
int bl_composite_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                      struct bl_reader **reader, struct bl_error *e);
int bl_composite_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                      struct bl_error *e);
void bl_composite_close(struct bl_reader *reader);

#endif
