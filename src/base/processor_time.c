#include "base/processor_time.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PATH_SIZE 64
#define TEXT_SIZE 128 /* of three numbers */
#define BLIND 0.01    /* seconds: a thread that has run for so long, and has not by the file, is not counted there */

static double clock_seconds(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) != 0)
        return 0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The file has the nanoseconds of both; kernels without CONFIG_SCHED_INFO have no such file, some sandboxes zeros. */
static void time_read_queued(struct bl_processor_time *t, const char *path)
{
    char text[TEXT_SIZE];
    uint64_t run, queued;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    t->is_partly = true;
    if (size <= 0)
        return;
    text[size] = '\0';
    if (sscanf(text, "%" SCNu64 " %" SCNu64, &run, &queued) != 2 || (!run && t->run > BLIND))
        return;
    t->queued = (double)queued * 1e-9;
    t->is_partly = false;
}

struct bl_processor_time bl_processor_time_self(void)
{
    struct bl_processor_time t = {.run = clock_seconds(CLOCK_THREAD_CPUTIME_ID)};
    time_read_queued(&t, "/proc/thread-self/schedstat");
    return t;
}

struct bl_processor_time bl_processor_time_of(pid_t pid)
{
    struct bl_processor_time t = {0};
    char path[PATH_SIZE];
    clockid_t clock;
    if (clock_getcpuclockid(pid, &clock) != 0)
        return t;
    t.run = clock_seconds(clock);
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    time_read_queued(&t, path);
    return t;
}

void bl_processor_time_add(struct bl_processor_time *sum, const struct bl_processor_time *some)
{
    sum->run += some->run;
    sum->queued += some->queued;
    sum->is_partly |= some->is_partly;
}
