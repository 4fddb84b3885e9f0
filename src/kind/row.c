#include "kind/row.h"

const char *bl_row_status_name(enum bl_row_status status)
{
    static const char *const name[] = {"ok", "skipped", "dropped", "failed"};
    return name[status];
}
