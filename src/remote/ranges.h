/* Reads objects by ranges, for formats whose readers jump: the demuxers of videos, arrays with an index at the end,
 * tars.
 *
 * What is fetched stays in windows, a few for each object that is open. A window that is read on from its end grows
 * with each request, and one after a jump begins small: the header of a video, its index at the end and its pictures
 * are two small requests and some large ones. */
#ifndef BL_RANGES_H
#define BL_RANGES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/input_file.h"
#include "remote/remote.h"

/* Objects that were closed, with their windows: the scan reads the header of a video, and packing reads it again. */
struct bl_ranges {
    pthread_mutex_t lock;
    struct bl_far *resting; /* a list, the last one that was closed first */
    int count;              /* of them */
    atomic_llong bytes;     /* of the windows of all objects, also of those that are open */
};

/* BL_EFAIL: out of memory. */
int bl_ranges_init(struct bl_ranges *ranges, struct bl_error *e);

/* No object may be open. */
void bl_ranges_free(struct bl_ranges *ranges);

/* Opens an object for one thread. begin: the first byte that will be read; an object that rests is taken if it has the
 * byte. remote and object must outlive it, also when it rests. */
int bl_ranges_open(struct bl_ranges *ranges, struct bl_remote *remote, const struct bl_remote_object *object,
                   int64_t begin, struct bl_far **far, struct bl_error *e);

/* Reads bytes at an offset of the object. They lie between begin and end, outside of which nothing is read ahead. */
int bl_ranges_read(struct bl_far *far, void *data, size_t size, int64_t offset, int64_t begin, int64_t end,
                   struct bl_error *e);
void bl_ranges_close(struct bl_far *far);

#endif
