#include "store/plan_columns.h"

struct bl_sequences_columns bl_plan_columns_wanted(const char *group_by, const struct bl_plan_options *o)
{
    struct bl_sequences_columns columns = {.group_by = group_by};
    if (o->cost.column)
        bl_sequences_columns_add(&columns, o->cost.column, "cost");
    for (int i = 0; i < o->max_column.count; i++)
        bl_sequences_columns_add(&columns, o->max_column.each[i].name, "max-column");
    return columns;
}

void bl_plan_columns_set(struct bl_plan_options *o, const uint32_t *group, double *const *number)
{
    o->group = group;
    o->column = o->cost.column ? *number++ : NULL;
    for (int i = 0; i < o->max_column.count; i++)
        o->max_column.each[i].value = number[i];
}
