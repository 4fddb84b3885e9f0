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

int bl_shard_worker_fill(struct bl_shard_worker *w, struct bl_shard_writer *shard, struct bl_block *block, int blocks,
                         const struct bl_meter *meter, struct bl_outcomes *outcomes, struct bl_error *e)
{
    w->encoded = 0;
    if (w->copier)
        return bl_copier_fill(w->copier, shard, block, blocks, meter, e);
    int code = bl_assembler_fill(w->assembler, block, blocks, meter, outcomes, e);
    const double filled = bl_progress_now();
    for (int b = 0; b < blocks && !code && shard; b++)
        code = bl_shard_writer_encode_block(shard, &block[b], w->codec, e);
    w->encoded = bl_progress_now() - filled;
    return code;
}
