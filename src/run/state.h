/* The state of a run, in DIR/.bload: a lock, the configuration, the scan's table, what else is found out on the way.
 * With it a run that was stopped anywhere goes on where it was; it goes when the dataset is finished.
 *
 * Either one run has it for itself, or many tasks share it, on any number of machines. What tasks need in common is
 * written once, by whichever comes first, and the others must have made the same (base/publish.h). */
#ifndef BL_STATE_H
#define BL_STATE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

/* Names in DIR/.bload. */
#define BL_STATE_CONFIGURATION "configuration"
#define BL_STATE_SEQUENCES "sequences.tsv"
#define BL_STATE_SEQUENCES_SUM "sequences.checksum" /* of that table: see run/table_checksum.h */
#define BL_STATE_STDIN "stdin.checksum"             /* of standard input, where that was scanned */
#define BL_STATE_SCAN "scan.configuration"          /* what decides the parts of a scan */
#define BL_STATE_PLAN "plan.configuration"          /* what decides a plan that was made before packing */
#define BL_STATE_PLAN_WORDS "plan.json"             /* what there is to say of it */
#define BL_STATE_PLAN_FILE "plan.safetensors"
#define BL_STATE_DRAFT "draft.json" /* the manifest, as far as it is known before packing */

struct bl_state {
    char *dir;           /* of the dataset */
    char *folder;        /* DIR/.bload */
    char *configuration; /* DIR/.bload/configuration */
    char *sequences;     /* DIR/.bload/sequences.tsv */
    char *spool;         /* DIR/.bload/spool, a directory */
    int lock;
    int host_lock; /* of a task: tells the others of this machine that somebody is at work */
};

/* One that is not open: fine to be closed. */
#define BL_STATE_NONE                                                                                                  \
    {                                                                                                                  \
        .lock = -1, .host_lock = -1                                                                                    \
    }

/* Makes DIR and DIR/.bload and takes the lock, which ends with the process. identity: "name: value" lines of everything
 * that decides the dataset. BL_EUSAGE: DIR holds something else, or finished shards of another configuration (it says
 * what differs); BL_EFAIL: another run is at work there. */
int bl_state_open(struct bl_state *state, const char *dir, const char *identity, struct bl_error *e);

/* The same for a task: others may be at work there too, but no run that wants it for itself. What tasks
 * left half-written that were killed on this machine goes, when nobody else is at work on it. Nothing is said of a
 * configuration yet. */
int bl_state_share(struct bl_state *state, const char *dir, struct bl_error *e);

/* Writes these "name: value" lines to DIR/.bload/name, once: BL_EUSAGE when others are there, of which it names the
 * first that differs. */
int bl_state_agree(const struct bl_state *state, const char *name, const char *lines, struct bl_error *e);

/* The configuration of a task that packs: settled, and in accord with what scan and plan were made with. */
int bl_state_configure(const struct bl_state *state, const char *identity, struct bl_error *e);

/* Takes over the lock of a dataset in the making, to finish it; nothing is made. BL_EUSAGE: there is none in DIR;
 * BL_EFAIL: others are at work there. */
int bl_state_adopt(struct bl_state *state, const char *dir, struct bl_error *e);

/* Whether a shard of the dataset is finished. */
int bl_state_has_shards(const struct bl_state *state, bool *found, struct bl_error *e);

/* Whether there is a DIR/.bload. */
bool bl_state_is_there(const char *dir);

/* A name in DIR/.bload as a path, appended. */
int bl_state_path(const struct bl_state *state, const char *name, struct bl_buffer *path, struct bl_error *e);

/* The value of a line of DIR/.bload/file, appended to value; nothing where there is none. */
int bl_state_value(const struct bl_state *state, const char *file, const char *name, struct bl_buffer *value,
                   struct bl_error *e);

/* The value of a line of the configuration that a run began DIR with, appended to value; nothing when there is none. */
int bl_state_recorded(const char *dir, const char *name, struct bl_buffer *value, struct bl_error *e);

/* Removes DIR/.bload: the dataset is finished. */
int bl_state_remove(struct bl_state *state, struct bl_error *e);

/* Removes what is left of it where a run was killed at its very end: the dataset in DIR is complete. */
int bl_state_remove_leftovers(const char *dir, struct bl_error *e);
void bl_state_close(struct bl_state *state);

/* Compares "name: value" lines; BL_EUSAGE names the first that differs. what: "DIR holds a dataset". */
int bl_identity_compare(const char *there, const char *wanted, const char *what, struct bl_error *e);

/* The same where the lines there are of an earlier stage: each of them must be among those that are wanted, but for
 * those of names that only that stage has, "inputs" and "tasks". */
int bl_identity_within(const char *there, const char *wanted, const char *what, struct bl_error *e);

#endif
