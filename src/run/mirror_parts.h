/* The struct and the functions that the files of the mirror share: mirror_read.c lists the dataset and has a scratch,
 * mirror_fetch.c copies objects into it, and mirror_write.c writes them. */
#ifndef BL_MIRROR_PARTS_H
#define BL_MIRROR_PARTS_H

#include <stddef.h>

#include "remote/sender.h"
#include "run/mirror.h"

/* An object of the dataset. */
struct bl_mirror_object {
    char *name; /* from the URL's slash on: "manifest.json" */
    char *tag;
    int64_t size;
};

#define BL_MIRROR_SHARDS "shards/" /* begins the names of shards */

struct bl_mirror {
    char *url, *dir;
    char *spool_url; /* NULL: the store has no spool */
    int lock;        /* descriptor of dir, which is locked; or -1 */
    enum bl_mirror_use use;
    int64_t task;
    bool has_lock_dir; /* the store need not compare conditions */
    struct bl_cancel *cancel;
    struct bl_remote *remote;
    struct bl_sender *sender;
    int senders;
    struct bl_mirror_object *object; /* sorted by name: what the store had when the mirror was opened */
    size_t objects, capacity;
    uint8_t *sent; /* [shards] 1: sent, or on its way */
    size_t shards;
    bool finished;        /* the store had a manifest */
    bool keeps;           /* the scratch has what a run began that the store knows: the next run needs it */
    bool begun;           /* the store has state, so that another run can go on with what is in the scratch */
    struct bl_error left; /* why uploads that others began could not be ended */
};

/* Returns the object of that name which the store had when the mirror was opened; or NULL. */
const struct bl_mirror_object *bl_mirror_find(const struct bl_mirror *mirror, const char *name);

/* Sets whether the file has the bytes of the object. A file that is missing has not. */
int bl_mirror_compare(const struct bl_mirror *mirror, const struct bl_remote_object *object, const char *path,
                      bool *same, struct bl_error *e);

/* Copies an object to a file, whose folder is made. */
int bl_mirror_save(const struct bl_mirror *mirror, const struct bl_remote_object *object, const char *path,
                   struct bl_error *e);

/* Has the scratch's file be the object of that name. *same: it was. */
int bl_mirror_fetch(const struct bl_mirror *mirror, const struct bl_mirror_object *object, bool *same,
                    struct bl_error *e);

/* Copies the objects to the scratch that the use needs, and sets mirror->spool_url. */
int bl_mirror_fetch_state(struct bl_mirror *mirror, struct bl_error *e);

/* Returns whether a run writes an object of this name. */
bool bl_mirror_is_ours(const char *name);

/* Makes room for a shard in mirror->sent. */
int bl_mirror_reserve(struct bl_mirror *mirror, int64_t shard, struct bl_error *e);

#endif
