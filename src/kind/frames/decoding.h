/* The functions of the frames kind that the media module has, for struct bl_decoding. */
#ifndef BL_FRAMES_DECODING_H
#define BL_FRAMES_DECODING_H

#include "kind/frames/clips.h"
#include "kind/frames/read.h"

int bl_frames_decoding_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                             struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);

#define BL_FRAMES_DECODING                                                                                             \
    {                                                                                                                  \
        .open_counter = bl_frames_clips_open, .close_counter = bl_frames_clips_close,                                  \
        .count = bl_frames_decoding_count, .size = bl_frames_read_size, .open_reader = bl_frames_read_open,            \
        .piece = bl_frames_read_piece, .close_reader = bl_frames_read_close                                            \
    }

#endif
