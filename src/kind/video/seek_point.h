/* Where to begin to decode for a clip, and how to know that it is the clip that comes: the column clip_seek.
 *
 * "FRAME TIME POSITION BEGIN END": a restart (timeline.h), or "0 0 -1": the beginning of the file; then the times of
 * the clip's first frame and of the one behind its last, in ticks of the stream; END is - where the clip ends with the
 * file. */
#ifndef BL_SEEK_POINT_H
#define BL_SEEK_POINT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "kind/video/timeline.h"

struct bl_seek_point {
    bool known;                /* else decoding begins with the file, and nothing is known of times */
    struct bl_restart restart; /* position -1: the beginning of the file */
    int64_t begin, end;        /* ticks; end AV_NOPTS_VALUE: there is no frame behind the clip */
};

/* The point for frames [begin, end) of an exact timeline. */
void bl_seek_point_make(struct bl_seek_point *point, const struct bl_timeline *timeline, int64_t begin, int64_t end);

void bl_seek_point_format(const struct bl_seek_point *point, struct bl_buffer *out);

/* Parses the column; "" or NULL: not known. False: it is no seek point. */
bool bl_seek_point_parse(struct bl_seek_point *point, const char *text);

#endif
