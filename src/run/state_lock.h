/* The lock of a run's folder, DIR/.bload.
 *
 * flock(2) is it, where the file system has that: it ends with the process. Where it has none, a file "lock-alone"
 * keeps other runs away, which says by whom it was made: one of a process of this machine that is gone is taken over;
 * one of another machine has to be removed by hand if its run was killed. Tasks, which share the folder, make no such
 * file. */
#ifndef BL_STATE_LOCK_H
#define BL_STATE_LOCK_H

#include <stdbool.h>

#include "base/error.h"

#define BL_STATE_LOCK "lock"
#define BL_STATE_LOCK_ALONE "lock-alone"

/* *fd: of the lock's file. *alone: a file keeps others away, too. shared: for a task. dir: for messages. BL_EFAIL:
 * another run has it. */
int bl_state_lock_take(const char *folder, const char *dir, bool shared, int *fd, bool *alone, struct bl_error *e);

/* Gives up what bl_state_lock_take got, and removes its files if remove says so: then the folder is to be removed.
 * BL_EFAIL: a file cannot be removed; e is not used otherwise. */
int bl_state_lock_release(const char *folder, int *fd, bool *alone, bool remove, struct bl_error *e);

#endif
