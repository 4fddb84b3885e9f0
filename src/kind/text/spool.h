/* The spool: files on disk that keep the result of counting a chunk of input until it is read, so that text is
 * tokenized only once.
 *
 * A chunk has two files, named by its key. KEY.steps holds the values of the steps of all ok rows, one row after the
 * other, and of each row field after field; after each BL_SPOOL_UNIT bytes of a row, and after its end, follows their
 * checksum. KEY.rows holds the rows; it is renamed into place after KEY.steps. For flat files of ids KEY.steps is
 * empty: their steps are read from the input files.
 *
 * The key identifies the work: which inputs are counted, by which options. The stamp identifies the inputs' content. A
 * run reuses the chunk of an earlier run only if the checksums of both files match, because the files are not synced. A
 * shared spool is synced, so only the size of KEY.steps is checked before use: otherwise each of a thousand tasks would
 * read the whole spool. Every later read verifies its checksums, also in the run that wrote them. Many processes may
 * fill one spool at the same time: a file has a temporary name until it is complete, and two versions of the same chunk
 * hold the same bytes.
 *
 * Where tasks share a spool in a store, they have copies of KEY.rows in a directory. KEY.steps is read from the store,
 * if the directory lacks it.
 *
 * A scan calls bl_spool_find for each chunk and, if it is not there, bl_spool_create, bl_spool_put for each row, and
 * bl_spool_publish. Packing calls bl_spool_index_add for each chunk, then bl_spool_index_find and bl_spool_read for
 * each piece.
 *
 * Each piece is read by a call, not mapped: a failing disk must not end the process by a signal. Reads are not merged
 * either, because the pieces of neighbouring blocks are rarely close to each other in the file. */
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

/* Bytes of a document's steps that share one checksum. Pieces of cut documents are read in whole units, so a unit is
 * small. */
#define BL_SPOOL_UNIT ((int64_t)1 << 12)
#define BL_SPOOL_WINDOW 16 /* units that are read at once */

/* Takes a row, which has its status, length, reason, offset, content and further columns; row and its texts are valid
 * until it returns. input: number of the row's input in the chunk. bytes: of the steps, without checksums. An error
 * ends the visit. */
typedef int bl_spool_visit(void *context, int input, const struct bl_row *row, int64_t bytes, struct bl_error *e);

/* Identifies the content of the inputs of a chunk: a hash of their sizes and times, which is cheap, and one of their
 * contents (kind/input_stat.h), for inputs whose times differ; 0: not known. */
struct bl_spool_stamp {
    uint64_t times, contents;
};

struct bl_chunk;
struct bl_spool_writer;

/* Opens both files of a chunk under temporary names. shared: other machines will read the chunk. The caller ends the
 * writer with bl_spool_publish or bl_spool_abort. */
int bl_spool_create(struct bl_spool_writer **writer, const char *dir, uint64_t key, struct bl_spool_stamp stamp,
                    bool shared, struct bl_error *e);
/* Adds a row, and the values of its steps if it is ok. bytes: of the steps. */
int bl_spool_put(struct bl_spool_writer *writer, int input, const struct bl_row *row, const void *steps, size_t bytes,
                 struct bl_error *e);
/* Renames both files into place. bl_spool_publish and bl_spool_abort both free the writer, also after an error. */
int bl_spool_publish(struct bl_spool_writer *writer, struct bl_error *e);
void bl_spool_abort(struct bl_spool_writer *writer);

/* *found: the chunk is in the spool, complete and undamaged, with this stamp: the same times or, if they are known, the
 * same contents. *changed: it is there with another stamp. inputs: of the chunk. url: of the spool in a store; or NULL.
 */
int bl_spool_find(const char *dir, const char *url, uint64_t key, int inputs, struct bl_spool_stamp stamp, bool *found,
                  bool *changed, struct bl_error *e);

/* Returns whether the spool has files of the chunk. They are not read: they may be damaged, or have another stamp. */
bool bl_spool_has(const char *dir, uint64_t key);

/* Visits every row of a chunk that was found, in order. inputs: how many the chunk has. BL_EFAIL: the rows are not
 * those that were written; then some may have been visited. */
int bl_spool_each(const char *dir, uint64_t key, int inputs, bl_spool_visit *visit, void *context, struct bl_error *e);

/* Bytes that the steps of a document take in KEY.steps, with their checksums. */
int64_t bl_spool_stored(int64_t bytes);
/* The inverse: bytes of steps in a stored size that includes checksums. */
int64_t bl_spool_plain(int64_t stored);

/* The steps of a document in the spool. */
struct bl_spool_steps {
    const char *dir; /* or URL, for messages */
    uint64_t key;    /* of the chunk */
    int fd;          /* of its steps */
    int64_t begin;   /* in the file */
    int64_t bytes;   /* without the checksums */
};

/* A reader's buffer: the units that it read last, with their checksums. Each reader has one; start from {0}. */
struct bl_spool_window {
    uint64_t key;
    int64_t at;
    size_t size; /* 0: none */
    uint8_t data[BL_SPOOL_WINDOW * (BL_SPOOL_UNIT + sizeof(uint64_t))];
};

/* Reads size bytes of the document's steps, starting at byte `from` of the steps. BL_EFAIL: a checksum does not match.
 */
int bl_spool_read(struct bl_spool_window *window, const struct bl_spool_steps *steps, int64_t from, void *out,
                  size_t size, struct bl_error *e);

/* Opens KEY.steps for pread. Returns the descriptor, which the caller closes, or an error code. url: of the spool in a
 * store; or NULL. *is_copy: the file was not in the directory, and was copied from there; it is removed when it is
 * closed. */
int bl_spool_open(const char *dir, const char *url, uint64_t key, bool *is_copy, struct bl_error *e);

/* Announces that the steps of a chunk will be read from a store soon, so that they are fetched in the background, or
 * withdraws an announcement. Files in the directory: nothing. */
void bl_spool_announce(const char *url, uint64_t key, bool is_needed);

/* Removes both files of a chunk. It is no error if one does not exist. */
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

/* Returns the descriptor of file i, the steps of the chunk with this key, or an error code. Many threads may call it.
 * *held is true if the table owns the descriptor until bl_spool_files_close. The caller must close the descriptor
 * otherwise: the limit of open files is reached, or the file is a copy, and the disk need not have room for all. url:
 * as in bl_spool_open. */
int bl_spool_files_get(struct bl_spool_files *files, size_t i, const char *dir, const char *url, uint64_t key,
                       bool *held, struct bl_error *e);

/* Closes all files; more may be opened afterwards. No thread may read from them at that time. */
void bl_spool_files_close(struct bl_spool_files *files);

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

/* A document of the index: the steps of the next one begin where those of this one end. */
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
    int64_t bytes;    /* of its steps, without checksums */
    int64_t steps;    /* the number of steps, where the chunk has rows alone */
    uint64_t content; /* of the document, as it was counted */
};

/* Finds the document at this byte offset of the file at path. Returns false if the index has none. */
bool bl_spool_index_find(const struct bl_spool_index *index, const char *path, int64_t offset,
                         struct bl_spool_location *location);

#endif
