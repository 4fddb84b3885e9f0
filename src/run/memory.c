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
    size_t content = 0;
    if (!format->compressed)
        return 0;
    for (int f = 0; f < format->fields.count; f++) {
        size_t bytes = bl_format_block_bytes(format, f);
        content = bytes > content ? bytes : content;
    }
    return (int64_t)bl_compressor_memory(format->level, content < BL_FRAME_MAX ? content : BL_FRAME_MAX);
}

/* What a run needs, in bytes. */
struct needs {
    int64_t base;   /* the process and its tables */
    int64_t input;  /* the largest one, beyond a reader */
    int64_t worker; /* each: its reader, codec and compressor */
    int64_t block;  /* each block in progress */
    int64_t shard;  /* each shard in progress */
    int64_t blocks_per_shard;
};

static int64_t memory_needed(const struct needs *n, int workers, int slots)
{
    return n->base + n->input + workers * n->worker + slots * n->block + (slots / n->blocks_per_shard + 2) * n->shard;
}

int bl_memory_resolve(int64_t limit, const struct bl_sequences *table, const struct bl_plan *plan,
                      const struct bl_format *format, int64_t reader, int64_t input, int *workers, int *slots,
                      int64_t *rest, struct bl_error *e)
{
    /* Of a table's row and a piece, 8 bytes each are for scattering a spool. */
    struct needs n = {.base = BASE_MEMORY + 24 * (int64_t)table->count + 28 * (int64_t)plan->pieces +
                              8 * (int64_t)plan->blocks + bl_attribute_values_memory(format, table->count),
                      .input = input > reader ? input - reader : 0,
                      .worker = reader + (int64_t)bl_codec_memory(format) + memory_of_compressor(format),
                      .block = (int64_t)bl_block_memory(format, true),
                      .blocks_per_shard = format->blocks_per_shard};
    int code = bl_shard_writer_memory(format, &n.shard, e);
    if (code)
        return code;
    bool given = limit != 0;
    limit = memory_limit(limit);
    *slots = 2 * *workers;
    while (*slots > *workers && memory_needed(&n, *workers, *slots) > limit)
        (*slots)--;
    while (*workers > 1 && memory_needed(&n, *workers, *slots) > limit)
        *slots = --*workers;
    int64_t needed = memory_needed(&n, *workers, *slots);
    *rest = limit - needed + n.input;
    if (given ? needed <= limit : *rest >= 0)
        return BL_OK;
    char a[32], b[32], c[32], d[64] = "";
    if (n.input)
        snprintf(d, sizeof d, ", decoding the largest input %s", bl_text_size(c, input));
    return bl_error_set(e, BL_EUSAGE,
                        "%s of memory is not enough: one block takes %s%s, and a run with one worker %s: use a smaller "
                        "T, size%s or --shard-size",
                        bl_text_size(a, limit), bl_text_size(b, n.block), d, bl_text_size(c, needed),
                        n.input ? ", --decoder-memory" : "");
}
