/* What the media module does for the video kind: it reads pieces, and hands counting to count.h and clips.h. */
#ifndef BL_READ_H
#define BL_READ_H

#include "kind/kind.h"
#include "kind/media/module.h"
#include "kind/video/clips.h"
#include "kind/video/options.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reading pieces of videos: decode, pick, convert. One object per worker, with its scaler and frames. See
 * struct bl_kind_read. */

bl_reader_open bl_video_read_open;

/* The size of the pictures that this row's file gives: of its first frame, upright, pixels square, or fitted to
 * config's. */
bl_media_size bl_video_read_size;

/* --- functions of the module -------------------------------------------------------------------------------------- */

/* The functions of the video kind that the media module has, for struct bl_decoding. */

bl_kind_count bl_video_decoding_count;
void bl_video_decoding_versions(const void *config, bl_version_emit *emit, void *sink);

/* See struct bl_media. */
int bl_video_decoding_open_gpu(struct bl_video_config *config, struct bl_error *e);
void bl_video_decoding_close_gpu(struct bl_video_config *config);

#endif
