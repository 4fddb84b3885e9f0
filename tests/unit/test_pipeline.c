#include "pool/pipeline.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#include "unit.h"

#define JOBS 300

struct trial {
    int fail_produce, fail_work, fail_write, fail_consume; /* the job at which that stage fails, or -1 */
    int fail_open;                                         /* workers cannot open */
    bool writes, consumes;                                 /* there are such stages */
    int writers;                                           /* threads for it, at most; 0: as many as workers */
    int stop_after;                                        /* consume raises cancel as a signal does, or -1 */
    struct bl_cancel cancel;
    int next, consumed, slots;
    atomic_int alive, most, opened, closed;
    atomic_int writing, most_writing;
};

struct job {
    int number;
    int square, cube; /* by work, by write */
};

static int produce(void *context, void **out, struct bl_error *e)
{
    struct trial *t = context;
    if (t->next == t->fail_produce)
        return bl_error_set(e, BL_EFAIL, "produce %d", t->next);
    if (t->next == JOBS)
        return BL_OK;
    struct job *job = calloc(1, sizeof *job);
    job->number = t->next++;
    int alive = atomic_fetch_add(&t->alive, 1) + 1;
    if (alive > atomic_load(&t->most))
        atomic_store(&t->most, alive);
    *out = job;
    return BL_OK;
}

static int open_worker(void *context, void **worker, struct bl_error *e)
{
    struct trial *t = context;
    if (t->fail_open)
        return bl_error_set(e, BL_EFAIL, "open");
    atomic_fetch_add(&t->opened, 1);
    *worker = t;
    return BL_OK;
}

static void close_worker(void *worker)
{
    struct trial *t = worker;
    atomic_fetch_add(&t->closed, 1);
}

/* Jobs take different times, so that they are done in another order than they were made in. */
static int work(void *context, void *worker, void *job_, struct bl_error *e)
{
    struct trial *t = context;
    struct job *job = job_;
    ck_assert_ptr_eq(worker, t);
    struct timespec pause = {0, (job->number * 7919 % 13) * 20000};
    nanosleep(&pause, NULL);
    job->square = job->number * job->number;
    return job->number == t->fail_work ? bl_error_set(e, BL_EFAIL, "work %d", job->number) : BL_OK;
}

static int write_job(void *context, void *job_, struct bl_error *e)
{
    struct trial *t = context;
    struct job *job = job_;
    struct timespec pause = {0, (job->number * 5711 % 11) * 20000};
    int writing = atomic_fetch_add(&t->writing, 1) + 1, most = atomic_load(&t->most_writing);
    while (writing > most && !atomic_compare_exchange_weak(&t->most_writing, &most, writing))
        ;
    nanosleep(&pause, NULL);
    job->cube = job->square * job->number;
    atomic_fetch_sub(&t->writing, 1);
    return job->number == t->fail_write ? bl_error_set(e, BL_EFAIL, "write %d", job->number) : BL_OK;
}

static void discard(void *context, void *job)
{
    struct trial *t = context;
    atomic_fetch_sub(&t->alive, 1);
    free(job);
}

static int consume(void *context, void *job_, struct bl_error *e)
{
    struct trial *t = context;
    struct job *job = job_;
    int number = job->number;
    ck_assert_int_eq(number, t->consumed);
    ck_assert_int_eq(job->square, number * number);
    ck_assert_int_eq(job->cube, t->writes ? number * number * number : 0);
    t->consumed++;
    discard(t, job);
    if (number == t->stop_after)
        atomic_store(&t->cancel.requested, 15);
    return number == t->fail_consume ? bl_error_set(e, BL_EFAIL, "consume %d", number) : BL_OK;
}

static struct trial trial_of(void)
{
    return (struct trial){.fail_produce = -1,
                          .fail_work = -1,
                          .fail_write = -1,
                          .fail_consume = -1,
                          .writes = true,
                          .consumes = true,
                          .stop_after = -1};
}

/* Whatever happens, nothing is left alive, every worker that opened is closed, and no more jobs lived than slots. */
static int run(struct trial *t, int workers, int slots, struct bl_error *e)
{
    const struct bl_stages stages = {.produce = produce,
                                     .open = open_worker,
                                     .close = close_worker,
                                     .work = work,
                                     .write = t->writes ? write_job : NULL,
                                     .writers = t->writers,
                                     .consume = t->consumes ? consume : NULL,
                                     .discard = discard};
    int code = bl_pipeline_run(&stages, t, workers, slots, &t->cancel, e);
    ck_assert_int_eq(atomic_load(&t->alive), 0);
    ck_assert_int_eq(atomic_load(&t->opened), atomic_load(&t->closed));
    ck_assert_int_le(atomic_load(&t->most), slots > workers ? slots : workers);
    return code;
}

