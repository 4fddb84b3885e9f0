/* Option values that several files interpret: channels, the list of GPUs, and the picker of frames. See options.h. */
#include "kind/video/options.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

/* --- channels of a pixel ------------------------------------------------------------------------------------------ */

/* The number and type of the values of a pixel. */
static const struct {
    int64_t count;
    enum bl_dtype dtype;
} kinds[] = {[BL_CHANNELS_RGB] = {3, BL_U8},    [BL_CHANNELS_GRAY] = {1, BL_U8},   [BL_CHANNELS_GRAY16] = {1, BL_U16},
             [BL_CHANNELS_INDEX] = {1, BL_U8},  [BL_CHANNELS_RGB16] = {3, BL_U16}, [BL_CHANNELS_RGBA] = {4, BL_U8},
             [BL_CHANNELS_DEPTH] = {1, BL_F32}, [BL_CHANNELS_FLOW] = {2, BL_F32}};

const char *const bl_channels_choices[] = {"rgb", "gray", "gray16", "index", "rgb16", "rgba", "depth", "flow", NULL};

bool bl_channels_keep_numbers(enum bl_channels channels)
{
    return channels != BL_CHANNELS_RGB && channels != BL_CHANNELS_GRAY && channels != BL_CHANNELS_RGBA;
}

void bl_channels_set_field(enum bl_channels channels, int width, int height, struct bl_field *field)
{
    field->dtype = kinds[channels].dtype;
    field->rank = 3;
    field->shape[0] = height;
    field->shape[1] = width;
    field->shape[2] = kinds[channels].count;
    field->lossless = channels == BL_CHANNELS_INDEX;
}

int bl_channels_bytes(enum bl_channels channels)
{
    return (int)(kinds[channels].count * (int64_t)bl_dtype_size(kinds[channels].dtype));
}

/* --- list of GPUs ------------------------------------------------------------------------------------------------- */

int bl_gpu_list_parse(struct bl_gpu_list *list, const char *text, struct bl_error *e)
{
    list->count = 0;
    if (!strcmp(text, "all"))
        return BL_OK;
    for (const char *at = text;; at++) {
        size_t size = strcspn(at, ",");
        int64_t number;
        bool good = list->count < BL_GPUS_MAX && bl_text_to_int(at, size, 0, 9999, &number);
        for (int i = 0; good && i < list->count; i++)
            good = list->number[i] != number;
        if (!good)
            return bl_error_set(e, BL_EUSAGE, "--gpu '%s': write all, or numbers separated by commas, such as 0,1",
                                text);
        list->number[list->count++] = (int)number;
        at += size;
        if (!*at)
            return BL_OK;
    }
}

/* --- sampling ----------------------------------------------------------------------------------------------------- */

bool bl_sampling_is_by_time(const struct bl_video_config *config)
{
    return config->fps.den != 0 && config->frames_rule == BL_FRAME_RULE_NONE;
}

bool bl_sampling_has_list(const struct bl_video_config *config)
{
    return config->frames > 0 || config->frames_rule != BL_FRAME_RULE_NONE;
}

bool bl_sampling_is_partial(const struct bl_video_config *config)
{
    return bl_sampling_is_by_time(config) || config->stride > 1 || bl_sampling_has_list(config);
}

void bl_sampling_restore_list(const struct bl_video_config *config, int64_t first, int64_t frames, int64_t count,
                              struct bl_frame_list *list)
{
    enum bl_frame_rule rule = (enum bl_frame_rule)config->frames_rule;
    enum bl_frame_form form = rule ? bl_frame_rule_form(rule) : (enum bl_frame_form)config->frames_at;
    *list = (struct bl_frame_list){.form = form, .first = first, .frames = frames, .count = count};
}

int bl_sampling_make_list(const struct bl_video_config *config, int64_t first, int64_t frames, AVRational rate,
                          struct bl_frame_list *list, struct bl_error *e)
{
    int64_t count = config->frames;
    if (config->frames_rule != BL_FRAME_RULE_NONE) {
        if (rate.num <= 0 || rate.den <= 0)
            return bl_error_set(e, BL_EDATA, "it has no frame rate, which --frames-rule needs");
        struct bl_frame_rule_options options = {
            .rule = (enum bl_frame_rule)config->frames_rule,
            .fps = config->fps.den ? (double)config->fps.num / (double)config->fps.den : BL_FRAME_RULE_FPS,
            .min = config->min_frames,
            .max = config->max_frames,
            .factor = config->frame_factor};
        count = bl_frame_rule_count(&options, frames, av_q2d(rate));
        if (count == 0)
            return bl_error_set(e, BL_EDATA, "too short: --frames-rule takes none of %" PRId64 " frames", frames);
    }
    bl_sampling_restore_list(config, first, frames, count, list);
    return BL_OK;
}

void bl_video_list_columns(const struct bl_frame_list *list, struct bl_buffer *out)
{
    if (list->count > 0)
        bl_buffer_printf(out, "\t%" PRId64 "\t%" PRId64, list->frames, bl_frame_list_repeated(list));
}

