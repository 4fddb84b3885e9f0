/* Decodes content in separate processes, so that a file on which a library crashes or loops affects only itself.
 *
 * A worker has one decoder process for each kind that decodes, and uses it for file after file. The worker opens the
 * files and passes their descriptors to the process, which writes the steps to memory that both share. The bytes of a
 * dataset are the same with and without isolation. If a process is lost, the worker repeats the request once in a new
 * process; a second loss is reported for the file.
 *
 * A request passes through isolated_kind.c (the functions that a kind is called by), decoder_process.c (the worker's
 * side), messages.c and decoder_loop.c (the decoder process). fork_server.c starts the decoder processes, and restricts
 * their system calls.
 *
 * A process maps the current block only. So frames are written in place without a copy, and a process whose memory is
 * corrupt can damage no other block. */
#ifndef BL_ISOLATION_H
#define BL_ISOLATION_H

#include <stdbool.h>

#include "base/error.h"
#include "base/process.h"
#include "kind/isolated/isolated_kind.h"

/* --- trial -------------------------------------------------------------------------------------------------------- */

/* Tests whether isolation works on this machine: starts a process in the way of decoder processes, and has it install
 * the system call filter. *filtered tells whether the filter is active and kept the process from opening a file. The
 * caller must have one thread. BL_EFAIL: the process cannot be started. */
int bl_isolation_try(bool *filtered, struct bl_error *e);

/* --- isolation ---------------------------------------------------------------------------------------------------- */

extern const struct bl_option bl_isolation_option_table[];

/* Switches isolation off if the kind decodes on a GPU: the GPU's driver has threads, and a process with threads must
 * not fork. Call it for all kinds of a run, before any is added. BL_EUSAGE: --isolate on is requested nevertheless, or
 * the kind needs the media module, and that is missing. */
int bl_isolation_check(struct bl_isolation *isolation, const struct bl_kind *kind, const void *config,
                       struct bl_error *e);

/* Replaces *kind by an isolated kind if libraries decode its content, or some of its files. path: of the files of a
 * companion, or NULL: the inputs. Call it for the members of a composite kind
 * before the composite is made. */
void bl_isolation_add(struct bl_isolation *isolation, const struct bl_kind **kind, const void *config,
                      const char *path);

/* Returns whether a kind is isolated without a system call filter. isolation may be NULL. */
bool bl_isolation_lacks_filter(const struct bl_isolation *isolation);

/* Returns a warning if isolation is requested and there is no system call filter, and NULL otherwise. */
const char *bl_isolation_warning(const struct bl_isolation *isolation);

/* Starts the fork server if a kind is isolated. Call it when all kinds are added, before the first thread starts, and
 * before a kind counts or reads. BL_EFAIL. */
int bl_isolation_start(struct bl_isolation *isolation, struct bl_error *e);

/* Returns the processor time of the processes that have ended so far. The process of a counter or a reader ends when
 * that is closed. isolation may be NULL. */
struct bl_processor_time bl_isolation_processor_time(const struct bl_isolation *isolation);

/* Ends the idle processes and the fork server. All counters and readers must be closed before. */
void bl_isolation_stop(struct bl_isolation *isolation);

#endif
