/* Decodes a sound file through FFmpeg into frames, which all further stages trust: see decoder.h for their properties.
 *
 * A frame passes these steps: decoder_receive_frame takes it from libavcodec, decoder_accept_frame checks and mends it,
 * the queue holds it back (an encoder's padding is known only at the end of the file), and bl_audio_decoder_next puts
 * it at the place that its timestamp states. */
#include "kind/audio/decoder.h"

#include <math.h>
#include <string.h>

#include "kind/audio/lanes.h"
#include "kind/audio/marks.h"
#include "kind/media/allowlist.h"
#include "kind/media/compat.h"

/* --- unsupported Shorten files ------------------------------------------------------------------------------------ */

/* FFmpeg does not decode these files, and reports only that they are damaged. A message of our own names a program that
 * converts them. */

#define SPHERE_HEADER 1024 /* bytes, of nearly all files */

/* The bits of the file's head, of each byte the highest first. Behind the end all bits are 1. */
struct reader {
    const uint8_t *data;
    int at, size; /* bits */
};

/* Returns the next bit; behind the end 1, which ends any number of Rice's code. */
static int reader_bit(struct reader *r)
{
    int bit = r->at < r->size ? r->data[r->at / 8] >> (7 - r->at % 8) & 1 : 1;
    r->at++;
    return bit;
}

/* Reads a number of Rice's code: zeros that count 2^k each, a one, and k bits. */
static unsigned reader_rice(struct reader *r, unsigned k)
{
    unsigned value = 0;
    while (!reader_bit(r))
        value++;
    for (unsigned i = 0; i < k; i++)
        value = value << 1 | (unsigned)reader_bit(r);
    return value;
}

