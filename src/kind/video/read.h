/* The functions of the video kind in the media module: they read pieces, and forward counting to count.h and
 * clips.h. */
#ifndef BL_READ_H
#define BL_READ_H

#include "kind/kind.h"
#include "kind/media/module.h"
#include "kind/video/clips.h"
#include "kind/video/options.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Opens a reader of pieces (struct bl_kind_read). Each worker has one, with its own scaler and frames. */

bl_reader_open bl_video_read_open;

/* Finds the size of the row's pictures after conversion, by decoding the first frame. */
bl_media_size bl_video_read_size;

/* --- functions of the module -------------------------------------------------------------------------------------- */

/* The remaining functions of the video kind in struct bl_decoding. */

bl_kind_count bl_video_decoding_count;
void bl_video_decoding_versions(const void *config, bl_version_emit *emit, void *sink);

/* open_gpu, close_gpu and gpu_times of struct bl_media. */
int bl_video_decoding_open_gpu(struct bl_video_config *config, struct bl_error *e);
void bl_video_decoding_close_gpu(struct bl_video_config *config);
void bl_video_decoding_gpu_times(const struct bl_video_config *config, struct bl_gpu_times *times);

#endif
