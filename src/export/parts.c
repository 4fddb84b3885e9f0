#include "export/parts.h"

#include <stdlib.h>

#include "export/job.h"
#include "run/pipeline.h"

struct going {
    const struct bl_export_parts *parts;
    int64_t next;
    _Atomic int64_t done; /* blocks, by all workers */
    int64_t told;         /* of them, to tick */
};

/* A worker's own view of the dataset, and room for a block. */
struct exporter {
    struct bl_blocks blocks;
    struct bl_export_block block;
};

static void exporter_close(void *worker)
{
    struct exporter *exporter = worker;
    bl_blocks_close(&exporter->blocks);
    bl_export_block_free(&exporter->block);
    free(exporter);
}

static int exporter_open(void *context, void **worker, struct bl_error *e)
{
    const struct bl_export_parts *parts = ((const struct going *)context)->parts;
    struct exporter *exporter = calloc(1, sizeof *exporter);
    if (!exporter)
        return bl_error_memory(e);
    int code = bl_export_block_make(&exporter->block, &parts->job->arrays, e);
    if (!code)
        code = bl_blocks_open(&exporter->blocks, parts->dir, e);
    if (!code)
        bl_blocks_lend_rows(parts->job->blocks, &exporter->blocks);
    if (code)
        exporter_close(exporter);
    else
        *worker = exporter;
    return code;
}

static int part_put_blocks(struct going *going, struct exporter *exporter, int64_t number, struct bl_export_part *part,
                           struct bl_error *e)
{
    const struct bl_export_parts *parts = going->parts;
    const struct bl_export_job *job = parts->job;
    int64_t first = bl_export_first_block(job, number), blocks = bl_export_blocks_of(job, number);
    int code = job->format->begin ? job->format->begin(job, blocks, part, e) : BL_OK;
    for (int64_t b = first; b < first + blocks && !code; b++) {
        if (bl_cancelled(parts->cancel))
            return BL_ECANCEL;
        code = bl_export_block_read(&exporter->block, &job->arrays, &exporter->blocks, b, e);
        if (!code)
            code = job->format->block(job, b, &exporter->block, part, e);
        going->done++;
    }
    return !code && job->format->end ? job->format->end(job, part, e) : code;
}

static int parts_work(void *context, void *worker, void *job, struct bl_error *e)
{
    struct going *going = context;
    const struct bl_export_parts *parts = going->parts;
    int64_t number = *(const int64_t *)job;
    struct bl_export_part part = BL_EXPORT_PART_NONE;
    int code = parts->open(parts->context, number, &part, e);
    if (!code)
        code = part_put_blocks(going, worker, number, &part, e);
    code = parts->close(parts->context, number, &part, code, e);
    bl_export_part_abort(&part);
    return code;
}

static int parts_produce(void *context, void **job, struct bl_error *e)
{
    struct going *going = context;
    const struct bl_export_parts *parts = going->parts;
    while (parts->skip && going->next < parts->end && parts->skip[going->next])
        going->next++;
    if (going->next >= parts->end)
        return BL_OK;
    int64_t *number = malloc(sizeof *number);
    if (!number)
        return bl_error_memory(e);
    *number = going->next++;
    *job = number;
    return BL_OK;
}

static int parts_consume(void *context, void *job, struct bl_error *e)
{
    (void)context;
    (void)e;
    free(job);
    return BL_OK;
}

static void parts_discard(void *context, void *job)
{
    (void)context;
    free(job);
}

static void parts_tick(void *context)
{
    struct going *going = context;
    int64_t done = going->done;
    going->parts->tick(going->parts->context, done - going->told);
    going->told = done;
}

int bl_export_parts_run(const struct bl_export_parts *parts, struct bl_error *e)
{
    static const struct bl_stages stages = {.produce = parts_produce,
                                            .open = exporter_open,
                                            .close = exporter_close,
                                            .work = parts_work,
                                            .consume = parts_consume,
                                            .discard = parts_discard,
                                            .tick = parts_tick};
    struct going going = {.parts = parts, .next = parts->begin};
    return bl_pipeline_run(&stages, &going, parts->workers, 2 * parts->workers, parts->cancel, e);
}
