/* The spool: what counting a chunk of input gives, kept for reading, so that text is tokenized once.
 *
 * A chunk has two files, named by its key. KEY.steps holds the values of the steps of all ok rows, one row after the
 * other, and of each row field after field; after each BL_SPOOL_UNIT bytes of a row, and after its end, follows their
 * checksum. KEY.rows holds the rows; it is renamed into place after KEY.steps. Of flat files of ids there are rows
 * alone: their steps are read where they are.
 *
 * The key identifies the work: which inputs are counted, by which options. The stamp identifies the inputs' content. A
 * chunk that another run left is used only if both files have the right checksums, since they are not synced. Those of
 * a shared spool are synced, and of their steps only the size is looked at before: otherwise each of a thousand tasks
 * would read all of it. What is read is compared with its checksum each time, in the run that wrote it, too. Many
 * processes may fill one spool at the same time: a file has a temporary name until it is complete, and two versions of
 * the same chunk hold the same bytes.
 *
 * Pieces are read by a call each, not mapped: a failing disk must not end the process by a signal. They are not
 * merged into larger reads either, since of the pieces of a MiB of blocks hardly two lie near each other. */
#ifndef BL_SPOOL_H
#define BL_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/list.h"
#include "kind/row.h"

/* Bytes of a document's steps that have a checksum of their own. Pieces of cut documents are read in whole units, so it
 * is small. */
#define BL_SPOOL_UNIT ((int64_t)1 << 12)
#define BL_SPOOL_WINDOW 16 /* units that are read at once */

/* Takes a row: of status, length, reason, offset, content and further columns. bytes: of its steps. */
typedef int bl_spool_visit(void *context, int input, const struct bl_row *row, int64_t bytes, struct bl_error *e);

/* Identifies the content of the inputs of a chunk: a hash of their sizes and times, which is cheap, and one of their
 * contents (kind/input_stat.h), for inputs whose times differ; 0: not known. */
struct bl_spool_stamp {
    uint64_t times, contents;
};

struct bl_chunk;
struct bl_spool_writer;

/* shared: other machines will read the chunk. */
int bl_spool_create(struct bl_spool_writer **writer, const char *dir, uint64_t key, struct bl_spool_stamp stamp,
                    bool shared, struct bl_error *e);
/* Adds a row, and the values of its steps if it is ok. */
int bl_spool_put(struct bl_spool_writer *writer, int input, const struct bl_row *row, const void *steps, size_t bytes,
                 struct bl_error *e);
/* Renames both files into place. The writer is freed by it and by bl_spool_abort. */
int bl_spool_publish(struct bl_spool_writer *writer, struct bl_error *e);
void bl_spool_abort(struct bl_spool_writer *writer);

/* *found: the chunk is in the spool, complete and undamaged, with this stamp: the same times or, if they are known, the
 * same contents. *changed: it is there with another stamp. inputs: of the chunk. */
int bl_spool_find(const char *dir, uint64_t key, int inputs, struct bl_spool_stamp stamp, bool *found, bool *changed,
                  struct bl_error *e);

/* Visits every row of a chunk that was found, in order. inputs: how many the chunk has. BL_EFAIL: the rows are not
 * those that were written; then some may have been visited. */
int bl_spool_each(const char *dir, uint64_t key, int inputs, bl_spool_visit *visit, void *context, struct bl_error *e);

/* Bytes that the steps of a document take in KEY.steps, with their checksums. */
int64_t bl_spool_stored(int64_t bytes);
/* The reverse. */
int64_t bl_spool_plain(int64_t stored);

/* The steps of a document in the spool. */
struct bl_spool_steps {
    const char *dir; /* for messages */
    uint64_t key;    /* of the chunk */
    int fd;          /* of its steps */
    int64_t begin;   /* in the file */
    int64_t bytes;   /* without the checksums */
};

/* The units that were read last, with their checksums; zero at first. One for each reader. */
struct bl_spool_window {
    uint64_t key;
    int64_t at;
    size_t size; /* 0: none */
    uint8_t data[BL_SPOOL_WINDOW * (BL_SPOOL_UNIT + sizeof(uint64_t))];
};

/* Reads size bytes of the document's steps, of which the first is number `from`. BL_EFAIL: they are not those that were
 * written. */
int bl_spool_read(struct bl_spool_window *window, const struct bl_spool_steps *steps, int64_t from, void *out,
                  size_t size, struct bl_error *e);

/* Opens the steps of a chunk, to be read with pread. The descriptor, or a code. */
int bl_spool_open(const char *dir, uint64_t key, struct bl_error *e);

/* Removes a chunk. */
int bl_spool_remove(const char *dir, uint64_t key, struct bl_error *e);

/* Removes the temporary files of these chunks that killed runs left. */
int bl_spool_sweep(const char *dir, const uint64_t *key, size_t count, struct bl_error *e);

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

#endif
