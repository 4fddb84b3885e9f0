/* Counting the lines of a manifest of speech: each names a sound file, or a part of one, and becomes a row. */
#ifndef BL_CUTS_H
#define BL_CUTS_H

#include "kind/audio/count.h"
#include "kind/kind.h"

/* See struct bl_kind. The counter is for manifests alone. */
int bl_cuts_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                         struct bl_error *e);
void bl_cuts_counter_close(struct bl_counter *counter);

/* Emits a row for every line of the chunk. */
int bl_cuts_count(const struct bl_kind_env *env, struct bl_counter *counter, const struct bl_chunk *chunk,
                  bl_row_emit *emit, void *sink, struct bl_error *e);

#endif
