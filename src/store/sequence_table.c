#include "store/sequence_table.h"

#include <stdlib.h>
#include <unistd.h>

#include "kind/row.h"

void bl_sequences_close_files(struct bl_sequences *t)
{
    for (int f = 0; f < t->files; f++) {
        if (t->file[f].fd >= 0)
            close(t->file[f].fd);
        t->file[f].fd = -1;
    }
}

void bl_sequences_close(struct bl_sequences *t)
{
    bl_sequences_close_files(t);
    for (int f = 0; f < t->files; f++) {
        free(t->file[f].path);
        free(t->file[f].columns.extra);
    }
    free(t->file);
    free(t->length);
    free(t->group);
    for (int k = 0; k < BL_SEQUENCES_NUMBERS_MAX; k++)
        free(t->number[k]);
    free(t->offset);
    free(t->repeated);
    free(t->kind);
    free(t->sampling);
    *t = (struct bl_sequences){0};
}

int64_t bl_sequences_dropped(const struct bl_sequences *t)
{
    return t->by_status[BL_ROW_DROPPED] - t->held;
}

int64_t bl_sequences_unusable(const struct bl_sequences *t)
{
    return t->by_status[BL_ROW_SKIPPED] + t->by_status[BL_ROW_FAILED] - t->empty;
}

bool bl_sequences_is_clean(const struct bl_sequences *t)
{
    return !bl_sequences_unusable(t) && !t->damaged;
}
