/* Files that appear under their name only when they are complete. */
#ifndef BL_OUTPUT_H
#define BL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"

/* An output that a user named. "-" or NULL is stdout. Pipes and devices are written directly. A regular file is written
 * under a temporary name beside it, and bl_output_commit renames it, so that an incomplete file never has the name.
 * Buffered. */
struct bl_output {
    int fd;
    char *path;      /* for messages */
    char *temporary; /* NULL if written directly */
    struct bl_buffer buffer;
    bool escapes;                  /* control characters, which would be commands to a terminal */
    struct bl_checksum_state *sum; /* of what was written; the caller's, NULL: not wanted */
};

int bl_output_open(struct bl_output *out, const char *path, struct bl_error *e);
/* Opens one of bload's own files, never a link or pipe; an existing file of that name is replaced. */
int bl_output_own(struct bl_output *out, const char *path, struct bl_error *e);
/* Opens an unnamed file in dir (NULL: $TMPDIR or /tmp), which out->path opens for reading until bl_output_abort ends
 * it. */
int bl_output_unnamed(struct bl_output *out, const char *dir, struct bl_error *e);
/* For text of others: on a terminal control characters are written as \xHH, but for tabs and newlines. */
void bl_output_mind_terminal(struct bl_output *out);
int bl_output_write(struct bl_output *out, const void *data, size_t size, struct bl_error *e);
/* Writes what is buffered. */
int bl_output_flush(struct bl_output *out, struct bl_error *e);
/* Flushes, syncs and renames. The object is empty after it, and after bl_output_abort. */
int bl_output_commit(struct bl_output *out, struct bl_error *e);
/* The same for a file that one of several processes writes first, as bl_publish_file. */
int bl_output_publish(struct bl_output *out, struct bl_error *e);
/* Removes what was written; does nothing with an empty object, so that cleanup code can always call it. */
void bl_output_abort(struct bl_output *out);

/* Replaces path with the data, through a temporary name, fsync and rename. */
int bl_output_replace(const char *path, const void *data, size_t size, struct bl_error *e);

#endif
