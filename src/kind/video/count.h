/* Counting a video's frames: by its packets, and by decoding where those look suspicious. */
#ifndef BL_COUNT_H
#define BL_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/cancel.h"
#include "base/meter.h"
#include "kind/input.h"
#include "kind/video/config.h"

struct bl_count_result {
    int64_t length;   /* frames after sampling */
    int stream;       /* the container's index */
    char reason[256]; /* "" for a video without fault */
    double origin;    /* when the first frame is shown, in seconds, by the container's clock; 0 where it is not known */
    double *times;    /* [length] when they begin, in seconds from the first, or NULL; the caller's to free */
};

/* pace is told how far it has come, or NULL. times: they and the origin are wanted. Times are not told where --fps
 * decides them, or the file does not tell any. Errors: BL_EDATA when the file is of no use (the reason in e), BL_EFAIL,
 * BL_ECANCEL. */
int bl_video_count(const struct bl_video_config *config, const struct bl_cancel *cancel, const struct bl_input *input,
                   struct bl_meter *pace, bool times, struct bl_count_result *result, struct bl_error *e);

#endif