static const int worker_counts[] = {1, 2, 5, 16};

UNIT_TEST(writers_may_be_fewer_than_workers)
{
    for (int writers = 0; writers < 3; writers++) {
        struct trial t = trial_of();
        t.writers = writers;
        ck_assert_int_eq(run(&t, 5, 10, &e), BL_OK);
        ck_assert_int_eq(t.consumed, JOBS);
        ck_assert_int_ge(atomic_load(&t.most_writing), 1);
        ck_assert_int_le(atomic_load(&t.most_writing), writers ? writers : 5);
    }
}

UNIT_TEST(results_come_in_order)
{
    for (size_t i = 0; i < 8; i++) {
        struct trial t = trial_of();
        t.writes = i < 4;
        ck_assert_int_eq(run(&t, worker_counts[i % 4], 2 * worker_counts[i % 4], &e), BL_OK);
        ck_assert_int_eq(t.consumed, JOBS);
        ck_assert_int_eq(atomic_load(&t.cancel.requested), 0);
    }
}

UNIT_TEST(jobs_without_results_are_freed)
{
    for (size_t i = 0; i < 4; i++) {
        struct trial t = trial_of();
        t.consumes = false;
        ck_assert_int_eq(run(&t, worker_counts[i], 2 * worker_counts[i], &e), BL_OK);
        ck_assert_int_eq(t.next, JOBS);
    }
}

UNIT_TEST(a_failing_stage_ends_the_run)
{
    static const int where[] = {0, JOBS / 2, JOBS - 1};
    for (size_t i = 0; i < 4; i++) {
        for (size_t at = 0; at < 3; at++) {
            for (int stage = 0; stage < 4; stage++) {
                struct trial t = trial_of();
                bl_error_clear(&e);
                char expected[32];
                static const char *const name[] = {"produce", "work", "write", "consume"};
                int *const fail[] = {&t.fail_produce, &t.fail_work, &t.fail_write, &t.fail_consume};
                *fail[stage] = where[at];
                snprintf(expected, sizeof expected, "%s %d", name[stage], where[at]);
                FAILS(run(&t, worker_counts[i], 2 * worker_counts[i], &e), BL_EFAIL, expected);
                ck_assert_int_le(t.consumed, where[at] + 1);
            }
        }
    }
}

UNIT_TEST(a_worker_that_cannot_open_ends_the_run)
{
    for (size_t i = 0; i < 4; i++) {
        struct trial t = trial_of();
        bl_error_clear(&e);
        t.fail_open = 1;
        FAILS(run(&t, worker_counts[i], 2 * worker_counts[i], &e), BL_EFAIL, "open");
        ck_assert_int_eq(t.consumed, 0);
    }
}

UNIT_TEST(a_signal_ends_the_run)
{
    for (size_t i = 0; i < 4; i++) {
        struct trial t = trial_of();
        bl_error_clear(&e);
        t.stop_after = 100;
        ck_assert_int_eq(run(&t, worker_counts[i], 2 * worker_counts[i], &e), BL_ECANCEL);
        ck_assert_int_eq(t.consumed, 101);
        ck_assert_int_eq(atomic_load(&t.cancel.requested), 15);
    }
}

/* The system's time, an hour ahead for all who ask: as one finds it whose clock is set back a moment later. */
static atomic_bool is_ahead;

int clock_gettime(clockid_t clock, struct timespec *time)
{
    long result = syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME && atomic_load(&is_ahead))
        time->tv_sec += 3600;
    return (int)result;
}

static int produce_two(void *context, void **job, struct bl_error *e)
{
    int *left = context;
    (void)e;
    if ((*left)-- > 0)
        *job = left;
    return BL_OK;
}

static int work_long(void *context, void *worker, void *job, struct bl_error *e)
{
    struct timespec pause = {0, 700000000};
    (void)context, (void)worker, (void)job, (void)e;
    nanosleep(&pause, NULL);
    return BL_OK;
}

static int ticks;

static void count_tick(void *context)
{
    (void)context;
    ticks++;
}

UNIT_TEST(a_clock_that_is_set_back_is_not_waited_for)
{
    static const struct bl_stages stages = {.produce = produce_two, .work = work_long, .tick = count_tick};
    struct bl_cancel cancel = {0};
    int left = 2;
    atomic_store(&is_ahead, true);
    ck_assert_int_eq(bl_pipeline_run(&stages, &left, 2, 2, &cancel, &e), 0);
    atomic_store(&is_ahead, false);
    ck_assert_int_ge(ticks, 6); /* two to produce, two to consume, and some while nothing is done */
}

