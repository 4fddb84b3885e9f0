/* Counts the steps of clips: a line of the list names a part of a video, and becomes a row.
 *
 * The row also records the seek point from which a reader can decode the clip. Many clips are usually cut from one
 * video, so the timestamps and random access points of a video are cached for the clips that follow. */
#ifndef BL_CLIPS_H
#define BL_CLIPS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "kind/kind.h"
#include "kind/video/count.h"
#include "kind/video/decode.h"
#include "kind/video/timeline.h"

/* --- source cache ------------------------------------------------------------------------------------------------- */

/* A cached source is an entry of the source cache. It holds what the scan found in one video file. Each worker has a
 * cache of the files that it used last, so a worker scans a file once for many clips. */

struct bl_cached_source {
    char *path; /* NULL: the entry is free */
    int64_t bytes;
    uint64_t content;             /* kind/input_stat.h */
    int code;                     /* BL_OK, or BL_EDATA if the file is unusable */
    char *fault;                  /* why it is unusable, or NULL; owned */
    struct bl_count_result found; /* of all frames of the file, before any sampling */
    bool ordered;                 /* the times of the frames never decrease */
    enum bl_backend backend;      /* the decoder of the file */
    struct bl_timeline timeline;  /* exact only if the file is undamaged */
    size_t memory;                /* bytes of its arrays */
    uint64_t used;                /* the cache's clock at the last access, to evict the least recently used entry */
};

/* Returns the frame whose time is nearest to `seconds`, counted from the first frame's time; the later one of two that
 * are equally near. Returns found.length if the end of the last frame is nearer than its beginning. */
int64_t bl_cached_source_nearest(const struct bl_cached_source *source, double seconds);

/* Returns when the last frame ends, in seconds from the first. */
double bl_cached_source_end(const struct bl_cached_source *source);

/* Sets *steps to the number of steps that frames [begin, end) give after sampling, and *list to the list of --frames or
 * --frames-rule, which is empty without these options. With --fps the first of these frames is the origin of the grid.
 * BL_EDATA: they give no step, too many steps, or have no usable timestamps. */
int bl_cached_source_steps(const struct bl_cached_source *source, const struct bl_video_config *config, int64_t begin,
                           int64_t end, int64_t *steps, struct bl_frame_list *list, struct bl_error *e);

/* --- clips -------------------------------------------------------------------------------------------------------- */

/* Opens the counter of struct bl_kind_scan. It is a struct bl_list_counter, so it counts lists only. */
bl_counter_open bl_clips_counter_open;

#endif
