/* The folders of a dataset that is being written, and what killed runs left in them. */
#ifndef BL_FOLDERS_H
#define BL_FOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"

/* Names in DIR/.bload, besides those of shard records, parts of a scan, listings of tars, heartbeats and the spool. */
#define BL_STATE_CONFIGURATION "configuration"
#define BL_STATE_SEQUENCES "sequences.tsv"
#define BL_STATE_SEQUENCES_SUM "sequences.checksum" /* of that table: see run/table_checksum.h */
#define BL_STATE_STDIN "stdin.checksum"             /* of standard input, if that was scanned */
#define BL_STATE_SCAN "scan.configuration"          /* what decides the parts of a scan */
#define BL_STATE_PLAN "plan.configuration"          /* what decides a plan made before packing */
#define BL_STATE_PLAN_INFO "plan.json"              /* the plan's plan_info */
#define BL_STATE_PLAN_FILE "plan.safetensors"
#define BL_STATE_NOTHING_NEW "nothing-new" /* tasks found that --extend leaves nothing to pack */
#define BL_STATE_DRAFT "draft.json"        /* the manifest, as far as it is known before packing */

/* Makes DIR/.bload and DIR/shards unless they exist. */
int bl_folders_prepare(const char *dir, struct bl_error *e);

/* Makes a folder in an existing one, durably, unless it exists. */
int bl_folders_make(const char *path, struct bl_error *e);

/* Opens and closes a folder, which may be missing. A network file system that caches missing names then asks its server
 * again. */
void bl_folders_refresh(const char *path);

/* Lists the folder whose first shard is first: sets there[i] to 1 if shard first + i has a file of its name. No file is
 * opened. A folder that does not exist holds none. */
int bl_folders_read_shards(const char *dir, const struct bl_format *format, int64_t first,
                           uint8_t there[BL_SHARDS_PER_FOLDER], struct bl_error *e);

/* Whether runs write files of this name to DIR/.bload or its spool. Other files are not ours to remove. */
bool bl_folders_is_work_file(const char *name);

/* Whether the file system keeps a file of this name until no process has it open: it goes by itself. */
bool bl_folders_is_of_system(const char *name);

/* Removes unfinished files from DIR/.bload. The caller knows that no other run writes there. */
int bl_folders_sweep(const char *dir, struct bl_error *e);

/* The same, but only files of processes of this machine, while other machines may be writing. The caller knows that no
 * other process of this machine writes there. */
int bl_folders_sweep_host(const char *dir, struct bl_error *e);

#endif
