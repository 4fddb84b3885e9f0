/* The spool's files of steps, opened once for all workers: a plan takes documents from everywhere, and opening a file
 * takes longer than reading a document of it. */
#ifndef BL_SPOOL_FILES_H
#define BL_SPOOL_FILES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct bl_spool_files {
    atomic_int *descriptor; /* [count] -1: not open */
    size_t count, capacity;
    atomic_long left; /* files that may still be opened: half of what the process may */
};

/* Makes room for one more file. Only before workers begin. */
int bl_spool_files_add(struct bl_spool_files *files, struct bl_error *e);

/* The descriptor of file i, the steps of the chunk with this key: opened once, and closed by bl_spool_files_close. Many
 * threads may call it. *held: false if no more can be held open; then the descriptor is the caller's. Or a code. */
int bl_spool_files_get(struct bl_spool_files *files, size_t i, const char *dir, uint64_t key, bool *held,
                       struct bl_error *e);

/* Closes them all; more may be opened afterwards. */
void bl_spool_files_close(struct bl_spool_files *files);
void bl_spool_files_free(struct bl_spool_files *files);

#endif
