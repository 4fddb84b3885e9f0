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

/* Returns the lowest limit that a control group sets for this process, or INT64_MAX. root: prefix of /proc and /sys, ""
 * outside tests. Memory in bytes, processors in thousandths. */
int64_t bl_machine_group_memory(const char *root);
int64_t bl_machine_group_processors(const char *root);

/* --- workers that fit into memory --------------------------------------------------------------------------------- */

/* Memory: how many workers and blocks in progress fit into it. */

/* The limit that is given, or nine tenths of bl_machine_memory for 0; less what a run takes without any input. */
int64_t bl_memory_for_inputs(int64_t limit);

/* Decides how many workers and blocks fit, of pack's table, plan and format, and sets its share. reader: bytes of a
 * worker's reader. input: bytes that the largest input needs to be decoded, if that is more; else, or if it is not
 * known, 0. limit: bytes, or 0: nine tenths of bl_machine_memory. A job gets as many blocks as fill a MiB, if they are
 * small, and there are two jobs for each worker; if the limit requires, first jobs become smaller, then fewer; then
 * workers decrease too. BL_EUSAGE, with the numbers, if one worker with one block does not fit; what the largest input
 * needs is demanded only of a limit that is given. */
int bl_memory_resolve(struct bl_pack *pack, int64_t limit, int64_t reader, int64_t input, struct bl_error *e);

/* --- space on the disk -------------------------------------------------------------------------------------------- */

/* Space on the disk: what the shards take, and whether there is room for those still to be written. */

/* BL_EFAIL: the file system of the dataset has less space than the missing shards take, including those of other tasks.
 * Compressed shards are not counted, since their size is unknown, and of JPEG data only what accompanies it; for shards
 * that are made again, the size is known. Files of other programs are not considered. */
int bl_space_check(const struct bl_pack *pack, struct bl_error *e);

/* The bytes of all shards, before compression; of JPEG data only what accompanies it. */
int bl_space_of_shards(const struct bl_format *format, int64_t *bytes, struct bl_error *e);

/* The bytes on the disk that an unfinished dataset has: of its shards, those in progress too, and of what else its run
 * keeps in DIR/.bload. What vanishes meanwhile counts for nothing. BL_EFAIL: a folder cannot be read. */
int bl_space_of_begun(const char *dir, int64_t *shards, int64_t *work, struct bl_error *e);

/* The directory, or its nearest parent that exists; to be freed. NULL: out of memory. */
char *bl_space_folder(const char *dir);

/* The bytes that are free there. -1: the file system does not tell. */
int bl_space_free(const char *dir, int64_t *bytes, struct bl_error *e);

#endif
