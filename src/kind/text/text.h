/* The text kind: documents of JSONL or plain text, tokenized, or token ids as they are.
 *
 * A document passes through base/documents.c (bytes of a file), item_json.c (one line of JSON), item.c (its ids and
 * values), count.c (its row, and its steps in the spool), spool.c (the files of the spool), and read.c (the index of
 * the spool, and the reader). */
#ifndef BL_KIND_TEXT_TEXT_H
#define BL_KIND_TEXT_TEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/kind.h"

/* --- kind --------------------------------------------------------------------------------------------------------- */

extern const struct bl_kind bl_kind_text;

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* Counting text: documents to rows, and to steps in the spool. */

/* As in struct bl_kind. */
int bl_text_divisible(const void *config, const struct bl_input *input, bool *divisible, struct bl_error *e);
int bl_text_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                         struct bl_error *e);
int bl_text_count_chunk(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                        struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);

/* --- spool files -------------------------------------------------------------------------------------------------- */

/* The spool's files of steps, opened once for all workers: a plan takes documents from everywhere, and opening a file
 * takes longer than reading a document of it. */

struct bl_spool_files {
    atomic_int *descriptor; /* [count] -1: not open */
    size_t count, capacity;
    atomic_long left; /* files that may still be opened: half of what the process may */
};

/* The descriptor of file i, the steps of the chunk with this key: opened once, and closed by bl_spool_files_close. Many
 * threads may call it. *held: false if no more can be held open; then the descriptor is the caller's. Or a code. */
int bl_spool_files_get(struct bl_spool_files *files, size_t i, const char *dir, uint64_t key, bool *held,
                       struct bl_error *e);

/* Closes them all; more may be opened afterwards. */
void bl_spool_files_close(struct bl_spool_files *files);
void bl_spool_files_free(struct bl_spool_files *files);

/* --- spool index -------------------------------------------------------------------------------------------------- */

/* The index of the spool: where the steps of each document are. It takes 24 bytes a document, and a little for each
 * file. */

/* The documents of one file in one chunk, in order. */
struct bl_spool_segment {
    size_t chunk; /* in key */
    size_t first; /* in document */
    size_t count;
    int64_t end; /* where the last of them ends, as start below */
};

struct bl_spool_document {
    int64_t offset;   /* in the file; -1: it is the file */
    int64_t start;    /* first byte in the steps of the chunk; if it has rows alone, first step */
    uint64_t content; /* kind/input_stat.h */
};

/* The segments of a file. */
struct bl_spool_file {
    uint64_t hash;  /* of its path; 0: no entry */
    size_t segment; /* the first */
    size_t segments;
};

struct bl_spool_index {
    uint64_t *key; /* of the chunks, in order */
    size_t keys, keys_capacity;
    struct bl_spool_files *files_open; /* of the chunks; owned, and shared by all readers; NULL: no chunks */
    struct bl_spool_segment *segment;
    size_t segments, segments_capacity;
    struct bl_spool_document *document;
    size_t documents, documents_capacity;
    struct bl_spool_file *file;
    size_t files, files_capacity;
    struct bl_hash by_path;
};

/* Adds the ok rows of a chunk in the spool. Chunks must come in the order of the files. */
int bl_spool_index_add(struct bl_spool_index *index, const char *dir, const struct bl_chunk *chunk, struct bl_error *e);
void bl_spool_index_free(struct bl_spool_index *index);

struct bl_spool_location {
    size_t chunk;     /* its number in key */
    int64_t start;    /* byte in the steps of the chunk */
    int64_t bytes;    /* of its steps, without checksums; or, of a chunk with rows alone, */
    int64_t steps;    /* how many it has */
    uint64_t content; /* of the document, as it was counted */
};

/* The document at offset of the file at path. False when there is none. */
bool bl_spool_index_find(const struct bl_spool_index *index, const char *path, int64_t offset,
                         struct bl_spool_location *location);

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reading text: the steps of documents, out of the spool. */

/* As in struct bl_kind. */
int bl_text_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                 struct bl_reader **reader, struct bl_error *e);

#endif
