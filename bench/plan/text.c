/* The ways in and out, without what is between: text T FILE. Reads a list of lengths, plans it, and writes the plan to
 * /dev/null; prints megabytes and megabytes per CPU second of both. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"
#include "plan/plan.h"
#include "store/plan_table.h"
#include "store/sequences.h"

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Bytes of the plan as a table, counted by writing it into a file that is removed again. */
static double table_bytes(const struct bl_plan *plan, const int64_t *length, struct bl_error *e)
{
    char name[] = "/tmp/bload-bench-XXXXXX";
    struct bl_output out = {0};
    struct stat status = {0};
    int fd = mkstemp(name);
    if (fd < 0 || bl_output_open(&out, name, e) || bl_plan_table_write(&out, plan, length, e) ||
        bl_output_commit(&out, e) || stat(name, &status))
        exit(1);
    unlink(name);
    return (double)status.st_size;
}

int main(int argc, char **argv)
{
    struct bl_sequences table;
    struct bl_plan plan;
    struct bl_output out = {0};
    struct bl_error e = {0};
    struct stat status;
    if (argc != 3 || stat(argv[2], &status))
        return 2;
    const char *path = argv[2];
    struct bl_plan_options options = {.strategy = BL_STRATEGY_BLOCK, .T = atoll(argv[1])};
    double begun = cpu_seconds();
    int code = bl_sequences_open(&table, &path, 1, true, &e);
    double read = cpu_seconds() - begun, size = (double)status.st_size;
    if (!code)
        code = bl_plan_make(&plan, table.length, table.count, &options, &e);
    if (!code)
        code = bl_output_open(&out, "/dev/null", &e);
    begun = cpu_seconds();
    if (!code)
        code = bl_plan_table_write(&out, &plan, table.length, &e);
    if (!code)
        code = bl_output_commit(&out, &e);
    double written = cpu_seconds() - begun;
    if (code) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    double bytes = table_bytes(&plan, table.length, &e);
    printf("| %zu | %.0f | %.0f | %.0f | %.0f |\n", table.count, size / 1e6, size / 1e6 / read, bytes / 1e6,
           bytes / 1e6 / written);
    return 0;
}
