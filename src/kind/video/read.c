/* Reads pieces of videos, and has the functions of the video kind that the media module exports.
 *
 * A piece can be read in several ways, from the cheapest to the safest: a clip at the cursor, from a random access
 * point, or from the beginning of the file; another piece by the file's timeline, or from the first frame. Each way but
 * the safest verifies the times of its frames. Where they differ, or the content is bad, the next way is tried. */
#include "kind/video/read.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zimg.h>

#include "kind/reservation.h"
#include "kind/video/count.h"
#include "kind/video/decode.h"
#include "kind/video/gpu.h"
#include "kind/video/gpu_pool.h"
#include "kind/video/piece.h"

/* --- reading ------------------------------------------------------------------------------------------------------ */

#define TIMELINES 4

/* A timeline that a reader keeps: making one reads the file to its end, and a long sequence has many pieces. */
struct cached_timeline {
    char *path; /* NULL: none */
    int64_t bytes;
    int stream;
    struct bl_timeline timeline;
};

/* The reader of one worker. */
struct video_reader {
    struct bl_reader base;
    struct bl_piece_tools tools;
    struct bl_decoder_cursor cursor; /* of clips */
    struct cached_timeline timelines[TIMELINES];
    int oldest; /* of the timelines */
};

/* --- sequences that are files ------------------------------------------------------------------------------------- */

/* Returns how the piece's file is opened. */
static enum bl_demux_mode piece_mode(const struct bl_piece *p)
{
    return bl_sampling_decode_mode(p->tools->config, p->request->times != NULL);
}

/* Returns the worker that decodes the piece on a GPU; NULL: the processor decodes it. */
static struct bl_gpu_worker *piece_gpu(const struct bl_piece *p)
{
    return p->on_gpu ? p->tools->gpu : NULL;
}

static void cached_timeline_free(struct cached_timeline *cached)
{
    free(cached->path);
    bl_timeline_free(&cached->timeline);
    *cached = (struct cached_timeline){0};
}

/* Finds the timeline of the row's file, and makes it if it is not kept. *timeline is valid until the next call. */
static int reader_find_timeline(struct video_reader *reader, const struct bl_row *row,
                                const struct bl_timeline **timeline, struct bl_error *e)
{
    const struct bl_video_config *config = reader->tools.config;
    for (int i = 0; i < TIMELINES; i++) {
        struct cached_timeline *cached = &reader->timelines[i];
        *timeline = &cached->timeline;
        if (cached->path && strcmp(cached->path, row->path) == 0 && cached->bytes == row->bytes &&
            cached->stream == row->stream)
            return BL_OK;
    }
    struct cached_timeline *cached = &reader->timelines[reader->oldest];
    reader->oldest = (reader->oldest + 1) % TIMELINES;
    cached_timeline_free(cached);
    *timeline = &cached->timeline;
    struct bl_demux d;
    BL_TRY(bl_demux_open(&d, row->path, row->bytes, row->stream, bl_sampling_count_mode(config), reader->tools.env, e));
    int code = bl_timeline_make(&cached->timeline, &d, bl_sampling_is_partial(config), e);
    bl_demux_close(&d);
    if (code)
        return code; /* bl_timeline_make has freed it */
    cached->path = strdup(row->path);
    cached->bytes = row->bytes;
    cached->stream = row->stream;
    if (cached->path)
        return BL_OK;
    cached_timeline_free(cached);
    return bl_error_memory(e);
}

/* Returns whether the options may leave out packets. A GPU decodes all packets: other steps take its time. To
 * deinterlace a frame takes its neighbours, too. */
static bool piece_is_sampled(const struct bl_piece *p)
{
    const struct bl_video_config *config = p->tools->config;
    return !p->on_gpu && !config->deinterlace && bl_sampling_is_partial(config);
}

/* Seeks the last random access point before the piece, and leaves out the packets that it does not need. If neither
 * saves anything, the piece is decoded from the first frame, without the timeline. *found is false if seeking did not
 * reach the expected packet. */
static int piece_follow_timeline(struct bl_piece *p, const struct bl_timeline *timeline, struct bl_needed *needed,
                                 bool *found, struct bl_error *e)
{
    const struct bl_request *request = p->request;
    /* A list does not depend on when the last frame ends. */
    bool has_list = p->pick.list.count > 0;
    bool to_end = !has_list && request->source_start + request->steps == request->row.length;
    int code = BL_OK;
    if (has_list && (int64_t)timeline->shown.count != p->pick.list.frames)
        return BL_OK;
    if (piece_is_sampled(p))
        code = bl_needed_make(needed, timeline, p->pick, request->source_start, request->steps, to_end, e);
    const size_t before_it = p->tools->config->deinterlace != BL_DEINTERLACE_OFF;
    const struct bl_access_point *access_point = bl_timeline_find(timeline, &p->pick, request->source_start, before_it);
    if (code || (!access_point && !needed->left_out))
        return code;
    p->needed = p->decode->needed = needed->left_out ? needed : NULL;
    p->timeline = timeline;
    p->clock.origin = timeline->shown.time[0];
    p->first_frame = p->next_frame = access_point ? access_point->frame : 0;
    p->seen = p->pick.taken;
    return access_point ? bl_decode_seek(p->decode, access_point, found, e) : BL_OK;
}

