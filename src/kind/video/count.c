/* Counts the frames of one video. The packets are always read first: their number is the length of an undamaged stream,
 * and the expectation for a damaged one. Damage is what decoding finds, or data that ends long before the header's
 * duration. A frame count in the header that a clean decode contradicts is not damage.
 *
 * Both ways push the times of frames, in display order, into the same picker (options.h), so that --fps takes the same
 * frames whether a file was counted by packets or by decoding. */
#include "kind/video/count.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/video/decode.h"
#include "kind/video/options.h"
#include "kind/video/piece.h"
#include "kind/video/timeline.h"

/* The state of counting one file. */
struct counter {
    const struct bl_video_config *config;
    const struct bl_demux *demux; /* its packets make the index */
    struct bl_meter *meter;
    struct bl_packet_index index;

    /* Frames are pushed in display order. */
    struct bl_pick pick;
    struct bl_clock clock;
    int64_t previous; /* when the frame before is shown, in ticks */
    bool want_times;
    double *times; /* [pick.taken] when steps begin, in seconds; not with --fps, which determines them */
    size_t times_capacity;
    int64_t end; /* of the last frame, in ticks */

    /* The results of decoding. */
    int64_t decoded;   /* frames */
    int64_t concealed; /* frames that the decoder marked as damaged */
    int64_t early;     /* errors before the first frame, which are natural between keyframes */
    bool errors, truncated;
    bool no_entry;   /* there was no keyframe */
    bool first_only; /* decoding checks the first frame, and counts nothing */
};

/* Records the time of the previous frame if it was taken. */
static int counter_add_time(struct counter *c, int64_t taken, struct bl_error *e)
{
    if (!c->want_times || c->pick.stride == 0 || taken == 0)
        return BL_OK;
    if (BL_ARRAY_RESERVE(c->times, c->times_capacity, (size_t)c->pick.taken, e))
        return BL_EFAIL;
    c->times[c->pick.taken - 1] = bl_clock_seconds(&c->clock, c->previous);
    return BL_OK;
}

/* Pushes the time of the next frame, in ticks. */
static int counter_push(struct counter *c, int64_t time, struct bl_error *e)
{
    int code = counter_add_time(c, bl_pick_push(&c->pick, time), e);
    c->previous = time;
    return code;
}

/* Counts by the packets that were indexed. */
static int counter_use_index(struct counter *c, int64_t *length, struct bl_error *e)
{
    const struct bl_timestamps *shown = &c->index.shown;
    if (shown->count == 0) {
        *length = (c->index.frames + c->config->stride - 1) / c->config->stride;
        return BL_OK;
    }
    if (c->clock.origin == AV_NOPTS_VALUE)
        c->clock.origin = shown->time[0];
    for (size_t i = 0; i < shown->count; i++) {
        BL_TRY(counter_push(c, shown->time[i], e));
    }
    c->end = c->index.end;
    int code = counter_add_time(c, bl_pick_end(&c->pick, c->index.end), e);
    *length = c->pick.taken;
    return code;
}

/* Decodes frames to the end of the file, or the first one alone (c->first_only). frame is empty room, the caller's. */
static int counter_decode_frames(struct counter *c, struct bl_decode *decode, AVFrame *frame, struct bl_error *e)
{
    int64_t end = AV_NOPTS_VALUE;
    for (;;) {
        bool got;
        BL_TRY(bl_decode_next(decode, frame, &got, e));
        if (!got)
            break;
        int64_t time = bl_frame_time(frame);
        if (c->pick.stride == 0 && c->decoded == 0 && time == AV_NOPTS_VALUE)
            return bl_error_set(e, BL_EDATA, "its frames have no timestamps, which --fps needs");
        BL_TRY(bl_picture_check_frame(c->config, frame, e));
        if (c->first_only) {
            c->decoded++;
            return BL_OK;
        }
        bl_clock_note(&c->clock, frame, c->decoded);
        BL_TRY(counter_push(c, time, e));
        c->early = c->decoded == 0 ? decode->errors : c->early;
        c->decoded++;
        c->concealed += bl_decode_is_damaged(frame);
        end = bl_decode_time_end(decode, frame);
    }
    c->end = end;
    c->errors = decode->errors > (c->index.midway ? c->early : 0);
    c->truncated = decode->truncated;
    c->no_entry = decode->no_entry;
    return counter_add_time(c, bl_pick_end(&c->pick, end), e);
}

