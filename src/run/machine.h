/* The resources of a run: how many processors and how much memory it may use, how many workers fit, and whether the
 * disk has room. */
#ifndef BL_MACHINE_H
#define BL_MACHINE_H

#include <stdint.h>

#include "plan/plan.h"
#include "run/options.h"
#include "store/format.h"
#include "store/sequences.h"

/* --- processors and memory of the machine ------------------------------------------------------------------------- */

/* How many processors and how much memory this process may use. The affinity and the control groups (limits of a
 * container or a batch job) may allow less than the machine has. */

/* Returns the number of usable processors, at least 1. */
int bl_machine_processors(void);

/* Returns the usable memory in bytes. */
int64_t bl_machine_memory(void);

/* Return the lowest limit that a control group sets for this process, or INT64_MAX if there is none: memory in bytes,
 * processors in thousandths. root: prefix of /proc and /sys, "" outside tests. */
int64_t bl_machine_group_memory(const char *root);
int64_t bl_machine_group_processors(const char *root);

/* --- workers that fit into memory --------------------------------------------------------------------------------- */

/* Returns the bytes left for inputs: limit, or nine tenths of bl_machine_memory if it is 0, less what a run takes
 * without any input. */
int64_t bl_memory_for_inputs(int64_t limit);

/* Sets pack->share: how many workers and jobs fit into memory, by the table, plan and format of pack. reader: bytes of
 * the reader of a worker. input: bytes for decoding the largest input, if that is more than reader; otherwise, or if
 * unknown, 0. limit: bytes, or 0 for nine tenths of bl_machine_memory.
 *
 * A job gets as many small blocks as fill a MiB, and each worker has two jobs. If this exceeds the limit, first the
 * jobs become smaller, then fewer, then there are fewer workers. BL_EUSAGE: one worker with one block does not fit; the
 * message has the numbers. The memory for the largest input is required only if the user gave a limit. */
int bl_memory_resolve(struct bl_pack *pack, int64_t limit, int64_t reader, int64_t input, struct bl_error *e);

/* --- space on the disk -------------------------------------------------------------------------------------------- */

/* Checks that the missing shards, including those of other tasks, fit into the file system of the dataset; otherwise
 * returns BL_EFAIL. The sizes of compressed shards and of JPEG data are unknown and count as 0, except for shards that
 * are made again. Space that other programs will use is not considered. */
int bl_space_check(const struct bl_pack *pack, struct bl_error *e);

/* Sets *bytes to the size of all shards before compression, without JPEG data. */
int bl_space_of_shards(const struct bl_format *format, int64_t *bytes, struct bl_error *e);

/* Sets *shards to the bytes on the disk of the shards of an unfinished dataset, including shards in progress, and *work
 * to those of other files in DIR/.bload. Files that vanish meanwhile are not counted. BL_EFAIL: a folder cannot be
 * read. */
int bl_space_of_begun(const char *dir, int64_t *shards, int64_t *work, struct bl_error *e);

/* Returns the directory, or its nearest parent that exists. The caller frees it. NULL: out of memory. */
char *bl_space_folder(const char *dir);

/* Sets *bytes to the free space of the file system of dir, or to -1 if it does not report that. */
int bl_space_free(const char *dir, int64_t *bytes, struct bl_error *e);

#endif
