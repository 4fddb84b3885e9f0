#include "store/epochs_company.h"

#include <stdlib.h>

#include "base/path.h"
#include "store/epochs.h"
#include "store/index.h"

/* A plan of the dataset: the stored one, of number 0, or that of an epoch. */
struct encounter_plan {
    int64_t number;
    const char *name; /* in the dataset's directory */
};

struct encounter {
    const struct bl_manifest *manifest;
    const char *dir;
    size_t count; /* rows of sequences.tsv */
    struct encounter_plan *plan;
    size_t plans;
};

static int encounter_compare_numbers(const void *a, const void *b)
{
    int64_t x = ((const struct encounter_plan *)a)->number, y = ((const struct encounter_plan *)b)->number;
    return x < y ? -1 : x > y;
}

/* Lists the stored plan and those of the epochs, by number. */
static int encounter_list(struct encounter *n, struct bl_error *e)
{
    const struct bl_manifest *m = n->manifest;
    n->plan = calloc(m->files + 1, sizeof *n->plan);
    if (!n->plan)
        return bl_error_memory(e);
    n->plan[n->plans++] = (struct encounter_plan){0, BL_INDEX_FILE};
    for (size_t i = 0; i < m->files; i++) {
        int64_t number = bl_epochs_number(m->file[i].name);
        if (number)
            n->plan[n->plans++] = (struct encounter_plan){number, m->file[i].name};
    }
    qsort(n->plan, n->plans, sizeof *n->plan, encounter_compare_numbers);
    return BL_OK;
}

static int encounter_read(const struct encounter *n, size_t i, struct bl_plan *plan, struct bl_error *e)
{
    const struct bl_format *format = &n->manifest->format;
    struct bl_index index = {.fd = -1};
    char *path = bl_path_join(n->dir, n->plan[i].name);
    int code = path ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    code = n->plan[i].number ? bl_index_open_plan(&index, path, e)
                             : bl_index_open(&index, n->dir, format->blocks, bl_manifest_index_fields(n->manifest), e);
    if (code)
        goto out;
    code = bl_index_read_members(&index, n->manifest->plan_info.cut > 0, plan, e);
out:
    bl_index_close(&index);
    free(path);
    return code;
}

/* Reads plan i and finds the places of its pieces. */
static int encounter_find_places(const struct encounter *n, size_t i, struct bl_company_places *places,
                                 struct bl_error *e)
{
    struct bl_plan plan = {0};
    int code = encounter_read(n, i, &plan, e);
    if (code)
        return code;
    code = bl_company_find_places(places, &plan, n->count, e);
    if (code)
        bl_error_prefix(e, "%s/%s", n->dir, n->plan[i].name);
    bl_plan_free(&plan);
    return code;
}

/* Counts how many of the pairs of plan j were met before in plan i, which has these places. */
static int encounter_count(const struct encounter *n, size_t i, struct bl_company_places *places, size_t j,
                           struct bl_epochs_company *company, struct bl_error *e)
{
    struct bl_company counted;
    struct bl_plan plan = {0};
    int code = encounter_read(n, j, &plan, e);
    if (code)
        return code;
    code = bl_company_count(&counted, &plan, places, e);
    bl_plan_free(&plan);
    if (code) {
        bl_error_prefix(e, "%s/%s", n->dir, n->plan[j].name);
        return code;
    }
    if (!company->highest.is_measured || bl_company_share(&counted) > bl_company_share(&company->highest)) {
        company->highest = counted;
        company->plan[0] = n->plan[i].number;
        company->plan[1] = n->plan[j].number;
    }
    return BL_OK;
}

/* Compares plan i with those after it. */
static int encounter_count_all(const struct encounter *n, size_t i, struct bl_epochs_company *company,
                               struct bl_error *e)
{
    struct bl_company_places places = {0};
    size_t end = company->each_pair || i == 0 ? n->plans : i + 2;
    int code = encounter_find_places(n, i, &places, e);
    for (size_t j = i + 1; j < end && !code; j++)
        code = encounter_count(n, i, &places, j, company, e);
    bl_company_free_places(&places);
    return code;
}

int bl_epochs_company_measure(struct bl_epochs_company *company, const struct bl_manifest *manifest, const char *dir,
                              size_t count, struct bl_error *e)
{
    struct encounter n = {.manifest = manifest, .dir = dir, .count = count};
    int code = encounter_list(&n, e);
    *company = (struct bl_epochs_company){0};
    if (code)
        return code;
    company->epochs = (int64_t)n.plans - 1;
    company->each_pair = company->epochs <= BL_EPOCHS_EACH_PAIR;
    for (size_t i = 0; i + 1 < n.plans && !code; i++)
        code = encounter_count_all(&n, i, company, e);
    free(n.plan);
    return code;
}
