/* Implements the pipeline by a ring of `slots` entries with three counters: produced >= taken >= consumed.
 *
 * A worker that is done with an entry puts it into a linked queue for the writers. An entry is done when its last stage
 * before consume has ended; the caller's thread waits for the oldest entry. With 4 slots, produced = 7, taken = 6 and
 * consumed = 3, the entries of jobs 3, 4 and 5 are in work or done, and that of job 6 waits for a worker. One mutex
 * guards everything: a job is a block of frames or a file, so the lock is taken a few thousand times a second at
 * most. */
#include "pool/pipeline.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct entry {
    void *job;             /* owned by the entry until consume or discard has it */
    bool done;             /* all stages before consume have ended */
    int code;              /* of work or write */
    struct bl_error error; /* the detail of code */
    struct entry *next;    /* in the queue for writers */
};

struct pipeline {
    const struct bl_stages *stages;
    void *context;
    struct bl_cancel *cancel;
    struct entry *ring;
    size_t slots;                       /* entries of the ring, at least as many as workers */
    size_t produced, taken, consumed;   /* jobs so far */
    bool closed;                        /* no more jobs will be produced */
    int working;                        /* workers still running */
    struct entry *worked, **worked_end; /* queue of entries for the writers; worked_end: where to link the next */
    int open_code;                      /* of the first worker whose open failed; BL_OK: none */
    struct bl_error open_error;         /* the detail of open_code */
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_writing, has_result;

    /* These members measure times. */
    struct bl_work times;
    int workers, idle;           /* idle: number of workers without a job */
    size_t in_work, in_write;    /* jobs that a worker has; jobs that are in the queue of writers or being written */
    const struct entry *awaited; /* the entry that the caller's thread waits for; NULL: that thread is busy */
    double counted;              /* time of the last update of the times, in seconds */
};

/* --- times ------------------------------------------------------------------------------------------------------ */

/* Returns why idle workers have no job. If the caller's thread is busy, they wait for it (BL_WAIT_ORDER). Otherwise the
 * ring is full or closed. If more entries wait for writers than for consume, the disk is the cause (BL_WAIT_WRITE);
 * otherwise it is the worker of the oldest job (BL_WAIT_JOB). Call with the lock held. */
static enum bl_wait pipeline_what_is_awaited(const struct pipeline *p)
{
    if (!p->awaited)
        return BL_WAIT_ORDER;
    size_t finished = p->produced - p->consumed - p->in_work - p->in_write;
    return p->in_write > finished ? BL_WAIT_WRITE : BL_WAIT_JOB;
}

/* Adds the time since the last call to the cause of the present wait, scaled by the share of idle workers. Call before
 * the number of idle workers or the cause changes. If all wait for one job, the worker of that job cannot be idle, so
 * the share is taken of the other workers. Call with the lock held. */
static void pipeline_count_time(struct pipeline *p)
{
    if (!p->stages->work_times)
        return;
    double now = bl_seconds_now(), passed = now - p->counted;
    enum bl_wait wait = pipeline_what_is_awaited(p);
    int could = wait == BL_WAIT_JOB && p->workers > 1 ? p->workers - 1 : p->workers;
    double lost = passed * fmin((double)p->idle / could, 1);
    p->counted = now;
    p->times.lost[wait] += lost;
    if (wait == BL_WAIT_JOB)
        p->times.held += lost;
}

/* Returns the time in seconds, or 0 if times are not measured, which saves the system call. */
static double pipeline_now(const struct pipeline *p)
{
    return p->stages->work_times ? bl_seconds_now() : 0;
}

/* Adds the processor time that this thread has used since `before`. Call with the lock held. */
static void pipeline_add_processor_time(struct pipeline *p, const struct bl_processor_time *before)
{
    if (!p->stages->work_times)
        return;
    struct bl_processor_time t = bl_processor_time_self();
    t.run -= before->run;
    t.queued -= before->queued;
    bl_processor_time_add(&p->times.processor, &t);
}

/* Adds the times of this run to the caller's. */
static void pipeline_report_times(const struct pipeline *p, double seconds)
{
    struct bl_work *sum = p->stages->work_times;
    if (!sum)
        return;
    sum->wall += seconds;
    sum->worked += p->times.worked;
    for (int wait = 0; wait < BL_WAITS; wait++)
        sum->lost[wait] += p->times.lost[wait];
    bl_processor_time_add(&sum->processor, &p->times.processor);
}

/* --- workers and writers ---------------------------------------------------------------------------------------- */

