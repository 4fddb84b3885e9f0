/* Counting joined sequences: a row of the primary, and beside it what the partners' files hold. */
#ifndef BL_JOINED_COUNT_H
#define BL_JOINED_COUNT_H

#include "kind/joined/joined.h"

/* See struct bl_kind; config is a struct bl_joined. */
int bl_joined_open_counter(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                           struct bl_error *e);
void bl_joined_close_counter(struct bl_counter *counter);
int bl_joined_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                    struct bl_stretch *stretch, bl_row_emit *emit, void *sink, struct bl_error *e);

#endif
