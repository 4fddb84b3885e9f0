/* Writing files: temporary files, direct writes, and files and folders that appear under their names only when they are
 * complete.
 *
 * A file is written under a temporary name beside its own, synced, renamed, and its directory is synced. So a reader
 * finds the old file or the new one, also after the machine fails, and never a part of one. */
#ifndef BL_OUTPUT_H
#define BL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"

/* --- temporary files ---------------------------------------------------------------------------------------------- */

/* Sets the name of the machine, or "" if the name cannot be part of a file name. */
void bl_temporary_host(char host[65]);

/* Appends a temporary name for path, "PATH.part-HOST-PID-RANDOM", to name. Processes that write the same file, on any
 * machines, get different names. */
int bl_temporary_name(const char *path, struct bl_buffer *name, struct bl_error *e);

/* Opens an unnamed file for writing and reading in dir (NULL: $TMPDIR or /tmp); closing the descriptor removes it.
 * Returns the descriptor, or a code. */
int bl_temporary_open(const char *dir, struct bl_error *e);

/* --- direct writes ------------------------------------------------------------------------------------------------ */

/* Writing past the page cache. For large data that is not read again soon, the cache costs a copy of every byte and the
 * search for free memory, which can take longer than the disk.
 *
 * Best effort: data that cannot be written this way is written as usual. */

#define BL_DIRECT_PAGE 4096 /* bytes; an alignment that every file system accepts */

/* Opens a second descriptor of a file that is open for writing, for bl_direct_pwrite only. -1: the file system does not
 * support it. */
int bl_direct_open(const char *path);

/* Writes as bl_io_pwrite does. Complete pages go through `direct` if there are many of them, and if data has the same
 * offset within a memory page as `offset` has within a page of the file. Other threads may write other parts of the
 * file at the same time. */
int bl_direct_pwrite(int direct, int fd, const void *data, size_t size, int64_t offset, const char *path,
                     struct bl_error *e);

/* --- outputs ------------------------------------------------------------------------------------------------------ */

/* An output that a user named. "-" or NULL is stdout. Pipes and devices are written directly. A regular file is written
 * under a temporary name beside it, and bl_output_commit renames it, so that an incomplete file never has the name.
 * Buffered. */
struct bl_output {
    int fd;
    char *path;      /* for messages */
    char *temporary; /* NULL if written directly */
    struct bl_buffer buffer;
    bool escapes; /* control characters, which would be commands to a terminal */
    bool is_held; /* the byte c2 was not written yet: the next byte decides whether it begins a control */
    struct bl_checksum_state *sum; /* of what was written; the caller's, NULL: not wanted */
};

/* Opens an output that a user named. A link is followed: the file that it names is replaced, and the link stays. */
int bl_output_open(struct bl_output *out, const char *path, struct bl_error *e);
/* Opens one of bload's own files, never a link or pipe; an existing file of that name is replaced. */
int bl_output_own(struct bl_output *out, const char *path, struct bl_error *e);
/* Opens an unnamed file in dir (NULL: $TMPDIR or /tmp), which out->path opens for reading until bl_output_abort ends
 * it. */
int bl_output_unnamed(struct bl_output *out, const char *dir, struct bl_error *e);
/* For text from files of others: if the output is a terminal, control characters except tabs and newlines are written
 * as \xHH. */
void bl_output_mind_terminal(struct bl_output *out);
/* Writes bytes to the buffer, which is written to the file when it has 256 KiB. BL_EFAIL: the write failed. */
int bl_output_write(struct bl_output *out, const void *data, size_t size, struct bl_error *e);
/* Writes the buffered bytes to the file. */
int bl_output_flush(struct bl_output *out, struct bl_error *e);
/* Flushes, syncs and renames. The object is empty after it, and after bl_output_abort. */
int bl_output_commit(struct bl_output *out, struct bl_error *e);
/* Flushes, syncs, and publishes a file that one of several processes writes first (bl_publish_file). */
int bl_output_publish(struct bl_output *out, struct bl_error *e);
/* Removes what was written; does nothing with an empty object, so that cleanup code can always call it. */
void bl_output_abort(struct bl_output *out);

/* Replaces path with the data, through a temporary name, fsync and rename. */
int bl_output_replace(const char *path, const void *data, size_t size, struct bl_error *e);

/* --- new folders -------------------------------------------------------------------------------------------------- */

/* A folder of files that appears under its name when all of them are in it. */

/* Start from {0}. */
struct bl_new_folder {
    char *path, *temporary;
    struct bl_buffer files; /* the names of those that were written, each with its NUL */
};

/* Begins a folder. path must not exist, or be an empty folder, and its parent must exist. BL_EUSAGE otherwise. */
int bl_new_folder_open(struct bl_new_folder *folder, const char *path, struct bl_error *e);
/* Writes a file of that name into the folder. */
int bl_new_folder_add(struct bl_new_folder *folder, const char *name, const void *data, size_t size,
                      struct bl_error *e);
/* Renames the folder to path. The object is empty after it, and after bl_new_folder_abort. */
int bl_new_folder_commit(struct bl_new_folder *folder, struct bl_error *e);
/* Removes what was written; does nothing with an empty object. */
void bl_new_folder_abort(struct bl_new_folder *folder);

/* --- publishing files --------------------------------------------------------------------------------------------- */

/* Files that several processes may produce: the first one writes, and the others must have the same bytes. */

/* Gives the complete, closed file temporary the name path, in the same directory, and makes that durable. Nothing is
 * ever replaced: if another process was first, its file must have the same bytes. BL_EDATA: the bytes differ, and the
 * message says where. temporary may still exist afterwards; the caller removes it. */
int bl_publish_file(const char *temporary, const char *path, struct bl_error *e);

#endif
