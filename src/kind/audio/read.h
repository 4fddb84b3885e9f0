/* Reading pieces of sound: see struct bl_kind_read. */
#ifndef BL_AUDIO_READ_H
#define BL_AUDIO_READ_H

#include "kind/kind.h"

int bl_audio_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                         struct bl_reader **reader, struct bl_error *e);
int bl_audio_reader_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                         struct bl_error *e);
void bl_audio_reader_close(struct bl_reader *reader);

#endif
