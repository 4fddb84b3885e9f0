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

/* --- seek points -------------------------------------------------------------------------------------------------- */

/* Where to begin to decode for a clip, and how to know that it is the clip that comes: the column clip_seek.
 *
 * "FRAME TIME POSITION BEGIN END": a restart (timeline.h), or "0 0 -1": the beginning of the file; then the times of
 * the clip's first frame and of the one behind its last, in ticks of the stream; END is - where the clip ends with the
 * file. */

struct bl_seek_point {
    bool known;                /* else decoding begins with the file, and nothing is known of times */
    struct bl_restart restart; /* position -1: the beginning of the file */
    int64_t begin, end;        /* ticks; end AV_NOPTS_VALUE: there is no frame behind the clip */
};

void bl_seek_point_format(const struct bl_seek_point *point, struct bl_buffer *out);

/* Parses the column; "" or NULL: not known. False: it is no seek point. */
bool bl_seek_point_parse(struct bl_seek_point *point, const char *text);

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
int bl_clips_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                          struct bl_error *e);

#endif
