/* Who decodes a video: the processor or a GPU. The scan decides, and keeps it in the row (column "decoder"), so that
 * every later run on any machine does the same or reports that it cannot. */
#ifndef BL_BACKEND_H
#define BL_BACKEND_H

#include <stdbool.h>

#include "kind/env.h"
#include "kind/row.h"
#include "kind/video/gpu.h"
#include "kind/video/config.h"

#define BL_BACKEND_COLUMN "decoder"

enum bl_backend { BL_BACKEND_CPU, BL_BACKEND_NVDEC };

/* Finds out what a GPU would have to decode, by feeding packets to a decoder until it knows the format, without
 * decoding any. out->codec is AV_CODEC_ID_NONE if FFmpeg hands such a stream to no GPU, out->format AV_PIX_FMT_NONE if
 * there is no decoder or the format never shows. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_backend_probe(const char *path, int64_t bytes, int stream, const struct bl_kind_env *env,
                     struct bl_gpu_stream *out, struct bl_error *e);

/* Chooses who decodes a usable video. BL_EDATA: --decoder nvdec, and the GPU cannot (the reason is in e). */
int bl_backend_choose(const struct bl_video_config *config, const struct bl_kind_env *env, const char *path,
                      int64_t bytes, int stream, bool damaged, enum bl_backend *backend, struct bl_error *e);

/* Reads the choice from a row. BL_EFAIL: it is a GPU, and there is none here. */
int bl_backend_from_row(const struct bl_video_config *config, const struct bl_row *row, enum bl_backend *backend,
                        struct bl_error *e);

/* For AVCodecContext.get_format: fills in the stream, and returns whether FFmpeg offers to decode it on a GPU. */
bool bl_backend_describe(const AVCodecContext *context, const enum AVPixelFormat *formats, struct bl_gpu_stream *out);

/* Whether nv12_rgb.h can read surfaces of such pictures. */
bool bl_backend_supports_format(enum AVPixelFormat format);

/* FFmpeg's decoder of the codec that can use a GPU (not always its preferred one), or NULL. */
const AVCodec *bl_backend_find_decoder(enum AVCodecID codec);

#endif
