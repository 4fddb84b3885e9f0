#include "kind/video/piece.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kind/video/config.h"
#include "kind/video/picture.h"

static int piece_check_size(const struct bl_piece_tools *tools, const struct bl_geometry *g, struct bl_error *e)
{
    if (g->width == tools->size.width && g->height == tools->size.height)
        return 0;
    return bl_error_set(e, BL_EDATA, "a frame of %dx%d among frames of %dx%d", g->width, g->height, tools->size.width,
                        tools->size.height);
}

/* Writes when the held frame's steps begin, for the field of times and for the caller, who knows with --fps. */
static void piece_write_times(const struct bl_piece *p, int64_t first, int64_t end)
{
    const struct bl_request *request = p->request;
    const struct bl_video_config *config = p->tools->config;
    double seconds = bl_clock_seconds(&p->clock, bl_decode_time(p->tools->held));
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
static int piece_convert(struct bl_piece *p, const struct bl_geometry *geometry, uint8_t *out, int64_t times,
                         struct bl_error *e)
{
    struct bl_piece_tools *tools = p->tools;
    const AVFrame *frame = tools->held;
    if (p->on_gpu) {
        struct bl_convert_options options = bl_picture_options(tools->config, tools->env->simd);
        int code = bl_convert_check(AV_PIX_FMT_NONE, frame->color_trc, frame->colorspace, &options, e);
        if (code)
            return code;
        return bl_readback_add(&tools->gpu->readback, frame, geometry, out, times, e);
    }
    int code = bl_convert_frame(tools->convert, frame, geometry, out, e);
    if (code)
        return code;
    for (int64_t i = 1; i < times; i++)
        memcpy(out + (size_t)i * tools->bytes, out, tools->bytes);
    return BL_OK;
}

/* Takes the held frame as the next `times` steps; those that lie in the piece are written. */
static int piece_take(struct bl_piece *p, int64_t times, struct bl_error *e)
{
    const struct bl_request *request = p->request;
    int64_t stop = request->source_start + request->steps;
    int64_t first = FFMAX(p->seen, request->source_start), end = FFMIN(p->seen + times, stop);
    p->seen += times;
    if (first >= end)
        return BL_OK;
    struct bl_piece_tools *tools = p->tools;
    struct bl_geometry geometry;
    int code = bl_picture_geometry(&p->decode->demux, tools->config, tools->held, &geometry, e);
    if (code)
        return code;
    code = piece_check_size(tools, &geometry, e);
    if (code)
        return code;
    uint8_t *out = request->out[0] + (size_t)(first - request->source_start) * tools->bytes;
    code = piece_convert(p, &geometry, out, end - first, e);
    if (code)
        return code;
    piece_write_times(p, first, end);
    if (bl_decode_is_damaged(tools->held))
        p->damaged += end - first;
    return BL_OK;
}

bool bl_piece_has_faults(const struct bl_piece *p)
{
    return p->decode->errors || p->decode->truncated;
}

/* How bright a PQ stream may be it may say in its first packets alone. */
static bool piece_needs_first_packets(const struct bl_piece *p)
{
    return p->tools->config->hdr == BL_HDR_TONEMAP && p->tools->frame->color_trc == AVCOL_TRC_SMPTE2084;
}

/* Whether frame `number` of the file, or the end of it, is not what was to come at either end of a clip; or faults make
 * it doubtful that it is, where another way leads to the clip. */
static bool piece_is_astray(const struct bl_piece *p, int64_t number, bool got)
{
    const struct bl_row *row = &p->request->row;
    const struct bl_seek_point *point = &p->point;
    int64_t time = got ? bl_decode_time(p->tools->frame) : AV_NOPTS_VALUE;
    if (p->playhead->lost || (bl_piece_has_faults(p) && (p->playhead->seeked || p->may_seek)) ||
        (p->playhead->seeked && piece_needs_first_packets(p)))
        return true;
    if (!point->known)
        return bl_piece_has_faults(p) && !*row->reason;
    return (number == row->clip_begin && time != point->begin) || (number == row->clip_end && time != point->end);
}

/* Decodes the next frame of a clip; *got is false at its end, which is noted. */
static int piece_next_of_clip(struct bl_piece *p, bool *got, struct bl_error *e)
{
    const struct bl_row *row = &p->request->row;
    AVFrame *frame = p->tools->frame;
    int64_t number;
    do {
        number = p->playhead->next;
        int code = bl_playhead_next(p->playhead, frame, got, e);
        if (code)
            return code;
    } while (*got && number < row->clip_begin && !p->playhead->lost);
    p->strayed = piece_is_astray(p, number, *got);
    if (*got && number == row->clip_end) {
        p->time_behind = bl_decode_time(frame);
        bl_playhead_put_back(p->playhead, frame);
        *got = false;
    }
    *got = *got && !p->strayed;
    return BL_OK;
}

/* Decodes the next frame. *got is false at the end, and if the frame is not the one that the timeline has. */
static int piece_next(struct bl_piece *p, bool *got, struct bl_error *e)
{
    if (p->playhead)
        return piece_next_of_clip(p, got, e);
    AVFrame *frame = p->tools->frame;
    if (!p->timeline)
        return bl_decode_next(p->decode, frame, got, e);
    const struct bl_timestamps *shown = &p->timeline->shown;
    do {
        int code = bl_decode_next(p->decode, frame, got, e);
        if (code)
            return code;
    } while (*got && p->next_frame == p->first_frame && bl_decode_time(frame) < shown->time[p->first_frame]);
    bool expected = p->next_frame < shown->count;
    bool concealed = *got && bl_decode_is_damaged(frame); /* by what was decoded last */
    p->strayed = bl_piece_has_faults(p) || concealed || *got != expected || piece_needs_first_packets(p) ||
                 (expected && bl_decode_time(frame) != shown->time[p->next_frame]);
    p->next_frame++;
    *got = *got && !p->strayed;
    return BL_OK;
}

/* The end of the file, or of the clip, shows whether frames are missing, and later ones misplaced. It is needed if the
 * piece ends its sequence, or the decoder found faults that the scan does not know of. */
static bool piece_needs_end(const struct bl_piece *p)
{
    const struct bl_request *request = p->request;
    return request->source_start + request->steps == request->row.length ||
           (!*request->row.reason && bl_piece_has_faults(p));
}

/* Whether what was decoded is enough. */
static bool piece_is_full(const struct bl_piece *p)
{
    return p->seen >= p->request->source_start + p->request->steps && !piece_needs_end(p) &&
           (!p->needed || p->next_frame > p->needed->last);
}

/* Passes the frames that are left out behind the held one: whether they are taken, too, follows from their times. */
static int piece_pass_left_out(struct bl_piece *p, struct bl_error *e)
{
    const struct bl_timestamps *shown = &p->timeline->shown;
    for (; p->next_frame < shown->count && !p->needed->frame[p->next_frame]; p->next_frame++) {
        int code = piece_take(p, bl_pick_push(&p->pick, shown->time[p->next_frame]), e);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_piece_decode(struct bl_piece *p, struct bl_error *e)
{
    struct bl_piece_tools *tools = p->tools;
    int64_t time_end = AV_NOPTS_VALUE;
    int code = p->needed ? piece_pass_left_out(p, e) : BL_OK;
    if (code)
        return code;
    for (;;) {
        bool got;
        code = piece_next(p, &got, e);
        if (code || p->strayed)
            return code;
        if (!got)
            break;
        bl_clock_note(&p->clock, tools->frame, p->pick.pushed);
        code = piece_take(p, bl_pick_push(&p->pick, bl_decode_time(tools->frame)), e);
        bl_meter_report(p->request->meter, p->seen - p->request->source_start);
        if (code || piece_is_full(p))
            return code;
        time_end = bl_decode_time_end(p->decode, tools->frame);
        av_frame_unref(tools->held);
        av_frame_move_ref(tools->held, tools->frame);
        code = p->needed ? piece_pass_left_out(p, e) : BL_OK;
        if (code || piece_is_full(p))
            return code;
    }
    if (p->time_behind != AV_NOPTS_VALUE)
        time_end = p->time_behind;
    code = piece_take(p, bl_pick_end(&p->pick, time_end), e);
    if (code)
        return code;
    if (piece_needs_end(p) ? p->seen != p->request->row.length : !piece_is_full(p))
        return bl_error_set(e, BL_EDATA, "the scan counted %lld frames, decoding gives %lld",
                            (long long)p->request->row.length, (long long)p->seen);
    return BL_OK;
}

void bl_piece_write_note(const struct bl_piece *p, struct bl_note *note)
{
    if (*p->request->row.reason)
        return; /* the scan has reported it */
    if (p->damaged)
        snprintf(note->text, sizeof note->text, "damaged: %lld of %lld frames concealed by the decoder",
                 (long long)p->damaged, (long long)p->request->steps);
    else if (bl_piece_has_faults(p))
        snprintf(note->text, sizeof note->text, "damaged: errors while decoding, though no frame is missing");
}

int bl_piece_begin(struct bl_piece *p, AVRational tick, int64_t start, struct bl_error *e)
{
    p->clock = (struct bl_clock){tick, AV_NOPTS_VALUE};
    p->time_behind = AV_NOPTS_VALUE;
    return bl_sampling_begin(p->tools->config, tick, start, &p->pick, e);
}

int bl_piece_finish(struct bl_piece *p, int code, struct bl_error *e)
{
    struct bl_piece_tools *tools = p->tools;
    if (p->on_gpu && !code && !p->strayed)
        code = bl_readback_finish(&tools->gpu->readback, e);
    else if (p->on_gpu)
        bl_readback_abandon(&tools->gpu->readback);
    if (p->playhead && tools->frame->buf[0])
        bl_playhead_put_back(p->playhead, tools->frame);
    av_frame_unref(tools->frame);
    av_frame_unref(tools->held);
    return code;
}
