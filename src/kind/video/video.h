/* The video kind: files of any container and codec in media/allowlist.h. A step is a frame. */
#ifndef BL_VIDEO_H
#define BL_VIDEO_H

#include "kind/kind.h"
#include "kind/video/options.h"

/* Options and functions that the kind of image folders shares with videos. See struct bl_kind for the last two. */
extern const struct bl_option bl_video_options[];
int bl_video_check_pixels(const struct bl_video_config *config, struct bl_error *e);
void bl_video_prepare_pixels(struct bl_video_config *config); /* replaces --filter auto by the filter that it means */
void bl_video_sampling(const void *config, struct bl_buffer *out);
void bl_video_describe(const void *config, const struct bl_field *field, struct bl_buffer *out);

extern const struct bl_kind bl_kind_video;

#endif
