/* Plans an array in memory through the C interface: plan T FILE. Prints blocks, bound, CPU seconds of the plan alone
 * and the peak of memory without the array. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "bload.h"

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Lines "length" or "length count". */
static int64_t *read_list(const char *path, size_t *count)
{
    FILE *f = fopen(path, "r");
    size_t capacity = 0;
    int64_t *length = NULL;
    char line[64];
    *count = 0;
    while (f && fgets(line, sizeof line, f)) {
        char *end;
        long long value = strtoll(line, &end, 10), times = strtoll(end, NULL, 10);
        for (long long i = 0; i < (times ? times : 1); i++) {
            if (*count == capacity) {
                capacity = capacity ? capacity * 3 / 2 : 1 << 16;
                int64_t *larger = realloc(length, capacity * sizeof *larger);
                if (!larger)
                    exit(1);
                length = larger;
            }
            length[(*count)++] = value;
        }
    }
    if (f)
        fclose(f);
    return length;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    size_t count;
    int64_t *length = read_list(argv[2], &count);
    struct bload_plan_options options = {.size = sizeof options, .T = atoll(argv[1])};
    struct bload_plan *plan;
    struct bload_error error;
    long before = peak_kib();
    double begun = cpu_seconds();
    if (bload_plan_make(length, count, &options, &plan, &error) != BLOAD_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    double seconds = cpu_seconds() - begun;
    const struct bload_counts *counts = bload_plan_counts(plan);
    printf("%lld %lld %.3f %.0f\n", (long long)counts->blocks, (long long)counts->lower_bound, seconds,
           (double)(peak_kib() - before) / 1024);
    bload_plan_free(plan);
    free(length);
    return 0;
}