/* Returns BL_EDATA for a Shorten file of mu-law or A-law, and for a SPHERE file with compressed samples. */
static int shorten_check(const struct bl_demux *d, struct bl_error *e)
{
    enum { TYPE_BITS = 4, WIDTH_BITS = 2, WIDTH_MAX = 8, MU_LAW_LOSSY = 0, MU_LAW = 7, A_LAW_LAST = 11 };
    const char *format = d->format->iformat->name;
    uint8_t head[SPHERE_HEADER + 1];
    if (strcmp(format, "shn") != 0 && strcmp(format, "nistsphere") != 0)
        return BL_OK;
    ssize_t size = bl_media_file_read(&d->file, head, SPHERE_HEADER, 0);
    if (size < 0)
        return bl_error_errno(e, BL_EFAIL, "%s: cannot be read", d->file.path);
    head[size] = '\0';
    if (format[0] == 'n' && memmem(head, (size_t)size, ",embedded-", 10))
        return bl_error_set(e, BL_EDATA, "not supported: SPHERE with compressed samples: convert it by sph2pipe -p");
    if (format[0] == 'n' || size <= 5)
        return BL_OK;
    /* Behind the magic number, four bytes, and the version, one byte, the header begins with the type of samples. There
     * are several types of both laws. */
    struct reader r = {head + 5, 0, ((int)size - 5) * 8};
    unsigned width = head[4] ? reader_rice(&r, WIDTH_BITS) : TYPE_BITS;
    unsigned type = width <= WIDTH_MAX ? reader_rice(&r, width) : 1;
    if (type == MU_LAW_LOSSY || (type >= MU_LAW && type <= A_LAW_LAST))
        return bl_error_set(e, BL_EDATA, "not supported: Shorten of mu-law or A-law: convert it by shorten -x, or SoX");
    return BL_OK;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

#define PASSED_MAX (1LL << 40) /* ticks: a first time stamp beyond is no delay */
#define SILENCE 4096           /* samples that are filled in at once */
#define FILLED_MAX (24 * 3600) /* seconds of silence in one file: more of it is a fault in the timestamps */

/* Opens libavcodec's decoder, on one thread, and allocates the packet and the queue. The caller closes s after a
 * failure. */
static int decoder_open_codec(struct bl_audio_decoder *s, struct bl_error *e)
{
    const AVStream *stream = s->demux.stream;
    enum AVCodecID id = stream->codecpar->codec_id;
    const AVCodec *decoder = avcodec_find_decoder(id);
    if (!decoder)
        return bl_error_set(e, BL_EDATA, "no decoder for %s", id ? avcodec_get_name(id) : "its unknown codec");
    s->codec = avcodec_alloc_context3(decoder);
    s->packet = av_packet_alloc();
    if (!s->codec || !s->packet)
        return bl_error_memory(e);
    for (int i = 0; i < BL_AUDIO_DECODER_QUEUE; i++) {
        s->queue[i] = av_frame_alloc();
        if (!s->queue[i])
            return bl_error_memory(e);
    }
    int code = avcodec_parameters_to_context(s->codec, stream->codecpar);
    if (code < 0)
        return bl_demux_error(&s->demux, code, "damaged: the stream's header cannot be used", e);
    BL_TRY(bl_decoder_guard_open(&s->guard, s->codec, s->demux.env, e));
    s->codec->thread_count = 1;
    /* Each frame of these lossless codecs has a checksum of all its samples. Left unchecked, spoilt bytes would become
     * other samples, and nothing would report them. */
    if (id == AV_CODEC_ID_FLAC || id == AV_CODEC_ID_WAVPACK || id == AV_CODEC_ID_TTA)
        s->codec->err_recognition |= AV_EF_CRCCHECK | AV_EF_EXPLODE;
    bl_compat_keep_positions(s->codec);
    /* Where all of the media is shown, the delay that the stream itself states counts, as libfaac's do. */
    if (s->extent.scale && !(s->demux.edits_ignored && s->extent.begin == 0))
        s->codec->flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL;
    s->codec->pkt_timebase = stream->time_base; /* needed for libav to remove the encoder's delay */
    code = avcodec_open2(s->codec, decoder, NULL);
    if (code < 0)
        return bl_demux_error(&s->demux, code, "damaged: the decoder cannot be opened", e);
    return BL_OK;
}

int bl_audio_decoder_open(struct bl_audio_decoder *s, const char *path, int64_t bytes, int stream,
                          struct bl_rational gap, const struct bl_kind_env *env, struct bl_error *e)
{
    const struct bl_demux *d = &s->demux;
    bool plain;
    *s = (struct bl_audio_decoder){.silence = -1};
    BL_TRY(bl_demux_open(&s->demux, path, bytes, stream, BL_DEMUX_AUDIO, env, e));
    int code = shorten_check(d, e);
    if (!code && d->edits_ignored)
        code = bl_extent_read_mov(&d->file, d->stream->id, &plain, &s->extent, e);
    else if (!code && strcmp(d->format->iformat->name, "ogg") == 0)
        code = bl_extent_read_ogg(&d->file, d->stream->index, d->stream->codecpar, &s->extent, e);
    if (code)
        goto out;
    int rate = d->stream->codecpar->sample_rate;
    if (s->extent.steady)
        gap.num = 0; /* positions follow from the packets, and timestamps add nothing to them */
    if (gap.num && s->extent.blur && rate > 0)
        gap = (struct bl_rational){gap.num * rate + s->extent.blur * gap.den, gap.den * rate};
    bl_gaps_begin(&s->gaps, gap, d->stream->time_base);
    code = decoder_open_codec(s, e);
out:
    if (code)
        bl_audio_decoder_close(s);
    return code;
}

void bl_audio_decoder_close(struct bl_audio_decoder *s)
{
    for (int i = 0; i < BL_AUDIO_DECODER_QUEUE; i++)
        av_frame_free(&s->queue[i]);
    avcodec_free_context(&s->codec);
    bl_decoder_guard_close(&s->guard);
    av_packet_free(&s->packet);
    bl_demux_close(&s->demux);
}

/* Sends the next packet to the decoder, or, behind the last one, the request for the frames that it still holds. */
static int decoder_send_packet(struct bl_audio_decoder *s, struct bl_error *e)
{
    const AVCodecParameters *p = s->demux.stream->codecpar;
    bool got;
    BL_TRY(bl_demux_next(&s->demux, s->packet, &got, e));
    s->draining = !got;
    s->broken_off = s->broken_off || s->demux.end_error;
    s->errors += got && s->has_rest;
    if (got) {
        /* Decoders of plain samples answer a packet that ends within a sample of all channels with an error: that rest
         * is cut off. */
        bool pcm = p->codec_id >= AV_CODEC_ID_FIRST_AUDIO && p->codec_id < AV_CODEC_ID_ADPCM_IMA_QT;
        int block = pcm ? av_get_bits_per_sample(p->codec_id) / 8 * p->ch_layout.nb_channels : 0;
        int rest = block > 0 ? s->packet->size % block : 0;
        s->has_rest = rest;
        if (rest)
            av_shrink_packet(s->packet, s->packet->size - rest);
        if (rest && !s->packet->size)
            return BL_OK;
    }
    s->packets += got;
    bl_compat_tell_position(s->packet);
    int code = avcodec_send_packet(s->codec, got ? s->packet : NULL);
    av_packet_unref(s->packet);
    if (bl_demux_is_memory(code))
        return bl_error_memory(e);
    if (code < 0 && code != AVERROR_EOF)
        s->errors++;
    return BL_OK;
}

/* Takes the next frame as the decoder gives it, and sends packets until there is one. *got is false at the end. A
 * packet that does not decode is counted in s->errors, and decoding goes on. */
static int decoder_receive_frame(struct bl_audio_decoder *s, AVFrame *frame, bool *got, struct bl_error *e)
{
    *got = false;
    for (;;) {
        if (bl_cancelled(s->demux.file.cancel))
            return bl_error_set(e, BL_ECANCEL, "cancelled");
        BL_TRY(bl_decoder_guard_check(&s->guard, e));
        int code = avcodec_receive_frame(s->codec, frame);
        if (code == 0)
            bl_cancel_beat(s->demux.file.cancel);
        if (code == 0 && bl_compat_is_lead_in(s->codec, frame))
            continue;
        if (code == 0 && frame->nb_samples > 0 && !(frame->flags & AV_FRAME_FLAG_DISCARD)) {
            frame->sample_rate = s->codec->sample_rate; /* in frames of MPEG audio it is the previous frame's */
            *got = true;
            return BL_OK;
        }
        if (code == AVERROR_EOF || (code == AVERROR(EAGAIN) && s->draining))
            return BL_OK;
        if (bl_demux_is_memory(code))
            return bl_error_memory(e);
        if (code < 0 && code != AVERROR(EAGAIN))
            s->errors++;
        if (code < 0 && !s->draining) {
            BL_TRY(decoder_send_packet(s, e));
        }
    }
}

/* --- samples that are not finite, or beyond +-1 ------------------------------------------------------------------ */

/* The number of values that are NaN or infinite, the number of others beyond +-1, and the greatest size of those. */
struct odd {
    int64_t nonfinite, loud;
    double peak;
};

/* Adds the odd values among at most 2^31 floats. It compares their bits as integers, which order positive floats by
 * size: the exponent of a value that is not finite is all ones. Four values at a time (lanes.h) are only counted. The
 * peak is searched after that, in the few frames that have a value beyond +-1. */
static void odd_add_floats(struct odd *odd, const float *in, int64_t count)
{
    const int32_t one = 0x3f800000, ones = 0x7f800000;
    bl_lanes_bits nonfinite = {0}, beyond = {0};
    int64_t i = 0, all = 0, bad = 0;
    for (; i + BL_LANES <= count; i += BL_LANES) {
        bl_lanes_bits size = (bl_lanes_bits)bl_lanes_load(in + i) & INT32_MAX;
        nonfinite -= size >= ones; /* true is -1 */
        beyond -= size > one;
    }
    for (; i < count; i++) {
        bad += !isfinite(in[i]);
        all += !(fabsf(in[i]) <= 1);
    }
    bad += nonfinite[0] + nonfinite[1] + nonfinite[2] + nonfinite[3];
    all += beyond[0] + beyond[1] + beyond[2] + beyond[3];
    odd->nonfinite += bad;
    odd->loud += all - bad;
    for (i = 0; all > bad && i < count; i++) {
        if (isfinite(in[i]))
            odd->peak = fmax(odd->peak, fabs((double)in[i]));
    }
}

/* The same for doubles, which only WAV files of 64-bit samples and the like have. */
static void odd_add_doubles(struct odd *odd, const double *in, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(in[i]))
            odd->nonfinite++;
        else if (fabs(in[i]) > 1) {
            odd->loud++;
            odd->peak = fmax(odd->peak, fabs(in[i]));
        }
    }
}

