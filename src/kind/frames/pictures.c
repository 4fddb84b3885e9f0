/* Counts and reads files with one picture each: every usable file is one step. Part of the media module.
 *
 * The scan reads the header of a picture, which tells whether it can be decoded with the memory that decoders may take.
 * It decodes only files whose header it does not know, most of which are no images, and with --count decode all. */
#include "kind/frames/pictures.h"

#include <libavutil/frame.h>
#include <stdlib.h>
#include <string.h>

#include "kind/frames/image.h"
#include "kind/frames/read.h"
#include "kind/input_stat.h"
#include "kind/list.h"
#include "kind/video/convert.h"
#include "kind/video/piece.h"

/* --- counting ----------------------------------------------------------------------------------------------------- */

struct pictures_counter {
    struct bl_list_counter list;
    const struct bl_video_config *config;
    AVFrame *frame; /* of the picture that is decoded */
};

static void pictures_counter_close(struct bl_counter *counter)
{
    struct pictures_counter *c = (struct pictures_counter *)counter;
    bl_list_counter_free(&c->list);
    av_frame_free(&c->frame);
    free(c);
}

/* Returns BL_OK if the picture of this size in bytes can be read. BL_EDATA: it cannot, and the message says why. */
static int picture_check(struct pictures_counter *c, const char *path, int64_t bytes, const struct bl_kind_env *env,
                         struct bl_error *e)
{
    const struct bl_image image = {.bytes = bytes, .modified = BL_IMAGE_TIME_UNKNOWN};
    struct bl_geometry geometry;
    bool is_known;
    BL_TRY(bl_image_check(&image, path, (enum bl_channels)c->config->pixels, env, &is_known, e));
    if (is_known && c->config->count != BL_COUNT_DECODE)
        return BL_OK;
    int code = bl_frames_decode_file(path, &image, c->config, env, c->frame, &geometry, e);
    av_frame_unref(c->frame);
    return code;
}

/* Fills in the row of a picture that a line of a list names. */
static int pictures_fill(struct bl_list_counter *counter, struct bl_row *row, struct bl_error *e)
{
    struct pictures_counter *c = (struct pictures_counter *)counter;
    struct bl_input input = {.path = counter->path.open_path.data};
    const char *unusable;
    BL_TRY(bl_input_stat_content(NULL, &input, &unusable, e));
    row->bytes = input.bytes;
    row->content = input.content;
    if (unusable)
        return bl_error_set(e, BL_EDATA, "%s", unusable);
    if (!bl_clip_is_whole(&counter->clip))
        return bl_error_set(e, BL_EDATA, "a picture has no start and no end");
    BL_TRY(picture_check(c, input.path, input.bytes, counter->env, e));
    row->length = 1;
    return bl_input_recheck(NULL, &input, e);
}

int bl_pictures_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                             struct bl_error *e)
{
    struct pictures_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->list = (struct bl_list_counter){
        .base.close = pictures_counter_close, .env = env, .fill_clip = pictures_fill, .unusable = ""};
    c->config = config;
    c->frame = av_frame_alloc();
    if (!c->frame) {
        pictures_counter_close(&c->list.base);
        return bl_error_memory(e);
    }
    *counter = &c->list.base;
    return BL_OK;
}

int bl_pictures_decoding_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                               struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    (void)config;
    if (chunk->list)
        return bl_list_count((struct bl_list_counter *)counter, chunk, emit, sink, e);
    struct bl_error fault = {0};
    struct bl_row row = {.status = BL_ROW_OK, .length = 1, .reason = "", .stream = -1, .offset = -1};
    int code = picture_check((struct pictures_counter *)counter, chunk->input->path, chunk->input->bytes, env, &fault);
    return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct pictures_reader {
    struct bl_reader base;
    const struct bl_video_config *config;
    const struct bl_kind_env *env;
    struct bl_convert *convert;
    AVFrame *frame;
};

static void pictures_reader_close(struct bl_reader *reader)
{
    struct pictures_reader *r = (struct pictures_reader *)reader;
    bl_convert_close(r->convert);
    av_frame_free(&r->frame);
    free(r);
}

/* Reads the only step of a file. The caller compares the file with the scan (bl_file_check_read). */
static int pictures_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                                 struct bl_error *e)
{
    struct pictures_reader *r = (struct pictures_reader *)reader;
    const struct bl_image image = {.bytes = request->row.bytes, .modified = BL_IMAGE_TIME_UNKNOWN};
    struct bl_geometry geometry;
    note->text[0] = '\0';
    if (request->steps < 1)
        return BL_OK;
    bl_cancel_beat(r->env->cancel);
    int code = bl_frames_decode_file(request->row.path, &image, r->config, r->env, r->frame, &geometry, e);
    if (!code)
        code = bl_convert_frame(r->convert, r->frame, &geometry, request->out[0], e);
    av_frame_unref(r->frame);
    bl_meter_report(request->meter, 1);
    return code;
}

int bl_pictures_read_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                          struct bl_reader **reader, struct bl_error *e)
{
    (void)fields; /* the options decide the size */
    struct pictures_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){pictures_reader_piece, pictures_reader_close};
    r->config = config;
    r->env = env;
    r->frame = av_frame_alloc();
    const struct bl_convert_options options = bl_picture_options(config, env->simd);
    int code = r->frame ? bl_convert_open(&r->convert, &options, e) : bl_error_memory(e);
    if (code)
        pictures_reader_close(&r->base);
    else
        *reader = &r->base;
    return code;
}
