#include "kind/video/sampling.h"

bool bl_sampling_from_start(const struct bl_video_config *config)
{
    return config->fps.den != 0 && config->fps_origin == BL_FPS_ZERO;
}

enum bl_demux_mode bl_sampling_count_mode(const struct bl_video_config *config)
{
    return bl_sampling_from_start(config) ? BL_DEMUX_START : BL_DEMUX_COUNT;
}

enum bl_demux_mode bl_sampling_decode_mode(const struct bl_video_config *config, bool times)
{
    if (bl_sampling_from_start(config))
        return BL_DEMUX_START;
    return config->fps.den || config->times || times ? BL_DEMUX_TIMES : BL_DEMUX_DECODE;
}

int bl_sampling_begin(const struct bl_video_config *config, AVRational tick, int64_t start, struct bl_pick *pick,
                      struct bl_error *e)
{
    if (!bl_pick_init(pick, config->fps.num, config->fps.den, config->stride, tick.num, tick.den))
        return bl_error_set(e, BL_EDATA, "a time base of %d/%d s, which --fps cannot use", tick.num, tick.den);
    if (bl_sampling_from_start(config))
        bl_pick_set_origin(pick, start);
    return BL_OK;
}
