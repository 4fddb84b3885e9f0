/* A pipeline with a single job. */
#include "run/aside.h"

#include "run/pipeline.h"

struct running {
    const struct bl_aside *aside;
    bool is_made;
};

static int aside_produce(void *context, void **job, struct bl_error *e)
{
    struct running *r = context;
    (void)e;
    if (!r->is_made)
        *job = r;
    r->is_made = true;
    return BL_OK;
}

static int aside_work(void *context, void *worker, void *job, struct bl_error *e)
{
    const struct running *r = context;
    (void)worker, (void)job;
    return r->aside->work(r->aside->context, e);
}

static int aside_consume(void *context, void *job, struct bl_error *e)
{
    (void)context, (void)job, (void)e;
    return BL_OK;
}

static void aside_discard(void *context, void *job)
{
    (void)context, (void)job;
}

static void aside_tick(void *context)
{
    const struct running *r = context;
    r->aside->tick(r->aside->sink);
}

int bl_aside_run(const struct bl_aside *aside, struct bl_error *e)
{
    static const struct bl_stages stages = {.produce = aside_produce,
                                            .work = aside_work,
                                            .consume = aside_consume,
                                            .discard = aside_discard,
                                            .tick = aside_tick};
    struct running running = {.aside = aside};
    /* With one worker the caller's thread would do it. */
    return bl_pipeline_run(&stages, &running, 2, 2, aside->cancel, e);
}
