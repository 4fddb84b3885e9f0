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
 * the same chunk hold the same bytes. */
#ifndef BL_SPOOL_H
#define BL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
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

#endif