/* Waits for a job and returns its entry, or NULL if there are no more jobs. Call with the lock held. */
static struct entry *worker_take(struct pipeline *p)
{
    pipeline_count_time(p);
    p->idle++;
    while (p->taken == p->produced && !p->closed)
        pthread_cond_wait(&p->has_work, &p->lock);
    if (p->taken == p->produced)
        return NULL; /* the worker counts as idle until the run ends */
    pipeline_count_time(p);
    p->idle--;
    p->in_work++;
    return &p->ring[p->taken++ % p->slots];
}

/* Passes an entry on after work: to the writers, or to consume if there is no write stage or work has failed. Call with
 * the lock held. */
static void pipeline_pass_on(struct pipeline *p, struct entry *entry)
{
    pipeline_count_time(p);
    p->in_work--;
    if (!p->stages->write || entry->code) {
        entry->done = true;
        pthread_cond_signal(&p->has_result);
        return;
    }
    p->in_write++;
    entry->next = NULL;
    *p->worked_end = entry;
    p->worked_end = &entry->next;
    pthread_cond_signal(&p->has_writing);
}

/* The thread of a worker: opens its state, works until the ring is closed and empty, and closes the state. argument:
 * the pipeline. */
static void *worker_main(void *argument)
{
    struct pipeline *p = argument;
    void *worker = NULL;
    struct bl_error e = {0};
    const struct bl_processor_time none = {0};
    int code = p->stages->open ? p->stages->open(p->context, &worker, &e) : BL_OK;
    if (code) {
        pthread_mutex_lock(&p->lock);
        if (!p->open_code) {
            p->open_code = code;
            p->open_error = e;
        }
        pthread_cond_signal(&p->has_result);
        pthread_mutex_unlock(&p->lock);
    } else {
        struct entry *entry;
        pthread_mutex_lock(&p->lock);
        while ((entry = worker_take(p))) {
            pthread_mutex_unlock(&p->lock);
            double begun = pipeline_now(p);
            /* After a fatal error the remaining jobs of the ring pass through without work. */
            entry->code =
                bl_cancelled(p->cancel) ? BL_ECANCEL : p->stages->work(p->context, worker, entry->job, &entry->error);
            double ended = pipeline_now(p);
            pthread_mutex_lock(&p->lock);
            p->times.worked += ended - begun;
            pipeline_pass_on(p, entry);
        }
        pthread_mutex_unlock(&p->lock);
        if (p->stages->close)
            p->stages->close(worker);
    }
    pthread_mutex_lock(&p->lock);
    pipeline_add_processor_time(p, &none);
    p->working--;
    pthread_cond_broadcast(&p->has_writing);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Waits for an entry to write and returns it, or NULL after the last worker has ended. Call with the lock held. */
static struct entry *writer_take(struct pipeline *p)
{
    while (!p->worked && p->working)
        pthread_cond_wait(&p->has_writing, &p->lock);
    struct entry *entry = p->worked;
    /* The queue is empty now, so the next entry becomes its head. */
    if (entry && !(p->worked = entry->next))
        p->worked_end = &p->worked;
    return entry;
}

/* The thread of a writer: writes entries of the queue until the last worker has ended. argument: the pipeline. */
static void *writer_main(void *argument)
{
    struct pipeline *p = argument;
    struct entry *entry;
    pthread_mutex_lock(&p->lock);
    while ((entry = writer_take(p))) {
        pthread_mutex_unlock(&p->lock);
        entry->code = bl_cancelled(p->cancel) ? BL_ECANCEL : p->stages->write(p->context, entry->job, &entry->error);
        pthread_mutex_lock(&p->lock);
        pipeline_count_time(p);
        p->in_write--;
        entry->done = true;
        pthread_cond_signal(&p->has_result);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* --- the caller's thread ---------------------------------------------------------------------------------------- */

/* Makes a job and adds it to the ring, which must have a free entry, or closes the ring if there are no more jobs. Only
 * the caller's thread changes produced, consumed and closed, so it may read them without the lock. BL_OK, or the error
 * of produce; then the ring is unchanged. */
static int pipeline_produce(struct pipeline *p, struct bl_error *e)
{
    void *job = NULL;
    BL_TRY(p->stages->produce(p->context, &job, e));
    pthread_mutex_lock(&p->lock);
    if (job) {
        p->ring[p->produced % p->slots] = (struct entry){.job = job};
        p->produced++;
        pthread_cond_signal(&p->has_work);
    } else {
        p->closed = true;
        pthread_cond_broadcast(&p->has_work);
    }
    pthread_mutex_unlock(&p->lock);
    return BL_OK;
}

/* Waits for the oldest job for at most 0.1 s, so that tick runs in between, and returns whether it is done. If a worker
 * could not open, *code and e have its error. */
static bool pipeline_wait_oldest(struct pipeline *p, int *code, struct bl_error *e)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until); /* monotonic, since a clock that is set back would prolong the wait */
    until.tv_nsec += 100 * 1000 * 1000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&p->lock);
    struct entry *oldest = &p->ring[p->consumed % p->slots];
    pipeline_count_time(p);
    p->awaited = oldest;
    /* A worker that could not open ends the wait, too, since the oldest job may wait for that worker. */
    int waited = 0;
    while (!oldest->done && !p->open_code && waited == 0)
        waited = pthread_cond_timedwait(&p->has_result, &p->lock, &until);
    bool done = oldest->done;
    pipeline_count_time(p);
    p->awaited = NULL;
    if (!done && p->open_code) {
        *code = p->open_code;
        bl_error_set(e, p->open_error.code, "%s", p->open_error.text);
    }
    pthread_mutex_unlock(&p->lock);
    return done;
}

