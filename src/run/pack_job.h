/* What is to be packed into which shards, and with what. */
#ifndef BL_PACK_JOB_H
#define BL_PACK_JOB_H

#include "kind/kind.h"
#include "plan/plan.h"
#include "run/outcome.h"
#include "store/format.h"
#include "store/missing.h"
#include "store/sequences.h"

/* How far a run has come. */
struct bl_pack_progress {
    int64_t blocks; /* done, those of an earlier run too */
    int64_t steps;  /* read in this run */
    int64_t steps_left;
    int64_t steps_found; /* of an earlier run */
    int64_t bytes;       /* of the shards that this run finished */
};

struct bl_scatter;

struct bl_pack {
    const char *dir;  /* of the dataset; bl_folders_prepare came before */
    const char *base; /* directory that relative paths of the table count from, or NULL */
    const struct bl_sequences *table;
    const struct bl_plan *plan;
    const struct bl_kind *kind;
    const void *config; /* of that kind */
    const struct bl_format *format;
    const struct bl_attribute_values *values; /* of its attributes */
    int64_t shard_begin, shard_end;           /* which shards are to be there in the end: all, or those of a task */
    const struct bl_missing *missing;         /* of a finished dataset: just these are made again, or where its member
                                               * lacks is NULL, what has no record; as rows say. NULL: what has no record */
    bool pad_repeat;                          /* the end of a block repeats its last entry instead of zeros */
    int workers, slots;
    const struct bl_kind_env *env;
    struct bl_scatter *scatter; /* where pieces were brought to already, or NULL */
    /* Told of each failure and note, in the order of the blocks, also those that an earlier run had found. A code other
     * than BL_OK stops. */
    int (*outcome)(void *sink, const struct bl_row *row, const struct bl_outcome *outcome, struct bl_error *e);
    /* Called several times a second. */
    void (*tick)(void *sink, const struct bl_pack_progress *progress);
    void *sink;
};

/* The blocks of these shards: from *begin to *end - 1. */
void bl_pack_blocks(const struct bl_pack *pack, int64_t *begin, int64_t *end);

/* Whether this shard is there already: 1 and its record, which is empty where the dataset was finished before; 0, or a
 * code. */
int bl_pack_find(const struct bl_pack *pack, int64_t shard, struct bl_shard_record *record, struct bl_error *e);

#endif
