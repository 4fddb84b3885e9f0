#include "kind/frames/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/frames/image.h"
#include "kind/frames/image_folder.h"
#include "kind/video/convert.h"
#include "kind/video/options.h"
#include "kind/video/picture.h"

/* --- read --------------------------------------------------------------------------------------------------------- */

struct bl_reader {
    const struct bl_video_config *config;
    const struct bl_kind_env *env;
    struct bl_dimensions size; /* of the pictures */
    size_t bytes;              /* of one */
    struct bl_convert *convert;
    AVFrame *frame;
    char *path; /* of the listed folder, or NULL */
    struct bl_image_folder folder;
};

/* Lists the folder, which must be as it was at the scan. */
static int frames_list_folder(struct bl_image_folder *folder, const struct bl_video_config *config,
                              const struct bl_row *row, struct bl_error *e)
{
    struct bl_error fault = {0};
    int code = bl_image_folder_list(folder, row->path, config->images, &fault);
    if (code == BL_EDATA && row->bytes >= 0)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: no longer a folder", row->path);
    if (code)
        return bl_error_set(e, code, "%s", fault.text);
    if (row->bytes >= 0 && folder->bytes != row->bytes)
        return bl_error_set(e, BL_EFAIL,
                            "%s: changed since the scan: images of %" PRId64 " bytes then, %" PRId64 " now", row->path,
                            row->bytes, folder->bytes);
    return BL_OK;
}

/* Images may be turned, so both of their sides must stay as long as the longer one of --size. */
static struct bl_image_wanted frames_wanted(const struct bl_video_config *config)
{
    static const int shift[] = {
        [BL_JPEG_WHOLE] = 0, [BL_JPEG_HALF] = 1, [BL_JPEG_QUARTER] = 2, [BL_JPEG_AUTO] = BL_IMAGE_SHIFT_MAX};
    int side = config->size.width > config->size.height ? config->size.width : config->size.height;
    return (struct bl_image_wanted){.channels = (enum bl_channels)config->pixels,
                                    .shift = shift[config->jpeg_scale],
                                    .side = config->jpeg_scale == BL_JPEG_AUTO ? side : 1};
}

/* Decodes an image into the frame. */
static int frames_decode_image(const char *path, const struct bl_image *image, const struct bl_video_config *config,
                               const struct bl_kind_env *env, AVFrame *frame, struct bl_geometry *geometry,
                               struct bl_error *e)
{
    struct bl_buffer file = {0};
    bl_buffer_printf(&file, "%s/%s", path, image->name);
    int code = bl_buffer_check(&file, e);
    if (code)
        return code;
    av_frame_unref(frame);
    code = bl_image_decode(image, file.data, frames_wanted(config), env, frame, e);
    bl_buffer_free(&file);
    if (!code)
        code = bl_picture_geometry(NULL, config, frame, geometry, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", image->name);
    return code;
}

int bl_frames_read_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                        struct bl_dimensions *size, struct bl_error *e)
{
    struct bl_image_folder folder;
    struct bl_geometry geometry = {0};
    AVFrame *frame = av_frame_alloc();
    int code = frames_list_folder(&folder, config, row, e);
    if (code)
        goto out;
    if (!frame)
        code = bl_error_memory(e);
    else if ((size_t)row->clip_begin >= folder.count)
        code = bl_error_set(e, BL_EDATA, "no images");
    else
        code = frames_decode_image(row->path, &folder.image[row->clip_begin], config, env, frame, &geometry, e);
out:
    *size = (struct bl_dimensions){geometry.width, geometry.height};
    bl_image_folder_free(&folder);
    av_frame_free(&frame);
    return code;
}

int bl_frames_read_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                        struct bl_reader **reader, struct bl_error *e)
{
    struct bl_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->config = config;
    r->env = env;
    r->size = (struct bl_dimensions){(int)fields->field[0].shape[1], (int)fields->field[0].shape[0]};
    r->bytes = bl_field_step_bytes(&fields->field[0]);
    r->frame = av_frame_alloc();
    struct bl_convert_options options = bl_picture_options(config, env->simd);
    int code = r->frame ? bl_convert_open(&r->convert, &options, e) : bl_error_memory(e);
    if (code) {
        bl_frames_read_close(r);
        return code;
    }
    *reader = r;
    return BL_OK;
}

static void frames_reader_leave(struct bl_reader *r)
{
    bl_image_folder_free(&r->folder);
    free(r->path);
    r->path = NULL;
}

void bl_frames_read_close(struct bl_reader *reader)
{
    if (!reader)
        return;
    frames_reader_leave(reader);
    bl_convert_close(reader->convert);
    av_frame_free(&reader->frame);
    free(reader);
}

