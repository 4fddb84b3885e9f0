#include "kind/left_out.h"

#include <string.h>

const char *bl_left_out_option(enum bl_left_out by)
{
    static const char *const name[] = {"exclude",  "extend", "where", "min-trained", "dedup",
                                       "dedup-by", "take",   "share", "first"};
    return name[by];
}

void bl_left_out_count(struct bl_left_out_counts *counts, const char *reason)
{
    size_t begin = sizeof BL_LEFT_OUT - 1;
    if (strncmp(reason, BL_LEFT_OUT, begin) != 0)
        return;
    size_t size = strcspn(reason + begin, " :");
    for (int by = 0; by < BL_LEFT_OUT_OPTIONS; by++) {
        const char *name = bl_left_out_option((enum bl_left_out)by);
        counts->by[by] += strlen(name) == size && memcmp(reason + begin, name, size) == 0;
    }
}
