/* Sampling: which frames of a stream --fps and --stride take, for counting and reading alike. */
#ifndef BL_SAMPLING_H
#define BL_SAMPLING_H

#include <libavutil/rational.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media/demux.h"
#include "kind/video/config.h"
#include "kind/video/pick.h"

/* How a file is to be opened for packets alone. */
enum bl_demux_mode bl_sampling_count_mode(const struct bl_video_config *config);

/* How it is to be opened for decoding; times: of the frames, too. */
enum bl_demux_mode bl_sampling_decode_mode(const struct bl_video_config *config, bool times);

/* Whether outputs count from the start of the file, not from the first frame. */
bool bl_sampling_from_start(const struct bl_video_config *config);

/* Makes a picker for a stream; tick: seconds; start: of the file, in ticks (bl_demux_start), if outputs count from it.
 * BL_EDATA: --fps cannot use such a tick. */
int bl_sampling_begin(const struct bl_video_config *config, AVRational tick, int64_t start, struct bl_pick *pick,
                      struct bl_error *e);

#endif
