#include "run/heartbeat.h"
#include "pool/pipeline.h"

#include <pthread.h>
#include <time.h>

#include "unit.h"

struct trial {
    int milliseconds, code;
    int ticks;
    pthread_t caller;
    bool elsewhere; /* the work was done by another thread, and the ticks by this one */
};

static int work(void *context, struct bl_error *e)
{
    struct trial *t = context;
    struct timespec pause = {0, (long)t->milliseconds * 1000000};
    nanosleep(&pause, NULL);
    t->elsewhere = !pthread_equal(pthread_self(), t->caller);
    return t->code ? bl_error_set(e, t->code, "the reason") : BL_OK;
}

static void tick(void *context)
{
    struct trial *t = context;
    ck_assert(pthread_equal(pthread_self(), t->caller));
    t->ticks++;
}

static int run(struct trial *t, struct bl_cancel *cancel, struct bl_error *e)
{
    const struct bl_background background = {work, t, tick, t, cancel};
    t->caller = pthread_self();
    return bl_background_run(&background, e);
}

UNIT_TEST(the_caller_ticks_while_the_work_is_done)
{
    struct trial t = {.milliseconds = 550};
    struct bl_cancel cancel = {0};
    ck_assert_int_eq(run(&t, &cancel, &e), BL_OK);
    ck_assert(t.elsewhere);
    ck_assert_int_ge(t.ticks, 5);
}

UNIT_TEST(errors_come_to_the_caller)
{
    struct trial t = {.code = BL_EUSAGE};
    struct bl_cancel cancel = {0};
    FAILS(run(&t, &cancel, &e), BL_EUSAGE, "the reason");
}

UNIT_TEST(what_was_cancelled_says_so)
{
    struct trial t = {.milliseconds = 1};
    struct bl_cancel cancel = {.requested = 2};
    ck_assert_int_eq(run(&t, &cancel, &e), BL_ECANCEL);
}
