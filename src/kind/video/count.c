/* See count.h. The packets are always gone through: their number is the answer for an undamaged stream, and what a
 * damaged one is held against. Damage is what decoding then finds, or data that end long before the header says. A
 * number of frames in the header that a clean decode contradicts is no damage. */
#include "kind/video/count.h"

#include <stdio.h>
#include <stdlib.h>

#include "kind/video/clock.h"
#include "kind/video/decode.h"
#include "kind/video/pick.h"
#include "kind/video/stream.h"
#include "kind/video/packet_index.h"

/* What decoding tells. */
struct decode_result {
    int64_t frames, length;
    int64_t flagged; /* frames that the decoder marked */
    int64_t refused;
    bool cut;
};

/* Going through frames in the order in which they are shown. */
struct walk {
    struct bl_pick pick;
    struct bl_clock clock;
    bool wanted;    /* when steps begin: of those that --fps makes that is known */
    int64_t before; /* when the frame before is shown, in ticks */
    double *times;  /* [pick.taken] */
    int64_t room;
};

/* Notes the frame before, which is taken so often. */
static int walk_record(struct walk *w, int64_t times, struct bl_error *e)
{
    if (!w->wanted || w->pick.stride == 0 || times == 0)
        return BL_OK;
    if (w->pick.taken > w->room) {
        int64_t room = w->room ? 2 * w->room : 256;
        double *larger = realloc(w->times, (size_t)room * sizeof *larger);
        if (!larger)
            return bl_error_memory(e);
        w->times = larger;
        w->room = room;
    }
    w->times[w->pick.taken - 1] = bl_clock_seconds(&w->clock, w->before);
    return BL_OK;
}

static int walk_push(struct walk *w, int64_t time, struct bl_error *e)
{
    int code = walk_record(w, bl_pick_push(&w->pick, time), e);
    w->before = time;
    return code;
}

/* The length by packets alone: 1, 0 where that is not to be had, or a code. */
static int length_from_packets(const struct bl_packet_index *t, const struct bl_video_config *config, struct walk *w,
                               int64_t *length, struct bl_error *e)
{
    int code = BL_OK;
    if (t->suspicious || t->cut || t->late || t->frames == 0 || config->count == BL_COUNT_DECODE)
        return 0;
    if (t->times)
        w->clock.origin = t->time[0];
    for (size_t i = 0; i < t->times && !code; i++)
        code = walk_push(w, t->time[i], e);
    if (t->times && !code)
        code = walk_record(w, bl_pick_end(&w->pick, t->end), e);
    *length = t->times ? w->pick.taken : (t->frames + config->stride - 1) / config->stride;
    return code ? code : 1;
}

static int walk_decode(struct bl_decode *f, struct walk *w, struct decode_result *out, AVFrame *frame,
                       struct bl_error *e)
{
    int64_t end = AV_NOPTS_VALUE;
    int code;
    while ((code = bl_decode_next(f, frame, e)) > 0) {
        int64_t time = bl_decode_time(frame);
        if (w->pick.stride == 0 && out->frames == 0 && time == AV_NOPTS_VALUE)
            return bl_error_set(e, BL_EDATA, "its frames have no timestamps, which --fps needs");
        bl_clock_note(&w->clock, frame, out->frames);
        code = walk_push(w, time, e);
        if (code)
            return code;
        out->frames++;
        out->flagged += bl_decode_is_damaged(frame);
        end = bl_decode_time_end(f, frame);
    }
    if (!code)
        code = walk_record(w, bl_pick_end(&w->pick, end), e);
    out->length = w->pick.taken;
    out->refused = f->refused;
    out->cut = f->cut;
    return code;
}

static int walk_decode_file(const struct bl_demux *counted, struct bl_meter *pace, struct walk *w,
                            struct decode_result *out, struct bl_error *e)
{
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return bl_error_memory(e);
    struct bl_decode f;
    enum bl_demux_mode mode = w->pick.stride == 0 || w->wanted ? BL_DEMUX_TIMES : BL_DEMUX_DECODE;
    int code = bl_decode_open(&f, counted->path, counted->bytes, counted->stream->index, mode, counted->cancel, e);
    if (code)
        goto out;
    f.demux.pace = pace;
    code = walk_decode(&f, w, out, frame, e);
    bl_decode_close(&f);
out:
    av_frame_free(&frame);
    return code;
}

