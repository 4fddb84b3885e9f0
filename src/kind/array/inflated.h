/* Deflated arrays that were inflated: for pieces that come in another order than theirs, as a deflated array can only
 * be gone through from its beginning. Each is inflated once for all workers of a run, into one file without a name,
 * which takes as much disk as the elements of these arrays. */
#ifndef BL_INFLATED_H
#define BL_INFLATED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct bl_array_stream;

/* Shared by the workers, without locks. */
struct bl_inflated;

struct bl_inflated_copy {
    int fd;        /* the file of all copies */
    int64_t begin; /* of the first element, in that file */
    int64_t bytes; /* of elements that are there: all, or those before some damage */
    bool sound;    /* to the end of the archive's member, and its checksum was right */
};

int bl_inflated_make(struct bl_inflated **inflated, struct bl_error *e);
/* Takes NULL. Only when no copy is in use any more. */
void bl_inflated_free(struct bl_inflated *inflated);

/* Finds the copy of a deflated array, which whoever asks for the second time makes out of its stream: most arrays are
 * asked for once. *copy: NULL for the first. dir: where the file is to be, NULL as in bl_temporary_open. Waits while
 * another worker makes it. BL_EFAIL: no room, or a failing system; BL_ECANCEL. */
int bl_inflated_find(struct bl_inflated *inflated, struct bl_array_stream *stream, const char *dir,
                     const struct bl_inflated_copy **copy, struct bl_error *e);

#endif
