/* Small questions about a kind that hold for every kind alike.
 *
 * Most of a kind's members are optional. Callers ask through these functions, so that the rule for an absent member
 * stands in one place: a kind without `lists`, for example, has no input that is a list. */
#include "kind/kind.h"

#include <limits.h>
#include <string.h>

#include "base/archive.h"
#include "base/fs.h"

bool bl_kind_has_extension(const struct bl_kind *kind, const char *name)
{
    char file[PATH_MAX];
    size_t size;
    /* The name of an array says nothing: the file has the extension. */
    if (bl_container_array(name, &size) && !(name = bl_member_file(name, file)))
        return false;
    return bl_path_has_extension(name, kind->extensions) || (kind->reads_stdin && strcmp(name, "-") == 0);
}

/* The lists of kinds whose lists name clips: one file per line, with an optional start and end. */
const struct bl_kind_lists bl_clip_lists = {.is_list = bl_list_has_name, .names = bl_list_names_of_clip};

bool bl_kind_is_list(const struct bl_kind *kind, const char *path)
{
    return kind->scan->lists && kind->scan->lists->is_list(path);
}

bool bl_kind_has_manifests(const struct bl_kind *kind)
{
    return kind->scan->lists && kind->scan->lists->values;
}

/* Video, audio and frames decode whatever their options are; other kinds leave the member NULL or decide by config. */
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

/* Returns the index of the name among the kind's types, which --dtype selects, or -1. */
int bl_kind_dtype(const struct bl_kind *kind, const char *name)
{
    const char *const *dtypes = kind->options.dtypes;
    for (int i = 0; dtypes && dtypes[i]; i++) {
        if (strcmp(dtypes[i], name) == 0)
            return i;
    }
    return -1;
}

/* A kind with a spool may still read some sources directly, for example token ids that lie in a file already. */
bool bl_kind_spools_steps(const struct bl_kind *kind, const void *config)
{
    return kind->spool && !(kind->spool->is_rows_alone && kind->spool->is_rows_alone(config));
}

bool bl_kind_rate(const struct bl_kind *kind, const char *sampling, int64_t *num, int64_t *den)
{
    /* The rate comes first in a kind's description of its sampling: "25/1;extra fields" has the rate "25/1". */
    char own[256]; /* extra fields follow */
    size_t size = strcspn(sampling, ";");
    if (!kind->scan->rate || size >= sizeof own)
        return false;
    memcpy(own, sampling, size);
    own[size] = '\0';
    return kind->scan->rate(own, num, den);
}

/* Adds the values of one row to the totals of the scan. A total with a value counts the rows that have the value; a
 * total without one adds up the numbers of the column. Totals marked `cut` count only in runs that cut sequences. */
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

/* Returns the time of a step in seconds. A rate with den 0 means that the times are seconds already; otherwise they are
 * numbers of steps, or, without times, the steps are numbered from start on. */
double bl_kind_step_time(const struct bl_rational *rate, const double *times, int64_t start, int64_t i)
{
    if (!rate->den)
        return times[i];
    return (times ? times[i] : (double)(start + i)) * (double)rate->den / (double)rate->num;
}
