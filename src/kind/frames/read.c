/* Frames of folders: counting folders and clips, reading pieces, and the PNG encoder. Part of the media module.
 *
 * A step is every stride-th image. A row of a folder of 10 images with --stride 3 has 4 steps: images 0, 3, 6 and 9.
 * The scan reads the header of each of them, which decides whether it can be decoded in the memory that decoders may
 * take; the pixels are decoded only when a piece is read. */
#include "kind/frames/read.h"

#include <inttypes.h>
#include <libavcodec/avcodec.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/frames/flow.h"
#include "kind/frames/folder_cache.h"
#include "kind/frames/image.h"
#include "kind/list.h"
#include "kind/video/convert.h"
#include "kind/video/piece.h"

/* --- PNG encoder -------------------------------------------------------------------------------------------------- */

/* One encoder is used for all steps of an export; each step becomes a file. */

struct bl_png {
    AVCodecContext *encoder;
    AVFrame *frame;
    AVPacket *packet;
    size_t row; /* bytes of a row of pixels in a step */
    bool swaps; /* the samples have 16 bits, and PNG has the high byte first */
};

/* Returns BL_OK, or records the error for a negative code of FFmpeg's encoder. */
static int folder_check_png(int code, struct bl_error *e)
{
    if (code >= 0)
        return BL_OK;
    if (code == AVERROR(ENOMEM))
        return bl_error_memory(e);
    return bl_error_set(e, BL_EFAIL, "cannot encode as PNG: %s", av_err2str(code));
}

/* Opens the codec, and makes the frame and the packet, which all steps share. */
static int png_start(struct bl_png *png, const struct bl_field *field, enum AVPixelFormat pixels, struct bl_error *e)
{
    /* Distributions build FFmpeg without some encoders. */
    const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
    if (!codec)
        return bl_error_set(e, BL_EFAIL, "this FFmpeg cannot encode PNG: use --as npy");
    png->encoder = avcodec_alloc_context3(codec);
    png->frame = av_frame_alloc();
    png->packet = av_packet_alloc();
    if (!png->encoder || !png->frame || !png->packet)
        return bl_error_memory(e);
    png->frame->format = png->encoder->pix_fmt = pixels;
    png->frame->height = png->encoder->height = (int)field->shape[0];
    /* FFmpeg requires a time base; a picture has no time. */
    png->frame->width = png->encoder->width = (int)field->shape[1];
    png->encoder->time_base = (AVRational){1, 1};
    png->encoder->thread_count = 1; /* with one thread each frame has its packet at once */
    BL_TRY(folder_check_png(avcodec_open2(png->encoder, codec, NULL), e));
    return folder_check_png(av_frame_get_buffer(png->frame, 0), e);
}

int bl_png_encoder_open(struct bl_png **out, const struct bl_field *field, struct bl_error *e)
{
    int64_t channels = field->rank == 2 ? 1 : field->shape[2];
    /* bl_png_can_encode has checked the types and channels. */
    enum AVPixelFormat pixels = channels == 1 ? AV_PIX_FMT_GRAY8 : channels == 3 ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_RGBA;
    /* The encoder takes 16 bits in PNG's own order of bytes. */
    bool is_wide = field->dtype == BL_U16;
    if (is_wide)
        pixels = channels == 1 ? AV_PIX_FMT_GRAY16BE : AV_PIX_FMT_RGB48BE;
    *out = NULL;
    struct bl_png *png = calloc(1, sizeof *png);
    if (!png)
        return bl_error_memory(e);
    png->row = bl_field_step_bytes(field) / (size_t)field->shape[0];
    png->swaps = is_wide;
    int code = png_start(png, field, pixels, e);
    if (code)
        bl_png_encoder_close(png);
    else
        *out = png;
    return code;
}

void bl_png_encoder_close(struct bl_png *png)
{
    if (!png)
        return;
    avcodec_free_context(&png->encoder);
    av_frame_free(&png->frame);
    av_packet_free(&png->packet);
    free(png);
}

