/* The frames kind: its place in the table of kinds. The way of an image: folder (which there are), picture (decoded by
 * itself), video's converter, read (a piece of a folder). */
#include "kind/frames/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/frames/image_folder.h"
#include "kind/frames/read.h"
#include "kind/video/video.h"

static const char *const extensions[] = {"jpg", "jpeg", "png", "bmp", "webp", "tif", "tiff", NULL};

/* Images have no times, and are all there. */
static int frames_check(const void *values, struct bl_error *e)
{
    const struct bl_video_config *config = values;
    if (config->fps.den)
        return bl_error_set(e, BL_EUSAGE, "--fps is for video: images have no times (--stride takes every N-th)");
    if (config->count != BL_COUNT_PACKETS || config->hdr != BL_HDR_SKIP)
        return bl_error_set(e, BL_EUSAGE, "--%s is for video, and the inputs are frames",
                            config->hdr != BL_HDR_SKIP ? "hdr" : "count");
    if (config->decoder != BL_DECODER_CPU)
        return bl_error_set(e, BL_EUSAGE, "--decoder is for video, and the inputs are frames");
    return BL_OK;
}

static void frames_columns(const void *config, bool lists, struct bl_buffer *out)
{
    (void)config, (void)lists;
    bl_buffer_text(out, "\tmissing");
}

/* The places of the images that are taken, to be freed; NULL with the code set. */
static double *frames_number_steps(const struct bl_image_folder *folder, int64_t stride, struct bl_error *e)
{
    double *places = malloc((folder->count / (size_t)stride + 1) * sizeof *places);
    int code = places ? BL_OK : bl_error_memory(e);
    for (size_t i = 0, step = 0; i < folder->count && !code; i += (size_t)stride)
        code = bl_image_position(&folder->image[i], &places[step++], e);
    if (code) {
        free(places);
        return NULL;
    }
    return places;
}

static int frames_count(const void *values, const struct bl_kind_env *env, struct bl_counter *counter,
                        struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)env, (void)counter;
    const struct bl_video_config *config = values;
    struct bl_image_folder folder;
    struct bl_error unusable = {0};
    char extra[32];
    int code = bl_image_folder_list(&folder, chunk->input->path, config->images, &unusable);
    int64_t images = (int64_t)folder.count;
    double *times = NULL;
    if (!code && images && chunk->times && !(times = frames_number_steps(&folder, config->stride, &unusable)))
        code = unusable.code;
    snprintf(extra, sizeof extra, "\t%" PRId64, bl_image_folder_count_missing(&folder));
    bl_image_folder_free(&folder);
    if (code && code != BL_EDATA)
        return bl_error_set(e, code, "%s", unusable.text);
    if (!code && (images == 0 || images > INT32_MAX))
        bl_error_set(&unusable, BL_EDATA, "%s images%s%s", images ? "too many" : "no",
                     config->images ? " of the name " : "", config->images ? config->images : "");
    bool ok = !unusable.code;
    struct bl_row row = {.status = ok ? BL_ROW_OK : BL_ROW_SKIPPED,
                         .length = ok ? (images + config->stride - 1) / config->stride : 0,
                         .reason = unusable.text,
                         .extra = ok ? extra : NULL,
                         .stream = -1,
                         .offset = -1,
                         .times = times};
    code = emit(sink, 0, &row, e);
    free(times);
    return code;
}

static int frames_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                         struct bl_fields *out, struct bl_error *e)
{
    (void)env;
    const struct bl_video_config *config = values;
    struct bl_dimensions size = config->size;
    if (size.width == 0 && !row)
        return bl_error_set(e, BL_EDATA, "the size of frames is each folder's own");
    int code = size.width == 0 ? bl_frames_read_size(config, row, &size, e) : BL_OK;
    *out = (struct bl_fields){.count = 2};
    out->field[0] = (struct bl_field){
        .name = "frames", .kind = "frames", .dtype = BL_U8, .rank = 3, .shape = {size.height, size.width, 3}};
    out->field[1] = (struct bl_field){.name = "frame_number", .kind = "frames", .dtype = BL_I32};
    return code;
}

static const struct bl_total totals[] = {{"missing", "numbers without an image"}, {0}};

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
    .describe = bl_video_describe,
    .versions = bl_video_versions,
};

const struct bl_kind bl_kind_frames = {
    .name = "frames",
    .title = "Frames",
    .steps = "frames",
    .extensions = extensions,
    .options = {.table = bl_video_options, .config_size = sizeof(struct bl_video_config), .check = frames_check},
    .scan = &frames_scan,
    .read = &frames_read,
};
