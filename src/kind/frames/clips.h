/* Lines of lists as rows: a folder of images, or a part of one. */
#ifndef BL_FRAMES_CLIPS_H
#define BL_FRAMES_CLIPS_H

#include "kind/frames/image_folder.h"
#include "kind/kind.h"
#include "kind/video/options.h"

int bl_frames_clips_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                         struct bl_error *e);
void bl_frames_clips_close(struct bl_counter *counter);

/* Counts the lines of a chunk. The lines of one folder follow each other, and it is read once for them. */
int bl_frames_clips_count(const struct bl_kind_env *env, struct bl_counter *counter, const struct bl_chunk *chunk,
                          bl_row_emit *emit, void *sink, struct bl_error *e);

/* Whether those of the images from begin to end - 1 that are steps can be decoded with the memory that they may take,
 * and are what is wanted. path: of the folder. */
int bl_frames_check_headers(const struct bl_image_folder *folder, size_t begin, size_t end, const char *path,
                            const struct bl_video_config *config, const struct bl_kind_env *env, struct bl_error *e);

#endif
