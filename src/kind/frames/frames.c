/* The frames kind. image_folder.c lists the images of a folder, image.c decodes one, read.c reads pieces of a folder
 * through video's converter. */
#include "kind/frames/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/frames/image_folder.h"
#include "kind/frames/read.h"
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

/* The positions of every stride-th image, to be freed. */
static int frames_number_steps(const struct bl_image_folder *folder, int64_t stride, double **positions,
                               struct bl_error *e)
{
    *positions = malloc((folder->count / (size_t)stride + 1) * sizeof **positions);
    if (!*positions)
        return bl_error_memory(e);
    for (size_t i = 0, step = 0; i < folder->count; i += (size_t)stride) {
        int code = bl_image_position(&folder->image[i], &(*positions)[step++], e);
        if (code)
            return code;
    }
    return BL_OK;
}

/* Whether the images of the steps can be decoded with the memory that they may take, and are what is wanted. */
static int frames_check_headers(const struct bl_image_folder *folder, const char *path,
                                const struct bl_video_config *config, const struct bl_kind_env *env, struct bl_error *e)
{
    struct bl_buffer file = {0};
    enum bl_channels channels = (enum bl_channels)config->pixels;
    bool needed = env->decoder_memory || channels == BL_CHANNELS_GRAY16;
    int code = BL_OK;
    for (size_t i = 0; i < folder->count && needed && !code; i += (size_t)config->stride) {
        if (bl_cancelled(env->cancel)) {
            code = bl_error_set(e, BL_ECANCEL, "cancelled");
            break;
        }
        bl_buffer_clear(&file);
        bl_buffer_printf(&file, "%s/%s", path, folder->image[i].name);
        code = bl_buffer_check(&file, e);
        if (!code)
            code = bl_image_check(&folder->image[i], file.data, channels, env, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", folder->image[i].name);
    }
    bl_buffer_free(&file);
    return code;
}

static int frames_count_folder(const struct bl_video_config *config, const struct bl_kind_env *env,
                               const struct bl_chunk *chunk, struct bl_image_folder *folder, double **times,
                               struct bl_error *e)
{
    int code = bl_image_folder_list(folder, chunk->input->path, config->images, e);
    if (code)
        return code;
    if (folder->count == 0 || folder->count > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "%s images%s%s", folder->count ? "too many" : "no",
                            config->images ? " of the name " : "", config->images ? config->images : "");
    code = frames_check_headers(folder, chunk->input->path, config, env, e);
    if (code)
        return code;
    return chunk->times ? frames_number_steps(folder, config->stride, times, e) : BL_OK;
}

static int frames_count(const void *values, const struct bl_kind_env *env, struct bl_counter *counter,
                        struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)counter;
    const struct bl_video_config *config = values;
    struct bl_image_folder folder;
    struct bl_error fault = {0};
    double *times = NULL;
    char extra[32];
    int code = frames_count_folder(config, env, chunk, &folder, &times, &fault);
    snprintf(extra, sizeof extra, "\t%" PRId64, bl_image_folder_count_missing(&folder));
    struct bl_row row = {.status = BL_ROW_OK,
                         .length = ((int64_t)folder.count + config->stride - 1) / config->stride,
                         .reason = "",
                         .extra = extra,
                         .stream = -1,
                         .offset = -1,
                         .times = times};
    code = bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
    bl_image_folder_free(&folder);
    free(times);
    return code;
}

static int frames_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                         struct bl_fields *out, struct bl_error *e)
{
    const struct bl_video_config *config = values;
    struct bl_dimensions size = config->size;
    if (size.width == 0 && !row)
        return bl_error_set(e, BL_EDATA, "the size of frames is each folder's own");
    int code = size.width == 0 ? bl_frames_read_size(config, env, row, &size, e) : BL_OK;
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

static const struct bl_total totals[] = {{"missing", "numbers without an image"}, {0}};

static bool frames_decodes(const void *config)
{
    (void)config;
    return true;
}

static const struct bl_kind_scan frames_scan = {
    .sampling = bl_video_sampling,
    .columns = frames_columns,
    .totals = totals,
    .stat_folder = bl_image_folder_stat,
    .count = frames_count,
};

static const struct bl_kind_read frames_read = {
    .memory = (int64_t)128 << 20, /* as video's */
    .times = BL_TIMES_NUMBERS,
    .fields = frames_fields,
    .open = bl_frames_read_open,
    .piece = bl_frames_read_piece,
    .close = bl_frames_read_close,
    .describe = frames_describe,
    .versions = bl_video_versions,
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