/* Counts odd samples, and makes those 0 that are not finite. */
static int decoder_mend_samples(struct bl_audio_decoder *s, AVFrame *frame, struct bl_error *e)
{
    enum AVSampleFormat format = (enum AVSampleFormat)frame->format, packed = av_get_packed_sample_fmt(format);
    if (packed != AV_SAMPLE_FMT_FLT && packed != AV_SAMPLE_FMT_DBL)
        return BL_OK;
    bool planar = av_sample_fmt_is_planar(format), doubles = packed == AV_SAMPLE_FMT_DBL;
    int channels = frame->ch_layout.nb_channels, planes = planar ? channels : 1;
    int64_t count = (int64_t)frame->nb_samples * (planar ? 1 : channels);
    struct odd odd = {0};
    for (int p = 0; p < planes; p++) {
        const void *data = frame->extended_data[p];
        if (doubles)
            odd_add_doubles(&odd, data, count);
        else
            odd_add_floats(&odd, data, count);
    }
    if (odd.loud) {
        /* Samples of a lossy codec may exceed +-1 although the encoder's input did not: only those of others count. */
        const AVCodecDescriptor *descriptor = avcodec_descriptor_get(s->codec->codec_id);
        bool lossless = descriptor && descriptor->props & AV_CODEC_PROP_LOSSLESS;
        s->loud += lossless ? odd.loud : 0;
        s->peak = lossless ? fmax(s->peak, odd.peak) : s->peak;
    }
    s->nonfinite += odd.nonfinite;
    if (!odd.nonfinite)
        return BL_OK;
    if (av_frame_make_writable(frame) < 0)
        return bl_error_memory(e);
    for (int p = 0; p < planes; p++) {
        float *f = (float *)(void *)frame->extended_data[p];
        double *d = (double *)(void *)frame->extended_data[p];
        for (int64_t i = 0; i < count; i++) {
            if (doubles && !isfinite(d[i]))
                d[i] = 0;
            else if (!doubles && !isfinite(f[i]))
                f[i] = 0;
        }
    }
    return BL_OK;
}

