/* Divides the inputs of a scan into chunks. A chunk is the work that one worker counts in one call: a file, a part of a
 * large file, several small files, or some lines of a list.
 *
 * The limits of chunks depend only on the sizes of files and lines, since all tasks must divide the inputs in the same
 * way, whatever their number of workers. Toward the end of the inputs chunks become small, so that all workers end at
 * about the same time. */
#ifndef BL_CHUNKS_H
#define BL_CHUNKS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "kind/kind.h"
#include "scan/files.h"
#include "scan/list_lines.h"

struct bl_chunks {
    const struct bl_files *files;
    const char *base;           /* directory that relative paths count from, or NULL */
    const struct bl_kind *kind; /* the kind of all files */
    const void *config;         /* the configuration of that kind */
    size_t next;                /* number of the next file */
    int64_t begin;              /* first byte of the next part of that file */
    int64_t bytes, modified;    /* size and modification time of that file when its first part was cut */
    size_t ahead;               /* the sizes of all files before this one are known, */
    int64_t ahead_bytes;        /* and from file `next` on they have so many bytes */
    const struct bl_cancel *cancel;
    char *list_path;             /* path of the list that is being read; or NULL */
    struct bl_list_lines *lines; /* the lines of that list; or NULL */
};

/* A chunk with its files, or with its lines of a list. */
struct bl_chunk_files {
    const struct bl_file *file; /* [chunk.inputs] */
    struct bl_chunk chunk;
    struct bl_input *input; /* [capacity], chunk.inputs used; owned, with their paths */
    size_t capacity;
    struct bl_line *line; /* [line_capacity], owned; their texts are in text */
    size_t line_capacity;
    struct bl_buffer text;
    struct bl_error fault; /* holds the text of chunk.fault */
    bool is_checked;       /* the inputs are known to be usable, with their sizes; otherwise the worker checks them */
    bool is_last;          /* the chunk is the last part of its file */
    bool is_announced;     /* bl_chunk_files_announce was called */
};

/* Makes the next chunk. *found is false if there are no more. Free *out with bl_chunk_files_free, also after an error.
 */
int bl_chunks_next(struct bl_chunks *chunks, struct bl_chunk_files *out, bool *found, struct bl_error *e);
void bl_chunk_files_free(struct bl_chunk_files *files);

/* Announces that the chunk will be counted, so that objects that are read from their beginning to their end are fetched
 * in the background; and that it was counted, so that they need not be kept for it. bl_chunk_files_free does the
 * latter, too. */
void bl_chunk_files_announce(struct bl_chunk_files *files, const struct bl_kind_scan *ops, const void *config);
void bl_chunk_files_release(struct bl_chunk_files *files);

/* Closes the list that is being read, if there is one. Call it when no more chunks are needed. */
void bl_chunks_close(struct bl_chunks *chunks);

#endif
