/* Chunks: the files of a scan, cut into what is counted at once: a file, a part of a large one, several small ones,
 * or some lines of a list. Where they are cut depends on the files' sizes alone, and on those of lines. */
#ifndef BL_CHUNKS_H
#define BL_CHUNKS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "kind/kind.h"
#include "base/documents.h"
#include "scan/sources.h"

struct bl_chunks {
    const struct bl_files *files;
    const char *base;           /* directory that relative paths count from, or NULL */
    const struct bl_kind *kind; /* of all files */
    const void *config;         /* the kind's own */
    size_t next;                /* file */
    int64_t begin;              /* of the next part of that file */
    int64_t bytes, modified;    /* of that file, when its first part was cut */
    const struct bl_cancel *cancel;
    char *list_path;            /* of the list that is being read; or NULL */
    struct bl_documents *lines; /* of it */
    int64_t line;               /* its number: of the last that was read */
};

/* A stretch with the files that it lies in. */
struct bl_chunk_files {
    const struct bl_file *file; /* [stretch.inputs] */
    struct bl_chunk stretch;
    struct bl_input *input; /* owned, with its paths */
    struct bl_line *line;   /* owned, with the text that they are in */
    struct bl_buffer text;
    struct bl_error fault; /* stretch.fault is in it */
    bool looked;           /* the inputs are regular files, their sizes are known */
    bool last;             /* no other part of the file comes */
};

/* The next one: 1, 0 when there are no more, or a code. To be freed with bl_chunk_files_free, whatever came. */
int bl_chunks_next(struct bl_chunks *chunks, struct bl_chunk_files *out, struct bl_error *e);
void bl_chunk_files_free(struct bl_chunk_files *files);

/* When no more are wanted. */
void bl_chunks_close(struct bl_chunks *chunks);

#endif
