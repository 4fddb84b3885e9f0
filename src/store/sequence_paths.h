/* The files that a table names. */
#ifndef BL_SEQUENCE_PATHS_H
#define BL_SEQUENCE_PATHS_H

#include "base/error.h"
#include "store/sequence_table.h"

/* The paths of all ok rows, each once, in the order of the rows, told to visit; a code other than BL_OK stops. */
int bl_sequence_paths_visit(const struct bl_sequences *sequences,
                            int (*visit)(void *context, const char *path, struct bl_error *e), void *context,
                            struct bl_error *e);

#endif
