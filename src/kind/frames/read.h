/* Reading folders of images. */
#ifndef BL_FRAMES_READ_H
#define BL_FRAMES_READ_H

#include "kind/kind.h"

/* The size of the first image as the options make it. BL_EDATA: it does not decode. */
int bl_frames_read_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                        struct bl_dimensions *size, struct bl_error *e);

/* See struct bl_kind. */
int bl_frames_read_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                        struct bl_reader **reader, struct bl_error *e);
int bl_frames_read_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                         struct bl_error *e);
void bl_frames_read_close(struct bl_reader *reader);

#endif