/* Reads a piece by the timeline, if that is wanted and the container has one. *done is false if a frame was not the one
 * that the timeline announces. */
static int video_read_piece(struct video_reader *reader, struct bl_piece *p, bool by_timeline, bool *done,
                            struct bl_note *note, struct bl_error *e)
{
    const struct bl_row *row = &p->request->row;
    const struct bl_timeline *timeline = NULL;
    struct bl_needed needed = {0};
    bool found = true;
    *done = false;
    p->decode = &p->own;
    BL_TRY(bl_decode_open_gpu(p->decode, piece_gpu(p), row->path, row->bytes, row->stream, piece_mode(p), p->tools->env,
                              e));
    int code = bl_decode_deinterlace(p->decode, (enum bl_deinterlace_mode)p->tools->config->deinterlace, e);
    const struct bl_demux *d = &p->decode->demux;
    if (!code && by_timeline && (bl_demux_is_mov(d) || bl_demux_is_matroska(d)))
        code = reader_find_timeline(reader, row, &timeline, e);
    if (!code)
        code = bl_piece_begin(p, d->stream->time_base, bl_demux_start(d), e);
    if (!code && timeline && timeline->exact)
        code = piece_follow_timeline(p, timeline, &needed, &found, e);
    if (!code && found)
        code = bl_piece_decode(p, e);
    *done = found && !p->strayed;
    code = bl_piece_finish(p, code, e); /* releases surfaces, before their decoder is closed */
    bl_decode_close(p->decode);
    bl_needed_free(&needed);
    if (*done && !code)
        bl_piece_write_note(p, note);
    return code;
}

/* --- clips -------------------------------------------------------------------------------------------------------- */

/* Reads a piece of a clip in one way; *done is false if that is not possible. */
static int piece_read_clip(struct bl_piece *p, struct bl_decoder_cursor *cursor, enum bl_decoder_cursor_way way,
                           bool *done, struct bl_note *note, struct bl_error *e)
{
    *done = false;
    int code = bl_decoder_cursor_go(cursor, way, piece_gpu(p), &p->request->row, &p->point, piece_mode(p),
                                    p->tools->env, done, e);
    if (code || !*done)
        return code;
    p->cursor = cursor;
    p->decode = &cursor->decode;
    code = bl_decode_deinterlace(p->decode, (enum bl_deinterlace_mode)p->tools->config->deinterlace, e);
    p->may_seek = way != BL_CURSOR_START && p->point.known && p->point.access_point.position >= 0;
    const struct bl_demux *d = &p->decode->demux;
    if (!code)
        code = bl_piece_begin(p, d->stream->time_base, bl_demux_start(d), e);
    if (!code)
        code = bl_piece_decode(p, e);
    code = bl_piece_finish(p, code, e);
    *done = !p->strayed;
    p->gpu_full = p->decode->gpu_full;
    if (*done && !code)
        bl_piece_write_note(p, note);
    /* A decoder that takes more memory than each reader may have waits for memory each time: it does not stay open. */
    const struct bl_reservation *reservation = p->tools->env->reservation;
    bool large = reservation && reservation->needed > reservation->included;
    if (code || !*done || p->on_gpu || large)
        bl_decoder_cursor_close(cursor);
    return code;
}

/* Reads a piece of a clip from the first place that works: the cursor, a random access point, the beginning of the
 * file. Only the last way shows whether the content is bad. *full: see reader_read. */
static int reader_read_clip(struct video_reader *reader, const struct bl_piece *initial, bool *full,
                            struct bl_note *note, struct bl_error *e)
{
    struct bl_seek_point point;
    const struct bl_row *row = &initial->request->row;
    bool done = false;
    int code = BL_OK;
    if (!bl_seek_point_parse(&point, row->clip_seek))
        return bl_error_set(e, BL_EDATA, "invalid clip_seek: \"%s\"", row->clip_seek);
    /* A scan without --deinterlace may have found the first frame of the clip, whose neighbour is needed, too. */
    if (initial->tools->config->deinterlace && (int64_t)point.access_point.frame >= row->clip_begin)
        point.access_point.position = -1;
    for (int way = BL_CURSOR_ON; way <= BL_CURSOR_START && !done && (!code || code == BL_EDATA); way++) {
        struct bl_piece p = *initial;
        bl_error_clear(e);
        p.point = point;
        code = piece_read_clip(&p, &reader->cursor, way, &done, note, e);
        done = done && !code;
        *full = p.gpu_full;
    }
    if (code || done)
        return code;
    return bl_error_set(e, BL_EDATA, "its frames have other times than the scan found: scan again with --count decode");
}