/* Opens the file for decoding, and decodes it. BL_EDATA: it cannot be decoded or converted. */
static int counter_decode(struct counter *c, struct bl_error *e)
{
    const struct bl_demux *d = c->demux;
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return bl_error_memory(e);
    struct bl_decode decode;
    enum bl_demux_mode mode = bl_sampling_decode_mode(c->config, c->want_times);
    int code = bl_decode_open(&decode, d->file.path, d->file.bytes, d->stream->index, mode, d->env, e);
    if (code)
        goto out;
    decode.demux.meter = c->meter;
    code = counter_decode_frames(c, &decode, frame, e);
    bl_decode_close(&decode);
out:
    av_frame_free(&frame);
    return code;
}

/* Writes the gravest fault of a decoded video, or "". */
static void counter_write_reason(const struct counter *c, char *text, size_t size)
{
    const struct bl_packet_index *index = &c->index;
    long long frames = c->decoded, expected = index->frames > frames ? index->frames : frames;
    bool faults = c->errors || c->truncated || c->concealed;
    char places[BL_PLURAL_SIZE];
    text[0] = 0;
    if (index->second)
        snprintf(text, size,
                 "several files, one behind the other: the header at byte %lld is not read, %lld frames decode",
                 (long long)index->second, frames);
    else if (index->too_short)
        snprintf(text, size, "truncated: header says %.1f s, data ends at %.1f s", index->declared, index->present);
    else if (index->truncated && !index->listed)
        snprintf(text, size, "truncated: the file ends before its header says, %lld frames are there", frames);
    else if (index->truncated)
        snprintf(text, size, "truncated: header lists %lld frames, %lld are there", (long long)index->listed, frames);
    else if (faults && frames < expected)
        snprintf(text, size, "damaged: %lld of %lld frames decode", frames, expected);
    else if (c->concealed)
        snprintf(text, size, "damaged: %lld of %lld frames concealed by the decoder", (long long)c->concealed, frames);
    else if (faults)
        snprintf(text, size, "damaged: %lld frames decode, with errors among them", frames);
    else if ((index->gaps || index->resets) && frames < expected)
        snprintf(text, size, "frames are missing: %lld of %lld decode, as the references of the others are missing",
                 frames, expected);
    else if (index->gaps)
        snprintf(text, size, "frames are missing in %s: what follows may be damaged",
                 bl_text_plural(places, index->gaps, "place"));
    else if (index->incomplete)
        snprintf(text, size, "damaged: parts of %s are missing, though all frames decode",
                 bl_text_plural(places, index->incomplete, "packet"));
    else if (index->joined && frames < expected)
        snprintf(text, size, "several streams, one behind the other: %lld of %lld frames decode", frames, expected);
    else if (index->midway && frames < expected)
        snprintf(text, size, "begins between keyframes: %lld of %lld frames decode", frames, expected);
    else if (c->no_entry)
        snprintf(text, size, "has no keyframe: its first frames may be damaged");
    else if (index->unsure)
        snprintf(text, size, "begins between keyframes: its first frames may be damaged");
}

