/* Which GPUs: what --gpu says. */
#ifndef BL_GPU_LIST_H
#define BL_GPU_LIST_H

#include "base/error.h"

#define BL_GPUS_MAX 64

struct bl_gpu_list {
    int number[BL_GPUS_MAX];
    int count; /* 0: all */
};

/* "all", or numbers with commas between them, none twice. BL_EUSAGE. */
int bl_gpu_list_parse(struct bl_gpu_list *list, const char *text, struct bl_error *e);

#endif
