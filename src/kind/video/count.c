/* See count.h. The packets are always gone through: their number is the answer for an undamaged stream, and what a damaged one is
 * held against. Suspicion is cheap to raise and costs only time; damage is what decoding then finds, or data that end
 * long before the header says. A number of frames in the header that a clean decode contradicts is no damage. */
#include "kind/video/count.h"

#include <stdio.h>
#include <stdlib.h>

#include "kind/video/convert.h"
#include "kind/video/frames.h"
#include "kind/video/peek.h"
#include "kind/video/pick.h"
#include "kind/video/stream.h"

/* Seconds that the data may end before the header's duration without a word. */
#define END_TOLERANCE 0.5

struct times {
    int64_t *data;
    size_t size, capacity;
};

/* What going through the packets tells. */
struct tally {
    int64_t frames;  /* shown by packets that are not discarded */
    int64_t end;     /* of the last shown packet, in ticks */
    struct times times; /* of the frames, when sampling by time */
    bool midway;     /* the first packet is no keyframe */
    bool suspicious;
    bool truncated;  /* the header says declared seconds, and all streams end after present seconds */
    double declared, present;
};

/* What decoding tells. */
struct decoded {
    int64_t frames, length;
    int64_t flagged; /* frames that the decoder marked */
    int64_t refused;
    bool cut;
};

static int times_add(struct times *t, int64_t time, struct bl_error *e)
{
    if (t->size == t->capacity) {
        size_t capacity = t->capacity ? 2 * t->capacity : 256;
        int64_t *data = realloc(t->data, capacity * sizeof *data);
        if (!data)
            return bl_error_memory(e);
        t->data = data;
        t->capacity = capacity;
    }
    t->data[t->size++] = time;
    return 0;
}

static int time_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool by_time(const struct bl_video_config *config)
{
    return config->fps.den != 0;
}

/* The container's own timestamps are those that decoding gives; other demuxers make them up from what they see, and differently
 * after a probe. */
static bool times_are_sound(const struct bl_demux *d)
{
    return bl_demux_is_mov(d) || bl_demux_is_matroska(d);
}

static int tally_packet(struct tally *t, const struct bl_video_config *config, struct bl_peek *peek,
                        const AVPacket *packet, struct bl_error *e)
{
    t->midway = t->midway || (peek->packets == 0 && !(packet->flags & AV_PKT_FLAG_KEY));
    int frames = bl_peek_packet(peek, packet);
    if (packet->flags & AV_PKT_FLAG_DISCARD)
        return 0;
    t->frames += frames;
    int64_t start = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
    if (start != AV_NOPTS_VALUE && packet->duration >= 0 && packet->duration < INT64_MAX - FFMAX(start, 0))
        t->end = FFMAX(t->end, start + packet->duration);
    if (!by_time(config) || frames == 0)
        return 0;
    t->suspicious = t->suspicious || packet->pts == AV_NOPTS_VALUE || packet->duration <= 0 || frames > 1;
    return times_add(&t->times, packet->pts, e);
}

/* Seconds, by the container's header; 0 where it does not say. */
static double declared_duration(const struct bl_demux *d, bool probed)
{
    const AVFormatContext *format = d->format;
    if (format->duration == AV_NOPTS_VALUE || format->duration <= 0)
        return 0;
    if (probed && format->duration_estimation_method != AVFMT_DURATION_FROM_STREAM)
        return 0;
    return (double)format->duration / AV_TIME_BASE;
}

/* The end of the stream that ends last: a video may well be shorter than its sound. */
static int present_duration(const struct bl_demux *counted, AVPacket *packet, double *present, struct bl_error *e)
{
    struct bl_demux d;
    int rc = bl_demux_open(&d, counted->path, counted->bytes, counted->stream->index, BL_DEMUX_COUNT, counted->cancel, e);
    if (rc)
        return rc;
    bl_demux_want_all(&d);
    while ((rc = bl_demux_next(&d, packet, e)) > 0) {
        int64_t start = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
        AVRational tick = d.format->streams[packet->stream_index]->time_base;
        if (start != AV_NOPTS_VALUE)
            *present = FFMAX(*present, ((double)start + (double)packet->duration) * av_q2d(tick));
    }
    bl_demux_close(&d);
    return rc;
}

static int tally_end(struct tally *t, const struct bl_demux *d, AVPacket *packet, struct bl_error *e)
{
    t->declared = declared_duration(d, d->probed);
    t->present = (double)t->end * av_q2d(d->stream->time_base);
    if (t->declared == 0 || t->present + END_TOLERANCE >= t->declared)
        return 0;
    int rc = present_duration(d, packet, &t->present, e);
    t->truncated = t->present + END_TOLERANCE < t->declared;
    return rc;
}

static int tally_packets(struct tally *t, const struct bl_video_config *config, struct bl_demux *d, struct bl_error *e)
{
    AVPacket *packet = av_packet_alloc();
    if (!packet)
        return bl_error_memory(e);
    struct bl_peek peek;
    bl_peek_init(&peek, d->stream->codecpar);
    int rc;
    while ((rc = bl_demux_next(d, packet, e)) > 0) {
        rc = tally_packet(t, config, &peek, packet, e);
        if (rc)
            break;
        const AVCodecParserContext *parser = av_stream_get_parser(d->stream);
        if (parser && (parser->picture_structure == AV_PICTURE_STRUCTURE_TOP_FIELD ||
                       parser->picture_structure == AV_PICTURE_STRUCTURE_BOTTOM_FIELD))
            peek.suspicious = true; /* two packets may make one frame */
    }
    int64_t listed = d->stream->nb_frames;
    t->suspicious = t->suspicious || peek.suspicious || d->end_error || (listed > 0 && listed != peek.packets) ||
                    (by_time(config) && !times_are_sound(d));
    if (!rc)
        rc = tally_end(t, d, packet, e);
    av_packet_free(&packet);
    return rc;
}

