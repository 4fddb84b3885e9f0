#include "run/verify_shards.h"

#include <stdlib.h>
#include <string.h>

#include "run/pipeline.h"

struct verifying {
    const struct bl_verify_shards *verify;
    int64_t next;
};

/* A shard and its faults, which are reported in shard order. */
struct verify_job {
    int64_t shard, failed_steps;
    struct bl_buffer faults; /* pairs of file and text, each NUL-terminated */
};

static void verify_shards_fault(void *context, const char *file, const char *text)
{
    struct verify_job *job = context;
    bl_buffer_append(&job->faults, file, strlen(file) + 1);
    bl_buffer_append(&job->faults, text, strlen(text) + 1);
}

static int verify_shards_produce(void *context, void **out, struct bl_error *e)
{
    struct verifying *v = context;
    while (v->next < v->verify->end && v->verify->skip && v->verify->skip[v->next])
        v->verify->done(v->verify->sink, v->next++, 0);
    if (v->next == v->verify->end)
        return BL_OK;
    struct verify_job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    job->shard = v->next++;
    *out = job;
    return BL_OK;
}

static int verify_shards_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    const struct verifying *v = context;
    struct verify_job *job = job_;
    (void)worker;
    return bl_verify_shard(v->verify->dataset, job->shard, verify_shards_fault, job, &job->failed_steps, e);
}

static void verify_shards_discard(void *context, void *job_)
{
    struct verify_job *job = job_;
    (void)context;
    bl_buffer_free(&job->faults);
    free(job);
}

static int verify_shards_consume(void *context, void *job_, struct bl_error *e)
{
    const struct bl_verify_shards *verify = ((struct verifying *)context)->verify;
    struct verify_job *job = job_;
    int code = bl_buffer_check(&job->faults, e);
    for (size_t at = 0; at < job->faults.size && !code;) {
        const char *file = job->faults.data + at, *text = file + strlen(file) + 1;
        verify->fault(verify->sink, job->shard, file, text);
        at = (size_t)(text + strlen(text) + 1 - job->faults.data);
    }
    verify->done(verify->sink, job->shard, job->failed_steps);
    verify_shards_discard(context, job);
    return code;
}

static void verify_shards_tick(void *context)
{
    const struct bl_verify_shards *verify = ((struct verifying *)context)->verify;
    verify->tick(verify->sink);
}

int bl_verify_shards_run(const struct bl_verify_shards *verify, struct bl_error *e)
{
    const struct bl_stages stages = {.produce = verify_shards_produce,
                                     .work = verify_shards_work,
                                     .consume = verify_shards_consume,
                                     .discard = verify_shards_discard,
                                     .tick = verify_shards_tick,
                                     .work_times = verify->work};
    struct verifying v = {verify, verify->begin};
    return bl_pipeline_run(&stages, &v, verify->workers, 2 * verify->workers, verify->cancel, e);
}
