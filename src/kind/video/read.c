/* See read.h. Frames are converted straight into the block. The previous frame is held until the picker knows how often
 * it is taken. The last piece of a sequence is decoded to the end of the file: more frames than the scan counted are an
 * error, as fewer are.
 *
 * A piece from the middle of an undamaged sequence starts at a keyframe before it if the timeline knows one. Every
 * frame must then come at the time that the timeline says; otherwise the piece is read again from the beginning. */
#include "kind/video/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/video/backend.h"
#include "kind/video/clock.h"
#include "kind/video/convert.h"
#include "kind/video/decode.h"
#include "kind/video/gpu_worker.h"
#include "kind/video/picture.h"
#include "kind/video/sampling.h"
#include "kind/video/timeline.h"
#include "kind/video/config.h"

#define TIMELINES 4

/* Making a timeline reads the whole file, and a long sequence has many pieces: the last few are kept. */
struct cached_timeline {
    char *path; /* NULL: none */
    int64_t bytes;
    int stream;
    struct bl_timeline timeline;
};

struct bl_reader {
    const struct bl_video_config *config;
    const struct bl_kind_env *env;
    struct bl_dimensions size; /* of the frames */
    struct bl_convert *convert;
    struct bl_gpu_worker *gpu; /* NULL until a row asks for it */
    AVFrame *frame, *held;     /* the current and the previous one */
    struct cached_timeline timelines[TIMELINES];
    int oldest; /* of the timelines */
};

/* A piece being read. */
struct piece {
    struct bl_reader *reader;
    bool on_gpu;
    const struct bl_request *request;
    struct bl_decode decode;
    struct bl_pick pick;
    int64_t seen;    /* steps of the sequence so far */
    int64_t damaged; /* of the piece's steps */
    struct bl_clock clock;

    const struct bl_timeline *timeline; /* NULL when decoding from the beginning */
    size_t first_frame, next_frame;     /* by the timeline: the restart's, and the one to come next */
    bool strayed;                       /* another frame came */
};

static int piece_check_size(const struct bl_reader *reader, const struct bl_geometry *g, struct bl_error *e)
{
    if (g->width == reader->size.width && g->height == reader->size.height)
        return 0;
    return bl_error_set(e, BL_EDATA, "a frame of %dx%d among frames of %dx%d", g->width, g->height, reader->size.width,
                        reader->size.height);
}

/* Writes when the held frame's steps begin, for the field of times and for the caller, who knows with --fps. */
static void piece_write_times(const struct piece *p, int64_t first, int64_t end)
{
    const struct bl_request *request = p->request;
    const struct bl_video_config *config = p->reader->config;
    double seconds = bl_clock_seconds(&p->clock, bl_decode_time(p->reader->held));
    for (int64_t step = first; step < end; step++) {
        int64_t at = step - request->source_start;
        if (request->times && !config->fps.den)
            request->times[at] = seconds;
        if (config->fps.den)
            seconds = (double)step * (double)config->fps.den / (double)config->fps.num;
        if (config->times)
            memcpy(request->out[BL_VIDEO_TIMES] + 8 * at, &seconds, sizeof seconds);
    }
}

/* Writes the held frame `times` times to out: at once, or from a GPU before the piece is closed. */
static int piece_convert(struct piece *p, const struct bl_geometry *geometry, uint8_t *out, int64_t times,
                         struct bl_error *e)
{
    struct bl_reader *reader = p->reader;
    const AVFrame *frame = reader->held;
    if (p->on_gpu) {
        struct bl_convert_options options = bl_picture_options(reader->config, reader->env->simd);
        int code = bl_convert_check(AV_PIX_FMT_NONE, frame->color_trc, frame->colorspace, &options, e);
        if (code)
            return code;
        return bl_readback_add(&reader->gpu->readback, frame, geometry, out, times, e);
    }
    size_t bytes = (size_t)geometry->width * (size_t)geometry->height * 3;
    int code = bl_convert_frame(reader->convert, frame, geometry, out, e);
    if (code)
        return code;
    for (int64_t i = 1; i < times; i++)
        memcpy(out + (size_t)i * bytes, out, bytes);
    return BL_OK;
}

