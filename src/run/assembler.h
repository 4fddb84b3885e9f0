/* Fills blocks: a worker reads the pieces of its blocks from the inputs, or copies the stored steps of a view, then
 * pads and encodes the blocks. */
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

/* The sequence that an assembler reads at present. Another thread looks at it to name the file that holds the run up.
 */
struct bl_reading {
    atomic_llong sequence; /* its row + 1; 0: none, or several blocks are filled together */
    atomic_llong since;    /* when reading began, by bl_meter_clock */
};

/* Returns the row of the sequence that took longest in the last fill, and its time in *seconds. Returns -1 if several
 * blocks were filled together: then single pieces are not timed. */
int64_t bl_assembler_slowest(const struct bl_assembler *assembler, double *seconds);

/* --- shard workers ------------------------------------------------------------------------------------------------ */

/* The state of one worker that fills and encodes the blocks of shards. It has either an assembler and a codec, or, if
 * it packs a view, a copier. */

struct bl_shard_worker {
    const struct bl_format *format;
    struct bl_assembler *assembler;   /* NULL for a view */
    struct bl_codec *codec;           /* NULL for a view, whose stored files are copied */
    struct bl_copier *copier;         /* NULL for inputs */
    struct bl_compressor *compressor; /* NULL if shards are not compressed */
    int32_t overlap;                  /* steps that a piece repeats of the previous piece of its sequence */
    double encoded;                   /* seconds that encoding took in the last fill */
};

/* Opens a worker; the caller closes it with bl_shard_worker_close. pack, memory and reading must outlive the worker.
 * memory: the budget that all workers share for inputs that need more memory than a reader always has. */
int bl_shard_worker_open(struct bl_shard_worker **worker, const struct bl_pack *pack, struct bl_memory_budget *memory,
                         struct bl_reading *reading, struct bl_error *e);
void bl_shard_worker_close(struct bl_shard_worker *worker);

/* Fills consecutive blocks of the shard and encodes them. shard NULL: the blocks are filled but not encoded. Failures
 * and notes are added to outcomes in the order of the pieces; a piece that fails is no error of this function. Of meter
 * only sum, tick and sink are used. */
int bl_shard_worker_fill(struct bl_shard_worker *worker, struct bl_shard_writer *shard, struct bl_block *block,
                         int blocks, const struct bl_meter *meter, struct bl_outcomes *outcomes, struct bl_error *e);

/* --- copier ------------------------------------------------------------------------------------------------------- */

/* The copier fills blocks with the stored steps of a view without decoding them. Each worker has its own. */

struct bl_copier;

/* Returns the most bytes that a copier of the view takes, without the memory of a codec. */
int64_t bl_copier_memory(const struct bl_view *view);

#endif
