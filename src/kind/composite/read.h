/* Reading composite sequences: each part into its own fields. */
#ifndef BL_KIND_COMPOSITE_READ_H
#define BL_KIND_COMPOSITE_READ_H

#include "kind/composite/composite.h"

/* See struct bl_kind; config is a struct bl_composite. */
int bl_composite_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                      struct bl_reader **reader, struct bl_error *e);
int bl_composite_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                      struct bl_error *e);
void bl_composite_close(struct bl_reader *reader);

#endif
