/* A file of its own, as builds without CUDA have it in the place of nvdec.c. */
#include "kind/video/gpu.h"

const struct bl_gpu_functions bl_nvdec_functions = {0};

int bl_nvdec_open(struct bl_gpu **gpu, const char *which, struct bl_error *e)
{
    (void)which;
    *gpu = NULL;
    return bl_error_set(e, BL_EFAIL, "this bload was built without CUDA: build it with nvcc (make CUDA=1)");
}

void bl_nvdec_close(struct bl_gpu *gpu)
{
    (void)gpu;
}

void bl_nvdec_add_times(const struct bl_gpu *gpu, struct bl_gpu_times *times)
{
    (void)gpu;
    (void)times;
}

int bl_nvdec_version(void)
{
    return 0;
}
