/* A dataset in a store (s3:// or gs://), and the folder in which a run makes it.
 *
 * A run with -o URL works in a folder of its own, the scratch, as it would in a local dataset. The mirror copies what
 * the store has of the run's state into the scratch, and what the run makes into the store:
 *
 *     URL/.bload/configuration, sequences.tsv, draft.json, ...    when they are written, once
 *     URL/shards/00000/shard-00000000.safetensors                 when the shard is complete; its file is removed then
 *     URL/.bload/shard-00000000.record                            after the shard: it says that the shard is there
 *     URL/index.safetensors, shards.tsv, sequences.tsv            when all shards are there
 *     URL/manifest.json                                           last; then URL/.bload/ is removed
 *
 * Every object is written on condition that there is none. One that is there must have the same bytes, so that equal
 * runs at the same time, and runs that go on, make one dataset, and others are refused. The store decides: a scratch of
 * another configuration, or of one that the store does not have, is emptied. */
#ifndef BL_MIRROR_H
#define BL_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "remote/remote.h"
#include "store/format.h"
#include "store/shard_table.h"

struct bl_mirror;

/* The use that a command makes of the dataset. It decides which objects the mirror copies to the scratch. */
enum bl_mirror_use {
    BL_MIRROR_SCAN,   /* makes a part of a scan; may begin a dataset */
    BL_MIRROR_PACK,   /* makes shards; may begin a dataset */
    BL_MIRROR_PLAN,   /* makes the table and the plan from what is there, or nothing */
    BL_MIRROR_FINISH, /* completes it */
    BL_MIRROR_LOOK,   /* shows its state: large files are empty ones of their sizes in the scratch */
};

struct bl_mirror_request {
    const char *url;                         /* of the dataset */
    const struct bl_remote_options *options; /* must outlive the mirror, like cancel */
    const char *scratch;                     /* the folder in which the scratch is made; NULL: $TMPDIR or /tmp */
    int senders;                             /* the most shards that are sent at the same time */
    enum bl_mirror_use use;
    int64_t task; /* the number of the process's task; -1: it does all work */
    struct bl_cancel *cancel;
};

/* Whether an output is a URL, so that it needs a mirror. */
bool bl_mirror_is_needed(const char *output);

/* Lists the dataset, locks a scratch that no other process uses, and copies the state into it, or the tables of a
 * finished dataset. BL_EUSAGE: the URL names nothing that can be written, or holds other objects, or the store compares
 * no conditions. The caller closes *mirror even after an error; it is NULL if there is nothing to close. */
int bl_mirror_open(struct bl_mirror **mirror, const struct bl_mirror_request *request, struct bl_error *e);

/* Returns the scratch, and the URL without a slash at its end. */
const char *bl_mirror_dir(const struct bl_mirror *mirror);
const char *bl_mirror_url(const struct bl_mirror *mirror);

/* Returns a copy of the text, which the caller frees, with the URL wherever the text has the scratch; NULL without
 * memory. */
char *bl_mirror_name_url(const struct bl_mirror *mirror, const char *text);

/* Copies DIR/name to the store, once. BL_EDATA: the store has other bytes under the name, which then replace those in
 * the scratch, so that the caller can compare them. */
int bl_mirror_publish(struct bl_mirror *mirror, const char *name, struct bl_error *e);

/* Whether the store had an object of that name when the mirror was opened. */
bool bl_mirror_had(const struct bl_mirror *mirror, const char *name);

/* Writes URL/name, whatever is there. */
int bl_mirror_replace(struct bl_mirror *mirror, const char *name, const void *data, size_t size, struct bl_error *e);

/* Whether the store has the shard and its record, which is in the scratch then; or the shard is on its way there. */
bool bl_mirror_has_shard(const struct bl_mirror *mirror, int64_t shard);

/* Reads the record of such a shard. *found is false if it is damaged, or the shard in the store has another size. */
int bl_mirror_read_record(const struct bl_mirror *mirror, const struct bl_format *format, int64_t shard,
                          struct bl_shard_record *record, bool *found, struct bl_error *e);

/* Takes such a shard for one that the store does not have, so that it is sent. */
void bl_mirror_drop_shard(struct bl_mirror *mirror, int64_t shard);

/* Has a complete shard and its record sent, in the background. Waits while too many are on their way. */
int bl_mirror_send_shard(struct bl_mirror *mirror, const struct bl_format *format, int64_t shard, struct bl_error *e);

/* Has the files of the spool sent in the same way, which other tasks read. They are removed then. */
int bl_mirror_send_spool(struct bl_mirror *mirror, struct bl_error *e);

/* Returns the URL of the spool that the store had when the mirror was opened, or NULL. The scratch has its files of
 * rows alone. */
const char *bl_mirror_spool_url(const struct bl_mirror *mirror);

/* Copies the spool's files of steps to the scratch, for readers that take pieces from all of them at random. */
int bl_mirror_fetch_spool(struct bl_mirror *mirror, struct bl_error *e);

/* Waits until all of them are sent. */
int bl_mirror_flush(struct bl_mirror *mirror, struct bl_error *e);

/* Returns the memory that sending shards of this size takes. */
int64_t bl_mirror_memory(const struct bl_mirror *mirror, int64_t shard_bytes);

/* Returns how many shards may be in the scratch at the same time. */
int bl_mirror_shards_held(const struct bl_mirror *mirror);

/* Checks that the store has the shards of the table in the scratch, with their sizes. BL_EFAIL names the first that it
 * lacks. */
int bl_mirror_check_shards(const struct bl_mirror *mirror, const struct bl_format *format, struct bl_error *e);

/* Copies the finished dataset in the scratch to the store, the manifest last, and removes the state there. */
int bl_mirror_finish(struct bl_mirror *mirror, struct bl_error *e);

/* Removes the state in the store, and ends uploads that were begun and not completed. A store that does not let them be
 * listed or ended is no error, as the dataset is complete without that: see bl_mirror_left. */
int bl_mirror_remove_state(struct bl_mirror *mirror, struct bl_error *e);

/* Removes the state of a finished dataset, where a run was killed at its end. */
int bl_mirror_remove_leftovers(struct bl_mirror *mirror, struct bl_error *e);

/* Returns why uploads that were begun and not completed could not be ended; NULL: they were, or none was to be. */
const char *bl_mirror_left(const struct bl_mirror *mirror);

/* Sets what was transferred. */
void bl_mirror_count(const struct bl_mirror *mirror, struct bl_remote_counts *counts);

/* Ends what runs. done: also removes the scratch; otherwise it stays for the run that goes on, if there
 * is one to go on. NULL is accepted. */
void bl_mirror_close(struct bl_mirror *mirror, bool done);

/* Does the same, but leaves the scratch of an unfinished dataset to the next task. */
void bl_mirror_close_task(struct bl_mirror *mirror);

/* Removes the scratches of a dataset that no process uses. parent: as scratch above. Errors are ignored: what stays
 * costs space alone. */
void bl_mirror_remove_scratches(const char *url, const char *parent);

#endif
