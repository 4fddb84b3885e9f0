/* Reading text: the steps of documents, out of the spool. */
#ifndef BL_TEXT_READ_H
#define BL_TEXT_READ_H

#include "kind/kind.h"

/* As in struct bl_kind. */
int bl_text_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                 struct bl_reader **reader, struct bl_error *e);
int bl_text_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note, struct bl_error *e);
void bl_text_close(struct bl_reader *reader);

#endif