/* Whether the frames' times say what is taken: sorted, no two alike. Else only decoding tells. */
static bool times_pick(struct times *t, struct bl_pick *pick, int64_t end)
{
    qsort(t->data, t->size, sizeof *t->data, time_compare);
    for (size_t i = 0; i < t->size; i++) {
        if (i > 0 && t->data[i] == t->data[i - 1])
            return false;
        bl_pick_push(pick, t->data[i]);
    }
    bl_pick_end(pick, end);
    return true;
}

/* The length by packets alone; false where that is not to be had. */
static bool length_by_packets(struct tally *t, const struct bl_video_config *config, struct bl_pick *pick, int64_t *length)
{
    if (t->suspicious || t->truncated || t->frames == 0 || config->count == BL_COUNT_DECODE)
        return false;
    if (by_time(config)) {
        if (!times_pick(&t->times, pick, t->end))
            return false;
        *length = pick->taken;
    } else {
        *length = (t->frames + config->stride - 1) / config->stride;
    }
    return true;
}

static int decode_frames(struct bl_frames *f, struct bl_pick *pick, struct decoded *out, AVFrame *frame, struct bl_error *e)
{
    int64_t end = AV_NOPTS_VALUE;
    int rc;
    while ((rc = bl_frames_next(f, frame, e)) > 0) {
        int64_t time = bl_frames_time(frame);
        if (pick->stride == 0 && out->frames == 0 && time == AV_NOPTS_VALUE)
            return bl_error_set(e, BL_EDATA, "its frames have no timestamps, which --fps needs");
        bl_pick_push(pick, time);
        out->frames++;
        out->flagged += bl_frames_is_damaged(frame);
        end = bl_frames_time_end(f, frame);
    }
    bl_pick_end(pick, end);
    out->length = pick->taken;
    out->refused = f->refused;
    out->cut = f->cut;
    return rc;
}

static int decode(const struct bl_demux *counted, struct bl_pick *pick, struct decoded *out, struct bl_error *e)
{
    AVFrame *frame = av_frame_alloc();
    if (!frame)
        return bl_error_memory(e);
    struct bl_frames f;
    int rc = bl_frames_open(&f, counted->path, counted->bytes, counted->stream->index, counted->cancel, e);
    if (!rc) {
        rc = decode_frames(&f, pick, out, frame, e);
        bl_frames_close(&f);
    }
    av_frame_free(&frame);
    return rc;
}

static void reason_write(char *text, size_t size, const struct tally *t, const struct decoded *d)
{
    long long frames = d->frames, listed = t->frames > frames ? t->frames : frames;
    bool faults = d->refused || d->cut || d->flagged;
    text[0] = 0;
    if (t->truncated)
        snprintf(text, size, "truncated: header says %.1f s, data ends at %.1f s", t->declared, t->present);
    else if (faults && frames < listed)
        snprintf(text, size, "damaged: %lld of %lld frames decode", frames, listed);
    else if (d->flagged)
        snprintf(text, size, "damaged: %lld of %lld frames concealed by the decoder", (long long)d->flagged, frames);
    else if (faults)
        snprintf(text, size, "damaged: %lld frames decode, beside errors", frames);
    else if (t->midway && frames < listed)
        snprintf(text, size, "begins between keyframes: %lld of %lld frames decode", frames, listed);
}

static int length_by_decoding(const struct bl_demux *d, const struct tally *t, struct bl_pick *pick,
                              struct bl_count_result *result, struct bl_error *e)
{
    struct decoded decoded = {0};
    int rc = decode(d, pick, &decoded, e);
    if (rc)
        return rc;
    if (decoded.frames == 0)
        return t->frames ? bl_error_set(e, BL_EDATA, "damaged: none of %lld frames decodes", (long long)t->frames)
                         : bl_error_set(e, BL_EDATA, "no frames in the video stream");
    result->length = decoded.length;
    result->decoded = true;
    reason_write(result->reason, sizeof result->reason, t, &decoded);
    return 0;
}

static int count_opened(const struct bl_video_config *config, struct bl_demux *d, struct tally *t,
                        struct bl_count_result *result, struct bl_error *e)
{
    result->stream = d->stream->index;
    int rc = bl_stream_check(d, config, e);
    if (!rc)
        rc = tally_packets(t, config, d, e);
    if (rc)
        return rc;
    struct bl_pick pick;
    AVRational tick = d->stream->time_base;
    if (!bl_pick_init(&pick, config->fps.num, config->fps.den, config->stride, tick.num, tick.den))
        return bl_error_set(e, BL_EDATA, "a time base of %d/%d s, which --fps cannot use", tick.num, tick.den);
    struct bl_pick fresh = pick;
    if (!length_by_packets(t, config, &pick, &result->length))
        rc = length_by_decoding(d, t, &fresh, result, e);
    if (!rc && result->length == 0)
        return bl_error_set(e, BL_EDATA, "too short: --fps takes none of its frames");
    return rc;
}

int bl_count_video(const struct bl_video_config *config, const struct bl_cancel *cancel, const struct bl_input *input,
                   struct bl_count_result *result, struct bl_error *e)
{
    *result = (struct bl_count_result){.stream = -1};
    struct bl_demux d;
    int rc = bl_demux_open(&d, input->path, -1, -1, BL_DEMUX_COUNT, cancel, e);
    if (rc)
        return rc;
    struct tally t = {0};
    rc = count_opened(config, &d, &t, result, e);
    free(t.times.data);
    bl_demux_close(&d);
    return rc;
}