/* Removes a layout that the file does not state; one or two channels keep theirs. The mixer then takes the mean of the
 * channels, and does not weight one of them as if it were a subwoofer. */
static void decoder_drop_layout(const struct bl_audio_decoder *s, AVFrame *frame)
{
    /* Streams of these codecs have a number of channels and no layout: their decoders give one that is usual for the
     * number. Opus states a layout by its mapping family (RFC 7845, 5.1.1): families other than 1 come from FFmpeg
     * without one, or as ambisonics. */
    static const enum AVCodecID without[] = {AV_CODEC_ID_FLAC, AV_CODEC_ID_VORBIS, AV_CODEC_ID_ALAC,   AV_CODEC_ID_TTA,
                                             AV_CODEC_ID_APE,  AV_CODEC_ID_S302M,  AV_CODEC_ID_ATRAC3P};
    AVChannelLayout *layout = &frame->ch_layout;
    int channels = layout->nb_channels;
    if (channels <= 2 || layout->order == AV_CHANNEL_ORDER_UNSPEC)
        return;
    bool keep = layout->order == AV_CHANNEL_ORDER_NATIVE || layout->order == AV_CHANNEL_ORDER_CUSTOM;
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        keep = keep && (s->demux.layout_stated || without[i] != s->codec->codec_id);
    /* Keep a layout only if it places each channel. Channels from 64 on have no place. */
    for (int c = 0; keep && c < channels; c++) {
        int channel = (int)av_channel_layout_channel_from_index(layout, (unsigned)c);
        keep = channel >= 0 && channel < 64;
    }
    if (keep)
        return;
    av_channel_layout_uninit(layout);
    layout->nb_channels = channels;
}

/* --- frames ----------------------------------------------------------------------------------------------------- */

