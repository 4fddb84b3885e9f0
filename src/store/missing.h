/* What is missing from a finished dataset: files that do not exist, or do not have the size that was recorded. Only
 * names and sizes are checked; verify checks contents. */
#ifndef BL_MISSING_H
#define BL_MISSING_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/manifest.h"
#include "store/shard_table.h"

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

#endif