int bl_png_encoder_encode(struct bl_png *png, const uint8_t *step, const uint8_t **data, size_t *size,
                          struct bl_error *e)
{
    av_packet_unref(png->packet);
    /* The encoder may still refer to the last frame. */
    BL_TRY(folder_check_png(av_frame_make_writable(png->frame), e));
    for (int y = 0; y < png->frame->height; y++) {
        const uint8_t *from = step + (size_t)y * png->row;
        uint8_t *to = png->frame->data[0] + (ptrdiff_t)y * png->frame->linesize[0];
        if (!png->swaps)
            memcpy(to, from, png->row);
        /* i ^ 1 is the other byte of the same sample. */
        for (size_t i = 0; png->swaps && i < png->row; i++)
            to[i] = from[i ^ 1];
    }
    BL_TRY(folder_check_png(avcodec_send_frame(png->encoder, png->frame), e));
    BL_TRY(folder_check_png(avcodec_receive_packet(png->encoder, png->packet), e));
    *data = png->packet->data;
    *size = (size_t)png->packet->size;
    return BL_OK;
}

/* --- scanning ----------------------------------------------------------------------------------------------------- */

/* Checks the images of one sequence by their headers: whether they can be decoded with the memory that they may take,
 * and have the wanted pixels. They are every stride-th image from begin on, below end. path: of the folder. BL_EDATA,
 * with the image's name, if one of them cannot be used. */
