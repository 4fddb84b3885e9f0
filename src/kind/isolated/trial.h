/* Tries whether content can be decoded in processes of their own here. */
#ifndef BL_ISOLATION_TRIAL_H
#define BL_ISOLATION_TRIAL_H

#include <stdbool.h>

#include "base/error.h"

/* Starts a process as those that decode are started, and has it install the filter of system calls. *filtered: the
 * filter is there, and the process could open no file. BL_EFAIL: no such process can be started. This process must have
 * one thread. */
int bl_isolation_try(bool *filtered, struct bl_error *e);

#endif
