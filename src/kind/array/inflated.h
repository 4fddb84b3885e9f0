/* The set of inflated copies of the deflated arrays in NPZ archives, which all workers of a run share. */
#ifndef BL_INFLATED_H
#define BL_INFLATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Each array is inflated once for all workers of a run, into one file without a name. That file takes as much disk
 * space as the elements of these arrays. */

struct bl_array_copy;
struct bl_array_file;

/* The set of copies. All workers share it, and it has a lock. */
struct bl_inflated;

/* Makes an empty set. BL_EFAIL: out of memory. */
int bl_inflated_make(struct bl_inflated **inflated, struct bl_error *e);

/* Frees the set and removes the copies, none of which may be in use. NULL is accepted. */
void bl_inflated_free(struct bl_inflated *inflated);

/* Finds the copy of a deflated array. Most arrays are requested once, so the first request makes no copy: *copy is
 * NULL. The second request reads the array and makes the copy; others wait for it. dir: the directory of the copies,
 * NULL as in bl_temporary_open. BL_EFAIL: no room, or a failing system; BL_ECANCEL. */
int bl_inflated_find(struct bl_inflated *inflated, struct bl_array_file *file, const char *dir,
                     const struct bl_array_copy **copy, struct bl_error *e);

#endif
