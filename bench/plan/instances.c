/* Solves bin packing instances whose best known number of blocks is known, by the search of --fill optimal:
 *
 *     instances [-e EFFORT] [-o PART]... [-c CLASS] [-v] FILE...
 *
 * A file has lines "class, name, items, T, lower, upper, LENGTHxCOUNT ...", separated by tabs, after a heading. upper:
 * the best known number of blocks, or 0. Prints for each class how many were solved, the blocks beyond the best known
 * (or the bound), operations and CPU seconds, and all blocks. -o leaves out a part of the search; -c chooses classes by
 * the beginning of their name; -v prints every instance. A line that is no instance, a bound above a known number of
 * blocks, or blocks that are wrong: status 1. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plan/histogram.h"
#include "plan/plan.h"
#include "plan/search.h"

enum { CLASSES_MAX = 64 };

static const struct {
    const char *name;
    enum bl_search_part part;
} parts[] = {
    {"grouped", BL_SEARCH_GROUPED},   {"min_slack", BL_SEARCH_MIN_SLACK}, {"improve", BL_SEARCH_IMPROVE},
    {"columns", BL_SEARCH_COLUMNS},   {"fixing", BL_SEARCH_FIXING},       {"coarse", BL_SEARCH_COARSE},
    {"complete", BL_SEARCH_COMPLETE}, {"dive", BL_SEARCH_DIVE},
};

struct class_total {
    char name[64];
    long instances, solved, proven;
    int64_t blocks, beyond, used;
    double seconds, longest;
};

struct run {
    int64_t effort;
    uint32_t without; /* enum bl_search_part */
    const char *class;
    bool is_verbose, has_failed;
    struct class_total total[CLASSES_MAX];
    size_t totals;
};

