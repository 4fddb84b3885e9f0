/* Counts the lines of a list of clips: each names a part of a video, and becomes a row with the point where decoding
 * begins. What was found of a video is kept for the clips that follow. */
#ifndef BL_CLIPS_H
#define BL_CLIPS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "kind/kind.h"
#include "kind/video/count.h"
#include "kind/video/decode.h"
#include "kind/video/timeline.h"

/* --- footage ------------------------------------------------------------------------------------------------------ */

/* Footage: what the scan finds of the video files that clips are taken from, kept for the clips that follow. A file
 * that many lines name is looked at once by each worker, as long as it is among the last ones. */

struct bl_footage {
    char *path; /* NULL: no entry */
    int64_t bytes;
    uint64_t content; /* kind/input_stat.h */
    int code;         /* BL_OK, or BL_EDATA with the reason */
    char *fault;
    struct bl_count_result found; /* of all frames, whatever the options sample */
    bool ordered;                 /* its times do not go back */
    enum bl_backend backend;
    struct bl_timeline timeline; /* exact only of an undamaged file */
    size_t memory;               /* bytes that this takes */
    uint64_t used;               /* the clock when it was last asked for */
};

/* The frame whose time is nearest to so many seconds after the first one's, of two the later; found.length: the end of
 * the last frame is nearer than its beginning. */
int64_t bl_footage_nearest(const struct bl_footage *footage, double seconds);

/* When the last frame ends, in seconds from the first. */
double bl_footage_end(const struct bl_footage *footage);

/* The steps that frames [begin, end) give: their number after sampling, with a grid that begins at the first of them.
 * BL_EDATA: none, or too many. */
int bl_footage_steps(const struct bl_footage *footage, const struct bl_video_config *config, int64_t begin, int64_t end,
                     int64_t *steps, struct bl_error *e);

/* --- clips -------------------------------------------------------------------------------------------------------- */

/* See struct bl_kind_scan. The counter, a struct bl_list_counter, is for lists alone. */
bl_counter_open bl_clips_counter_open;

#endif
