/* Copies of objects, which threads fetch in the background.
 *
 * A copy is an unnamed file, so that no name of an object becomes one of a file, and nothing is left behind. It has the
 * extents of the object that were announced or asked for, each fetched once. Readers follow it: they read what is
 * there, and wait for what is not. What is announced is fetched ahead of its readers, within limits of connections,
 * bytes and descriptors; what a reader waits for is fetched at once.
 *
 * A copy is kept while it is announced or followed, and then while later ones have room beside it, as some formats are
 * opened twice: for their beginning and for all. */
#ifndef BL_COPIES_H
#define BL_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "remote/remote.h"

/* Objects of at most so many bytes are fetched as a whole, by one request. */
#define BL_REMOTE_WHOLE ((int64_t)16 << 20)

/* Fetches bytes of an object, as bl_remote_fetch does. */
typedef int bl_copies_fetch(void *context, const struct bl_remote_object *object, int64_t begin, int64_t end,
                            bl_remote_sink *sink, void *sink_context, bool *lacks_ranges, struct bl_error *e);

/* The copies of a process, for any number of threads. No thread is started before the first object is announced or
 * opened. */
struct bl_copies;

int bl_copies_open(struct bl_copies **out, bl_copies_fetch *fetch, void *context, struct bl_error *e);

/* Waits for all fetches, which the caller has end soon, and removes the copies. No reader may be left. NULL is
 * accepted. */
void bl_copies_close(struct bl_copies *copies);

/* The object's texts must stay valid until close, at the same addresses: its URL's address identifies it. */
void bl_copies_announce(struct bl_copies *copies, const struct bl_remote_object *object, int64_t begin, int64_t end);
void bl_copies_release(struct bl_copies *copies, const struct bl_remote_object *object);

/* A copy that a reader follows. */
struct bl_far_copy;

/* Returns a descriptor of the copy, whose position is its beginning, or a code. Its bytes may still be missing. The
 * caller closes the descriptor, and then leaves the copy. */
int bl_copies_follow(struct bl_copies *copies, const struct bl_remote_object *object, struct bl_far_copy **copy,
                     struct bl_error *e);

/* Waits for bytes at an offset. *ready: how many are there from the offset on; 0: the object ends before it. */
int bl_copies_wait(struct bl_far_copy *copy, int64_t offset, int64_t *ready, struct bl_error *e);
void bl_copies_leave(struct bl_far_copy *copy);

/* Returns a descriptor of a copy of all bytes, or a code. */
int bl_copies_get(struct bl_copies *copies, const struct bl_remote_object *object, struct bl_error *e);

#endif