/* --- times ------------------------------------------------------------------------------------------------------ */

enum { TIMED_JOBS = 40 };

/* Jobs that take these milliseconds in each stage; the first one longer in work. */
struct timed {
    int first, work, write, consume;
    int made, taken;
    double held_by_first;
    struct bl_work times;
};

static void rest(int milliseconds)
{
    struct timespec pause = {0, (long)milliseconds * 1000000};
    if (milliseconds)
        nanosleep(&pause, NULL);
}

static int first_job, other_job;

static int timed_produce(void *context, void **job, struct bl_error *e)
{
    struct timed *t = context;
    (void)e;
    if (t->made < TIMED_JOBS)
        *job = t->made++ ? &other_job : &first_job;
    return BL_OK;
}

static int timed_work(void *context, void *worker, void *job, struct bl_error *e)
{
    struct timed *t = context;
    (void)worker, (void)e;
    rest(job == &first_job ? t->first : t->work);
    return BL_OK;
}

static int timed_write(void *context, void *job, struct bl_error *e)
{
    (void)job, (void)e;
    rest(((struct timed *)context)->write);
    return BL_OK;
}

static int timed_consume(void *context, void *job, struct bl_error *e)
{
    struct timed *t = context;
    (void)job, (void)e;
    if (!t->taken++)
        t->held_by_first = t->times.held;
    rest(t->consume);
    return BL_OK;
}

static void time_jobs(struct timed *t, int workers)
{
    const struct bl_stages stages = {.produce = timed_produce,
                                     .work = timed_work,
                                     .write = timed_write,
                                     .writers = 1,
                                     .consume = timed_consume,
                                     .work_times = &t->times};
    struct bl_cancel cancel = {0};
    struct bl_error e = {0};
    ck_assert_int_eq(bl_pipeline_run(&stages, t, workers, 2 * workers, &cancel, &e), 0);
}

/* The share of the time in which workers had nothing to do for that reason. */
static double lost(const struct timed *t, enum bl_wait wait)
{
    return t->times.lost[wait] / t->times.wall;
}

static bool nothing_is_lost(const struct timed *t)
{
    bool is_little = t->times.worked > 0.01 * TIMED_JOBS - 0.001;
    for (int wait = 0; wait < BL_WAITS; wait++)
        is_little = is_little && lost(t, (enum bl_wait)wait) < 0.3;
    return is_little;
}

static bool one_job_is_waited_for(const struct timed *t)
{
    return lost(t, BL_WAIT_JOB) > 0.7 && t->held_by_first > 0.2 &&
           lost(t, BL_WAIT_WRITE) + lost(t, BL_WAIT_ORDER) < 0.3;
}

static bool writers_are_waited_for(const struct timed *t)
{
    return lost(t, BL_WAIT_WRITE) > 0.6 && lost(t, BL_WAIT_JOB) < 0.1;
}

static bool results_are_waited_for(const struct timed *t)
{
    return lost(t, BL_WAIT_ORDER) > 0.6 && lost(t, BL_WAIT_WRITE) < 0.1;
}

/* One of several rounds is as expected: a busy machine may hold up any thread in the others. */
static void check_times(struct timed jobs, int workers, bool (*is_expected)(const struct timed *t))
{
    struct timed t = {0};
    for (int round = 0; round < 10; round++) {
        t = jobs;
        time_jobs(&t, workers);
        if (is_expected(&t))
            return;
    }
    ck_abort_msg("%d workers lose %.3f to a job, %.3f to writers, %.3f to the order of %.3f s", workers,
                 lost(&t, BL_WAIT_JOB), lost(&t, BL_WAIT_WRITE), lost(&t, BL_WAIT_ORDER), t.times.wall);
}

UNIT_TEST(workers_that_are_busy_lose_nothing)
{
    check_times((struct timed){.first = 10, .work = 10}, 4, nothing_is_lost);
}

UNIT_TEST(time_is_lost_to_one_long_job)
{
    check_times((struct timed){.first = 300, .work = 1}, 4, one_job_is_waited_for);
}

UNIT_TEST(time_is_lost_to_writers_and_to_the_thread_that_takes_results)
{
    for (int workers = 1; workers <= 4; workers += 3) {
        check_times((struct timed){.first = 1, .work = 1, .write = 8}, workers, writers_are_waited_for);
        check_times((struct timed){.first = 1, .work = 1, .consume = 8}, workers, results_are_waited_for);
    }
}
