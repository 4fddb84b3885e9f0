#include "kind/video/seek_point.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

#define NUMBERS 5

void bl_seek_point_make(struct bl_seek_point *point, const struct bl_timeline *timeline, int64_t begin, int64_t end)
{
    const struct bl_restart *restart = bl_timeline_find_frame(timeline, begin);
    const struct bl_timestamps *shown = &timeline->shown;
    *point = (struct bl_seek_point){.known = true, .restart.position = -1, .end = AV_NOPTS_VALUE};
    if (restart)
        point->restart = *restart;
    point->begin = shown->time[begin];
    if ((size_t)end < shown->count)
        point->end = shown->time[end];
}

void bl_seek_point_format(const struct bl_seek_point *point, struct bl_buffer *out)
{
    if (!point->known)
        return;
    bl_buffer_printf(out, "%zu %" PRId64 " %" PRId64 " %" PRId64 " ", point->restart.frame, point->restart.time,
                     point->restart.position, point->begin);
    if (point->end == AV_NOPTS_VALUE)
        bl_buffer_byte(out, '-');
    else
        bl_buffer_int(out, point->end);
}

bool bl_seek_point_parse(struct bl_seek_point *point, const char *text)
{
    int64_t number[NUMBERS];
    *point = (struct bl_seek_point){.restart.position = -1, .end = AV_NOPTS_VALUE};
    if (!text || !*text)
        return true;
    for (int n = 0; n < NUMBERS; n++) {
        size_t size = strcspn(text, " ");
        bool last = n == NUMBERS - 1, none = last && size == 1 && *text == '-';
        if (none)
            number[n] = AV_NOPTS_VALUE;
        else if (!bl_text_to_int(text, size, INT64_MIN + 1, INT64_MAX, &number[n]))
            return false;
        text += size;
        if (*text != (last ? '\0' : ' '))
            return false;
        text += !last;
    }
    if (number[0] < 0 || number[2] < -1)
        return false;
    *point = (struct bl_seek_point){.known = true,
                                    .restart = {.frame = (size_t)number[0], .time = number[1], .position = number[2]},
                                    .begin = number[3],
                                    .end = number[4]};
    return true;
}