static int frames_check_headers(const struct bl_image_folder *folder, size_t begin, size_t end, const char *path,
                                const struct bl_video_config *config, const struct bl_kind_env *env, struct bl_error *e)
{
    struct bl_buffer file = {0};
    enum bl_channels channels = (enum bl_channels)config->pixels;
    struct bl_dimensions flow;
    int code = BL_OK;
    for (size_t i = begin; i < end && !code; i += (size_t)config->stride) {
        /* A folder may have a million images, and each header costs an open. */
        if (bl_cancelled(env->cancel)) {
            code = bl_error_set(e, BL_ECANCEL, "cancelled");
            break;
        }
        bl_buffer_clear(&file);
        bl_buffer_printf(&file, "%s/%s", path, folder->image[i].name);
        code = bl_buffer_check(&file, e);
        if (!code)
            code = channels == BL_CHANNELS_FLOW ? bl_flow_read_size(&folder->image[i], file.data, &flow, e)
                                                : bl_image_check(&folder->image[i], file.data, channels, env, NULL, e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", folder->image[i].name);
    }
    bl_buffer_free(&file);
    return code;
}

/* Counts the clips of a list. */
struct frames_counter {
    struct bl_list_counter list;
    const struct bl_video_config *config;
    struct bl_folder_cache cache;
    const struct bl_image_folder *folder; /* of the line, in the cache */
    int64_t missing;                      /* numbers at the ends of a clip */
};

/* Checks the number of images, as frames_list_images does. */
static int frames_check_images(const struct bl_image_folder *folder, const struct bl_video_config *config,
                               struct bl_error *e)
{
    if (folder->count == 0 || folder->count > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "%s images%s%s", folder->count ? "too many" : "no",
                            config->images ? " of the name " : "", config->images ? config->images : "");
    return BL_OK;
}

/* Lists the images of a sequence, which are those that match --images. BL_EDATA: there is none, or there are more than
 * an int32 can number (frame_number). The caller frees *folder in any case. */
static int frames_list_images(struct bl_image_folder *folder, const char *path, const struct bl_video_config *config,
                              struct bl_error *e)
{
    BL_TRY(bl_image_folder_list(folder, path, config->images, e));
    return frames_check_images(folder, config, e);
}

/* Finds the folder at path, and sets what the row takes from it. The digest covers all images, whatever --images
 * selects, as does the digest of a folder without a list. BL_EDATA: the folder is unusable. */
static int clips_enter_folder(struct frames_counter *c, const char *path, struct bl_row *row, struct bl_error *e)
{
    struct bl_cached_folder *cached;
    row->bytes = 0;
    row->content = 0;
    BL_TRY(bl_folder_cache_find(&c->cache, path, c->config->images, &cached, e));
    BL_TRY(bl_cached_folder_digest(cached, e));
    c->folder = &cached->folder;
    row->bytes = cached->folder.bytes;
    row->content = cached->content;
    return frames_check_images(c->folder, c->config, e);
}

/* Sets the images of a clip that names them by their numbers. Where the numbers of the folder follow each other,
 * numbers at the ends of the clip may be missing, too, which is noted if the folder begins or ends there. */
static int clips_find_numbers(struct frames_counter *c, int64_t *begin, int64_t *end, struct bl_error *e)
{
    const struct bl_clip *clip = &c->list.clip;
    const struct bl_image_folder *folder = c->folder;
    size_t first, behind;
    BL_TRY(bl_image_folder_find_numbers(folder, clip->first, clip->behind, &first, &behind, e));
    *begin = (int64_t)first;
    *end = (int64_t)behind;
    if (!folder->consecutive)
        return BL_OK;
    int64_t before = clip->first < 0 ? 0 : folder->image[first].number - clip->first;
    int64_t after = clip->behind < 0 ? 0 : clip->behind - folder->image[behind - 1].number;
    c->missing = before + after;
    if (before && first == 0)
        BL_LIST_REASON(&c->list, "begins %" PRId64 " images before the folder's first: so many are missing", before);
    if (after && behind == folder->count)
        BL_LIST_REASON(&c->list, "ends %" PRId64 " images behind the folder's end: so many are missing", after);
    return BL_OK;
}

/* Sets the images of the clip: from *begin on, below *end. A clip may end behind the folder's end, which is noted in
 * the row. BL_EDATA: none of its images is in the folder. */
static int clips_find_images(struct frames_counter *c, int64_t *begin, int64_t *end, struct bl_error *e)
{
    const struct bl_clip *clip = &c->list.clip;
    int64_t count = (int64_t)c->folder->count;
    /* Numbers of frames are places in the sorted list, from 0 on. */
    if (clip->by_time)
        return bl_error_set(e, BL_EDATA, "images have no times: give start_frame and end_frame");
    if (clip->by_number)
        return clips_find_numbers(c, begin, end, e);
    *begin = clip->first < 0 ? 0 : clip->first;
    *end = clip->behind < 0 || clip->behind > count ? count : clip->behind;
    if (*begin >= count)
        return bl_error_set(e, BL_EDATA, "begins with image %" PRId64 ", and the folder has %" PRId64, *begin, count);
    if (*end <= *begin)
        return bl_error_set(e, BL_EDATA, "no image lies between its start and its end");
    if (clip->behind > count)
        BL_LIST_REASON(&c->list, "ends %" PRId64 " images behind the folder's end: so many are missing",
                       clip->behind - count);
    return BL_OK;
}

/* Fills in what a row of the list takes from its folder: bytes, content, length, missing numbers, and the images of the
 * clip. */
static int frames_clips_fill(struct bl_list_counter *counter, struct bl_row *row, struct bl_error *e)
{
    struct frames_counter *c = (struct frames_counter *)counter;
    int64_t begin = 0, end = 0, stride = c->config->stride;
    c->missing = 0;
    /* The columns have values in skipped rows, too. */
    const char *path = counter->path.open_path.data;
    int code = clips_enter_folder(c, path, row, e);
    if (!code)
        code = clips_find_images(c, &begin, &end, e);
    if (!code)
        code = frames_check_headers(c->folder, (size_t)begin, (size_t)end, path, c->config, counter->env, e);
    if (code)
        return code;
    /* The last step of a clip may have fewer than stride images behind it. */
    row->length = (end - begin + stride - 1) / stride;
    bl_buffer_printf(&counter->extra, "\t%" PRId64,
                     c->missing + bl_image_folder_count_missing(c->folder, (size_t)begin, (size_t)end));
    if (bl_clip_is_whole(&counter->clip)) /* such a clip is read like a folder without a list */
        return BL_OK;
    row->clip_begin = begin;
    row->clip_end = end;
    return BL_OK;
}

static void frames_counter_close(struct bl_counter *counter)
{
    struct frames_counter *c = (struct frames_counter *)counter;
    bl_folder_cache_free(&c->cache);
    bl_list_counter_free(&c->list);
    free(c);
}

int bl_frames_clips_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                         struct bl_error *e)
{
    struct frames_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->list = (struct bl_list_counter){/* An unusable line has 0 missing numbers. */
                                       .base.close = frames_counter_close,
                                       .env = env,
                                       .fill_clip = frames_clips_fill,
                                       .unusable = "\t0"};
    c->config = config;
    *counter = &c->list.base;
    return BL_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reads images into blocks. A reader keeps the folders of its last pieces: the clips of one folder may lie in any
 * blocks.
 */
struct frames_reader {
    struct bl_reader base;
    const struct bl_video_config *config;
    const struct bl_kind_env *env;
    struct bl_dimensions size; /* of the pictures */
    size_t bytes;              /* of one */
    struct bl_convert *convert;
    AVFrame *frame;
    struct bl_folder_cache cache;
    const struct bl_image_folder *folder; /* of the piece, in the cache */
};

/* Checks that the folder was listed, with this code and fault, and has as many bytes of images as at the scan. */
static int frames_check_listed(int code, const struct bl_error *fault, const struct bl_image_folder *folder,
                               const struct bl_row *row, struct bl_error *e)
{
    /* A row whose bytes are not known (-1) has nothing to compare. */
    if (code == BL_EDATA && row->bytes >= 0)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: no longer a folder", row->path);
    if (code)
        return bl_error_pass(e, code, fault);
    if (row->bytes >= 0 && folder->bytes != row->bytes)
        return bl_error_set(e, BL_EFAIL,
                            "%s: changed since the scan: images of %" PRId64 " bytes then, %" PRId64 " now", row->path,
                            row->bytes, folder->bytes);
    return BL_OK;
}

/* Images may be turned by their orientation, so that with --jpeg-scale auto both sides must stay as long as the longer
 * one of --size. */
int bl_frames_decode_file(const char *path, const struct bl_image *image, const struct bl_video_config *config,
                          const struct bl_kind_env *env, AVFrame *frame, struct bl_geometry *geometry,
                          struct bl_error *e)
{
    /* --jpeg-scale: powers of two by which libjpeg-turbo reduces a picture while it decodes. */
    static const int shift[] = {
        [BL_JPEG_WHOLE] = 0, [BL_JPEG_HALF] = 1, [BL_JPEG_QUARTER] = 2, [BL_JPEG_AUTO] = BL_IMAGE_SHIFT_MAX};
    int side = config->size.width > config->size.height ? config->size.width : config->size.height;
    struct bl_image_wanted wanted = {.channels = (enum bl_channels)config->pixels,
                                     .shift = shift[config->jpeg_scale],
                                     .side = config->jpeg_scale == BL_JPEG_AUTO ? side : 1};
    av_frame_unref(frame);
    BL_TRY(bl_image_decode(image, path, wanted, env, frame, e));
    return bl_picture_geometry(NULL, config, frame, geometry, e);
}

/* Decodes an image of the folder `path` into the frame, and sets where the picture lies in it. */
static int frames_decode_image(const char *path, const struct bl_image *image, const struct bl_video_config *config,
                               const struct bl_kind_env *env, AVFrame *frame, struct bl_geometry *geometry,
                               struct bl_error *e)
{
    struct bl_buffer file = {0};
    bl_buffer_printf(&file, "%s/%s", path, image->name);
    BL_TRY(bl_buffer_check(&file, e));
    int code = bl_frames_decode_file(file.data, image, config, env, frame, geometry, e);
    bl_buffer_free(&file);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", image->name);
    return code;
}

/* Reads a .flo file of the folder `path`: its vectors into out, or, if out is NULL, its size alone. */
static int frames_read_flow(const char *path, const struct bl_image *image, struct bl_dimensions *size, uint8_t *out,
                            struct bl_error *e)
{
    struct bl_buffer file = {0};
    bl_buffer_printf(&file, "%s/%s", path, image->name);
    BL_TRY(bl_buffer_check(&file, e));
    int code = out ? bl_flow_read(image, file.data, size, out, e) : bl_flow_read_size(image, file.data, size, e);
    bl_buffer_free(&file);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", image->name);
    return code;
}

int bl_frames_read_size(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                        struct bl_dimensions *size, struct bl_error *e)
{
    const struct bl_video_config *config = values;
    struct bl_image_folder folder;
    struct bl_geometry geometry = {0};
    struct bl_dimensions first = {0};
    struct bl_error fault = {0};
    /* The first image decides the size of the field. */
    AVFrame *frame = av_frame_alloc();
    int code = bl_image_folder_list(&folder, row->path, config->images, &fault);
    code = frames_check_listed(code, &fault, &folder, row, e);
    if (code)
        goto out;
    if (!frame)
        code = bl_error_memory(e);
    /* The list may have become shorter since the scan. */
    else if ((size_t)row->clip_begin >= folder.count)
        code = bl_error_set(e, BL_EDATA, "no images");
    else if (config->pixels == BL_CHANNELS_FLOW)
        code = frames_read_flow(row->path, &folder.image[row->clip_begin], &first, NULL, e);
    else
        code = frames_decode_image(row->path, &folder.image[row->clip_begin], config, env, frame, &geometry, e);
out:
    *size = first.width ? first : (struct bl_dimensions){geometry.width, geometry.height};
    bl_image_folder_free(&folder);
    av_frame_free(&frame);
    return code;
}

static void frames_reader_close(struct bl_reader *reader)
{
    struct frames_reader *r = (struct frames_reader *)reader;
    bl_folder_cache_free(&r->cache);
    bl_convert_close(r->convert);
    av_frame_free(&r->frame);
    free(r);
}

/* Checks that the folder has the images of the scan, by their digest. Each image is checked again by size and time when
 * it is read. */
static int frames_verify_content(struct bl_cached_folder *cached, const struct bl_row *row, struct bl_error *e)
{
    struct bl_error fault = {0};
    int code = bl_cached_folder_digest(cached, &fault);
    if (code)
        return bl_error_pass(e, BL_EFAIL, &fault);
    if (cached->content != row->content)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: other images of the same size", row->path);
    return BL_OK;
}

/* Checks that the folder has as many images as the scan counted, or contains those of the clip. */
static int frames_verify_count(const struct frames_reader *r, const struct bl_row *row, struct bl_error *e)
{
    int64_t count = (int64_t)r->folder->count, stride = r->config->stride;
    bool is_clip = row->clip_end > 0;
    /* Fewer than stride images may follow the last step. */
    int64_t images = is_clip ? row->clip_end - row->clip_begin : count, steps = (images + stride - 1) / stride;
    if (is_clip && row->clip_end > count)
        return bl_error_set(e, BL_EDATA, "the clip ends with image %" PRId64 ", the folder has %" PRId64,
                            row->clip_end - 1, count);
    if (steps != row->length)
        return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " frames, the %s has %" PRId64, row->length,
                            is_clip ? "clip" : "folder", steps);
    return BL_OK;
}

