#include "kind/video/timestamps.h"

#include <stdlib.h>

#include "base/array.h"

int bl_timestamps_add(struct bl_timestamps *t, int64_t time, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(t->time, t->capacity, t->count + 1, e))
        return BL_EFAIL;
    t->time[t->count++] = time;
    return BL_OK;
}

static int time_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void bl_timestamps_sort(struct bl_timestamps *t, bool *distinct)
{
    *distinct = true;
    if (t->count == 0)
        return;
    qsort(t->time, t->count, sizeof *t->time, time_compare);
    for (size_t i = 1; i < t->count; i++)
        *distinct = *distinct && t->time[i] != t->time[i - 1];
}

bool bl_timestamps_find(const struct bl_timestamps *t, int64_t time, size_t *index)
{
    const int64_t *found = t->count ? bsearch(&time, t->time, t->count, sizeof *t->time, time_compare) : NULL;
    if (found)
        *index = (size_t)(found - t->time);
    return found;
}

void bl_timestamps_free(struct bl_timestamps *t)
{
    free(t->time);
    *t = (struct bl_timestamps){0};
}
