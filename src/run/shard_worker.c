#include "run/shard_worker.h"

#include <stdlib.h>

#include "run/assembler.h"
#include "run/copier.h"
#include "run/progress.h"

void bl_shard_worker_close(struct bl_shard_worker *w)
{
    bl_assembler_close(w->assembler);
    bl_codec_close(w->codec);
    bl_copier_close(w->copier);
    if (w->compressor)
        bl_compressor_close(w->compressor);
    free(w);
}

int bl_shard_worker_open(struct bl_shard_worker **worker, const struct bl_pack_params *pack,
                         struct bl_memory_budget *memory, struct bl_reading *reading, struct bl_error *e)
{
    struct bl_shard_worker *w = calloc(1, sizeof *w);
    if (!w)
        return bl_error_memory(e);
    w->format = pack->format;
    w->overlap = (int32_t)pack->plan->overlap;
    int code =
        pack->view ? bl_copier_open(&w->copier, pack, e) : bl_assembler_open(&w->assembler, pack, memory, reading, e);
    if (code)
        goto out;
    if (!pack->view)
        code = bl_codec_open(pack->format, pack->pad_repeat, &w->codec, e);
    if (code)
        goto out;
    if (pack->format->compressed)
        code = bl_compressor_open(pack->format->level, &w->compressor, e);
    *worker = w;
out:
    if (code)
        bl_shard_worker_close(w);
    return code;
}

/* The steps of piece i that are trained: those that it repeats are trained in the piece before. */
static int64_t worker_count_trained(const struct bl_shard_worker *w, const struct bl_block *block, int i)
{
    const struct bl_fields *fields = &w->format->fields;
    const uint8_t *data[BL_FIELDS_MAX];
    const int32_t repeated = block->source_start[i] > 0 ? w->overlap : 0;
    for (int f = 0; f < fields->count; f++)
        data[f] = block->field[f] + (size_t)(block->cu_seqlens[i] + repeated) * bl_field_step_bytes(&fields->field[f]);
    return block->length[i] > repeated ? bl_fields_count_trained(fields, data, block->length[i] - repeated) : 0;
}

/* Counts what of the blocks has no trained step, if a field says which steps are trained. */
static void worker_count_untrained(const struct bl_shard_worker *w, const struct bl_block *block, int blocks,
                                   struct bl_outcomes *outcomes)
{
    struct bl_untrained found = {.counted = blocks};
    for (int b = 0; b < blocks; b++) {
        bool is_trained = false;
        for (int i = 0; i < block[b].num_sequences; i++) {
            bool has_some = worker_count_trained(w, &block[b], i) > 0;
            found.pieces += block[b].length[i] && !has_some;
            is_trained |= has_some;
        }
        found.blocks += !is_trained;
    }
    bl_outcomes_add_untrained(outcomes, &found);
}

int bl_shard_worker_fill(struct bl_shard_worker *w, struct bl_shard_writer *shard, struct bl_block *block, int blocks,
                         const struct bl_meter *meter, struct bl_outcomes *outcomes, struct bl_error *e)
{
    w->encoded = 0;
    int code = w->copier ? bl_copier_fill(w->copier, shard, block, blocks, meter, e)
                         : bl_assembler_fill(w->assembler, block, blocks, meter, outcomes, e);
    if (!code && bl_fields_have_mask(&w->format->fields))
        worker_count_untrained(w, block, blocks, outcomes);
    if (w->copier)
        return code;
    const double filled = bl_progress_now();
    for (int b = 0; b < blocks && !code && shard; b++)
        code = bl_shard_writer_encode_block(shard, &block[b], w->codec, e);
    w->encoded = bl_progress_now() - filled;
    return code;
}
