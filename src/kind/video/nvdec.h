/* GPUs with CUDA and NVDEC, through FFmpeg's cuda hwaccel; builds without CUDA have nvdec_none.c instead. Neither the
 * driver nor its video library is linked: both are loaded when GPUs are first asked for. */
#ifndef BL_NVDEC_H
#define BL_NVDEC_H

#include "kind/video/gpu.h"

extern const struct bl_gpu_functions bl_nvdec_functions;

/* Opens the GPUs that `which` names ("all", or numbers: "0,2"). BL_EUSAGE: it is malformed, or names one that does not
 * exist; BL_EFAIL: there is no usable GPU (the reason is in e). */
int bl_nvdec_open(struct bl_gpu **gpu, const char *which, struct bl_error *e);
void bl_nvdec_close(struct bl_gpu *gpu); /* NULL is fine; close all queues first */

/* The version of CUDA that compiled the kernel: 13000 for 13.0; 0 without CUDA. */
int bl_nvdec_version(void);

#endif
