/* Filling blocks: a worker reads the pieces of its blocks from inputs, or copies stored steps of a view, then pads and
 * encodes the blocks. */
#ifndef BL_ASSEMBLER_H
#define BL_ASSEMBLER_H

#include "pool/memory_budget.h"
#include "base/meter.h"
#include "run/finish.h"
#include "run/options.h"
#include "store/block.h"
#include "store/shard_writer.h"
#include "store/view.h"

/* --- assembler ---------------------------------------------------------------------------------------------------- */

/* The assembler: reads the pieces of blocks and pads the rest. Each worker has its own. */

struct bl_assembler;

/* The sequence that an assembler reads a piece of, for another thread that watches it. */
struct bl_reading {
    atomic_llong sequence; /* its row + 1; 0: none, or several blocks are filled at once */
    atomic_llong since;    /* bl_meter_clock */
};

/* The row of the sequence that took longest in the last fill, if that was of one block, else -1; and how long. */
int64_t bl_assembler_slowest(const struct bl_assembler *assembler, double *seconds);

/* --- shard workers ------------------------------------------------------------------------------------------------ */

/* What one worker needs to fill and encode the blocks of shards. */

struct bl_shard_worker {
    const struct bl_format *format;
    struct bl_assembler *assembler; /* these two, */
    struct bl_codec *codec;
    struct bl_copier *copier; /* or this one */
    struct bl_compressor *compressor;
    int32_t overlap; /* steps that a piece repeats of the one before */
    double encoded;  /* seconds of the last fill */
};

/* pack, memory and reading must outlive it. memory: of all workers, for inputs that need more than a reader takes. */
int bl_shard_worker_open(struct bl_shard_worker **worker, const struct bl_pack *pack, struct bl_memory_budget *memory,
                         struct bl_reading *reading, struct bl_error *e);
void bl_shard_worker_close(struct bl_shard_worker *worker);

/* Fills consecutive blocks of the shard, and encodes them. shard NULL: nothing is encoded. Failures and notes are added
 * to outcomes in the order of the pieces. meter: its sum, tick and sink. */
int bl_shard_worker_fill(struct bl_shard_worker *worker, struct bl_shard_writer *shard, struct bl_block *block,
                         int blocks, const struct bl_meter *meter, struct bl_outcomes *outcomes, struct bl_error *e);

/* --- copier ------------------------------------------------------------------------------------------------------- */

/* The copier: fills blocks with the stored steps of a view, without decoding any. Each worker has its own. */

struct bl_copier;

/* Bytes that a copier of the view takes at most, beside a codec's. */
int64_t bl_copier_memory(const struct bl_view *view);

#endif