bool bl_sampling_from_start(const struct bl_video_config *config)
{
    return bl_sampling_is_by_time(config) && config->fps_origin == BL_FPS_ZERO;
}

enum bl_demux_mode bl_sampling_count_mode(const struct bl_video_config *config)
{
    /* libav knows the average rate of many files only after probing. */
    return bl_sampling_from_start(config) || config->frames_rule ? BL_DEMUX_START : BL_DEMUX_COUNT;
}

enum bl_demux_mode bl_sampling_decode_mode(const struct bl_video_config *config, bool times)
{
    if (bl_sampling_from_start(config))
        return BL_DEMUX_START;
    return bl_sampling_is_by_time(config) || config->times || times ? BL_DEMUX_TIMES : BL_DEMUX_DECODE;
}

int bl_sampling_begin(const struct bl_video_config *config, AVRational tick, int64_t start, struct bl_pick *pick,
                      struct bl_error *e)
{
    int64_t den = bl_sampling_is_by_time(config) ? config->fps.den : 0;
    if (!bl_pick_init(pick, config->fps.num, den, config->stride, tick.num, tick.den))
        return bl_error_set(e, BL_EDATA, "a time base of %d/%d s, which --fps cannot use", tick.num, tick.den);
    if (bl_sampling_from_start(config))
        bl_pick_set_origin(pick, start);
    return BL_OK;
}

/* --- frame picker ------------------------------------------------------------------------------------------------- */

bool bl_pick_init(struct bl_pick *pick, int64_t fps_num, int64_t fps_den, int64_t stride, int64_t time_num,
                  int64_t time_den)
{
    *pick = (struct bl_pick){.stride = stride};
    if (fps_den == 0)
        return stride > 0;
    if (fps_num <= 0 || fps_den < 0 || time_num <= 0 || time_den <= 0 || fps_num > INT32_MAX || fps_den > INT32_MAX ||
        time_num > INT32_MAX || time_den > INT32_MAX)
        return false;
    pick->stride = 0;
    pick->num = time_num * fps_num;
    pick->den = time_den * fps_den;
    return true;
}

void bl_pick_set_origin(struct bl_pick *pick, int64_t origin)
{
    pick->origin = origin;
    pick->origin_known = true;
}

void bl_pick_set_list(struct bl_pick *pick, const struct bl_frame_list *list)
{
    pick->list = *list;
}

/* Returns the output nearest to a time, halves away from 0; clamped to 0...INT64_MAX. The product of two 64-bit numbers
 * needs 128 bits. */
static int64_t pick_output_at(const struct bl_pick *pick, int64_t time)
{
    __int128 product = ((__int128)time - pick->origin) * pick->num;
    __int128 half = pick->den / 2;
    __int128 output = product < 0 ? -((-product + half) / pick->den) : (product + half) / pick->den;
    return output > INT64_MAX ? INT64_MAX : output < 0 ? 0 : (int64_t)output;
}

/* Fills the outputs up to this one with the previous frame; returns their number. */
static int64_t pick_fill(struct bl_pick *pick, int64_t output)
{
    int64_t times = output > pick->next ? output - pick->next : 0;
    pick->next += times;
    if (times > 0) {
        times += pick->lead;
        pick->lead = 0;
    }
    pick->taken += times;
    return times;
}

/* Returns whether the previous frame is one of those that the stride takes, as 0 or 1. */
static int64_t pick_by_stride(struct bl_pick *pick)
{
    int64_t times = pick->pushed > 0 && (pick->pushed - 1) % pick->stride == 0;
    pick->taken += times;
    return times;
}

/* Returns how often the list has the previous frame. */
static int64_t pick_by_list(struct bl_pick *pick)
{
    int64_t before = pick->taken;
    while (pick->taken < pick->list.count && bl_frame_list_at(&pick->list, pick->taken) < pick->pushed)
        pick->taken++;
    return pick->taken - before;
}

int64_t bl_pick_push(struct bl_pick *pick, int64_t time)
{
    int64_t times = 0;
    if (pick->list.count > 0) {
        times = pick_by_list(pick);
    } else if (pick->stride > 0) {
        times = pick_by_stride(pick);
    } else if (pick->pushed == 0) {
        if (!pick->origin_known)
            pick->origin = time;
        pick->lead = pick->next = pick_output_at(pick, time);
    } else if (time != BL_PICK_UNKNOWN) {
        times = pick_fill(pick, pick_output_at(pick, time));
    }
    pick->pushed++;
    return times;
}

int64_t bl_pick_end(struct bl_pick *pick, int64_t time)
{
    if (pick->pushed == 0)
        return 0;
    if (pick->list.count > 0)
        return pick_by_list(pick);
    return pick->stride > 0 ? pick_by_stride(pick) : pick_fill(pick, pick_output_at(pick, time));
}
