/* Writing the missing shards. */
#include <stdlib.h>

#include "base/text.h"
#include "packing/internal.h"
#include "run/shards.h"
#include "run/scatter.h"
#include "run/space.h"
#include "store/folders.h"

static int write_on_outcome(void *sink, const struct bl_row *row, const struct bl_outcome *outcome, struct bl_error *e)
{
    struct bl_packing *p = sink;
    struct bl_row fault = *row;
    fault.reason = outcome->text;
    fault.status = outcome->failed ? BL_ROW_FAILED : BL_ROW_OK;
    p->partial |= p->request.task.set; /* a task reports the faults that it found itself */
    if (outcome->failed) {
        uint8_t *bits = &p->failed[outcome->row / 8], bit = (uint8_t)(1u << outcome->row % 8);
        if (*bits & bit)
            return BL_OK;
        *bits |= bit;
    }
    return bl_packing_fault(p, &fault, (int64_t)p->table.count, e);
}

static void write_on_progress(void *sink, const struct bl_pack_progress *progress)
{
    struct bl_packing *p = sink;
    p->progress.done = progress->blocks;
    p->progress.steps = p->steps = progress->steps;
    p->progress.steps_left = progress->steps_left;
    p->progress.steps_found = progress->steps_found;
    p->progress.bytes = progress->bytes;
    p->progress.file = progress->file;
    bl_packing_progress_tick(p);
}

static void write_on_scatter_progress(void *sink, int64_t rows)
{
    struct bl_packing *p = sink;
    p->progress.done = rows;
    bl_packing_progress_tick(p);
}

/* Whether sequences are first scattered by shards: a spool that is larger than the remaining memory, so that it is not
 * read at random, or what a view has of compressed sources. Says so. */
static bool write_is_scattered(struct bl_packing *p, const struct bl_pack_params *pack)
{
    char a[32], b[32];
    if (p->request.view) {
        if (!bl_packing_view_scatters(p))
            return false;
        bl_packing_message(p, false, "the sources are compressed: their sequences, %s, are first scattered by shards",
                           bl_text_size(a, bl_scatter_bytes(pack)));
        return true;
    }
    const struct bl_input_set *inputs = p->request.inputs;
    int64_t bytes = inputs->kind->spool ? bl_scatter_bytes(pack) : 0;
    if (bytes <= p->memory)
        return false;
    bl_packing_message(p, false, "the %s has %s, more than the remaining memory, %s: it is first scattered by shards",
                       bl_kind_spools_steps(inputs->kind, inputs->kind_config) ? "spool" : "data to be packed",
                       bl_text_size(a, bytes), bl_text_size(b, p->memory));
    return true;
}

static int write_scatter(struct bl_packing *p, struct bl_pack_params *pack, struct bl_error *e)
{
    const char *dir = p->request.view && !p->request.spool ? p->state.folder : p->env.spool;
    if (!write_is_scattered(p, pack))
        return BL_OK;
    bl_packing_progress_begin(p, "scatter", "sequences", NULL, (int64_t)p->table.count);
    int code = bl_scatter_make(&pack->scatter, pack, dir, p->memory, write_on_scatter_progress, p, e);
    bl_packing_progress_end(p);
    return code;
}

/* Removes incomplete files of earlier runs. A task keeps them, since other tasks may be writing them. */
static int write_sweep(const struct bl_packing *p, struct bl_error *e)
{
    int code = bl_folders_prepare(p->request.output, e);
    if (code || p->request.task.set)
        return code;
    code = bl_folders_sweep(p->request.output, e);
    return code ? code : bl_finish_sweep(p->request.output, e);
}

static int write_shards(struct bl_packing *p, struct bl_pack_params *pack, struct bl_error *e)
{
    int64_t begin, end;
    int code = write_sweep(p, e);
    if (code)
        return code;
    code = bl_space_check(pack, e);
    if (code)
        return code;
    code = write_scatter(p, pack, e);
    if (code)
        return code;
    bl_pack_params_block_range(pack, &begin, &end);
    bl_packing_progress_begin(p, "pack", "blocks", bl_kind_steps(pack->kind, pack->config), end - begin);
    code = bl_packing_reclaim(p, pack, e);
    if (!code)
        code = bl_shards_write(pack, e);
    bl_packing_progress_end(p);
    return code;
}

/* Removes the state of wrong inputs, so that the next run does not use it for the right ones. */
static void write_discard_state(struct bl_packing *p, int code)
{
    struct bl_error none = {0}; /* the run's own error is the one to report */
    bool other_inputs = code == BL_EDATA || (code == BL_EFAIL && bl_packing_reads_stdin(p));
    if (p->repairing && !p->request.task.set && other_inputs)
        (void)bl_state_remove(&p->state, &none);
}

struct bl_pack_params bl_packing_params(struct bl_packing *p, const char *dir)
{
    return (struct bl_pack_params){.dir = dir,
                                   .base = p->request.inputs->base,
                                   .table = &p->table,
                                   .plan = &p->plan,
                                   .kind = p->request.inputs->kind,
                                   .config = p->request.inputs->kind_config,
                                   .format = &p->format,
                                   .values = &p->values,
                                   .pad_repeat = p->request.options->pad == BL_PAD_REPEAT,
                                   .workers = p->workers,
                                   .memory = p->memory,
                                   .view = p->request.view,
                                   .env = &p->env};
}

int bl_packing_write(struct bl_packing *p, struct bl_error *e)
{
    struct bl_pack_params pack = bl_packing_params(p, p->request.output);
    pack.missing = p->repairing ? &p->missing : NULL;
    pack.slots = p->slots;
    pack.run_blocks = p->run_blocks;
    pack.outcome = write_on_outcome;
    pack.tick = write_on_progress;
    pack.sink = p;
    pack.work = &p->request.times->write;
    bl_task_range(&p->request.task, bl_format_shards(&p->format), &pack.shard_begin, &pack.shard_end);
    p->shard_begin = pack.shard_begin;
    p->shard_end = pack.shard_end;
    p->failed = calloc(p->table.count / 8 + 1, 1);
    int code = p->failed ? write_shards(p, &pack, e) : bl_error_memory(e);
    bl_scatter_free(pack.scatter);
    write_discard_state(p, code);
    return code;
}
