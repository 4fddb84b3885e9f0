/* Decoded frames of any rate, channels, format and size, as they may follow on each other in a stream: mixed and
 * resampled, their number is the sum of the parts', and features of them are as many as their number says. */
#include <string.h>

#include "fuzz.h"
#include "kind/audio/features.h"
#include "kind/audio/mix.h"

static const int rates[] = {8000, 11025, 16000, 22050, 44100, 48000, 100, 192000};
static const enum AVSampleFormat formats[] = {AV_SAMPLE_FMT_U8,   AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S32,
                                              AV_SAMPLE_FMT_FLT,  AV_SAMPLE_FMT_DBL, AV_SAMPLE_FMT_S16P,
                                              AV_SAMPLE_FMT_FLTP, AV_SAMPLE_FMT_S32P};

/* A frame of three bytes: rate and format, channels, samples. Its samples are those bytes over and over; floats, whose
 * bytes may be no numbers, which a sound never gives away, are 0. */
static AVFrame *make(const uint8_t *data)
{
    AVFrame *frame = av_frame_alloc();
    never(!frame);
    frame->sample_rate = rates[data[0] & 7];
    frame->format = formats[data[0] >> 3 & 7];
    frame->nb_samples = data[2] + 1;
    if (data[0] & 64) {
        frame->ch_layout = (AVChannelLayout){.order = AV_CHANNEL_ORDER_UNSPEC, .nb_channels = data[1] % 12 + 1};
    } else {
        av_channel_layout_default(&frame->ch_layout, data[1] % 8 + 1);
    }
    never(av_frame_get_buffer(frame, 0) < 0);
    enum AVSampleFormat packed = av_get_packed_sample_fmt((enum AVSampleFormat)frame->format);
    bool floats = packed == AV_SAMPLE_FMT_FLT || packed == AV_SAMPLE_FMT_DBL;
    int planes = av_sample_fmt_is_planar((enum AVSampleFormat)frame->format) ? frame->ch_layout.nb_channels : 1;
    for (int p = 0; p < planes; p++)
        memset(frame->extended_data[p], floats ? 0 : data[2], (size_t)frame->linesize[0]);
    return frame;
}

static void check_features(const struct bl_features_spec *spec, const struct bl_buffer *samples)
{
    struct bl_features *features;
    struct bl_error e = {0};
    struct bl_buffer out = {0};
    int64_t count = (int64_t)(samples->size / sizeof(float));
    never(bl_features_open(&features, spec, &e));
    bl_features_begin(features);
    never((count && bl_features_push(features, (const float *)(const void *)samples->data, count, &out, &e)) ||
          bl_features_end(features, &out, &e) ||
          out.size != (size_t)bl_features_frames(spec, count) * (size_t)spec->mels * sizeof(float));
    bl_features_close(features);
    bl_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_mix mix;
    struct bl_buffer out = {0};
    struct bl_mix_part part = {0};
    struct bl_error e = {0};
    int64_t expected = 0;
    int code = BL_OK;
    if (size < 4 || size > 200)
        return 0;
    struct bl_features_spec spec = {.whisper = data[0] & 1, .mels = data[0] & 1 ? 80 : 23, .rate = 16000};
    bl_mix_init(&mix, 16000, 1, true, BL_RESAMPLER_SOXR);
    bl_mix_begin(&mix);
    for (size_t at = 1; at + 3 <= size && !code; at += 3) {
        AVFrame *frame = make(data + at);
        if (!bl_mix_part_continues(&part, frame)) {
            expected += part.samples ? bl_mix_length(part.samples, part.rate, 16000) : 0;
            part = (struct bl_mix_part){.rate = frame->sample_rate, .channels = frame->ch_layout.nb_channels};
        }
        part.samples += frame->nb_samples;
        code = bl_mix_push(&mix, frame, &out, &e);
        av_frame_free(&frame);
    }
    if (!code)
        code = bl_mix_end(&mix, &out, &e);
    expected += part.samples ? bl_mix_length(part.samples, part.rate, 16000) : 0;
    never(code ? !e.text[0] : out.size != (size_t)expected * sizeof(float));
    if (!code)
        check_features(&spec, &out);
    bl_mix_free(&mix);
    bl_buffer_free(&out);
    return 0;
}
