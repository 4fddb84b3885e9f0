/* Reading joined sequences: each part into its own fields. */
#ifndef BL_JOINED_READ_H
#define BL_JOINED_READ_H

#include "kind/joined/joined.h"

/* See struct bl_kind; config is a struct bl_joined. */
int bl_joined_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                   struct bl_reader **reader, struct bl_error *e);
int bl_joined_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                   struct bl_error *e);
void bl_joined_close(struct bl_reader *reader);

#endif
