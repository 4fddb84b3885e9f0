/* The kind of folders of images, and pictures as PNG files.
 *
 * A folder is one sequence, and its images are the steps, in natural order of their names: frame_9.png comes before
 * frame_10.png. The kind shares the options and the pixel formats of video, and refuses those that need times. Decoding
 * is in the media module, so that this file only forwards to it (read.c). */
#include "kind/frames/frames.h"

#include <inttypes.h>

#include "kind/frames/image_folder.h"
#include "kind/list.h"
#include "kind/media/module.h"
#include "kind/video/options.h"
#include "kind/video/video.h"

/* The lists of kinds (kind/kinds.c) declare them, too. */
extern const struct bl_kind bl_kind_frames, bl_kind_images;

/* --- PNG ---------------------------------------------------------------------------------------------------------- */

/* FFmpeg's encoder in the media module writes pictures as PNG files (read.c). bl_png_open loads the module. */

/* Returns whether the steps of a field are pictures that PNG can hold: 1, 3 or 4 channels of 8 bits, or 1 or 3 of 16
 * bits. */
bool bl_png_can_encode(const struct bl_field *field)
{
    /* A step of rank 2 is a picture of one channel, [H, W]; one of rank 3 has its channels last, [H, W, C]. The sides
     * have at most 32,767 pixels, so that FFmpeg's sizes of rows and pictures fit an int. */
    int64_t channels = field->rank == 2 ? 1 : field->rank == 3 ? field->shape[2] : 0;
    bool is_picture = field->dtype == BL_U8    ? channels == 1 || channels == 3 || channels == 4
                      : field->dtype == BL_U16 ? channels == 1 || channels == 3
                                               : false;
    return is_picture && field->shape[0] <= INT16_MAX && field->shape[1] <= INT16_MAX;
}

int bl_png_open(struct bl_png **png, const struct bl_field *field, struct bl_error *e)
{
    const struct bl_media *media;
    *png = NULL;
    if (!bl_png_can_encode(field))
        return bl_error_set(
            e, BL_EUSAGE,
            "--as png: the steps of %s are no pictures, U8 [H, W, 1, 3 or 4] or U16 [H, W, 1 or 3], of up "
            "to %d pixels a side: use --as npy",
            field->name, INT16_MAX);
    BL_TRY(bl_media_open(&media, e));
    return media->png_open(png, field, e);
}

/* *data belongs to png and is valid until the next call. */
int bl_png_encode(struct bl_png *png, const uint8_t *step, const uint8_t **data, size_t *size, struct bl_error *e)
{
    return bl_media_opened()->png_encode(png, step, data, size, e);
}

void bl_png_close(struct bl_png *png)
{
    if (png)
        bl_media_opened()->png_close(png);
}

/* --- kind --------------------------------------------------------------------------------------------------------- */

/* Checks the options, BL_EUSAGE for those of video: images have no times, need no counting, and are decoded on the
 * processor. */
static int frames_check(const void *values, struct bl_error *e)
{
    const struct bl_video_config *config = values;
    if (bl_sampling_has_list(config))
        return bl_error_set(e, BL_EUSAGE, "--frames and --frames-rule are for video (--stride takes every N-th image)");
    if (config->fps.den)
        return bl_error_set(e, BL_EUSAGE, "--fps is for video: images have no times (--stride takes every N-th)");
    if (config->count != BL_COUNT_PACKETS || config->hdr != BL_HDR_SKIP)
        return bl_error_set(e, BL_EUSAGE, "--%s is for video, and the inputs are frames",
                            config->hdr != BL_HDR_SKIP ? "hdr" : "count");
    enum bl_channels channels = (enum bl_channels)config->pixels;
    /* Scaled decoding is a property of libjpeg, which gives 8 bits, and other numbers than those that were encoded. */
    if (config->jpeg_scale && bl_channels_keep_numbers(channels))
        return bl_error_set(
            e, BL_EUSAGE, "--jpeg-scale: --pixels %s takes no JPEG files, which %s", bl_channels_choices[channels],
            channels == BL_CHANNELS_INDEX ? "have other numbers than those that were encoded" : "have 8 bits");
    if (channels == BL_CHANNELS_FLOW && config->size.width)
        return bl_error_set(
            e, BL_EUSAGE,
            "--size: --pixels flow keeps flow at its size: scaled, its vectors would have to be scaled, "
            "too");
    if (config->jpeg_scale == BL_JPEG_AUTO && !config->size.width)
        return bl_error_set(e, BL_EUSAGE, "--jpeg-scale auto needs --size");
    if (config->times)
        return bl_error_set(e, BL_EUSAGE, "--times is for video: images have numbers, in the field frame_number");
    if (config->ignore_sar)
        return bl_error_set(e, BL_EUSAGE,
                            "--ignore-sar is for video: the shape of an image's pixels is ignored anyway");
    if (config->deinterlace)
        return bl_error_set(e, BL_EUSAGE, "--deinterlace is for video, and the inputs are frames");
    if (config->decoder != BL_DECODER_CPU)
        return bl_error_set(e, BL_EUSAGE, "--decoder is for video, and the inputs are frames");
    return bl_video_check_pixels(config, e);
}

