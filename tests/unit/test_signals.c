#include "cmd/signals.h"

#include <signal.h>
#include <sys/time.h>

#include "unit.h"

/* What the handler calls may leave something in errno. */
int setitimer(__itimer_which_t which, const struct itimerval *restrict value, struct itimerval *restrict old)
{
    (void)which, (void)value, (void)old;
    errno = ENOSYS;
    return -1;
}

UNIT_TEST(a_handler_leaves_errno_as_it_was)
{
    struct bl_cancel cancel = {0};
    bl_signals_install(&cancel);
    errno = EAGAIN;
    ck_assert_int_eq(raise(SIGUSR1), 0);
    int after = errno;
    ck_assert_int_eq(bl_signals_caught(&cancel), SIGUSR1);
    ck_assert_int_eq(after, EAGAIN);
}

UNIT_TEST(a_question_ends_nothing)
{
    struct bl_cancel cancel = {0};
    struct sigaction ask;
    bl_signals_install(&cancel);
    ck_assert(!bl_signals_take_question());
    ck_assert_int_eq(raise(SIGUSR2), 0);
    ck_assert_int_eq(atomic_load(&cancel.requested), 0);
    ck_assert(bl_signals_take_question());
    ck_assert(!bl_signals_take_question());
    /* Unlike the others, it does not interrupt system calls. */
    ck_assert_int_eq(sigaction(SIGUSR2, NULL, &ask), 0);
    ck_assert(ask.sa_flags & SA_RESTART);
    ck_assert_int_eq(sigaction(SIGUSR1, NULL, &ask), 0);
    ck_assert(!(ask.sa_flags & SA_RESTART));
}
