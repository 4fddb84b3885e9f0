/* See count.h. The packets are always gone through: their number is the answer for an undamaged stream, and what a
 * damaged one is held against. Damage is what decoding then finds, or data that end long before the header says. A
 * number of frames in the header that a clean decode contradicts is no damage. */
#include "kind/video/count.h"

#include <stdio.h>

#include "kind/video/frames.h"
#include "kind/video/pick.h"
#include "kind/video/stream.h"
#include "kind/video/tally.h"

/* What decoding tells. */
struct decoded {
    int64_t frames, length;
    int64_t flagged; /* frames that the decoder marked */
    int64_t refused;
    bool cut;
};

/* The length by packets alone; false where that is not to be had. */
static bool length_by_packets(const struct bl_tally *t, const struct bl_video_config *config, struct bl_pick pick,
                              int64_t *length)
{
    if (t->suspicious || t->cut || t->late || t->frames == 0 || config->count == BL_COUNT_DECODE)
        return false;
    for (size_t i = 0; i < t->times; i++)
        bl_pick_push(&pick, t->time[i]);
    if (t->times)
        bl_pick_end(&pick, t->end);
    *length = t->times ? pick.taken : (t->frames + config->stride - 1) / config->stride;
    return true;
}

static int decode_frames(struct bl_frames *f, struct bl_pick *pick, struct decoded *out, AVFrame *frame,
                         struct bl_error *e)
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
    enum bl_demux_mode mode = pick->stride == 0 ? BL_DEMUX_TIMES : BL_DEMUX_DECODE;
    int rc = bl_frames_open(&f, counted->path, counted->bytes, counted->stream->index, mode, counted->cancel, e);
    if (!rc) {
        rc = decode_frames(&f, pick, out, frame, e);
        bl_frames_close(&f);
    }
    av_frame_free(&frame);
    return rc;
}

static void reason_write(char *text, size_t size, const struct bl_tally *t, const struct decoded *d)
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

static int length_by_decoding(const struct bl_demux *d, const struct bl_tally *t, struct bl_pick pick,
                              struct bl_count_result *result, struct bl_error *e)
{
    struct decoded decoded = {0};
    int rc = decode(d, &pick, &decoded, e);
    if (rc)
        return rc;
    if (decoded.frames == 0 && t->frames == 0)
        return bl_error_set(e, BL_EDATA, "no frames in the video stream");
    if (decoded.frames == 0)
        return bl_error_set(e, BL_EDATA, "damaged: none of %lld frames decodes", (long long)t->frames);
    result->length = decoded.length;
    reason_write(result->reason, sizeof result->reason, t, &decoded);
    return 0;
}

static int count_tallied(const struct bl_video_config *config, const struct bl_demux *d, const struct bl_tally *t,
                         struct bl_count_result *result, struct bl_error *e)
{
    struct bl_pick pick;
    AVRational tick = d->stream->time_base;
    if (!bl_pick_init(&pick, config->fps.num, config->fps.den, config->stride, tick.num, tick.den))
        return bl_error_set(e, BL_EDATA, "a time base of %d/%d s, which --fps cannot use", tick.num, tick.den);
    if (!length_by_packets(t, config, pick, &result->length)) {
        int rc = length_by_decoding(d, t, pick, result, e);
        if (rc)
            return rc;
    }
    if (result->length == 0)
        return bl_error_set(e, BL_EDATA, "too short: --fps takes none of its frames");
    if (result->length > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "its timestamps are too far apart: --fps would make %lld frames of it",
                            (long long)result->length);
    return 0;
}

int bl_count_video(const struct bl_video_config *config, const struct bl_cancel *cancel, const struct bl_input *input,
                   struct bl_count_result *result, struct bl_error *e)
{
    *result = (struct bl_count_result){.stream = -1};
    struct bl_demux d;
    int rc = bl_demux_open(&d, input->path, -1, -1, BL_DEMUX_COUNT, cancel, e);
    if (rc)
        return rc;
    result->stream = d.stream->index;
    struct bl_tally tally = {0};
    rc = bl_stream_check(&d, config, e);
    if (!rc)
        rc = bl_tally_make(&tally, &d, config->fps.den != 0, e);
    if (!rc)
        rc = count_tallied(config, &d, &tally, result, e);
    bl_tally_free(&tally);
    bl_demux_close(&d);
    return rc;
}