static void reason_format(char *text, size_t size, const struct bl_packet_index *t, const struct decode_result *d)
{
    long long frames = d->frames, expected = t->frames > frames ? t->frames : frames;
    bool faults = d->refused || d->cut || d->flagged;
    text[0] = 0;
    if (t->late)
        snprintf(text, size, "truncated: header says %.1f s, data ends at %.1f s", t->declared, t->present);
    else if (t->cut && !t->listed)
        snprintf(text, size, "truncated: the file ends before its header says, %lld frames are there", frames);
    else if (t->cut)
        snprintf(text, size, "truncated: header lists %lld frames, %lld are there", (long long)t->listed, frames);
    else if (faults && frames < expected)
        snprintf(text, size, "damaged: %lld of %lld frames decode", frames, expected);
    else if (d->flagged)
        snprintf(text, size, "damaged: %lld of %lld frames concealed by the decoder", (long long)d->flagged, frames);
    else if (faults)
        snprintf(text, size, "damaged: %lld frames decode, beside errors", frames);
    else if (t->midway && frames < expected)
        snprintf(text, size, "begins between keyframes: %lld of %lld frames decode", frames, expected);
}

static int length_from_decoding(const struct bl_demux *d, struct bl_meter *pace, const struct bl_packet_index *t,
                                struct walk *w, struct bl_count_result *result, struct bl_error *e)
{
    struct decode_result decode_result = {0};
    int code = walk_decode_file(d, pace, w, &decode_result, e);
    if (code)
        return code;
    if (decode_result.frames == 0 && t->frames == 0)
        return bl_error_set(e, BL_EDATA, "no frames in the video stream");
    if (decode_result.frames == 0)
        return bl_error_set(e, BL_EDATA, "damaged: none of %lld frames decodes", (long long)t->frames);
    result->length = decode_result.length;
    reason_format(result->reason, sizeof result->reason, t, &decode_result);
    return 0;
}

static int count_frames(const struct bl_video_config *config, const struct bl_demux *d, struct bl_meter *pace,
                        const struct bl_packet_index *t, struct walk *w, struct bl_count_result *result,
                        struct bl_error *e)
{
    AVRational tick = d->stream->time_base;
    w->clock = (struct bl_clock){tick, AV_NOPTS_VALUE};
    if (!bl_pick_init(&w->pick, config->fps.num, config->fps.den, config->stride, tick.num, tick.den))
        return bl_error_set(e, BL_EDATA, "a time base of %d/%d s, which --fps cannot use", tick.num, tick.den);
    int code = length_from_packets(t, config, w, &result->length, e);
    if (code == 0)
        code = length_from_decoding(d, pace, t, w, result, e);
    if (code < 0)
        return code;
    if (result->length == 0)
        return bl_error_set(e, BL_EDATA, "too short: --fps takes none of its frames");
    if (result->length > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "its timestamps are too far apart: --fps would make %lld frames of it",
                            (long long)result->length);
    return 0;
}

/* What the walk found out about times goes to the result. */
static void walk_finish(struct walk *w, struct bl_count_result *result)
{
    bool known = w->clock.origin != AV_NOPTS_VALUE;
    result->origin = known ? (double)w->clock.origin * av_q2d(w->clock.tick) : 0;
    if (known)
        result->times = w->times;
    else
        free(w->times);
}

int bl_video_count(const struct bl_video_config *config, const struct bl_cancel *cancel, const struct bl_input *input,
                   struct bl_meter *pace, bool times, struct bl_count_result *result, struct bl_error *e)
{
    *result = (struct bl_count_result){.stream = -1};
    struct bl_demux d;
    int code = bl_demux_open(&d, input->path, -1, -1, BL_DEMUX_COUNT, cancel, e);
    if (code)
        return code;
    result->stream = d.stream->index;
    if (config->count != BL_COUNT_DECODE) /* that takes much longer, and tells by itself */
        d.pace = pace;
    struct bl_packet_index index = {0};
    struct walk walk = {.wanted = times, .clock.origin = AV_NOPTS_VALUE};
    code = bl_stream_check(&d, config, e);
    if (!code)
        code = bl_packet_index_make(&index, &d, times || config->fps.den != 0, e);
    if (!code)
        code = count_frames(config, &d, pace, &index, &walk, result, e);
    if (!code)
        walk_finish(&walk, result);
    else
        free(walk.times);
    bl_packet_index_free(&index);
    bl_demux_close(&d);
    return code;
}
