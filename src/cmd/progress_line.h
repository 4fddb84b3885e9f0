/* Progress as a line: for a terminal, for a log, or as JSON. */
#ifndef BL_PROGRESS_LINE_H
#define BL_PROGRESS_LINE_H

#include "base/buffer.h"
#include "run/heartbeat.h"

/* Progress, and what follows from how it went. */
struct bl_progress_view {
    const struct bl_progress *progress;
    double seconds;   /* since the stage began */
    double left;      /* seconds; negative: unknown */
    double rate;      /* per second, of rate_of; 0: unknown */
    double byte_rate; /* the same of bytes */
};

/* What the rate counts: steps, or units while no step is done. */
const char *bl_progress_rate_of(const struct bl_progress *progress);

/* "pack [#####.....] 12 s left, 34 %, 12 of 34 blocks, ...": at most width - 1 columns, without a line end. What has no
 * room is left out, the least important first. */
void bl_progress_line_bar(const struct bl_progress_view *view, int width, struct bl_buffer *out);

/* "pack: 12 s left, 34 %, ...": all of it. */
void bl_progress_line_plain(const struct bl_progress_view *view, struct bl_buffer *out);

/* One JSON object, as bload(1) describes it. */
void bl_progress_line_json(const struct bl_progress_view *view, struct bl_buffer *out);

#endif
