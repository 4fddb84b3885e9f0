/* What a GPU's video engines can decode, as its driver says. The question takes 7 ms on an H200, during which no other
 * thread's call goes on, and a scan asks it for every file: so the driver is asked once for each kind of stream. */
#ifndef BL_NVDEC_CAPS_H
#define BL_NVDEC_CAPS_H

#include "kind/video/nvdec_device.h"

struct bl_caps;

int bl_caps_open(struct bl_caps **caps, struct bl_error *e);
void bl_caps_close(struct bl_caps *caps); /* NULL is fine */

/* Whether the GPU reports that it can decode such a stream. Any thread may call these two. */
int bl_caps_can_decode(struct bl_caps *caps, const struct bl_device *device, const struct bl_gpu_stream *stream,
                       bool *can, struct bl_error *e);

/* The number of engines that decode H.264, which all of a GPU's do; 0: the driver is too old to tell. */
int bl_caps_engines(struct bl_caps *caps, const struct bl_device *device, int *engines, struct bl_error *e);

#endif