struct instance {
    char *class, *name;
    int64_t T, upper;
    struct bl_histogram h;
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Whether the patterns hold every length as often as the histogram, and no block too much. */
static bool patterns_are_sound(const struct bl_patterns *p, const struct bl_histogram *h, int64_t T)
{
    uint64_t *count = calloc(h->distinct + 1, sizeof *count);
    bool is_sound = count != NULL;
    for (size_t i = 0; is_sound && i < p->count; i++) {
        int64_t steps = 0;
        for (uint32_t k = p->first[i]; k < p->first[i + 1]; k++) {
            steps += h->length[p->bucket[k]];
            count[p->bucket[k]] += p->use[i];
        }
        is_sound = steps <= T;
    }
    for (size_t b = 0; is_sound && b < h->distinct; b++)
        is_sound = count[b] == bl_histogram_count(h, b);
    free(count);
    return is_sound;
}

static struct class_total *run_total(struct run *r, const char *class)
{
    for (size_t i = 0; i < r->totals; i++)
        if (strcmp(r->total[i].name, class) == 0)
            return &r->total[i];
    if (r->totals == CLASSES_MAX)
        return NULL;
    struct class_total *t = &r->total[r->totals++];
    snprintf(t->name, sizeof t->name, "%s", class);
    return t;
}

static int instance_solve(struct run *r, const struct instance *x, struct bl_error *e)
{
    struct class_total *total = run_total(r, x->class);
    int64_t used = 0, bound = bl_bound_blocks(&x->h, x->T);
    struct bl_limits limits = {.T = x->T,
                               .sequences = UINT32_MAX,
                               .work = r->effort * INT64_C(1000000000),
                               .used = &used,
                               .without = r->without};
    struct bl_patterns patterns = {0};
    double begun = cpu_seconds();
    int code = total ? bl_search_best(&patterns, &bound, &x->h, &limits, e) : BL_EFAIL;
    double seconds = cpu_seconds() - begun;
    if (code)
        return code;
    int64_t blocks = (int64_t)patterns.blocks, best = x->upper ? x->upper : bound;
    if (bound > blocks || (x->upper && bound > x->upper) || !patterns_are_sound(&patterns, &x->h, x->T)) {
        fprintf(stderr, "%s: wrong: %" PRId64 " blocks, bound %" PRId64 ", best known %" PRId64 "\n", x->name, blocks,
                bound, x->upper);
        r->has_failed = true;
    }
    if (r->is_verbose)
        printf("%s %s blocks %" PRId64 " bound %" PRId64 " best %" PRId64 " operations %.3fe9 seconds %.2f\n", x->class,
               x->name, blocks, bound, x->upper, (double)used / 1e9, seconds);
    total->instances++;
    total->solved += blocks <= best;
    total->proven += blocks == bound;
    total->blocks += blocks;
    total->beyond += blocks - best;
    total->used += used;
    total->seconds += seconds;
    total->longest = seconds > total->longest ? seconds : total->longest;
    bl_patterns_free(&patterns);
    return BL_OK;
}

/* Parses a line in place. Returns whether it is an instance; its histogram must be freed if it is. */
static bool instance_parse(struct instance *x, char *line, struct bl_error *e)
{
    char *field[7], *rest = line;
    for (int i = 0; i < 7; i++)
        if (!(field[i] = strsep(&rest, "\t\n")))
            return false;
    *x = (struct instance){.class = field[0], .name = field[1], .T = atoll(field[3]), .upper = atoll(field[5])};
    size_t distinct = 1;
    for (const char *s = field[6]; *s; s++)
        distinct += *s == ' ';
    if (x->T < 1 || bl_histogram_reserve(&x->h, distinct, e))
        return false;
    for (char *s = field[6], *word; (word = strsep(&s, " "));) {
        char *times;
        unsigned long length = strtoul(word, &times, 10), count = *times == 'x' ? strtoul(times + 1, NULL, 10) : 0;
        if (count > 0 && length > 0)
            bl_histogram_add(&x->h, (uint32_t)length, (uint32_t)count);
    }
    return x->h.distinct > 0;
}

static int run_file(struct run *r, const char *path, struct bl_error *e)
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    int code = BL_OK, number = 0;
    if (!f)
        return bl_error_set(e, BL_EFAIL, "%s: cannot be read", path);
    while (!code && getline(&line, &size, f) > 0) {
        struct instance x = {0};
        if (++number == 1)
            continue; /* the heading */
        if (!instance_parse(&x, line, e))
            code = bl_error_set(e, BL_EFAIL, "%s: line %d is no instance", path, number);
        else if (!r->class || strncmp(x.class, r->class, strlen(r->class)) == 0)
            code = instance_solve(r, &x, e);
        bl_histogram_free(&x.h);
    }
    free(line);
    fclose(f);
    return code;
}

static void run_print(const struct run *r)
{
    printf("| class | instances | at the best known | proven | blocks beyond | 10^9 operations | CPU s | longest | "
           "blocks |\n"
           "|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < r->totals; i++) {
        const struct class_total *t = &r->total[i];
        printf("| %s | %ld | %ld | %ld | %" PRId64 " | %.2f | %.2f | %.2f | %" PRId64 " |\n", t->name, t->instances,
               t->solved, t->proven, t->beyond, (double)t->used / 1e9, t->seconds, t->longest, t->blocks);
    }
}

static bool run_leave_out(struct run *r, const char *name)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].name, name) == 0) {
            r->without |= parts[i].part;
            return true;
        }
    return false;
}

int main(int argc, char **argv)
{
    struct run r = {.effort = BL_EFFORT_DEFAULT};
    struct bl_error e = {0};
    int code = BL_OK;
    for (int option; (option = getopt(argc, argv, "e:o:c:v")) != -1;) {
        if (option == 'e')
            r.effort = atoll(optarg);
        else if (option == 'o' && run_leave_out(&r, optarg))
            continue;
        else if (option == 'c')
            r.class = optarg;
        else if (option == 'v')
            r.is_verbose = true;
        else
            return 2;
    }
    for (int i = optind; !code && i < argc; i++)
        code = run_file(&r, argv[i], &e);
    if (code)
        fprintf(stderr, "%s\n", e.text);
    run_print(&r);
    return code || r.has_failed;
}