/* Cuts the part of a frame off that lies outside the extent, which may be all of it: then nb_samples becomes 0. */
static void decoder_keep_extent(struct bl_audio_decoder *s, AVFrame *frame)
{
    const struct bl_extent *extent = &s->extent;
    if (!extent->scale)
        return;
    AVRational sample = {1, frame->sample_rate};
    if (!s->passed && s->demux.edits_ignored && frame->pts > 0 && frame->pts < PASSED_MAX)
        s->passed = av_rescale_q(frame->pts, s->demux.stream->time_base, sample); /* a delay that is left out already */
    int64_t count = frame->nb_samples, from = s->passed, end = extent->end;
    int64_t begin = av_rescale(extent->begin, frame->sample_rate, extent->scale) - from;
    end = end == INT64_MAX ? count : av_rescale(end, frame->sample_rate, extent->scale) - from;
    s->passed += count;
    begin = begin < 0 ? 0 : begin > count ? count : begin;
    end = end > count ? count : end;
    s->skipped += begin;
    if (begin >= end) {
        frame->nb_samples = 0;
        return;
    }
    frame->nb_samples = (int)end;
    if (begin && frame->pts != AV_NOPTS_VALUE)
        frame->pts += av_rescale_q(begin, sample, s->demux.stream->time_base);
    if (begin)
        bl_frame_drop_first(frame, (int)begin);
}

/* Returns the time stamp of the first sample that is heard, in ticks of the stream. In QuickTime, frames have the time
 * stamps of the media, and the extent tells where the media begins in the presentation. */
static int64_t decoder_find_origin(const struct bl_audio_decoder *s, const AVFrame *frame)
{
    AVRational tick = {1, (int)s->extent.scale}, base = s->demux.stream->time_base;
    if (!s->extent.scale)
        return frame->pts;
    int64_t origin = av_rescale_q(s->extent.origin, tick, base);
    if (!s->demux.edits_ignored || frame->pts == AV_NOPTS_VALUE)
        return origin;
    int64_t begin = av_rescale_q(s->extent.begin, tick, base);
    return frame->pts > begin ? av_sat_add64(origin, av_sat_sub64(frame->pts, begin)) : origin;
}

/* Checks a new frame and makes it fit for the queue. A frame that is cut off entirely keeps nb_samples 0. */
static int decoder_accept_frame(struct bl_audio_decoder *s, AVFrame *frame, struct bl_error *e)
{
    int channels = frame->ch_layout.nb_channels;
    if (frame->sample_rate < BL_AUDIO_DECODER_RATE_MIN || frame->sample_rate > BL_AUDIO_DECODER_RATE_MAX)
        return bl_error_set(e, BL_EDATA, "a rate of %d Hz is out of bounds (%d to %d)", frame->sample_rate,
                            BL_AUDIO_DECODER_RATE_MIN, BL_AUDIO_DECODER_RATE_MAX);
    if (channels < 1 || channels > BL_AUDIO_CHANNELS_MAX)
        return bl_error_set(e, BL_EDATA, "%d channels: at most %d can be read", channels, BL_AUDIO_CHANNELS_MAX);
    decoder_keep_extent(s, frame);
    if (!frame->nb_samples)
        return BL_OK;
    s->rate_changed = s->rate_changed || (s->rate && s->rate != frame->sample_rate);
    s->rate = frame->sample_rate;
    if (!s->decoded)
        s->origin = decoder_find_origin(s, frame);
    s->decoded += frame->nb_samples;
    s->corrupt += frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT;
    decoder_drop_layout(s, frame);
    return decoder_mend_samples(s, frame, e);
}

/* Removes the samples after the end of a QuickTime track, which are an encoder's padding. Padding lies within the
 * queued frames: a larger excess is none, and the track's duration is wrong. */
static void decoder_trim_end(struct bl_audio_decoder *s)
{
    const AVStream *stream = s->demux.stream;
    if ((s->extent.scale && s->extent.end != INT64_MAX) || !bl_demux_is_mov(&s->demux) || s->rate_changed ||
        stream->duration <= 0 || stream->duration == AV_NOPTS_VALUE)
        return;
    int64_t declared = av_rescale_q(stream->duration, stream->time_base, (AVRational){1, s->rate}) - s->skipped;
    int64_t excess = s->decoded - declared, queued = 0;
    for (int i = 0; i < s->queued; i++)
        queued += s->queue[i]->nb_samples;
    if (declared <= 0 || excess > queued)
        return;
    while (excess > 0) {
        AVFrame *last = s->queue[s->queued - 1];
        int64_t off = excess < last->nb_samples ? excess : last->nb_samples;
        last->nb_samples -= (int)off;
        excess -= off;
        if (last->nb_samples == 0) {
            av_frame_unref(last);
            s->queued--;
        }
    }
}

