/* The files of a dataset as they are found on disk: those of unfinished runs, missing files, and finished shards. */
#ifndef BL_FOLDERS_H
#define BL_FOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/format.h"
#include "store/manifest.h"
#include "store/shard_table.h"

/* --- folders ------------------------------------------------------------------------------------------------------ */

/* The folders of a dataset that is being written, and what killed runs left in them. */

/* Names in DIR/.bload, besides those of shard records, parts of a scan, listings of tars, heartbeats and the spool. */
#define BL_STATE_CONFIGURATION "configuration"
#define BL_STATE_SEQUENCES "sequences.tsv"
#define BL_STATE_SEQUENCES_SUM "sequences.checksum" /* of that table: see run/state.h */
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

/* Removes unfinished files from DIR/.bload. The caller knows that no other run writes there. only_host: only files of
 * processes of this machine, while other machines may be writing. */
int bl_folders_sweep(const char *dir, bool only_host, struct bl_error *e);

/* --- missing files ------------------------------------------------------------------------------------------------ */

/* What is missing from a finished dataset: files that do not exist, or do not have the size that was recorded. Only
 * names and sizes are checked; verify checks contents. */

struct bl_missing {
    struct bl_shard_row *row; /* [shards] as recorded in shards.tsv */
    uint8_t *is_missing;      /* [shards] 1: does not exist, has another size, or was added by bl_missing_add */
    int64_t count, first;     /* number of missing shards, and the first one */
};

/* Checks that all files other than shards exist with the sizes in the manifest. BL_EDATA names one that does not. */
int bl_missing_check_files(const char *dir, const struct bl_manifest *manifest, struct bl_error *e);

/* Finds the missing ones among shards begin to end - 1. BL_EDATA: shards.tsv does not match the manifest. Free in any
 * case. */
int bl_missing_find(struct bl_missing *missing, const char *dir, const struct bl_manifest *manifest, int64_t begin,
                    int64_t end, struct bl_error *e);

/* Appends "DIR: 3 of 12 shards are missing or damaged, the first is NAME (bload status DIR shows more)". */
void bl_missing_describe(struct bl_buffer *out, const char *dir, const struct bl_format *format, int64_t count,
                         int64_t shards, int64_t first);

/* Marks a shard as missing. */
void bl_missing_add(struct bl_missing *missing, int64_t shard);

void bl_missing_free(struct bl_missing *missing);

/* --- finished shards ---------------------------------------------------------------------------------------------- */

/* Finding the shards that an earlier run finished. */

/* Looks for a finished shard, and fills *record if there is one. *found is false when there is none, or when the file
 * does not have the format's header, plan digest or the recorded size, so that it must be written again. Contents are
 * not read. BL_EFAIL: the system failed. */
int bl_shard_find(const struct bl_format *format, const char *dir, int64_t shard, struct bl_shard_record *record,
                  bool *found, struct bl_error *e);

#endif
