/* Isolation: content is decoded in processes of its own, so that a file on which a library crashes, or never ends,
 * affects only itself.
 *
 * A worker has a process for each kind that decodes, and uses it for file after file. The worker opens the files and
 * passes their descriptors to the process, which writes the steps to memory that both share. The process reports what
 * the kind would report in the worker's process: the bytes of a dataset are the same with and without isolation. If a
 * process is lost, its request is tried once more in a fresh process.
 *
 * A request passes through isolated_kind.c (the functions that a kind is called by), decoder_process.c (the worker's
 * side), messages.c and decoder_loop.c (the decoder process). fork_server.c starts the decoder processes, and restricts
 * their system calls.
 *
 * A process maps the present block only: frames are written once, and a process that runs wild reaches no other
 * block. */
#ifndef BL_ISOLATION_H
#define BL_ISOLATION_H

#include <stdbool.h>

#include "base/error.h"
#include "base/process.h"
#include "kind/isolated/isolated_kind.h"

/* --- trial -------------------------------------------------------------------------------------------------------- */

/* A trial whether content can be decoded in processes of their own on this machine. */

/* Starts a process as those that decode are started, and has it install the filter of system calls. *filtered: the
 * filter is there, and the process could open no file. BL_EFAIL: no such process can be started. This process must have
 * one thread. */
int bl_isolation_try(bool *filtered, struct bl_error *e);

/* --- isolation ---------------------------------------------------------------------------------------------------- */

extern const struct bl_option bl_isolation_option_table[];

/* Call it for all kinds of a run, before any is added: a GPU's driver has threads, and a process with threads must not
 * fork. Then nothing is isolated. BL_EUSAGE: though that is requested; or the media module is missing, and the kind
 * needs it. */
int bl_isolation_check(struct bl_isolation *isolation, const struct bl_kind *kind, const void *config,
                       struct bl_error *e);

/* Puts an isolated kind into the place of *kind, if libraries decode its content. Composites are made of the kinds
 * before. */
void bl_isolation_add(struct bl_isolation *isolation, const struct bl_kind **kind, const void *config);

/* Whether something is isolated, but without a filter of system calls. isolation may be NULL. */
bool bl_isolation_lacks_filter(const struct bl_isolation *isolation);

/* A warning, or NULL: isolation is requested, and lacks the filter. */
const char *bl_isolation_warning(const struct bl_isolation *isolation);

/* Starts the fork server, if anything is isolated: before the first thread, once all kinds are added, and before they
 * count or read. */
int bl_isolation_start(struct bl_isolation *isolation, struct bl_error *e);

/* Processor time of the processes that have ended so far: those of counters and readers end with these. isolation may
 * be NULL. */
struct bl_processor_time bl_isolation_processor_time(const struct bl_isolation *isolation);

/* Ends all processes; nobody counts or reads any more. */
void bl_isolation_stop(struct bl_isolation *isolation);

#endif
