/* The functions of the video kind that the media module has, for struct bl_decoding. */
#ifndef BL_VIDEO_DECODING_H
#define BL_VIDEO_DECODING_H

#include "kind/video/clips.h"
#include "kind/video/config.h"
#include "kind/video/read.h"

int bl_video_decoding_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);
void bl_video_decoding_versions(const void *config, bl_version_emit *emit, void *sink);

/* See struct bl_media. */
int bl_video_decoding_open_gpu(struct bl_video_config *config, struct bl_error *e);
void bl_video_decoding_close_gpu(struct bl_video_config *config);

#define BL_VIDEO_DECODING                                                                                              \
    {                                                                                                                  \
        .open_counter = bl_clips_counter_open, .close_counter = bl_clips_counter_close,                                \
        .count = bl_video_decoding_count, .size = bl_video_read_size, .open_reader = bl_video_read_open,               \
        .piece = bl_video_read_piece, .close_reader = bl_video_read_close, .versions = bl_video_decoding_versions      \
    }

#endif
