/* Chunks: what one worker counts at once: a file, a part of a large one, several small ones, or some lines of a list.
 * Where chunks begin depends on the sizes of files and lines alone: tasks must cut alike, whatever their workers.
 * Toward the end of the inputs chunks become small, so that all workers end together. */
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
    const struct bl_kind *kind; /* of all files */
    const void *config;         /* the kind's own */
    size_t next;                /* file */
    int64_t begin;              /* of the next part of that file */
    int64_t bytes, modified;    /* of that file, when its first part was cut */
    size_t ahead;               /* files before this one were looked at for their sizes, */
    int64_t ahead_bytes;        /* which add up to this from file `next` on */
    const struct bl_cancel *cancel;
    char *list_path;             /* of the list that is being read; or NULL */
    struct bl_list_lines *lines; /* of it */
};

/* A chunk with the files that it lies in. */
struct bl_chunk_files {
    const struct bl_file *file; /* [chunk.inputs] */
    struct bl_chunk chunk;
    struct bl_input *input; /* [capacity], chunk.inputs used; owned, with their paths */
    size_t capacity;
    struct bl_line *line; /* [line_capacity], owned, with the text that they are in */
    size_t line_capacity;
    struct bl_buffer text;
    struct bl_error fault; /* chunk.fault is in it */
    bool is_checked;       /* the inputs are regular files, their sizes are known */
    bool is_last;          /* no other part of the file comes */
};

/* *found: false when there are no more. Free *out with bl_chunk_files_free, also after an error. */
int bl_chunks_next(struct bl_chunks *chunks, struct bl_chunk_files *out, bool *found, struct bl_error *e);
void bl_chunk_files_free(struct bl_chunk_files *files);

/* To be called when no more are needed. */
void bl_chunks_close(struct bl_chunks *chunks);

#endif
