#include "kind/video/gpu_list.h"

#include <string.h>

#include "base/text.h"

static int gpu_list_add(struct bl_gpu_list *list, const char *text, size_t size)
{
    int64_t number;
    if (list->count == BL_GPUS_MAX || !bl_text_to_int(text, size, 0, 9999, &number))
        return -1;
    for (int i = 0; i < list->count; i++) {
        if (list->number[i] == number)
            return -1;
    }
    list->number[list->count++] = (int)number;
    return 0;
}

int bl_gpu_list_parse(struct bl_gpu_list *list, const char *text, struct bl_error *e)
{
    list->count = 0;
    if (!strcmp(text, "all"))
        return BL_OK;
    for (const char *at = text;; at++) {
        size_t size = strcspn(at, ",");
        if (gpu_list_add(list, at, size))
            return bl_error_set(e, BL_EUSAGE, "--gpu '%s': write all, or numbers separated by commas, such as 0,1",
                                text);
        at += size;
        if (!*at)
            return BL_OK;
    }
}
