/* The GPUs that --gpu lists. */
#ifndef BL_GPU_LIST_H
#define BL_GPU_LIST_H

#include "base/error.h"

#define BL_GPUS_MAX 64

struct bl_gpu_list {
    int number[BL_GPUS_MAX];
    int count; /* 0: all */
};

/* Parses "all", or distinct numbers separated by commas. BL_EUSAGE. */
int bl_gpu_list_parse(struct bl_gpu_list *list, const char *text, struct bl_error *e);

#endif
