/* The files of a dataset on disk: work files of runs, missing files of a finished dataset, and finished shards. */
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

/* The folders of a dataset that is being written, and the files that killed runs leave in them. */

/* Names of files in DIR/.bload. Further files there are shard records, parts of a scan, listings of tar files,
 * heartbeats and the spool. */
#define BL_STATE_CONFIGURATION "configuration"
#define BL_STATE_SEQUENCES "sequences.tsv"
#define BL_STATE_SEQUENCES_SUM "sequences.checksum" /* checksum of BL_STATE_SEQUENCES: see run/state.h */
#define BL_STATE_STDIN "stdin.checksum"             /* checksum of standard input, if it was scanned */
#define BL_STATE_SCAN "scan.configuration"          /* options that determine the parts of a scan */
#define BL_STATE_PLAN "plan.configuration"          /* options that determine a plan made before packing */
#define BL_STATE_PLAN_INFO "plan.json"              /* plan_info of this plan */
#define BL_STATE_PLAN_FILE "plan.safetensors"
#define BL_STATE_NOTHING_NEW "nothing-new" /* exists if tasks found that --extend has nothing to pack */
#define BL_STATE_DRAFT "draft.json"        /* the members of the manifest that are known before packing */

/* Makes DIR/.bload and DIR/shards unless they exist. */
int bl_folders_prepare(const char *dir, struct bl_error *e);

/* Makes a folder in an existing one unless it exists, and syncs the parent, so that it survives a crash. */
int bl_folders_make(const char *path, struct bl_error *e);

/* Opens and closes a folder, which may be missing. This makes a network file system that caches missing names ask its
 * server again. */
void bl_folders_refresh(const char *path);

/* Lists the folder whose first shard has the number `first`: sets there[i] to 1 if a file with the name of shard first
 * + i exists, and leaves the others. Does not open the files. A missing folder holds no shards. */
int bl_folders_read_shards(const char *dir, const struct bl_format *format, int64_t first,
                           uint8_t there[BL_SHARDS_PER_FOLDER], struct bl_error *e);

/* Returns true if runs write files of this name to DIR/.bload or to its spool. No other file may be removed there. */
bool bl_folders_is_work_file(const char *name);

/* Returns true if the name is one that NFS or FUSE gives to a removed file that a process still has open. The
 * file system removes the file itself once it is closed. */
bool bl_folders_is_of_system(const char *name);

/* Removes unfinished files from DIR/.bload. The caller must make sure that no other run of this machine writes there,
 * and with only_host false, no run of any machine. only_host: remove only files that processes of this machine made. */
int bl_folders_sweep(const char *dir, bool only_host, struct bl_error *e);

/* --- missing files ------------------------------------------------------------------------------------------------ */

/* A file of a finished dataset is missing if it does not exist or does not have the recorded size. Only names and sizes
 * are checked here; bl_verify checks contents. */

struct bl_missing {
    struct bl_shard_row *row; /* [shards] as recorded in shards.tsv */
    uint8_t *is_missing;      /* [shards] 1: does not exist, has another size, or was added by bl_missing_add */
    int64_t count, first;     /* number of missing shards, and the first one */
};

/* Checks that all files other than shards exist with the sizes in the manifest. BL_EDATA: one is missing; the message
 * names it. */
int bl_missing_check_files(const char *dir, const struct bl_manifest *manifest, struct bl_error *e);

/* Finds the missing shards among shards begin to end - 1. BL_EDATA: shards.tsv does not match the manifest. Free with
 * bl_missing_free in any case. */
int bl_missing_find(struct bl_missing *missing, const char *dir, const struct bl_manifest *manifest, int64_t begin,
                    int64_t end, struct bl_error *e);

/* Appends "DIR: 3 of 12 shards are missing or damaged, the first is NAME (bload status DIR shows more)". */
void bl_missing_describe(struct bl_buffer *out, const char *dir, const struct bl_format *format, int64_t count,
                         int64_t shards, int64_t first);

/* Marks a shard as missing. */
void bl_missing_add(struct bl_missing *missing, int64_t shard);

void bl_missing_free(struct bl_missing *missing);

/* --- finished shards ---------------------------------------------------------------------------------------------- */

/* Looks for a shard that an earlier run finished, and sets *record if it is found; the caller frees the record. *found
 * is false if the shard or its record is missing, or if the file does not have the recorded size or the header that
 * follows from the format. Such a shard must be written again. Contents are not read. BL_EFAIL: a system call failed.
 */
int bl_shard_find(const struct bl_format *format, const char *dir, int64_t shard, struct bl_shard_record *record,
                  bool *found, struct bl_error *e);

#endif