/* --- all pieces --------------------------------------------------------------------------------------------------- */

/* Reads a piece. *full: the GPU's memory was not enough. A piece in the middle of an undamaged sequence is read from a
 * random access point; if that is not possible, or finds bad content, it is read from the first frame. */
static int reader_read(struct video_reader *reader, const struct bl_request *request, bool on_gpu, bool *full,
                       struct bl_note *note, struct bl_error *e)
{
    const struct bl_piece initial = {.tools = &reader->tools, .request = request, .on_gpu = on_gpu};
    struct bl_piece p = initial;
    bool done;
    note->text[0] = '\0';
    if (request->row.clip_end)
        return reader_read_clip(reader, &initial, full, note, e);
    bool by_timeline = (request->source_start > 0 || piece_is_sampled(&p)) && !*request->row.reason;
    int code = video_read_piece(reader, &p, by_timeline, &done, note, e);
    if (by_timeline && (code == BL_EDATA || (!code && !done))) {
        bl_error_clear(e);
        p = initial;
        code = video_read_piece(reader, &p, false, &done, note, e);
    }
    *full = p.own.gpu_full;
    return code;
}

/* Reads a piece, for struct bl_reader: on the processor, or on a worker of the pool. If the GPU's memory is not enough,
 * it destroys idle decoders and reads again. */
static int video_reader_piece(struct bl_reader *base, const struct bl_request *request, struct bl_note *note,
                              struct bl_error *e)
{
    struct video_reader *reader = (struct video_reader *)base;
    struct bl_piece_tools *tools = &reader->tools;
    enum bl_backend backend;
    bool full = false;
    BL_TRY(bl_backend_from_row(tools->config, &request->row, &backend, e));
    if (backend == BL_BACKEND_CPU)
        return reader_read(reader, request, false, &full, note, e);
    struct bl_gpu_pool *pool = tools->config->gpu_pool;
    struct bl_error first = {0};
    BL_TRY(bl_gpu_pool_take(pool, (size_t)tools->size.width * (size_t)tools->size.height * 3, &tools->gpu, e));
    int code = reader_read(reader, request, true, &full, note, &first);
    if (full && tools->gpu->functions->evict(tools->gpu->queue))
        code = reader_read(reader, request, true, &full, note, e);
    else if (code)
        bl_error_pass(e, code, &first);
    bl_gpu_pool_give(pool, tools->gpu);
    tools->gpu = NULL;
    if (!code)
        bl_error_memory_watch(); /* the driver may leave errno set although all went well */
    return code;
}

static void video_reader_close(struct bl_reader *base)
{
    struct video_reader *reader = (struct video_reader *)base;
    for (int i = 0; i < TIMELINES; i++)
        cached_timeline_free(&reader->timelines[i]);
    bl_decoder_cursor_close(&reader->cursor);
    bl_convert_close(reader->tools.convert);
    if (reader->tools.config->gpu_pool)
        bl_gpu_pool_leave(reader->tools.config->gpu_pool);
    av_frame_free(&reader->tools.frame);
    av_frame_free(&reader->tools.held);
    free(reader);
}

int bl_video_read_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                       struct bl_reader **reader, struct bl_error *e)
{
    struct video_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){video_reader_piece, video_reader_close};
    r->tools.config = config;
    r->tools.env = env;
    r->tools.size = (struct bl_dimensions){(int)fields->field[0].shape[1], (int)fields->field[0].shape[0]};
    r->tools.bytes = bl_field_step_bytes(&fields->field[0]);
    if (r->tools.config->gpu_pool)
        bl_gpu_pool_enter(r->tools.config->gpu_pool);
    r->tools.frame = av_frame_alloc();
    r->tools.held = av_frame_alloc();
    struct bl_convert_options options = bl_picture_options(config, env->simd);
    int code = r->tools.frame && r->tools.held ? bl_convert_open(&r->tools.convert, &options, e) : bl_error_memory(e);
    if (code) {
        video_reader_close(&r->base);
        return code;
    }
    *reader = &r->base;
    return 0;
}