/* Completes the options after the check: the pixel format follows from several of them. */
static int frames_prepare(void *values, struct bl_buffer *warning, struct bl_error *e)
{
    (void)warning, (void)e;
    bl_video_prepare_pixels(values);
    return BL_OK;
}

/* The table has a column for the number of images that are missing: a folder with 1.png and 4.png misses 2. */
static void frames_columns(const void *config, bool lists, struct bl_buffer *out)
{
    (void)config, (void)lists;
    bl_buffer_text(out, "\tmissing");
}

/* Sets the fields of a sequence: its pictures, and the number of each. Without --size the media module decodes the
 * first image, whose size becomes that of the field. BL_EDATA: there is neither --size nor a row. */
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
    /* The field frame_number is a scalar per step; the other field has the pictures. */
    if (field->rank == 0)
        bl_buffer_text(out, "the last number in each image's name, or -1");
    else
        bl_video_describe(config, field, out);
}

static const struct bl_total totals[] = {{.column = "missing", .text = "numbers without an image"}, {0}};

/* A line may name the images of a clip by their numbers. */
static const struct bl_kind_lists frames_lists = {
    .is_list = bl_list_has_name, .names = bl_list_names_of_clip, .numbers = true};

static const struct bl_kind_scan frames_scan = {
    .sampling = bl_video_sampling,
    .columns = frames_columns,
    .totals = totals,
    .lists = &frames_lists,
    .stat_folder = bl_image_folder_stat,
    .open = bl_frames_forward_open_counter,
    .count = bl_frames_forward_count,
};

static const struct bl_kind_read frames_read = {
    .memory = (int64_t)128 << 20, /* bytes of one decoder, as for video */
    .times = BL_TIMES_NUMBERS,
    .fields = frames_fields,
    .open = bl_frames_forward_open_reader,

    .describe = frames_describe,
    .versions = bl_video_forward_versions,
};

const struct bl_kind bl_kind_frames = {
    .name = "frames",
    .title = "Frames",
    .steps = "frames",
    .extensions = bl_image_extensions,
    .decodes = bl_kind_decodes,
    .options = {.table = bl_video_options,
                .config_size = sizeof(struct bl_video_config),
                .check = frames_check,
                .prepare = frames_prepare},
    .scan = &frames_scan,
    .read = &frames_read,
};

/* --- images ------------------------------------------------------------------------------------------------------- */

/* Files with one picture each, which only own fields take (kind/own): there, a sequence has any number of them. */

/* The options are those of folders, but for what chooses among the images of one. */
static int images_check(const void *values, struct bl_error *e)
{
    struct bl_video_config config = *(const struct bl_video_config *)values;
    if (config.stride != 1 || config.images)
        return bl_error_set(e, BL_EUSAGE, "%s is for folders of images: all pictures that a sequence names are steps",
                            config.images ? "images" : "stride");
    config.count = BL_COUNT_PACKETS; /* count: decode has the scan decode the pictures */
    return frames_check(&config, e);
}

/* Sets the only field. BL_EDATA: there is no --size, which pictures of many sizes need. */
static int images_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                         struct bl_fields *out, struct bl_error *e)
{
    const struct bl_video_config *config = values;
    (void)env, (void)row;
    if (config->size.width == 0)
        return bl_error_set(e, BL_EDATA, "the size of pictures is each file's own");
    *out = (struct bl_fields){.count = 1};
    out->field[0] = (struct bl_field){.name = "images", .kind = "images"};
    bl_channels_set_field((enum bl_channels)config->pixels, config->size.width, config->size.height, &out->field[0]);
    return BL_OK;
}

static const struct bl_kind_scan images_scan = {
    .sampling = bl_video_sampling,
    .lists = &bl_clip_lists,
    .open = bl_images_forward_open_counter,
    .count = bl_images_forward_count,
};

static const struct bl_kind_read images_read = {
    .memory = (int64_t)128 << 20, /* bytes of one decoder, as for video */
    .fields = images_fields,
    .open = bl_images_forward_open_reader,
    .describe = bl_video_describe,
    .versions = bl_video_forward_versions,
};

const struct bl_kind bl_kind_images = {
    .name = "images",
    .steps = "images",
    .extensions = bl_image_extensions,
    .decodes = bl_kind_decodes,
    .options = {.table = bl_video_options,
                .config_size = sizeof(struct bl_video_config),
                .check = images_check,
                .prepare = frames_prepare},
    .scan = &images_scan,
    .read = &images_read,
};