static void pipeline_discard(const struct bl_stages *s, void *context, void *job)
{
    if (s->discard)
        s->discard(context, job);
}

static int pipeline_consume(const struct bl_stages *s, void *context, void *job, struct bl_error *e)
{
    if (s->consume)
        return s->consume(context, job, e);
    pipeline_discard(s, context, job);
    return BL_OK;
}

/* Removes the oldest entry, which is done, from the ring and consumes its job, or discards it and returns its error.
 * The waiting time for this job is in work_times->held while consume runs, so that consume can blame a file for it. */
static int pipeline_consume_oldest(struct pipeline *p, struct bl_error *e)
{
    struct entry *entry = &p->ring[p->consumed % p->slots];
    void *job = entry->job;
    int code = entry->code;
    if (code)
        bl_error_pass(e, code, &entry->error);
    entry->done = false;
    entry->job = NULL;
    p->consumed++;
    if (p->stages->work_times)
        p->stages->work_times->held = p->times.held;
    p->times.held = 0;
    if (code) {
        pipeline_discard(p->stages, p->context, job);
        return code;
    }
    return pipeline_consume(p->stages, p->context, job, e);
}

/* Runs the caller's thread until all jobs are consumed. It produces before it consumes, so that the ring stays full.
 * BL_ECANCEL: the cancel flag is set. */
static int pipeline_drive(struct pipeline *p, struct bl_error *e)
{
    for (;;) {
        if (bl_cancelled(p->cancel))
            return BL_ECANCEL;
        int code = BL_OK;
        if (!p->closed && p->produced - p->consumed < p->slots)
            code = pipeline_produce(p, e);
        else if (p->closed && p->consumed == p->produced)
            return BL_OK;
        else if (pipeline_wait_oldest(p, &code, e))
            code = pipeline_consume_oldest(p, e);
        if (code)
            return code;
        if (p->stages->tick)
            p->stages->tick(p->context);
    }
}

/* Starts the workers, then the writers. *threads is the number of threads that run, also after an error. BL_EFAIL: the
 * system starts no more threads. */
static int pipeline_start(struct pipeline *p, pthread_t *thread, int workers, int *threads, struct bl_error *e)
{
    /* 0 writers means no limit by the caller; the workers limit them in any case. */
    int most = p->stages->writers, writers = most && most < workers ? most : workers;
    int all = p->stages->write ? workers + writers : workers;
    /* It is set before the first thread starts: a writer would end at once if no worker were running. */
    p->working = workers;
    while (*threads < all) {
        int error = pthread_create(&thread[*threads], NULL, *threads < workers ? worker_main : writer_main, p);
        if (error) {
            errno = error;
            return bl_error_errno(e, BL_EFAIL, "cannot start a thread");
        }
        ++*threads;
    }
    return BL_OK;
}

/* Runs all jobs with two or more workers. Any error sets the cancel flag before the threads are joined, which stops
 * long jobs. */
static int pipeline_run_threads(struct pipeline *p, int workers, struct bl_error *e)
{
    double begun = p->counted = pipeline_now(p);
    int code = BL_OK, threads = 0, none = 0;
    /* There are at most as many writers as workers. */
    pthread_t *thread = calloc(2 * (size_t)workers, sizeof *thread);
    p->ring = calloc(p->slots, sizeof *p->ring);
    p->worked_end = &p->worked;
    if (!thread || !p->ring)
        code = bl_error_memory(e);
    if (code)
        goto out;
    code = pipeline_start(p, thread, workers, &threads, e);
    if (code)
        goto out;
    code = pipeline_drive(p, e);
out:
    if (code)
        atomic_compare_exchange_strong(&p->cancel->requested, &none, -1); /* the number of a signal stays */
    if (thread && p->ring) {
        /* Waiting workers see that the ring is closed and end. The jobs that will not be consumed are discarded after
         * the threads have ended, as no thread uses them then. */
        pthread_mutex_lock(&p->lock);
        p->closed = true;
        pthread_cond_broadcast(&p->has_work);
        pthread_mutex_unlock(&p->lock);
        for (int i = 0; i < threads; i++)
            pthread_join(thread[i], NULL);
        for (; p->consumed < p->produced; p->consumed++)
            pipeline_discard(p->stages, p->context, p->ring[p->consumed % p->slots].job);
    }
    pipeline_report_times(p, pipeline_now(p) - begun);
    free(thread);
    free(p->ring);
    return code;
}

