#include "kind/kind.h"

#include <string.h>

#include "base/fs.h"

bool bl_kind_has_extension(const struct bl_kind *kind, const char *name)
{
    return bl_path_has_extension(name, kind->extensions) || (kind->reads_stdin && strcmp(name, "-") == 0);
}

const struct bl_kind_lists bl_clip_lists = {.is_list = bl_list_has_name, .names = bl_list_names_of_clip};

bool bl_kind_is_list(const struct bl_kind *kind, const char *path)
{
    return kind->scan->lists && kind->scan->lists->is_list(path);
}

bool bl_kind_has_manifests(const struct bl_kind *kind)
{
    return kind->scan->lists && kind->scan->lists->values;
}

bool bl_kind_decodes(const void *config)
{
    (void)config;
    return true;
}

const char *bl_kind_steps(const struct bl_kind *kind, const void *config)
{
    return kind->steps_of ? kind->steps_of(config) : kind->steps;
}

int bl_kind_check(const struct bl_kind *kind, const void *config, struct bl_error *e)
{
    return kind->options.check ? kind->options.check(config, e) : BL_OK;
}

int bl_kind_dtype(const struct bl_kind *kind, const char *name)
{
    const char *const *dtypes = kind->options.dtypes;
    for (int i = 0; dtypes && dtypes[i]; i++) {
        if (strcmp(dtypes[i], name) == 0)
            return i;
    }
    return -1;
}

bool bl_kind_spools_steps(const struct bl_kind *kind, const void *config)
{
    return kind->spool && !(kind->spool->is_rows_alone && kind->spool->is_rows_alone(config));
}

bool bl_kind_rate(const struct bl_kind *kind, const char *sampling, int64_t *num, int64_t *den)
{
    char own[256]; /* extra fields follow */
    size_t size = strcspn(sampling, ";");
    if (!kind->scan->rate || size >= sizeof own)
        return false;
    memcpy(own, sampling, size);
    own[size] = '\0';
    return kind->scan->rate(own, num, den);
}

void bl_kind_add_totals(const struct bl_kind *kind, const struct bl_row *row, bool cut, struct bl_totals *totals)
{
    const struct bl_total *total = totals->total = kind->scan->totals;
    if (!row->columns || !*row->columns)
        return;
    for (int t = 0; total && total[t].column; t++) {
        if (total[t].cut && !cut)
            continue;
        int64_t number = total[t].value ? bl_row_has_value(row, total[t].column, total[t].value)
                                        : bl_row_get_number(row, total[t].column);
        totals->sum[t] += number;
        totals->rows[t] += number != 0;
    }
}

double bl_kind_step_time(const struct bl_rational *rate, const double *times, int64_t start, int64_t i)
{
    if (!rate->den)
        return times[i];
    return (times ? times[i] : (double)(start + i)) * (double)rate->den / (double)rate->num;
}
