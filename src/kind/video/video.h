/* Videos: any container and codec in media/allowlist.h; steps are frames. */
#ifndef BL_VIDEO_H
#define BL_VIDEO_H

#include "kind/kind.h"
#include "kind/video/options.h"

/* What folders of images share with videos; see struct bl_kind. */
extern const struct bl_option bl_video_options[];
int bl_video_check_pixels(const struct bl_video_config *config, struct bl_error *e);
void bl_video_prepare_pixels(struct bl_video_config *config); /* what --filter auto is */
void bl_video_sampling(const void *config, struct bl_buffer *out);
void bl_video_describe(const void *config, const struct bl_field *field, struct bl_buffer *out);

extern const struct bl_kind bl_kind_video;

#endif