/* Takes the held frame as the next `times` steps; those that lie in the piece are written. */
static int piece_take(struct piece *p, int64_t times, struct bl_error *e)
{
    const struct bl_request *request = p->request;
    int64_t stop = request->source_start + request->steps;
    int64_t first = FFMAX(p->seen, request->source_start), end = FFMIN(p->seen + times, stop);
    p->seen += times;
    if (first >= end)
        return BL_OK;
    struct bl_reader *reader = p->reader;
    struct bl_geometry geometry;
    int code = bl_picture_geometry(&p->decode.demux, reader->config, reader->held, &geometry, e);
    if (code)
        return code;
    code = piece_check_size(reader, &geometry, e);
    if (code)
        return code;
    size_t bytes = (size_t)geometry.width * (size_t)geometry.height * 3;
    uint8_t *out = request->out[0] + (size_t)(first - request->source_start) * bytes;
    code = piece_convert(p, &geometry, out, end - first, e);
    if (code)
        return code;
    piece_write_times(p, first, end);
    if (bl_decode_is_damaged(reader->held))
        p->damaged += end - first;
    return BL_OK;
}

static bool piece_has_faults(const struct piece *p)
{
    return p->decode.errors || p->decode.truncated;
}

/* How bright a PQ stream may be it may say in its first packets alone. */
static bool piece_needs_first_packets(const struct piece *p)
{
    return p->reader->config->hdr == BL_HDR_TONEMAP && p->reader->frame->color_trc == AVCOL_TRC_SMPTE2084;
}

/* Decodes the next frame. *got is false at the end, and if the frame is not the one that the timeline has. */
static int piece_next(struct piece *p, bool *got, struct bl_error *e)
{
    AVFrame *frame = p->reader->frame;
    if (!p->timeline)
        return bl_decode_next(&p->decode, frame, got, e);
    const struct bl_timestamps *shown = &p->timeline->shown;
    do {
        int code = bl_decode_next(&p->decode, frame, got, e);
        if (code)
            return code;
    } while (*got && p->next_frame == p->first_frame && bl_decode_time(frame) < shown->time[p->first_frame]);
    bool expected = p->next_frame < shown->count;
    p->strayed = piece_has_faults(p) || *got != expected || piece_needs_first_packets(p) ||
                 (expected && bl_decode_time(frame) != shown->time[p->next_frame]);
    p->next_frame++;
    *got = *got && !p->strayed;
    return BL_OK;
}

/* The end of the file shows whether frames are missing, and later ones misplaced. It is needed if the piece ends its
 * sequence, or the decoder found faults that the scan does not know of. */
static bool piece_needs_end(const struct piece *p)
{
    const struct bl_request *request = p->request;
    return request->source_start + request->steps == request->row.length ||
           (!*request->row.reason && piece_has_faults(p));
}

/* Decodes until the piece is full, or to the end of the file. */
static int piece_decode(struct piece *p, struct bl_error *e)
{
    struct bl_reader *reader = p->reader;
    int64_t stop = p->request->source_start + p->request->steps;
    int64_t time_end = AV_NOPTS_VALUE;
    for (;;) {
        bool got;
        int code = piece_next(p, &got, e);
        if (code || p->strayed)
            return code;
        if (!got)
            break;
        bl_clock_note(&p->clock, reader->frame, p->pick.pushed);
        code = piece_take(p, bl_pick_push(&p->pick, bl_decode_time(reader->frame)), e);
        bl_meter_report(p->request->meter, p->seen - p->request->source_start);
        if (code || (p->seen >= stop && !piece_needs_end(p)))
            return code;
        time_end = bl_decode_time_end(&p->decode, reader->frame);
        av_frame_unref(reader->held);
        av_frame_move_ref(reader->held, reader->frame);
    }
    int code = piece_take(p, bl_pick_end(&p->pick, time_end), e);
    if (code)
        return code;
    if (piece_needs_end(p) ? p->seen != p->request->row.length : p->seen < stop)
        return bl_error_set(e, BL_EDATA, "the scan counted %lld frames, decoding gives %lld",
                            (long long)p->request->row.length, (long long)p->seen);
    return BL_OK;
}

