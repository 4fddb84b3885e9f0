#include "run/memory.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/text.h"
#include "run/machine.h"
#include "store/block.h"
#include "store/codec.h"
#include "store/seekable.h"
#include "store/shard_writer.h"

#define BASE_MEMORY ((int64_t)32 << 20)

#define RUN_BYTES ((size_t)1 << 20) /* of the fields of a job of small blocks */

static int64_t memory_limit(int64_t given)
{
    return given ? given : bl_machine_memory() / 10 * 9;
}

int64_t bl_memory_for_inputs(int64_t limit)
{
    return memory_limit(limit) - BASE_MEMORY;
}

/* Bytes of one compressor: its state, and its output for a whole frame. */
static int64_t memory_of_compressor(const struct bl_format *format)
{
    size_t content = 0, most = bl_format_frame_size(format);
    if (!format->compressed)
        return 0;
    for (int f = 0; f < format->fields.count; f++) {
        size_t bytes = bl_format_block_bytes(format, f);
        content = bytes > content ? bytes : content;
    }
    return (int64_t)bl_compressor_memory(format->level, content < most ? content : most);
}

/* What a run needs, in bytes. */
struct needs {
    int64_t base;   /* the process and its tables */
    int64_t input;  /* the largest one, beyond a reader */
    int64_t worker; /* each: its reader, codec and compressor */
    int64_t shard;  /* each shard in progress */
    const struct bl_format *format;
};

static int64_t memory_needed(const struct needs *n, const struct bl_memory_shares *s)
{
    int64_t blocks = s->slots * (int64_t)s->run_blocks, run = (int64_t)bl_block_run_memory(n->format, s->run_blocks);
    return n->base + n->input + s->workers * n->worker + s->slots * run +
           (blocks / n->format->blocks_per_shard + 2) * n->shard;
}

/* The blocks of a job: large ones go alone; small ones together, since handing over a job costs as much as filling some
 * KB. */
static int memory_run_blocks(const struct bl_format *format, int most)
{
    size_t bytes = 1;
    for (int f = 0; f < format->fields.count; f++)
        bytes += bl_format_block_bytes(format, f);
    int64_t blocks = (int64_t)(RUN_BYTES / bytes);
    blocks = blocks < format->blocks_per_shard ? blocks : format->blocks_per_shard;
    blocks = blocks < most ? blocks : most;
    return blocks > 1 ? (int)blocks : 1;
}

/* Makes the shares as large as the limit allows, or as small as they get. */
static void memory_share(const struct needs *n, int64_t limit, struct bl_memory_shares *s)
{
    s->slots = 2 * s->workers;
    s->run_blocks = memory_run_blocks(n->format, s->run_blocks);
    while (s->run_blocks > 1 && memory_needed(n, s) > limit)
        s->run_blocks /= 2;
    while (s->slots > s->workers && memory_needed(n, s) > limit)
        s->slots--;
    while (s->workers > 1 && memory_needed(n, s) > limit)
        s->slots = --s->workers;
}

int bl_memory_resolve(int64_t limit, const struct bl_sequences *table, const struct bl_plan *plan,
                      const struct bl_format *format, int64_t reader, int64_t input, struct bl_memory_shares *shares,
                      struct bl_error *e)
{
    /* Of a table's row and a piece, 8 bytes each are for scattering a spool. */
    struct needs n = {.base = BASE_MEMORY + 24 * (int64_t)table->count + 28 * (int64_t)plan->pieces +
                              8 * (int64_t)plan->blocks + bl_attribute_values_memory(format, table->count),
                      .input = input > reader ? input - reader : 0,
                      .worker = reader + (int64_t)bl_codec_memory(format) + memory_of_compressor(format),
                      .format = format};
    int code = bl_shard_writer_memory(format, &n.shard, e);
    if (code)
        return code;
    bool given = limit != 0;
    limit = memory_limit(limit);
    memory_share(&n, limit, shares);
    int64_t needed = memory_needed(&n, shares);
    shares->rest = limit - needed + n.input;
    shares->needed = needed;
    shares->limit = limit;
    if (given ? needed <= limit : shares->rest >= 0)
        return BL_OK;
    char a[32], b[32], c[32], d[64] = "";
    if (n.input)
        snprintf(d, sizeof d, ", decoding the largest input %s", bl_text_size(c, input));
    return bl_error_set(e, BL_EUSAGE,
                        "%s of memory is not enough: one block takes %s%s, and a run with one worker %s: use a smaller "
                        "T, size%s or --shard-size",
                        bl_text_size(a, limit), bl_text_size(b, (int64_t)bl_block_memory(format, true)), d,
                        bl_text_size(c, needed), n.input ? ", --decoder-memory" : "");
}
