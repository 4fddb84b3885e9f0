/* Lines of a manifest of speech to rows: each names a file of sound, or a part of one. */
#ifndef BL_CUTS_H
#define BL_CUTS_H

#include "kind/audio/config.h"
#include "kind/kind.h"

/* As in struct bl_kind; the counter is for manifests alone. */
bool bl_cuts_is_list(const char *path);
int bl_cuts_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                         struct bl_error *e);
void bl_cuts_counter_close(struct bl_counter *counter);

/* Emits a row for every line of the stretch. */
int bl_cuts_count(const struct bl_audio_config *config, const struct bl_kind_env *env, struct bl_counter *counter,
                  const struct bl_chunk *stretch, bl_row_emit *emit, void *sink, struct bl_error *e);

#endif