/* Decodes until the queue is full, or up to the end. */
static int decoder_fill_queue(struct bl_audio_decoder *s, struct bl_error *e)
{
    while (!s->ended && s->queued < BL_AUDIO_DECODER_QUEUE) {
        AVFrame *next = s->queue[s->queued];
        bool got;
        int code = decoder_receive_frame(s, next, &got, e);
        if (!code && got)
            code = decoder_accept_frame(s, next, e);
        if (code)
            return code;
        if (got && !next->nb_samples)
            av_frame_unref(next);
        else
            s->queued += got;
        s->ended = !got;
        if (s->ended && s->queued)
            decoder_trim_end(s);
    }
    return BL_OK;
}

/* Removes the first frame of the queue, which is empty by now: it becomes room for a later one. */
static void decoder_shift_queue(struct bl_audio_decoder *s)
{
    AVFrame *first = s->queue[0];
    memmove(s->queue, s->queue + 1, (BL_AUDIO_DECODER_QUEUE - 1) * sizeof *s->queue);
    s->queue[BL_AUDIO_DECODER_QUEUE - 1] = first;
    s->queued--;
}

int bl_audio_decoder_next(struct bl_audio_decoder *s, AVFrame *frame, bool *got, struct bl_error *e)
{
    for (*got = false; !*got; *got = frame->nb_samples > 0) {
        av_frame_unref(frame);
        int code = decoder_fill_queue(s, e);
        if (code || !s->queued)
            return code;
        AVFrame *first = s->queue[0];
        if (s->silence < 0) {
            int64_t place = bl_gaps_place(&s->gaps, first);
            if (s->gaps.filled > FILLED_MAX)
                return bl_error_set(e, BL_EDATA, "its timestamps leave more than %d hours without sound",
                                    FILLED_MAX / 3600);
            s->silence = place > 0 ? place : 0;
            if (place < 0 && -place < first->nb_samples)
                bl_frame_drop_first(first, (int)-place);
            else if (place < 0)
                first->nb_samples = 0;
        }
        if (s->silence > 0) {
            int count = s->silence < SILENCE ? (int)s->silence : SILENCE;
            s->silence -= count;
            bl_cancel_beat(s->demux.file.cancel);
            *got = true;
            return bl_frame_silence(frame, first, count, e);
        }
        av_frame_move_ref(frame, first);
        decoder_shift_queue(s);
        s->silence = -1;
    }
    return BL_OK;
}

/* --- seeking ---------------------------------------------------------------------------------------------------- */

bool bl_audio_decoder_can_seek(const struct bl_audio_decoder *s)
{
    enum AVCodecID codec = s->codec->codec_id;
    AVRational base = s->demux.stream->time_base;
    bool pcm = codec >= AV_CODEC_ID_FIRST_AUDIO && codec < AV_CODEC_ID_ADPCM_IMA_QT;
    return (pcm || codec == AV_CODEC_ID_FLAC) && !s->rate_changed && s->origin != AV_NOPTS_VALUE && base.num == 1 &&
           base.den == s->rate && bl_allowlist_has("wav,w64,aiff,au,nistsphere,flac", s->demux.format->iformat->name);
}

/* Moves to a time or, with AVSEEK_FLAG_BYTE, to a byte, and forgets the frames in decoder and queue. *moved: whether
 * the file allows it. */
static int decoder_move(struct bl_audio_decoder *s, int64_t to, int flags, bool *moved, struct bl_error *e)
{
    int code = av_seek_frame(s->demux.format, s->demux.stream->index, to, flags);
    *moved = code >= 0;
    if (bl_cancelled(s->demux.file.cancel) || s->demux.file.system_errno || bl_demux_is_memory(code))
        return bl_demux_error(&s->demux, code, "", e);
    if (!*moved)
        return BL_OK;
    avcodec_flush_buffers(s->codec);
    while (s->queued)
        av_frame_unref(s->queue[--s->queued]);
    s->draining = s->ended = s->has_rest = false;
    s->silence = -1;
    return BL_OK;
}

