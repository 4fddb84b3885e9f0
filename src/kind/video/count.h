/* Counting a video's frames: by its packets, or by decoding if these look suspicious. */
#ifndef BL_COUNT_H
#define BL_COUNT_H

#include <libavutil/avutil.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/meter.h"
#include "kind/env.h"
#include "kind/video/options.h"

struct bl_count_result {
    int64_t length;   /* frames after sampling */
    int stream;       /* the container's index */
    char reason[256]; /* what is wrong with it, or "" */
    double origin;    /* when the first frame is shown, in seconds by the container's clock; 0 if not known */
    double *times;    /* [length] when steps begin, in seconds from the first, or NULL; the caller frees it */
    AVRational tick;  /* of the stream, in seconds: with times, where */
    int64_t end;      /* the last frame ends, in ticks from the first; or AV_NOPTS_VALUE */
};

/* meter: reports progress, or NULL. times: fill in times and origin, too; there are none with --fps, which determines
 * them, nor if the file has none. Errors: BL_EDATA if the file is unusable (the reason is in e), BL_EFAIL, BL_ECANCEL.
 */
int bl_video_count(const struct bl_video_config *config, const struct bl_kind_env *env, const struct bl_input *input,
                   struct bl_meter *meter, bool times, struct bl_count_result *result, struct bl_error *e);

#endif
