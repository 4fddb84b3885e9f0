#include "kind/row.h"

#include <string.h>

#include "base/text.h"

const char *bl_row_status_name(enum bl_row_status status)
{
    static const char *const name[] = {"ok", "skipped", "dropped", "failed"};
    return name[status];
}

bool bl_row_is_empty(const struct bl_row *row)
{
    return row->status == BL_ROW_SKIPPED && strcmp(row->reason, BL_REASON_EMPTY) == 0;
}

int64_t bl_row_offset(const struct bl_row *row)
{
    size_t id = strlen(row->id), path = strlen(row->path);
    const char *mark = strrchr(row->id, '#');
    int64_t offset;
    /* A file may be called "a#1": the id of a file is the end of its path. */
    if (!mark || (id <= path && strcmp(row->path + path - id, row->id) == 0) ||
        !bl_text_to_int(mark + 1, strlen(mark + 1), 0, INT64_MAX, &offset))
        return -1;
    return offset;
}