/* Makes the row's folder that of the reader. The digest is computed once for each folder, since it reads both ends of
 * every image. */
static int frames_reader_enter(struct frames_reader *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_cached_folder *cached = NULL;
    struct bl_error fault = {0};
    int code = bl_folder_cache_find(&r->cache, row->path, r->config->images, &cached, &fault);
    BL_TRY(frames_check_listed(code, &fault, code ? NULL : &cached->folder, row, e));
    r->folder = &cached->folder;
    BL_TRY(frames_verify_count(r, row, e));
    return row->content ? frames_verify_content(cached, row, e) : BL_OK;
}

/* Decodes one image and converts it into a step of the block, at out. All pictures of a field have one size. */
static int frames_reader_read_step(struct frames_reader *r, const char *path, const struct bl_image *image,
                                   uint8_t *out, struct bl_error *e)
{
    struct bl_geometry geometry;
    if (bl_cancelled(r->env->cancel))
        return bl_error_set(e, BL_ECANCEL, "cancelled");
    /* A decoder's process that gives no sign for too long is ended as hanging. */
    bl_cancel_beat(r->env->cancel);
    if (r->config->pixels == BL_CHANNELS_FLOW)
        return frames_read_flow(path, image, &r->size, out, e);
    BL_TRY(frames_decode_image(path, image, r->config, r->env, r->frame, &geometry, e));
    if (geometry.width != r->size.width || geometry.height != r->size.height)
        return bl_error_set(e, BL_EDATA, "%s: an image of %dx%d among those of %dx%d", image->name, geometry.width,
                            geometry.height, r->size.width, r->size.height);
    int code = bl_convert_frame(r->convert, r->frame, &geometry, out, e);
    if (code)
        bl_error_prefix(e, "%s", image->name);
    return code;
}

