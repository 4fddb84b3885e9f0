/* Places: where in the spool each document's steps are. 24 bytes a document, and a little for each file. */
#ifndef BL_SPOOL_INDEX_H
#define BL_SPOOL_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/kind.h"

/* Documents of one file in one stretch, which lie one after the other. */
struct bl_spool_segment {
    uint64_t key; /* of the stretch */
    size_t first; /* in document */
    size_t count;
    int64_t end; /* the step at which the last of them ends */
};

struct bl_spool_document {
    int64_t offset;   /* in the file; -1: it is the file */
    int64_t start;    /* first step in the stretch */
    uint64_t content; /* kind/content.h */
};

/* The segments of a file. */
struct bl_spool_file {
    uint64_t hash;  /* of its path; 0: no entry */
    size_t segment; /* the first */
    size_t segments;
};

struct bl_spool_index {
    uint64_t *key; /* of the stretches, in order */
    size_t keys, keys_capacity;
    struct bl_spool_segment *segment;
    size_t segments, segments_capacity;
    struct bl_spool_document *document;
    size_t documents, documents_capacity;
    struct bl_spool_file *file; /* a hash table with open addressing */
    size_t files, files_capacity;
};

/* Takes the ok rows of a stretch of the spool in. Stretches come in the order of the files. */
int bl_spool_index_add(struct bl_spool_index *places, const char *dir, const struct bl_chunk *stretch,
                       struct bl_error *e);
void bl_spool_index_free(struct bl_spool_index *places);

struct bl_spool_location {
    uint64_t key;          /* of the stretch */
    int64_t start, length; /* steps */
    uint64_t content;      /* of the document, as it was counted */
};

/* The document at offset of the file at path. False when there is none. */
bool bl_spool_index_find(const struct bl_spool_index *places, const char *path, int64_t offset,
                         struct bl_spool_location *place);

#endif