int bl_audio_decoder_seek(struct bl_audio_decoder *s, int64_t sample, int64_t *at, bool *found, struct bl_error *e)
{
    bool moved;
    *found = false;
    BL_TRY(decoder_move(s, s->origin + sample, AVSEEK_FLAG_BACKWARD, &moved, e));
    if (!moved)
        return BL_OK;
    int64_t errors = s->errors;
    int code = decoder_fill_queue(s, e);
    if (code || !s->queued || s->queue[0]->pts == AV_NOPTS_VALUE || s->errors > errors)
        return code;
    *at = s->queue[0]->pts - s->origin;
    *found = *at >= 0 && *at <= sample;
    bl_gaps_seek(&s->gaps, s->origin, *at);
    return BL_OK;
}

/* --- resuming --------------------------------------------------------------------------------------------------- */

/* Reads packets up to the one at that position, and sends it alone. *found is false where none begins there. */
static int decoder_send_at(struct bl_audio_decoder *s, int64_t position, bool *found, struct bl_error *e)
{
    for (;;) {
        bool got;
        BL_TRY(bl_demux_next(&s->demux, s->packet, &got, e));
        *found = got && s->packet->pos == position;
        bl_compat_tell_position(s->packet);
        if (*found && avcodec_send_packet(s->codec, s->packet) < 0)
            *found = false;
        bool passed = !got || s->packet->pos >= position;
        av_packet_unref(s->packet);
        if (passed)
            return BL_OK;
    }
}

/* Decodes up to the frame of the packet at that position, which becomes the first of the queue. *found is false where
 * no frame comes from that packet. */
static int decoder_await_frame(struct bl_audio_decoder *s, int64_t position, bool *found, struct bl_error *e)
{
    for (*found = false;;) {
        int code = decoder_fill_queue(s, e);
        if (code || !s->queued || bl_compat_position(s->queue[0]) > position)
            return code;
        *found = bl_compat_position(s->queue[0]) == position;
        if (*found)
            return BL_OK;
        av_frame_unref(s->queue[0]);
        decoder_shift_queue(s);
    }
}

int bl_audio_decoder_resume(struct bl_audio_decoder *s, const struct bl_sound_point *point, bool *found,
                            struct bl_error *e)
{
    /* Bare streams have places in bytes, and the times of mp3 are guesses. */
    const AVInputFormat *format = s->demux.format->iformat;
    bool bytes = strcmp(format->name, "mp3") == 0 ||
                 (bl_allowlist_has("aac,ac3,dts,dtshd,eac3,flac,gsm,loas,mlp,shn,tak,truehd", format->name) &&
                  !(format->flags & AVFMT_NO_BYTE_SEEK));
    bool moved;
    *found = false;
    int code = decoder_move(s, bytes ? point->position : point->time, bytes ? AVSEEK_FLAG_BYTE : AVSEEK_FLAG_BACKWARD,
                            &moved, e);
    if (code || !moved)
        return code;
    int64_t scale = s->extent.scale;
    s->extent.scale = 0; /* frames before the point's are no part of the count, and nothing is cut off from them */
    code = decoder_send_at(s, point->position, found, e);
    if (!code && *found)
        code = decoder_await_frame(s, point->mark, found, e);
    s->extent.scale = scale;
    if (scale) {
        /* The first queued frame begins at the point's sample of the extent. */
        s->passed = av_rescale(s->extent.begin, s->rate, scale) + point->sample;
        for (int i = 0; i < s->queued; i++)
            decoder_keep_extent(s, s->queue[i]);
        while (s->queued && !s->queue[s->queued - 1]->nb_samples)
            av_frame_unref(s->queue[--s->queued]);
    }
    bl_gaps_seek(&s->gaps, s->gaps.anchor, point->sample);
    s->decoded = point->sample;
    for (int i = 0; i < s->queued; i++)
        s->decoded += s->queue[i]->nb_samples;
    return code;
}
