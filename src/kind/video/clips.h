/* Counting the lines of a list of clips: each names a part of a video, and becomes a row. */
#ifndef BL_CLIPS_H
#define BL_CLIPS_H

#include "kind/kind.h"

/* See struct bl_kind. The counter is for lists alone. */
int bl_clips_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                          struct bl_error *e);
void bl_clips_counter_close(struct bl_counter *counter);

/* Emits a row for every line of the chunk. */
int bl_clips_count(const struct bl_kind_env *env, struct bl_counter *counter, const struct bl_chunk *chunk,
                   bl_row_emit *emit, void *sink, struct bl_error *e);

#endif
