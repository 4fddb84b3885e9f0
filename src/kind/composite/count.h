/* Counting composite sequences: a row of the primary, and beside it what the companions' files hold. */
#ifndef BL_KIND_COMPOSITE_COUNT_H
#define BL_KIND_COMPOSITE_COUNT_H

#include "kind/composite/composite.h"

/* See struct bl_kind; config is a struct bl_composite. */
int bl_composite_open_counter(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                              struct bl_error *e);
void bl_composite_close_counter(struct bl_counter *counter);
int bl_composite_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                       struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);

#endif