int bl_video_read_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                       struct bl_dimensions *size, struct bl_error *e)
{
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return bl_error_memory(e);
    struct bl_decode d;
    struct bl_geometry geometry;
    bool got;
    int code = bl_decode_open(&d, row->path, row->bytes, row->stream, BL_DEMUX_DECODE, env, e);
    if (code)
        goto out;
    code = bl_decode_next(&d, frame, &got, e);
    if (!code)
        code = got ? bl_picture_geometry(&d.demux, config, frame, &geometry, e)
                   : bl_error_set(e, BL_EDATA, "no frame decodes");
    if (!code)
        *size = (struct bl_dimensions){geometry.width, geometry.height};
    bl_decode_close(&d);
out:
    av_frame_free(&frame);
    return code;
}

/* --- functions of the module -------------------------------------------------------------------------------------- */

int bl_video_decoding_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    const struct bl_video_config *values = config;
    if (chunk->list && bl_sampling_from_start(values))
        return bl_error_set(e, BL_EUSAGE, "--fps-origin zero: the frames of a clip count from its first one");
    if (chunk->list)
        return bl_list_count((struct bl_list_counter *)counter, chunk, emit, sink, e);
    const struct bl_input *input = chunk->input;
    struct bl_error fault = {0};
    struct bl_count_result result;
    struct bl_frame_list list = {0};
    struct bl_buffer extra = {0};
    enum bl_backend backend = BL_BACKEND_CPU;
    int code = bl_video_count(values, env, input, chunk->meter, chunk->times, &result, &fault);
    if (!code)
        code = bl_count_result_choose(&result, values, &list, &fault);
    if (!code)
        code =
            bl_backend_choose(values, env, input->path, input->bytes, result.stream, *result.reason, &backend, &fault);
    struct bl_row row = {.bytes = input->bytes,
                         .length = result.length,
                         .stream = result.stream,
                         .reason = result.reason,
                         .offset = -1,
                         .origin = result.origin,
                         .times = result.times};
    if (values->decoder != BL_DECODER_CPU)
        bl_buffer_text(&extra, backend == BL_BACKEND_CPU ? "\tcpu" : "\tnvdec");
    bl_video_list_columns(&list, &extra);
    row.extra = extra.data;
    int failed = bl_buffer_check(&extra, e);
    if (!failed)
        failed = bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
    bl_buffer_free(&extra);
    free(result.times);
    return failed;
}

/* Emits the version of a library, such as "59.27.100". */
static void video_version_emit(bl_version_emit *emit, void *sink, const char *name, unsigned major, unsigned minor,
                               unsigned micro)
{
    char text[64];
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, micro);
    emit(sink, name, text);
}

void bl_video_decoding_versions(const void *config, bl_version_emit *emit, void *sink)
{
    const struct bl_video_config *values = config;
    unsigned codec = avcodec_version(), format = avformat_version(), major = 0, minor = 0, micro = 0;
    emit(sink, "ffmpeg", av_version_info());
    video_version_emit(emit, sink, "libavformat", AV_VERSION_MAJOR(format), AV_VERSION_MINOR(format),
                       AV_VERSION_MICRO(format));
    video_version_emit(emit, sink, "libavcodec", AV_VERSION_MAJOR(codec), AV_VERSION_MINOR(codec),
                       AV_VERSION_MICRO(codec));
    unsigned filter = values->deinterlace ? bl_deinterlace_version() : 0;
    if (filter)
        video_version_emit(emit, sink, "libavfilter", AV_VERSION_MAJOR(filter), AV_VERSION_MINOR(filter),
                           AV_VERSION_MICRO(filter));
    zimg_get_version_info(&major, &minor, &micro);
    video_version_emit(emit, sink, "zimg", major, minor, micro);
    int cuda = values->decoder == BL_DECODER_CPU ? 0 : bl_nvdec_version();
    char text[64];
    snprintf(text, sizeof text, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    if (cuda)
        emit(sink, "cuda", text);
}

int bl_video_decoding_open_gpu(struct bl_video_config *config, struct bl_error *e)
{
    config->gpu_functions = &bl_nvdec_functions;
    BL_TRY(bl_nvdec_open(&config->gpu, config->gpus, e));
    int code = bl_gpu_pool_open(&config->gpu_pool, config->gpu_functions, config->gpu, e);
    if (code)
        bl_video_decoding_close_gpu(config);
    return code;
}

void bl_video_decoding_close_gpu(struct bl_video_config *config)
{
    bl_gpu_pool_close(config->gpu_pool);
    config->gpu_pool = NULL;
    bl_nvdec_close(config->gpu);
    config->gpu = NULL;
}

void bl_video_decoding_gpu_times(const struct bl_video_config *config, struct bl_gpu_times *times)
{
    bl_nvdec_add_times(config->gpu, times);
    bl_gpu_pool_add_times(config->gpu_pool, times);
}
