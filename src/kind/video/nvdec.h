/* GPUs by CUDA and NVDEC, through FFmpeg's cuda hwaccel; nvdec_none.c is in its place where the tool is built without
 * CUDA. Neither the driver nor its video library is linked: both are looked for when GPUs are asked for. */
#ifndef BL_NVDEC_H
#define BL_NVDEC_H

#include "kind/video/gpu.h"

extern const struct bl_gpu_functions bl_nvdec_functions;

/* The GPUs that `which` names ("all", or numbers: "0,2"). BL_EUSAGE: it names none, or one that is not there; BL_EFAIL:
 * there is none that can be used, and why. */
int bl_nvdec_open(struct bl_gpu **gpu, const char *which, struct bl_error *e);
void bl_nvdec_close(struct bl_gpu *gpu); /* NULL is fine; lanes are closed before */

/* Of the CUDA that compiled the kernel: 13000 for 13.0; 0: this build has none. */
int bl_nvdec_version(void);

#endif
