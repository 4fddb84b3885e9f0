/* What a finished dataset is_missing: files that are gone, or are not as long as they were written. A look at names and
 * sizes; contents are verify's. */
#ifndef BL_MISSING_H
#define BL_MISSING_H

#include <stdint.h>

#include "base/error.h"
#include "store/manifest.h"
#include "store/shard_table.h"

struct bl_missing {
    struct bl_shard_row *row; /* [shards] as they were written */
    uint8_t *is_missing;      /* [shards] 1: gone, cut, or told by bl_missing_add */
    int64_t count, first;     /* how many of these, and the first of them */
};

/* Whether the files beside the shards are there, as long as the manifest says. BL_EFAIL names the one that is not. */
int bl_missing_check_files(const char *dir, const struct bl_manifest *manifest, struct bl_error *e);

/* Looks for shards begin to end - 1 of the dataset. BL_EDATA: shards.tsv is not the manifest's. Free it in any case. */
int bl_missing_find(struct bl_missing *missing, const char *dir, const struct bl_manifest *manifest, int64_t begin,
                    int64_t end, struct bl_error *e);

/* This one is_missing, too. */
void bl_missing_add(struct bl_missing *missing, int64_t shard);

void bl_missing_free(struct bl_missing *missing);

#endif
