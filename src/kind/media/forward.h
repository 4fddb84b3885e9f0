/* The functions of kinds that the media module has, for their tables: each opens the module, or knows that it is open,
 * and hands its arguments on. bl_video_forward_count has the module count what bl_kind_video is asked to. */
#ifndef BL_MEDIA_FORWARD_H
#define BL_MEDIA_FORWARD_H

#include "kind/kind.h"

int bl_video_forward_open_counter(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                                  struct bl_error *e);
int bl_frames_forward_open_counter(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                                   struct bl_error *e);
int bl_audio_forward_open_counter(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                                  struct bl_error *e);
void bl_video_forward_close_counter(struct bl_counter *counter);
void bl_frames_forward_close_counter(struct bl_counter *counter);
void bl_audio_forward_close_counter(struct bl_counter *counter);

int bl_video_forward_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                           struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);
int bl_frames_forward_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);
int bl_audio_forward_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                           struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);

/* The size of the pictures that this row's file gives. */
int bl_video_forward_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                          struct bl_dimensions *size, struct bl_error *e);
int bl_frames_forward_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                           struct bl_dimensions *size, struct bl_error *e);

int bl_video_forward_open_reader(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                                 struct bl_reader **reader, struct bl_error *e);
int bl_frames_forward_open_reader(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                                  struct bl_reader **reader, struct bl_error *e);
int bl_audio_forward_open_reader(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                                 struct bl_reader **reader, struct bl_error *e);
int bl_video_forward_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                           struct bl_error *e);
int bl_frames_forward_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                            struct bl_error *e);
int bl_audio_forward_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                           struct bl_error *e);
void bl_video_forward_close_reader(struct bl_reader *reader);
void bl_frames_forward_close_reader(struct bl_reader *reader);
void bl_audio_forward_close_reader(struct bl_reader *reader);

int bl_video_forward_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                              struct bl_error *e);
int bl_audio_forward_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                              struct bl_error *e);

#endif