static void piece_write_note(const struct piece *p, struct bl_note *note)
{
    if (*p->request->row.reason)
        return; /* the scan has reported it */
    if (p->damaged)
        snprintf(note->text, sizeof note->text, "damaged: %lld of %lld frames concealed by the decoder",
                 (long long)p->damaged, (long long)p->request->steps);
    else if (piece_has_faults(p))
        snprintf(note->text, sizeof note->text, "damaged: errors while decoding, though no frame is missing");
}

/* start: of the file, in ticks. */
static int piece_begin(struct piece *p, AVRational tick, int64_t start, struct bl_error *e)
{
    p->clock = (struct bl_clock){tick, AV_NOPTS_VALUE};
    return bl_sampling_begin(p->reader->config, tick, start, &p->pick, e);
}

static int piece_open(struct piece *p, struct bl_error *e)
{
    const struct bl_row *row = &p->request->row;
    enum bl_demux_mode mode = bl_sampling_decode_mode(p->reader->config, p->request->times != NULL);
    struct bl_session_pool *sessions = p->on_gpu ? &p->reader->gpu->sessions : NULL;
    return bl_decode_open_gpu(&p->decode, sessions, row->path, row->bytes, row->stream, mode, p->reader->env, e);
}

/* Closes what piece_open opened; code is the result so far. Surfaces are released before their decoder. */
static int piece_close(struct piece *p, int code, struct bl_error *e)
{
    if (p->on_gpu && !code && !p->strayed)
        code = bl_readback_finish(&p->reader->gpu->readback, e);
    else if (p->on_gpu)
        bl_readback_abandon(&p->reader->gpu->readback);
    av_frame_unref(p->reader->frame);
    av_frame_unref(p->reader->held);
    bl_decode_close(&p->decode);
    return code;
}

static int piece_read_from_start(struct piece *p, struct bl_note *note, struct bl_error *e)
{
    int code = piece_open(p, e);
    if (code)
        return code;
    const struct bl_demux *d = &p->decode.demux;
    code = piece_begin(p, d->stream->time_base, bl_demux_start(d), e);
    if (!code)
        code = piece_decode(p, e);
    code = piece_close(p, code, e);
    if (!code)
        piece_write_note(p, note);
    return code;
}

static void cached_timeline_free(struct cached_timeline *cached)
{
    free(cached->path);
    bl_timeline_free(&cached->timeline);
    *cached = (struct cached_timeline){0};
}

static int cached_timeline_load(const struct bl_reader *reader, const struct bl_row *row,
                                struct cached_timeline *cached, struct bl_error *e)
{
    struct bl_demux d;
    enum bl_demux_mode mode = bl_sampling_count_mode(reader->config);
    int code = bl_demux_open(&d, row->path, row->bytes, row->stream, mode, reader->env, e);
    if (code)
        return code;
    code = bl_timeline_make(&cached->timeline, &d, e);
    bl_demux_close(&d);
    if (code)
        return code;
    cached->path = strdup(row->path);
    cached->bytes = row->bytes;
    cached->stream = row->stream;
    if (!cached->path)
        code = bl_error_memory(e);
    return code;
}

static int reader_find_timeline(struct bl_reader *reader, const struct bl_row *row, const struct bl_timeline **timeline,
                                struct bl_error *e)
{
    for (int i = 0; i < TIMELINES; i++) {
        struct cached_timeline *cached = &reader->timelines[i];
        *timeline = &cached->timeline;
        if (cached->path && strcmp(cached->path, row->path) == 0 && cached->bytes == row->bytes &&
            cached->stream == row->stream)
            return 0;
    }
    struct cached_timeline *cached = &reader->timelines[reader->oldest];
    reader->oldest = (reader->oldest + 1) % TIMELINES;
    cached_timeline_free(cached);
    *timeline = &cached->timeline;
    int code = cached_timeline_load(reader, row, cached, e);
    if (code)
        cached_timeline_free(cached);
    return code;
}