/* Reads the steps of a piece: pictures into out[0], the numbers of the images into out[1], and their positions into
 * times if they are requested. After a failure the folder is listed again for the next piece. */
static int frames_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                               struct bl_error *e)
{
    struct frames_reader *r = (struct frames_reader *)reader;
    note->text[0] = '\0';
    int code = frames_reader_enter(r, &request->row, e);
    for (int64_t t = 0; t < request->steps && !code; t++) {
        /* Step t of the row is image t * stride, counted from the clip's first one. */
        size_t i = (size_t)(request->row.clip_begin + (request->source_start + t) * r->config->stride);
        int32_t number = bl_image_folder_number(r->folder, i);
        memcpy(request->out[1] + 4 * t, &number, sizeof number);
        code = frames_reader_read_step(r, request->row.path, &r->folder->image[i],
                                       request->out[0] + (size_t)t * r->bytes, e);
        bl_meter_report(request->meter, t + 1);
        if (!code && request->times)
            code = bl_image_folder_position(r->folder, i, &request->times[t], e);
    }
    /* The memory of the last picture is not kept between pieces. */
    av_frame_unref(r->frame);
    if (code)
        bl_folder_cache_forget(&r->cache, request->row.path);
    return code;
}

int bl_frames_read_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                        struct bl_reader **reader, struct bl_error *e)
{
    struct frames_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){frames_reader_piece, frames_reader_close};
    r->config = config;
    r->env = env;
    r->size = (struct bl_dimensions){(int)fields->field[0].shape[1], (int)fields->field[0].shape[0]};
    r->bytes = bl_field_step_bytes(&fields->field[0]);
    r->frame = av_frame_alloc();
    /* The conversion depends on the options alone, and is the same for all images. */
    struct bl_convert_options options = bl_picture_options(config, env->simd);
    int code = r->frame ? bl_convert_open(&r->convert, &options, e) : bl_error_memory(e);
    if (code) {
        frames_reader_close(&r->base);
        return code;
    }
    *reader = &r->base;
    return BL_OK;
}

