/* What the GPUs decode, for people. */
#ifndef BL_GPU_CODECS_H
#define BL_GPU_CODECS_H

#include "base/buffer.h"
#include "base/error.h"

struct bl_gpu;

/* Appends the usual codecs that all of these GPUs (nvdec.h) report to decode at 1920x1080: "H.264, HEVC". */
int bl_gpu_append_codecs(struct bl_gpu *gpu, struct bl_buffer *out, struct bl_error *e);

#endif
