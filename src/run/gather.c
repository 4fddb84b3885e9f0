/* Each shard takes a handful of calls that wait for the file system, so many shards are read at once. */
#include "run/gather.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "run/pipeline.h"
#include "run/status.h"
#include "store/folders.h"
#include "store/index.h"
#include "store/shard_table.h"
#include "store/shard_writer.h"

/* One thread for this many shards; a small dataset needs no threads. */
#define SHARDS_PER_WORKER 64
#define WORKERS_MAX 16

struct gathering {
    const struct bl_gather *gather;
    struct bl_outcomes *outcomes;
    struct bl_output shards;
    struct bl_index_writer index;
    int64_t next; /* the next shard to read */
    int64_t bytes;
    int64_t missing, first_missing;
};

struct gather_job {
    int64_t shard;
    bool found;
    struct bl_shard_record record;
};

/* The file system of a machine that packed may have cached that a shard does not exist. */
static int gather_refresh_folder(const struct bl_gather *g, int64_t shard, struct bl_error *e)
{
    char name[BL_SHARD_NAME_MAX];
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/%s", g->dir, bl_format_shard_name(g->format, shard, name));
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    *strrchr(path.data, '/') = '\0';
    bl_folders_refresh(path.data);
out:
    bl_buffer_free(&path);
    return code;
}

static int gather_produce(void *context, void **out, struct bl_error *e)
{
    struct gathering *g = context;
    if (g->next == bl_format_shards(g->gather->format))
        return BL_OK;
    struct gather_job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    job->shard = g->next++;
    int code = job->shard % BL_SHARDS_PER_FOLDER ? BL_OK : gather_refresh_folder(g->gather, job->shard, e);
    if (code)
        free(job);
    else
        *out = job;
    return code;
}

static int gather_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    const struct bl_gather *g = ((struct gathering *)context)->gather;
    struct gather_job *job = job_;
    (void)worker;
    return bl_shard_find(g->format, g->dir, job->shard, &job->record, &job->found, e);
}

static void gather_discard(void *context, void *job_)
{
    struct gather_job *job = job_;
    (void)context;
    bl_shard_record_free(&job->record);
    free(job);
}

static int gather_add_record(struct gathering *g, struct bl_shard_record *record, struct bl_error *e)
{
    const struct bl_format *format = g->gather->format;
    int code = bl_shard_table_add(&g->shards, format, record, e);
    if (code)
        goto out;
    code = bl_index_add_checksums(&g->index, record->block_checksum,
                                  (size_t)record->blocks * (size_t)format->fields.count, e);
    if (code)
        goto out;
    code = bl_outcomes_parse(g->outcomes, record->user_data, record->user_data_size, e);
out:
    g->bytes += record->bytes;
    return code;
}

/* Counts all missing shards, since the user must know how many to pack. */
static int gather_consume(void *context, void *job_, struct bl_error *e)
{
    struct gathering *g = context;
    struct gather_job *job = job_;
    int code = BL_OK;
    if (!job->found && !g->missing++)
        g->first_missing = job->shard;
    if (!g->missing)
        code = gather_add_record(g, &job->record, e);
    gather_discard(g, job);
    return code;
}

static int gather_report_missing(const struct gathering *g, struct bl_error *e)
{
    const struct bl_gather *gather = g->gather;
    struct bl_status status;
    struct bl_buffer text = {0};
    struct bl_error none = {0}; /* without a status the message names no tasks */
    (void)bl_status_read(&status, gather->dir, &none);
    bl_missing_describe(&text, gather->dir, gather->format, g->missing, bl_format_shards(gather->format),
                        g->first_missing);
    bl_buffer_text(&text, ": ");
    bl_status_stage_append_command(&status.pack, "pack", &text);
    int code = bl_buffer_check(&text, e);
    if (!code)
        code = bl_error_set(e, BL_EFAIL, "%s", text.data);
    bl_buffer_free(&text);
    bl_status_free(&status);
    return code;
}

static int gather_records(struct gathering *g, struct bl_error *e)
{
    static const struct bl_stages stages = {
        .produce = gather_produce, .work = gather_work, .consume = gather_consume, .discard = gather_discard};
    const struct bl_gather *gather = g->gather;
    int64_t shards = bl_format_shards(gather->format);
    int workers =
        shards < (int64_t)SHARDS_PER_WORKER * WORKERS_MAX ? (int)(shards / SHARDS_PER_WORKER) + 1 : WORKERS_MAX;
    int code = bl_pipeline_run(&stages, g, workers, 4 * workers, gather->cancel, e);
    if (code)
        return code;
    return g->missing ? gather_report_missing(g, e) : BL_OK;
}

int bl_gather_run(const struct bl_gather *gather, struct bl_outcomes *outcomes, int64_t *bytes, struct bl_error *e)
{
    struct gathering g = {.gather = gather, .outcomes = outcomes};
    int code = bl_shard_table_open(&g.shards, gather->dir, e);
    if (code)
        goto out;
    code = bl_index_begin(&g.index, gather->dir, gather->plan, gather->table->length, gather->format->fields.count, e);
    if (code)
        goto out;
    code = gather_records(&g, e);
    if (code)
        goto out;
    code = bl_index_finish(&g.index, e);
    if (code)
        goto out;
    code = bl_output_commit(&g.shards, e);
out:
    bl_index_abort(&g.index);
    bl_output_abort(&g.shards);
    *bytes = g.bytes;
    return code;
}
