/* Reading pieces of videos: decode, pick, convert. One object per worker, with its scaler and frames. The functions are
 * those of struct bl_kind. */
#ifndef BL_READ_H
#define BL_READ_H

#include "kind/kind.h"

int bl_video_read_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                       struct bl_reader **reader, struct bl_error *e);
int bl_video_read_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                        struct bl_error *e);
void bl_video_read_close(struct bl_reader *reader);

/* The size of the pictures that this row's file gives: of its first frame, upright, pixels square, or fitted to
 * config's. */
int bl_video_read_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                       struct bl_dimensions *size, struct bl_error *e);

#endif
