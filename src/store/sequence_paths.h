/* The files that a table refers to. */
#ifndef BL_SEQUENCE_PATHS_H
#define BL_SEQUENCE_PATHS_H

#include "base/error.h"
#include "store/sequence_table.h"

/* Calls visit with the paths of all ok rows, each once, in the order of the rows. A code other than BL_OK ends it. */
int bl_sequence_paths_visit(const struct bl_sequences *sequences,
                            int (*visit)(void *context, const char *path, struct bl_error *e), void *context,
                            struct bl_error *e);

#endif
