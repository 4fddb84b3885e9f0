/* Memory that workers share: never more than there is, in turn; what is more than all of it waits for all. */
#include "kind/reservation.h"

#include <pthread.h>
#include <sched.h>

#include "unit.h"

#define MIB ((int64_t)1 << 20)

struct user {
    struct bl_reservation reservation;
    unsigned seed;
    int turns;
    atomic_llong *used; /* beyond what is included, by all */
    bool failed;
};

static void *user_run(void *user_)
{
    struct user *u = user_;
    struct bl_error e = {0};
    int64_t total = u->reservation.budget->total;
    for (int i = 0; i < u->turns && !u->failed; i++) {
        u->seed = u->seed * 1103515245 + 12345;
        int64_t bytes = (int64_t)(u->seed >> 8) % (120 * MIB);
        u->failed = bl_reservation_need(&u->reservation, bytes, &e) != BL_OK;
        int64_t mine = bytes > 10 * MIB ? bytes - 10 * MIB : 0;
        mine = mine < total ? mine : total;
        u->failed |= u->reservation.held != mine || atomic_fetch_add(u->used, mine) + mine > total;
        sched_yield();
        atomic_fetch_sub(u->used, mine);
        bl_reservation_release(&u->reservation);
    }
    return NULL;
}

UNIT_TEST(no_more_than_there_is)
{
    OWNED(bl_memory_budget_free) struct bl_memory_budget budget;
    struct bl_cancel cancel = {0};
    atomic_llong used = 0;
    struct user user[8];
    pthread_t thread[8];
    bl_memory_budget_init(&budget, 100 * MIB);
    for (unsigned i = 0; i < 8; i++) {
        user[i] = (struct user){
            {.budget = &budget, .cancel = &cancel, .included = 10 * MIB}, i, unit_times(400), &used, false};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, user_run, &user[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
        ck_assert(!user[i].failed);
    }
    ck_assert_int_eq(budget.left, 100 * MIB);
}

UNIT_TEST(another_input_gives_back_what_the_one_before_took)
{
    struct bl_memory_budget budget;
    struct bl_cancel cancel = {0};
    bl_memory_budget_init(&budget, 100 * MIB);
    struct bl_reservation r = {.budget = &budget, .cancel = &cancel, .included = 10 * MIB};
    ck_assert_int_eq(bl_reservation_need(&r, 10 * MIB, &e), BL_OK);
    ck_assert_int_eq(budget.left, 100 * MIB);
    ck_assert_int_eq(bl_reservation_need(&r, 70 * MIB, &e), BL_OK);
    ck_assert_int_eq(budget.left, 40 * MIB);
    ck_assert_int_eq(bl_reservation_need(&r, 90 * MIB, &e), BL_OK); /* it would wait for itself else */
    ck_assert_int_eq(budget.left, 20 * MIB);
    ck_assert_int_eq(bl_reservation_need(&r, 50 * MIB, &e), BL_OK); /* what is larger may come again */
    ck_assert_int_eq(budget.left, 20 * MIB);
    ck_assert_int_eq(bl_reservation_grow(&r, 150 * MIB, &e), BL_OK);
    ck_assert_int_eq(budget.left, -40 * MIB);
    bl_reservation_release(&r);
    ck_assert_int_eq(budget.left, 100 * MIB);
    ck_assert_int_eq(bl_reservation_need(&r, 500 * MIB, &e), BL_OK);
    ck_assert_int_eq(budget.left, 0);
    bl_reservation_release(&r);
    bl_memory_budget_free(&budget);
    ck_assert_int_eq(bl_reservation_need(NULL, 500 * MIB, &e), BL_OK);
}

static void *raise_later(void *cancel_)
{
    struct bl_cancel *cancel = cancel_;
    atomic_store(&cancel->requested, 1);
    return NULL;
}

UNIT_TEST(who_waits_can_be_cancelled)
{
    OWNED(bl_memory_budget_free) struct bl_memory_budget budget;
    struct bl_cancel cancel = {0};
    pthread_t thread;
    bl_memory_budget_init(&budget, 100 * MIB);
    struct bl_reservation one = {.budget = &budget, .cancel = &cancel}, two = one;
    ck_assert_int_eq(bl_reservation_need(&one, 60 * MIB, &e), BL_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, raise_later, &cancel), 0);
    ck_assert_int_eq(bl_reservation_need(&two, 60 * MIB, &e), BL_ECANCEL);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    bl_reservation_release(&two);
    ck_assert_int_eq(budget.left, 40 * MIB);
    bl_reservation_release(&one);
}

UNIT_TEST(what_never_fits_is_refused_where_that_is_wanted)
{
    OWNED(bl_memory_budget_free) struct bl_memory_budget budget;
    struct bl_cancel cancel = {0};
    bl_memory_budget_init(&budget, -20 * MIB);
    struct bl_reservation r = {.budget = &budget, .cancel = &cancel, .included = 10 * MIB, .strict = true};
    ck_assert_int_eq(bl_reservation_need(&r, 10 * MIB, &e), BL_OK);
    FAILS(bl_reservation_need(&r, 70 * MIB, &e), BL_EUSAGE,
          "70.0 MiB of memory are needed for it: --memory is too small by 80.0 MiB");
    r.strict = false;
    bl_reservation_release(&r);
    ck_assert_int_eq(bl_reservation_need(&r, 70 * MIB, &e), BL_OK); /* alone */
    ck_assert_int_eq(budget.left, 0);
    bl_reservation_release(&r);
    bl_error_clear(&e);
    ck_assert_int_eq(bl_reservation_require(&r, 70 * MIB, &e), BL_EUSAGE); /* refused although it is not strict */
    ck_assert_str_eq(e.text, "70.0 MiB of memory are needed for it: --memory is too small by 80.0 MiB");
    ck_assert_int_eq(r.held, 0);
    ck_assert_int_eq(bl_reservation_require(NULL, 70 * MIB, &e), BL_OK);
}

/* The scan notes what packing will need. */
UNIT_TEST(without_a_budget_it_is_noted)
{
    struct bl_reservation r = {.included = 10 * MIB};
    ck_assert_int_eq(bl_reservation_need(&r, 5 * MIB, &e), BL_OK);
    ck_assert_int_eq(r.needed, 0);
    ck_assert_int_eq(bl_reservation_need(&r, 50 * MIB, &e), BL_OK);
    ck_assert_int_eq(bl_reservation_grow(&r, 60 * MIB, &e), BL_OK);
    ck_assert_int_eq(r.needed, 60 * MIB);
    bl_reservation_release(&r);
    ck_assert_int_eq(r.needed, 0);
}