/* The folder's images must be those of the scan. Each is checked again by size and time when it is read. */
static int frames_verify_content(const struct bl_row *row, struct bl_error *e)
{
    int64_t bytes;
    uint64_t content;
    struct bl_error fault = {0};
    int code = bl_image_folder_stat(row->path, &bytes, &content, &fault);
    if (code)
        return bl_error_set(e, BL_EFAIL, "%s", fault.text);
    if (content != row->content)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: other images of the same size", row->path);
    return BL_OK;
}

/* Whether the folder has as many images as the scan counted, or those of a clip. */
static int frames_verify_count(const struct bl_reader *r, const struct bl_row *row, struct bl_error *e)
{
    int64_t count = (int64_t)r->folder.count, stride = r->config->stride;
    bool is_clip = row->clip_end > 0;
    int64_t images = is_clip ? row->clip_end - row->clip_begin : count, steps = (images + stride - 1) / stride;
    if (is_clip && row->clip_end > count)
        return bl_error_set(e, BL_EDATA, "the clip ends with image %" PRId64 ", the folder has %" PRId64,
                            row->clip_end - 1, count);
    if (steps != row->length)
        return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " frames, the %s has %" PRId64, row->length,
                            is_clip ? "clip" : "folder", steps);
    return BL_OK;
}

static int frames_reader_enter(struct bl_reader *r, const struct bl_row *row, struct bl_error *e)
{
    if (r->path && strcmp(r->path, row->path) == 0 && r->folder.bytes == row->bytes)
        return frames_verify_count(r, row, e);
    frames_reader_leave(r);
    int code = frames_list_folder(&r->folder, r->config, row, e);
    if (code)
        return code;
    code = frames_verify_count(r, row, e);
    if (!code && row->content)
        code = frames_verify_content(row, e);
    if (code)
        return code;
    r->path = strdup(row->path);
    return r->path ? BL_OK : bl_error_memory(e);
}

static int frames_reader_read_step(struct bl_reader *r, const struct bl_image *image, uint8_t *out, struct bl_error *e)
{
    struct bl_geometry geometry;
    if (bl_cancelled(r->env->cancel))
        return bl_error_set(e, BL_ECANCEL, "cancelled");
    bl_cancel_beat(r->env->cancel);
    int code = frames_decode_image(r->path, image, r->config, r->env, r->frame, &geometry, e);
    if (code)
        return code;
    if (geometry.width != r->size.width || geometry.height != r->size.height)
        return bl_error_set(e, BL_EDATA, "%s: an image of %dx%d among those of %dx%d", image->name, geometry.width,
                            geometry.height, r->size.width, r->size.height);
    code = bl_convert_frame(r->convert, r->frame, &geometry, out, e);
    if (code)
        bl_error_prefix(e, "%s", image->name);
    return code;
}

int bl_frames_read_piece(struct bl_reader *r, const struct bl_request *request, struct bl_note *note,
                         struct bl_error *e)
{
    note->text[0] = '\0';
    int code = frames_reader_enter(r, &request->row, e);
    for (int64_t t = 0; t < request->steps && !code; t++) {
        size_t i = (size_t)(request->row.clip_begin + (request->source_start + t) * r->config->stride);
        int32_t number = bl_image_folder_number(&r->folder, i);
        memcpy(request->out[1] + 4 * t, &number, sizeof number);
        code = frames_reader_read_step(r, &r->folder.image[i], request->out[0] + (size_t)t * r->bytes, e);
        bl_meter_report(request->meter, t + 1);
        if (!code && request->times)
            code = bl_image_folder_position(&r->folder, i, &request->times[t], e);
    }
    av_frame_unref(r->frame);
    if (code)
        frames_reader_leave(r);
    return code;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* The functions of the frames kind that the media module has, for struct bl_decoding. */

/* The positions of every stride-th image, to be freed. */
static int frames_number_steps(const struct bl_image_folder *folder, int64_t stride, double **positions,
                               struct bl_error *e)
{
    *positions = malloc((folder->count / (size_t)stride + 1) * sizeof **positions);
    if (!*positions)
        return bl_error_memory(e);
    for (size_t i = 0, step = 0; i < folder->count; i += (size_t)stride) {
        int code = bl_image_folder_position(folder, i, &(*positions)[step++], e);
        if (code)
            return code;
    }
    return BL_OK;
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
    code = bl_frames_check_headers(folder, 0, folder->count, chunk->input->path, config, env, e);
    if (code)
        return code;
    return chunk->times ? frames_number_steps(folder, config->stride, times, e) : BL_OK;
}

int bl_frames_decoding_count(const void *values, const struct bl_kind_env *env, struct bl_counter *counter,
                             struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    if (chunk->list)
        return bl_frames_clips_count(env, counter, chunk, emit, sink, e);
    const struct bl_video_config *config = values;
    struct bl_image_folder folder;
    struct bl_error fault = {0};
    double *times = NULL;
    char extra[32];
    int code = frames_count_folder(config, env, chunk, &folder, &times, &fault);
    snprintf(extra, sizeof extra, "\t%" PRId64, bl_image_folder_count_missing(&folder, 0, folder.count));
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
