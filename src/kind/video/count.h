/* Counts the frames of a video by its packets, or by decoding if the packets look suspicious.
 *
 * Decoding takes far longer than reading packets, and most files are undamaged, so only files in doubt are decoded. */
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
    char reason[256]; /* why the usable file is damaged or incomplete, or "" */
    double origin;    /* when the first frame is shown, in seconds by the container's clock; 0: unknown */
    double *times;    /* [length] when steps begin, in seconds from the origin, or NULL; the caller frees it */
    AVRational tick;  /* the stream's time base in seconds, if times are known */
    int64_t end;      /* when the last frame ends, in ticks from the origin, or AV_NOPTS_VALUE */
    AVRational rate;  /* the stream's average rate of frames; probed only if a rule needs it */
};

/* Counts the frames of the input after --fps or --stride; bl_count_result_choose then applies a list. meter reports
 * progress, and may be NULL. `times` also requests the times of the steps; result->times stays NULL with --fps, where a
 * step's number determines its time, and if the file has no timestamps. Errors: BL_EDATA if the file is unusable (e has
 * the reason), BL_EFAIL, BL_ECANCEL. */
int bl_video_count(const struct bl_video_config *config, const struct bl_kind_env *env, const struct bl_input *input,
                   struct bl_meter *meter, bool times, struct bl_count_result *result, struct bl_error *e);

/* Makes the list of --frames or --frames-rule for all frames of the result, and turns the result into that of the
 * frames that the list takes. Without these options *list is empty, and the result stays as it is. BL_EDATA: the rule
 * takes no frame of the file. */
int bl_count_result_choose(struct bl_count_result *result, const struct bl_video_config *config,
                           struct bl_frame_list *list, struct bl_error *e);

#endif
