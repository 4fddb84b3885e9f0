/* Verifying a dataset: every checksum, every table against the plan, every shard readable. Faults are told one by one,
 * all of them; a function's own error is for what keeps it from looking at all (no memory, cancelled). Memory: the plan
 * and 17 bytes per sequence for the whole, and 8 for each of its attributes; for each shard a few MiB, and a frame of a
 * compressed one. */
#ifndef BL_VERIFY_H
#define BL_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/kind.h"
#include "plan/plan.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/sequences.h"
#include "store/shard_table.h"
#include "store/attribute_values.h"

/* Told of one fault: in which file below the dataset's directory, and what. */
typedef void bl_fault(void *context, const char *file, const char *text);

/* What lies beside the shards, which they are compared with: const while shards are verified. */
struct bl_verify {
    const char *dir;
    const struct bl_cancel *cancel;
    struct bl_manifest manifest;
    bool has_manifest, has_index, has_plan, has_sequences, has_values; /* each could be read, and makes sense */
    struct bl_index index;
    struct bl_plan plan;               /* of the index: of the blocks from first_block on */
    int64_t first_block;               /* of the plan */
    struct bl_sequences sequences;     /* its lengths are the planned ones: those of failed sequences too */
    uint8_t *failed;                   /* [rows] not 0: failed while packing; NULL: none did */
    struct bl_attribute_values values; /* of the attributes, by sequences.tsv */
    struct bl_shard_row *shards;       /* [bl_verify_shards], NULL when the table could not be read */
};

/* Reads the manifest. BL_EUSAGE: there is none, so there is no dataset to verify. Close it also after an error. dir and
 * cancel must outlive it. */
int bl_verify_open(struct bl_verify *verify, const char *dir, const struct bl_cancel *cancel, bl_fault *fault,
                   void *context, struct bl_error *e);

/* How many shards there are to verify: 0 when the manifest cannot be read. */
int64_t bl_verify_shards(const struct bl_verify *verify);

/* Reads and checks everything but the shards: files, sequences, plan, the plans of epochs, the table of shards, and
 * whether there are files that belong to no shard and no epoch. remark: told of what is no fault. */
int bl_verify_files(struct bl_verify *verify, bl_fault *fault, bl_fault *remark, void *context);

/* Instead of that, where another process does it: reads what shards first to end - 1 are compared with, and no more
 * than that; tells what cannot be read. Both: BL_OK or BL_ECANCEL. */
int bl_verify_prepare_part(struct bl_verify *verify, int64_t first, int64_t end, bl_fault *fault, void *context);

/* Of that the plans of epochs: each one over the pieces that are stored, and what else lies beside them. */
void bl_verify_epochs(const struct bl_verify *verify, bl_fault *fault, bl_fault *remark, void *context);

/* Reads one shard through. Callable by several threads at once. *failed_steps: steps of pieces that failed while
 * packing. */
int bl_verify_shard(const struct bl_verify *verify, int64_t shard, bl_fault *fault, void *context,
                    int64_t *failed_steps, struct bl_error *e);

/* Last, when all shards have been read without a fault: what only all of them together can tell. failed_steps: their
 * sum. */
void bl_verify_finish(const struct bl_verify *verify, int64_t failed_steps, bl_fault *fault, void *context);

void bl_verify_close(struct bl_verify *verify);

#endif
