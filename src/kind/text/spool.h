/* The spool: what counting a stretch of input gives, kept for reading, so that text is tokenized once.
 *
 * A stretch is two files, named by its key. KEY.rows tells of each row that was found; it appears, by rename, after
 * KEY.steps, the values of the steps of all ok rows one after the other: for each row field after field. A stretch that
 * another run left is taken only if the checksums of both are right, as nothing is synced; one that is shared is, and
 * only its sizes are looked at: each of a thousand tasks would read all of it. The key says what was to be counted; the
 * stamp, what tells whether the files are the same ones still. Many processes may fill one spool at once: until it is
 * whole, a file has a name of its own, and two of the same stretch hold the same bytes. */
#ifndef BL_SPOOL_H
#define BL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/row.h"

/* Takes a row: of status, length, reason, offset, content and further columns. */
typedef int bl_spool_visit(void *context, int input, const struct bl_row *row, struct bl_error *e);

/* What tells whether the files of a stretch are those that were counted: their sizes and times, which are asked for
 * cheaply, or else what they hold (kind/content.h); 0: not asked for. */
struct bl_spool_stamp {
    uint64_t times, contents;
};

struct bl_spool_writer;

/* shared: other machines will read it. */
int bl_spool_create(struct bl_spool_writer **writer, const char *dir, uint64_t key, struct bl_spool_stamp stamp,
                    bool shared, struct bl_error *e);
/* A row, and bytes of its steps where it is ok. */
int bl_spool_put(struct bl_spool_writer *writer, int input, const struct bl_row *row, const void *steps, size_t bytes,
                 struct bl_error *e);
/* Gives both files their names. The writer is gone after it, and after bl_spool_abort. */
int bl_spool_publish(struct bl_spool_writer *writer, struct bl_error *e);
void bl_spool_abort(struct bl_spool_writer *writer);

/* 1 when the stretch is there, complete and undamaged; 0, or a code. *other: it is there with another stamp, in times
 * and, where these are asked for, contents. */
int bl_spool_find(const char *dir, uint64_t key, struct bl_spool_stamp stamp, bool *other, struct bl_error *e);

/* Every row of a stretch that is there, in order. */
int bl_spool_each(const char *dir, uint64_t key, bl_spool_visit *visit, void *context, struct bl_error *e);

/* Opens the steps of a stretch, to be read with pread. The descriptor, or a code. */
int bl_spool_open(const char *dir, uint64_t key, struct bl_error *e);

/* Removes a stretch. */
int bl_spool_remove(const char *dir, uint64_t key, struct bl_error *e);

/* Removes what runs that were killed left of these stretches. */
int bl_spool_sweep(const char *dir, const uint64_t *key, size_t count, struct bl_error *e);

#endif
