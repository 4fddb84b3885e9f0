/* The state of a run, in DIR/.bload: a lock, the configuration, the scan's table. With it a run that was stopped
 * anywhere goes on where it was; it goes when the dataset is finished. */
#ifndef BL_STATE_H
#define BL_STATE_H

#include "base/buffer.h"
#include "base/error.h"

struct bl_state {
    char *dir;           /* of the dataset */
    char *folder;        /* DIR/.bload */
    char *configuration; /* DIR/.bload/configuration */
    char *sequences;     /* DIR/.bload/sequences.tsv */
    char *spool;         /* DIR/.bload/spool, a directory */
    int lock;
};

/* Makes DIR and DIR/.bload and takes the lock, which ends with the process. identity: "name: value" lines of everything
 * that decides the dataset. BL_EUSAGE: DIR holds something else, or finished shards of another configuration (it says
 * what differs); BL_EFAIL: another run is at work there. */
int bl_state_open(struct bl_state *state, const char *dir, const char *identity, struct bl_error *e);

/* The value of a line of the configuration that a run began DIR with, appended to value; nothing when there is none. */
int bl_state_recall(const char *dir, const char *name, struct bl_buffer *value, struct bl_error *e);

/* Removes DIR/.bload: the dataset is finished. */
int bl_state_remove(struct bl_state *state, struct bl_error *e);

/* Removes what is left of it where a run was killed at its very end: the dataset in DIR is complete. */
int bl_state_clear(const char *dir, struct bl_error *e);
void bl_state_close(struct bl_state *state);

/* Compares "name: value" lines; BL_EUSAGE names the first that differs. what: "DIR holds a dataset". */
int bl_identity_compare(const char *there, const char *wanted, const char *what, struct bl_error *e);

#endif
