/* What a finished dataset lacks: files that are gone, or are not as long as they were written. A look at names and
 * sizes; contents are verify's. */
#ifndef BL_LACKING_H
#define BL_LACKING_H

#include <stdint.h>

#include "base/error.h"
#include "store/manifest.h"
#include "store/shards.h"

struct bl_lacking {
    struct bl_shards_row *row; /* [shards] as they were written */
    uint8_t *lacks;            /* [shards] 1: gone, cut, or told by bl_lacking_add */
    int64_t count, first;      /* how many of these, and the first of them */
};

/* Whether the files beside the shards are there, as long as the manifest says. BL_EFAIL names the one that is not. */
int bl_lacking_beside(const char *dir, const struct bl_manifest *manifest, struct bl_error *e);

/* Looks for shards begin to end - 1 of the dataset. BL_EDATA: shards.tsv is not the manifest's. Free it in any case. */
int bl_lacking_shards(struct bl_lacking *lacking, const char *dir, const struct bl_manifest *manifest, int64_t begin,
                      int64_t end, struct bl_error *e);

/* This one lacks, too. */
void bl_lacking_add(struct bl_lacking *lacking, int64_t shard);

void bl_lacking_free(struct bl_lacking *lacking);

#endif