/* Counts by packets if these are not in doubt, and by decoding otherwise; fills in the result except for its stream. */
static int counter_run(struct counter *c, struct bl_count_result *result, struct bl_error *e)
{
    const struct bl_video_config *config = c->config;
    const struct bl_packet_index *index = &c->index;
    AVRational tick = c->demux->stream->time_base;
    c->clock.tick = tick;
    int64_t start = bl_demux_start(c->demux);
    BL_TRY(bl_sampling_begin(config, tick, start, &c->pick, e));
    if (bl_sampling_from_start(config))
        c->clock.origin = start;
    bool by_packets = !index->suspicious && !index->truncated && !index->too_short && index->frames > 0 &&
                      config->count != BL_COUNT_DECODE;
    if (by_packets && bl_picture_is_told_by_frames(config, c->demux->stream->codecpar->codec_id)) {
        c->first_only = true;
        BL_TRY(counter_decode(c, e));
        c->first_only = false;
        by_packets = c->decoded > 0;
        c->decoded = 0;
    }
    if (by_packets) {
        BL_TRY(counter_use_index(c, &result->length, e));
    } else {
        BL_TRY(counter_decode(c, e));
        if (c->decoded == 0 && index->frames == 0)
            return bl_error_set(e, BL_EDATA, "no frames in the video stream");
        if (c->decoded == 0)
            return bl_error_set(e, BL_EDATA, "damaged: none of %lld frames decodes", (long long)index->frames);
        result->length = c->pick.taken;
        counter_write_reason(c, result->reason, sizeof result->reason);
    }
    if (result->length == 0)
        return bl_error_set(e, BL_EDATA, "too short: --fps takes none of its frames");
    if (result->length > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "its timestamps are too far apart: --fps would make %lld frames of it",
                            (long long)result->length);
    if (c->clock.origin == AV_NOPTS_VALUE)
        return BL_OK;
    result->origin = (double)c->clock.origin * av_q2d(tick);
    result->times = c->times;
    result->tick = tick;
    if (c->end == AV_NOPTS_VALUE || __builtin_sub_overflow(c->end, c->clock.origin, &result->end))
        result->end = AV_NOPTS_VALUE;
    c->times = NULL; /* the caller frees them now */
    return BL_OK;
}

int bl_video_count(const struct bl_video_config *config, const struct bl_kind_env *env, const struct bl_input *input,
                   struct bl_meter *meter, bool times, struct bl_count_result *result, struct bl_error *e)
{
    *result = (struct bl_count_result){.stream = -1};
    struct bl_demux d;
    BL_TRY(bl_demux_open(&d, input->path, -1, BL_DEMUX_WANTED(config->common.stream), bl_sampling_count_mode(config),
                         env, e));
    result->stream = d.stream->index;
    result->rate = d.stream->avg_frame_rate;
    struct counter c = {
        .config = config, .demux = &d, .meter = meter, .want_times = times, .clock.origin = AV_NOPTS_VALUE};
    if (config->count != BL_COUNT_DECODE) /* decoding takes much longer, and reports its own progress */
        d.meter = meter;
    int code = bl_picture_check(&d, config, e);
    if (code)
        goto out;
    code = bl_packet_index_make(&c.index, &d, times || bl_sampling_is_by_time(config), e);
    if (code)
        goto out;
    code = bl_picture_check_tags(config, d.stream->codecpar->codec_id, c.index.transfers, c.index.matrices, e);
    if (code)
        goto out;
    code = counter_run(&c, result, e);
out:
    free(c.times);
    bl_packet_index_free(&c.index);
    bl_demux_close(&d);
    return code;
}

int bl_count_result_choose(struct bl_count_result *result, const struct bl_video_config *config,
                           struct bl_frame_list *list, struct bl_error *e)
{
    *list = (struct bl_frame_list){0};
    if (!bl_sampling_has_list(config))
        return BL_OK;
    BL_TRY(bl_sampling_make_list(config, 0, result->length, result->rate, list, e));
    double *times = NULL;
    if (result->times) {
        times = malloc((size_t)list->count * sizeof *times);
        if (!times)
            return bl_error_memory(e);
        for (int64_t i = 0; i < list->count; i++)
            times[i] = result->times[bl_frame_list_at(list, i)];
    }
    free(result->times);
    result->times = times;
    result->length = list->count;
    return BL_OK;
}
