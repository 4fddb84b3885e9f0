#include "base/work.h"

#include <stdlib.h>
#include <string.h>

int bl_work_note_file(struct bl_work *work, const char *file, double seconds, struct bl_error *e)
{
    if (work->held <= work->slowest_held || 2 * seconds < work->held)
        return BL_OK;
    char *copy = strdup(file);
    if (!copy)
        return bl_error_memory(e);
    free(work->slowest);
    work->slowest = copy;
    work->slowest_held = work->held;
    work->slowest_seconds = seconds;
    return BL_OK;
}

void bl_work_add_decoders(struct bl_work *work, const struct bl_processor_time *before, struct bl_processor_time now)
{
    now.run -= before->run;
    now.queued -= before->queued;
    bl_processor_time_add(&work->processor, &now);
}

void bl_work_free(struct bl_work *work)
{
    free(work->slowest);
    *work = (struct bl_work){0};
}