/* Runs one job through all stages on this thread. *left is false if there are no more jobs. The times count as with
 * several threads: work is worked, write counts as waiting for the disk, and the caller's stages as waiting for the
 * order. */
static int pipeline_run_job(struct pipeline *p, void *worker, bool *left, struct bl_error *e)
{
    const struct bl_stages *s = p->stages;
    void *job = NULL;
    double begun = pipeline_now(p);
    int code = s->produce(p->context, &job, e);
    *left = !code && job;
    if (!*left)
        return code;
    double made = pipeline_now(p);
    code = bl_cancelled(p->cancel) ? BL_ECANCEL : s->work(p->context, worker, job, e);
    double worked = pipeline_now(p);
    if (!code && s->write)
        code = s->write(p->context, job, e);
    double written = pipeline_now(p);
    if (code)
        pipeline_discard(s, p->context, job);
    else
        code = pipeline_consume(s, p->context, job, e);
    p->times.worked += worked - made;
    p->times.lost[BL_WAIT_WRITE] += written - worked;
    p->times.lost[BL_WAIT_ORDER] += made - begun + pipeline_now(p) - written;
    return code;
}

/* Runs all jobs on the caller's thread, without locks. */
static int pipeline_run_single(struct pipeline *p, struct bl_error *e)
{
    const struct bl_stages *s = p->stages;
    const struct bl_processor_time none = {0};
    struct bl_processor_time before = s->work_times ? bl_processor_time_self() : none;
    double begun = pipeline_now(p);
    void *worker = NULL;
    bool left = true;
    int code = s->open ? s->open(p->context, &worker, e) : BL_OK;
    if (code)
        return code;
    while (!code && left) {
        code = pipeline_run_job(p, worker, &left, e);
        if (left && s->tick)
            s->tick(p->context);
    }
    if (s->close)
        s->close(worker);
    pipeline_add_processor_time(p, &before);
    pipeline_report_times(p, pipeline_now(p) - begun);
    if (code)
        return code;
    return bl_cancelled(p->cancel) ? BL_ECANCEL : BL_OK;
}

int bl_pipeline_run(const struct bl_stages *stages, void *context, int workers, int slots, struct bl_cancel *cancel,
                    struct bl_error *e)
{
    struct pipeline p = {.stages = stages,
                         .context = context,
                         .cancel = cancel,
                         .slots = (size_t)(slots < workers ? workers : slots),
                         .workers = workers};
    if (workers <= 1)
        return pipeline_run_single(&p, e);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic); /* cannot fail on Linux */
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.has_work, NULL);
    pthread_cond_init(&p.has_writing, NULL);
    pthread_cond_init(&p.has_result, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int code = pipeline_run_threads(&p, workers, e);
    pthread_cond_destroy(&p.has_result);
    pthread_cond_destroy(&p.has_writing);
    pthread_cond_destroy(&p.has_work);
    pthread_mutex_destroy(&p.lock);
    return code;
}

/* --- work on a second thread -------------------------------------------------------------------------------------- */

/* A background task is a pipeline with a single job, as the pipeline already has the thread, the tick and the
 * cancellation. */

struct running {
    const struct bl_background *background;
    bool is_made; /* the single job has been produced */
};

/* Makes the single job, then no more. The job must not be NULL, which would end the pipeline. */
static int background_produce(void *context, void **job, struct bl_error *e)
{
    struct running *r = context;
    (void)e;
    if (!r->is_made)
        *job = r;
    r->is_made = true;
    return BL_OK;
}

static int background_work(void *context, void *worker, void *job, struct bl_error *e)
{
    const struct running *r = context;
    (void)worker, (void)job;
    return r->background->work(r->background->context, e);
}

static void background_tick(void *context)
{
    const struct running *r = context;
    r->background->tick(r->background->sink);
}

int bl_background_run(const struct bl_background *background, struct bl_error *e)
{
    static const struct bl_stages stages = {
        .produce = background_produce, .work = background_work, .tick = background_tick};
    struct running running = {.background = background};
    /* Two workers: with one, the caller's thread would run the work and could not tick. */
    return bl_pipeline_run(&stages, &running, 2, 2, background->cancel, e);
}
