/* Who decodes a video: the processor or a GPU. Decided once for each, by the scan, and kept in its row (the column
 * "decoder"), so that every later run, on whatever machine, does the same or says that it cannot. */
#ifndef BL_BACKEND_H
#define BL_BACKEND_H

#include <stdbool.h>

#include "base/cancel.h"
#include "kind/row.h"
#include "kind/video/gpu.h"
#include "kind/video/config.h"

#define BL_BACKEND_COLUMN "decoder"

enum bl_backend { BL_BACKEND_CPU, BL_BACKEND_NVDEC };

const char *bl_backend_name(enum bl_backend backend); /* "cpu", "nvdec" */

/* What the stream's packets say of it to whoever decodes them: its decoder is given packets until it knows the format
 * of its pictures, and decodes none. 1, 0 where it never does or where FFmpeg hands such a stream to no GPU, or
 * BL_EFAIL, BL_ECANCEL. */
int bl_backend_probe(const char *path, int64_t bytes, int stream, const struct bl_cancel *cancel,
                     struct bl_gpu_stream *out, struct bl_error *e);

/* Who is to decode this row, which is of use. BL_EDATA: --decoder nvdec, and the GPU cannot (the reason in e). */
int bl_backend_choose(const struct bl_video_config *config, const struct bl_cancel *cancel, const char *path,
                      int64_t bytes, int stream, bool damaged, enum bl_backend *backend, struct bl_error *e);

/* What the row says. BL_EFAIL: a GPU, and there is none here. */
int bl_backend_from_row(const struct bl_video_config *config, const struct bl_row *row, enum bl_backend *backend,
                        struct bl_error *e);

/* Whether nv12_rgb.h reads surfaces of such pictures. */
bool bl_backend_supports_format(enum AVPixelFormat format);

/* FFmpeg's decoder of that codec which can hand its work to a GPU (not always the one that it prefers), or NULL. */
const AVCodec *bl_backend_find_decoder(enum AVCodecID codec);

#endif
