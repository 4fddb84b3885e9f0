/* Files that appear under their name only when they are complete. */
#ifndef BL_OUTPUT_H
#define BL_OUTPUT_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

/* An output that a user named: "-" or NULL is stdout; a pipe or device is written to directly; a file is written beside
 * its name and renamed by bl_output_commit, so that nothing half-written bears it. Buffered. */
struct bl_output {
    int fd;
    char *path;      /* for messages */
    char *temporary; /* NULL when written to directly */
    struct bl_buffer buffer;
};

int bl_output_open(struct bl_output *out, const char *path, struct bl_error *e);
/* The same for a file of the tool's own, which is no link and no pipe: what bears its name is replaced. */
int bl_output_own(struct bl_output *out, const char *path, struct bl_error *e);
int bl_output_write(struct bl_output *out, const void *data, size_t size, struct bl_error *e);
/* Flushes, syncs and renames. After it, or after bl_output_abort, the object is empty. */
int bl_output_commit(struct bl_output *out, struct bl_error *e);
/* The same for a file that is written once, by whoever comes first: nothing is ever replaced. 1: somebody else was
 * first, with the same bytes. BL_EFAIL: with other ones; it says where they differ. */
int bl_output_publish(struct bl_output *out, struct bl_error *e);
/* Removes what was written; does nothing to an empty object, so that a cleanup label can always call it. */
void bl_output_abort(struct bl_output *out);

/* Writes data to path by way of a temporary name, fsync and rename. */
int bl_output_replace(const char *path, const void *data, size_t size, struct bl_error *e);

#endif
