/* NVIDIA's driver: its two shared libraries, loaded on demand, and the names of its errors. The types are those of
 * ffnvcodec's headers, which FFmpeg uses, too. */
#ifndef BL_NVDEC_DRIVER_H
#define BL_NVDEC_DRIVER_H

/* Silences the loaders of ffnvcodec's headers. */
#define FFNV_LOG_FUNC(context, ...) ((void)(context))
#define FFNV_DEBUG_LOG_FUNC(context, ...) ((void)(context))
#include <ffnvcodec/dynlink_loader.h>

#include "base/error.h"

#define BL_DRIVER_OUT_OF_MEMORY ((CUresult)2) /* CUDA_ERROR_OUT_OF_MEMORY, which those headers leave out */

struct bl_driver {
    CudaFunctions *cuda;
    CuvidFunctions *video;
    void *library; /* as cuda, for functions that those headers lack: */
    CUresult (*host_alloc)(void **memory, size_t bytes, unsigned flags);
    CUresult (*host_free)(void *memory);
    CUresult (*version)(int *version);
};

/* Loads both libraries and initialises the driver; *devices: the number of GPUs, at least one. BL_EFAIL: no driver, no
 * GPU or no video library. Needs no close after a failure. */
int bl_driver_open(struct bl_driver *driver, int *devices, struct bl_error *e);
void bl_driver_close(struct bl_driver *driver);

/* BL_OK for CUDA_SUCCESS; else BL_EFAIL: "GPU 0 cannot copy: an illegal memory access was encountered (...)". */
int bl_driver_check(const struct bl_driver *driver, int number, const char *what, CUresult result, struct bl_error *e);

#endif
