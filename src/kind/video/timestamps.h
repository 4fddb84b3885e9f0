/* The times at which frames are shown, in ticks of the stream's time base. */
#ifndef BL_TIMESTAMPS_H
#define BL_TIMESTAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_timestamps {
    int64_t *time; /* [count] */
    size_t count, capacity;
};

/* BL_EFAIL: out of memory. */
int bl_timestamps_add(struct bl_timestamps *times, int64_t time, struct bl_error *e);

/* Sorts them in ascending order; *distinct: no two are equal. */
void bl_timestamps_sort(struct bl_timestamps *times, bool *distinct);
/* Finds a time among sorted and distinct ones. */
bool bl_timestamps_find(const struct bl_timestamps *times, int64_t time, size_t *index);

void bl_timestamps_free(struct bl_timestamps *times);

#endif
