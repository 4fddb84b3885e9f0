#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake.h"

#define NAMES 128
#define WORDS 16 /* of what was wrong, the first ones */

struct counter {
    int64_t total, now, most;
};

struct calls {
    const char *name;
    int64_t number;
};

/* The state of a driver is one for the process. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counter counters[FAKE_COUNTS];
static struct calls calls[NAMES];
static char wrong[WORDS][160];
static CUresult lost = CUDA_SUCCESS;

static const char *const counter_name[FAKE_COUNTS] = {"contexts", "memory", "pinned",   "streams",  "events",
                                                      "modules",  "copies", "launches", "decoders", "reconfigured",
                                                      "pictures", "maps",   "parsers",  "wrong"};

int64_t fake_option(const char *name, int64_t otherwise)
{
    const char *value = getenv(name);
    return value && *value ? strtoll(value, NULL, 10) : otherwise;
}

static int64_t number_of_call(const char *function)
{
    int i = 0;
    while (i < NAMES - 1 && calls[i].name && strcmp(calls[i].name, function))
        i++;
    calls[i].name = function;
    return ++calls[i].number;
}

/* Whether FAKE_FAIL names this call. */
static bool is_to_fail(const char *function, int64_t number)
{
    size_t length = strlen(function);
    for (const char *at = getenv("FAKE_FAIL"); at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (!strncmp(at, function, length) && at[length] == ':' && strtoll(at + length + 1, NULL, 10) == number)
            return true;
    }
    return false;
}

int64_t fake_cost(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = getenv("FAKE_COSTS"); at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (!strncmp(at, name, length) && at[length] == ':')
            return strtoll(at + length + 1, NULL, 10);
    }
    return 0;
}

bool fake_draws(void)
{
    return !getenv("FAKE_COSTS");
}

int64_t fake_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void fake_sleep(int64_t us)
{
    const struct timespec t = {us / 1000000, us % 1000000 * 1000};
    if (us > 0)
        nanosleep(&t, NULL);
}

CUresult fake_begin(const char *function)
{
    pthread_mutex_lock(&lock);
    int64_t number = number_of_call(function);
    fake_sleep(fake_cost(function));
    if (lost != CUDA_SUCCESS)
        return lost;
    if (!is_to_fail(function, number))
        return CUDA_SUCCESS;
    CUresult result = (CUresult)fake_option("FAKE_FAIL_CODE", CUDA_ERROR_UNKNOWN);
    if (fake_option("FAKE_LOST", 0))
        lost = result;
    return result;
}

CUresult fake_end(CUresult result)
{
    pthread_mutex_unlock(&lock);
    return result;
}

void fake_lose(CUresult error)
{
    if (lost == CUDA_SUCCESS)
        lost = error;
}

void fake_count(enum fake_count which, int64_t more)
{
    struct counter *c = &counters[which];
    c->total += more > 0 ? more : 0;
    c->now += more;
    c->most = c->now > c->most ? c->now : c->most;
}

int64_t fake_now(enum fake_count which)
{
    return counters[which].now;
}

CUresult fake_wrong(CUresult error, const char *format, ...)
{
    int64_t number = counters[FAKE_WRONG].total;
    va_list list;
    va_start(list, format);
    if (number < WORDS)
        vsnprintf(wrong[number], sizeof wrong[number], format, list);
    va_end(list);
    fake_count(FAKE_WRONG, 1);
    return error;
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("FAKE_REPORT");
    FILE *file = path && *path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    for (int i = 0; i < FAKE_COUNTS; i++) {
        const struct counter *c = &counters[i];
        fprintf(file, "%s %lld %lld %lld\n", counter_name[i], (long long)c->total, (long long)c->now,
                (long long)c->most);
    }
    for (int i = 0; i < NAMES && calls[i].name; i++)
        fprintf(file, "calls %s %lld\n", calls[i].name, (long long)calls[i].number);
    for (int i = 0; i < WORDS && *wrong[i]; i++)
        fprintf(file, "wrong: %s\n", wrong[i]);
    fclose(file);
}
