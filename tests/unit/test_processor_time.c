#include "base/process.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "unit.h"

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void spin(double seconds)
{
    double until = thread_seconds() + seconds;
    while (thread_seconds() < until)
        ;
}

UNIT_TEST(running_counts_and_sleeping_does_not)
{
    struct timespec pause = {0, 50000000};
    struct bl_processor_time b;
    double counted = 1;
    /* On a busy machine the thread waits for a processor when it wakes, and that counts as queued: the least of some
     * tries is the pause alone. */
    for (int i = 0; i < 20 && counted >= 0.04; i++) {
        struct bl_processor_time a = bl_processor_time_self();
        nanosleep(&pause, NULL);
        b = bl_processor_time_self();
        counted = b.run + b.queued - a.run - a.queued;
    }
    ck_assert_double_lt(counted, 0.04);
    spin(0.05);
    struct bl_processor_time c = bl_processor_time_self();
    ck_assert_double_ge(c.run - b.run, 0.045);
    ck_assert_double_ge(c.queued, b.queued);
}

UNIT_TEST(another_process_has_its_own)
{
    int ready[2];
    char byte = 0;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (!pid) {
        spin(0.05);
        if (write(ready[1], &byte, 1) == 1)
            pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    struct bl_processor_time t = bl_processor_time_of(pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_double_ge(t.run, 0.045);
    ck_assert_double_lt(t.run, 2);
    t = bl_processor_time_of(pid); /* nobody */
    ck_assert_double_eq(t.run + t.queued, 0);
}

UNIT_TEST(sums_know_what_they_lack)
{
    struct bl_processor_time sum = {.run = 1, .queued = 2}, some = {.run = 3, .is_partly = true};
    bl_processor_time_add(&sum, &some);
    bl_processor_time_add(&sum, &(struct bl_processor_time){.queued = 4});
    ck_assert_double_eq(sum.run, 4);
    ck_assert_double_eq(sum.queued, 6);
    ck_assert(sum.is_partly);
}