/* --- functions of the media module -------------------------------------------------------------------------------- */

/* Lists a folder that is one sequence, and checks its images. *times: if the chunk requests them, the position of each
 * step, that is, of every stride-th image. The caller frees *folder and *times in any case, also after an error. */
static int frames_count_folder(const struct bl_video_config *config, const struct bl_kind_env *env,
                               const struct bl_chunk *chunk, struct bl_image_folder *folder, double **times,
                               struct bl_error *e)
{
    const size_t stride = (size_t)config->stride;
    BL_TRY(frames_list_images(folder, chunk->input->path, config, e));
    BL_TRY(frames_check_headers(folder, 0, folder->count, chunk->input->path, config, env, e));
    if (!chunk->times)
        return BL_OK;
    /* One more than needed, so that malloc never gets 0. */
    *times = malloc((folder->count / stride + 1) * sizeof **times);
    if (!*times)
        return bl_error_memory(e);
    for (size_t i = 0, step = 0; i < folder->count; i += stride)
        BL_TRY(bl_image_folder_position(folder, i, &(*times)[step++], e));
    return BL_OK;
}

int bl_frames_decoding_count(const void *values, const struct bl_kind_env *env, struct bl_counter *counter,
                             struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    /* A chunk is lines of a list, or one folder. */
    if (chunk->list)
        return bl_list_count((struct bl_list_counter *)counter, chunk, emit, sink, e);
    const struct bl_video_config *config = values;
    struct bl_image_folder folder;
    struct bl_error fault = {0};
    double *times = NULL;
    char extra[32];
    int code = frames_count_folder(config, env, chunk, &folder, &times, &fault);
    /* The column has a value in skipped rows, too. */
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