/* Reads a piece from a keyframe on; *done is false if that is not possible. */
static int piece_read_from_restart(struct piece *p, bool *done, struct bl_note *note, struct bl_error *e)
{
    const struct bl_timeline *timeline;
    *done = false;
    int code = reader_find_timeline(p->reader, &p->request->row, &timeline, e);
    if (code)
        return code;
    code = piece_begin(p, timeline->tick, timeline->start, e);
    if (code)
        return code;
    const struct bl_restart *restart = bl_timeline_find(timeline, &p->pick, p->request->source_start);
    if (!restart)
        return BL_OK;
    code = piece_open(p, e);
    if (code)
        return code;
    bool found;
    code = bl_decode_seek(&p->decode, restart, &found, e);
    if (found && !code) {
        p->timeline = timeline;
        p->clock.origin = timeline->shown.time[0];
        p->first_frame = p->next_frame = restart->frame;
        p->seen = p->pick.taken;
        code = piece_decode(p, e);
        *done = !p->strayed;
    }
    code = piece_close(p, code, e);
    if (*done && !code)
        piece_write_note(p, note);
    return code;
}

/* Reads a piece; *full: the GPU's memory was not enough. What begins in the middle of a sound sequence is read from a
 * keyframe; if that is not possible, or finds bad content, it is read from the first frame. */
static int reader_read(struct bl_reader *reader, const struct bl_request *request, bool on_gpu, bool *full,
                       struct bl_note *note, struct bl_error *e)
{
    const struct piece initial = {.reader = reader, .request = request, .on_gpu = on_gpu};
    struct piece p = initial;
    bool done = false;
    int code = BL_OK;
    note->text[0] = '\0';
    if (request->source_start > 0 && !*request->row.reason)
        code = piece_read_from_restart(&p, &done, note, e);
    if (code == BL_EDATA || (!code && !done)) {
        bl_error_clear(e);
        p = initial;
        code = piece_read_from_start(&p, note, e);
    }
    *full = p.decode.gpu_full;
    return code;
}

static int reader_read_on_gpu(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                              struct bl_error *e)
{
    const struct bl_video_config *config = reader->config;
    size_t bytes = (size_t)reader->size.width * (size_t)reader->size.height * 3;
    struct bl_error first = {0};
    bool full = false;
    int code = BL_OK;
    if (!reader->gpu)
        code = bl_gpu_worker_open(&reader->gpu, config->gpu_functions, config->gpu, bytes, e);
    if (code)
        return code;
    code = reader_read(reader, request, true, &full, note, &first);
    if (full && bl_session_pool_evict(&reader->gpu->sessions))
        code = reader_read(reader, request, true, &full, note, e);
    else if (code)
        bl_error_set(e, code, "%s", first.text);
    if (code)
        return code;
    bl_error_memory_watch(); /* the driver may leave errno set although all went well */
    return BL_OK;
}

int bl_video_read_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                        struct bl_error *e)
{
    enum bl_backend backend;
    bool full;
    int code = bl_backend_from_row(reader->config, &request->row, &backend, e);
    if (code)
        return code;
    if (backend == BL_BACKEND_NVDEC)
        return reader_read_on_gpu(reader, request, note, e);
    return reader_read(reader, request, false, &full, note, e);
}

int bl_video_read_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                       struct bl_reader **reader, struct bl_error *e)
{
    struct bl_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bl_error_memory(e);
    r->config = config;
    r->env = env;
    r->size = (struct bl_dimensions){(int)fields->field[0].shape[1], (int)fields->field[0].shape[0]};
    r->frame = av_frame_alloc();
    r->held = av_frame_alloc();
    struct bl_convert_options options = bl_picture_options(config, env->simd);
    int code = r->frame && r->held ? bl_convert_open(&r->convert, &options, e) : bl_error_memory(e);
    if (code) {
        bl_video_read_close(r);
        return code;
    }
    *reader = r;
    return 0;
}

void bl_video_read_close(struct bl_reader *reader)
{
    if (!reader)
        return;
    for (int i = 0; i < TIMELINES; i++)
        cached_timeline_free(&reader->timelines[i]);
    bl_convert_close(reader->convert);
    bl_gpu_worker_close(reader->gpu);
    av_frame_free(&reader->frame);
    av_frame_free(&reader->held);
    free(reader);
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
