/* The spool: what counting a chunk of input gives, kept for reading, so that text is tokenized once.
 *
 * A chunk has two files, named by its key. KEY.steps holds the values of the steps of all ok rows, one row after the
 * other, and of each row field after field. KEY.rows holds the rows; it is renamed into place after KEY.steps.
 *
 * The key identifies the work: which inputs are counted, by which options. The stamp identifies the inputs' content. A
 * chunk that another run left is used only if both files have the right checksums, since they are not synced. Those of
 * a shared spool are synced, and only their sizes are checked: otherwise each of a thousand tasks would read all of it.
 * Many processes may fill one spool at the same time: a file has a temporary name until it is complete, and two
 * versions of the same chunk hold the same bytes. */
#ifndef BL_SPOOL_H
#define BL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/row.h"

/* Takes a row: of status, length, reason, offset, content and further columns. */
typedef int bl_spool_visit(void *context, int input, const struct bl_row *row, struct bl_error *e);

/* Identifies the content of the inputs of a chunk: a hash of their sizes and times, which is cheap, and one of their
 * contents (kind/content.h), for inputs whose times differ; 0: not known. */
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
 * same contents. *changed: it is there with another stamp. */
int bl_spool_find(const char *dir, uint64_t key, struct bl_spool_stamp stamp, bool *found, bool *changed,
                  struct bl_error *e);

/* Visits every row of a chunk that was found, in order. */
int bl_spool_each(const char *dir, uint64_t key, bl_spool_visit *visit, void *context, struct bl_error *e);

/* Opens the steps of a chunk, to be read with pread. The descriptor, or a code. */
int bl_spool_open(const char *dir, uint64_t key, struct bl_error *e);

/* Removes a chunk. */
int bl_spool_remove(const char *dir, uint64_t key, struct bl_error *e);

/* Removes the temporary files of these chunks that killed runs left. */
int bl_spool_sweep(const char *dir, const uint64_t *key, size_t count, struct bl_error *e);

#endif
