/* The frames kind. image_folder.c lists the images of a folder; in the media module, decoding.c counts them, clips.c
 * those of the lines of a list, image.c decodes one, read.c reads pieces of a folder through video's converter. */
#include "kind/frames/frames.h"

#include "kind/frames/image_folder.h"
#include "kind/list.h"
#include "kind/media/forward.h"
#include "kind/video/options.h"
#include "kind/video/video.h"

/* Images have no times, need no counting, and are decoded on the processor. */
static int frames_check(const void *values, struct bl_error *e)
{
    const struct bl_video_config *config = values;
    if (config->fps.den)
        return bl_error_set(e, BL_EUSAGE, "--fps is for video: images have no times (--stride takes every N-th)");
    if (config->count != BL_COUNT_PACKETS || config->hdr != BL_HDR_SKIP)
        return bl_error_set(e, BL_EUSAGE, "--%s is for video, and the inputs are frames",
                            config->hdr != BL_HDR_SKIP ? "hdr" : "count");
    if (config->jpeg_scale && config->pixels == BL_CHANNELS_GRAY16)
        return bl_error_set(e, BL_EUSAGE, "--jpeg-scale: --pixels gray16 takes no JPEG files, which have 8 bits");
    if (config->jpeg_scale == BL_JPEG_AUTO && !config->size.width)
        return bl_error_set(e, BL_EUSAGE, "--jpeg-scale auto needs --size");
    if (config->times)
        return bl_error_set(e, BL_EUSAGE, "--times is for video: images have numbers, in the field frame_number");
    if (config->ignore_sar)
        return bl_error_set(e, BL_EUSAGE,
                            "--ignore-sar is for video: the shape of an image's pixels is ignored anyway");
    if (config->decoder != BL_DECODER_CPU)
        return bl_error_set(e, BL_EUSAGE, "--decoder is for video, and the inputs are frames");
    return bl_video_check_pixels(config, e);
}

static int frames_prepare(void *values, struct bl_error *e)
{
    (void)e;
    bl_video_prepare_pixels(values);
    return BL_OK;
}

static void frames_columns(const void *config, bool lists, struct bl_buffer *out)
{
    (void)config, (void)lists;
    bl_buffer_text(out, "\tmissing");
}

static int frames_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                         struct bl_fields *out, struct bl_error *e)
{
    const struct bl_video_config *config = values;
    struct bl_dimensions size = config->size;
    if (size.width == 0 && !row)
        return bl_error_set(e, BL_EDATA, "the size of frames is each folder's own");
    int code = size.width == 0 ? bl_frames_forward_size(config, env, row, &size, e) : BL_OK;
    *out = (struct bl_fields){.count = 2};
    out->field[0] = (struct bl_field){.name = "frames", .kind = "frames"};
    bl_channels_set_field((enum bl_channels)config->pixels, size.width, size.height, &out->field[0]);
    out->field[1] = (struct bl_field){.name = "frame_number", .kind = "frames", .dtype = BL_I32};
    return code;
}

static void frames_describe(const void *config, const struct bl_field *field, struct bl_buffer *out)
{
    if (field->rank == 0)
        bl_buffer_text(out, "the last number in each image's name, or -1");
    else
        bl_video_describe(config, field, out);
}

static const struct bl_total totals[] = {{.column = "missing", .text = "numbers without an image"}, {0}};

static bool frames_decodes(const void *config)
{
    (void)config;
    return true;
}

static const struct bl_kind_scan frames_scan = {
    .sampling = bl_video_sampling,
    .columns = frames_columns,
    .totals = totals,
    .is_list = bl_list_has_name,
    .names = bl_list_names_of_clip,
    .stat_folder = bl_image_folder_stat,
    .open = bl_frames_forward_open_counter,
    .close = bl_frames_forward_close_counter,
    .count = bl_frames_forward_count,
};

static const struct bl_kind_read frames_read = {
    .memory = (int64_t)128 << 20, /* as video's */
    .times = BL_TIMES_NUMBERS,
    .fields = frames_fields,
    .open = bl_frames_forward_open_reader,
    .piece = bl_frames_forward_piece,
    .close = bl_frames_forward_close_reader,
    .describe = frames_describe,
    .versions = bl_video_forward_versions,
};

const struct bl_kind bl_kind_frames = {
    .name = "frames",
    .title = "Frames",
    .steps = "frames",
    .extensions = bl_image_extensions,
    .decodes = frames_decodes,
    .options = {.table = bl_video_options,
                .config_size = sizeof(struct bl_video_config),
                .check = frames_check,
                .prepare = frames_prepare},
    .scan = &frames_scan,
    .read = &frames_read,
};
