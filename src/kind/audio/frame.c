#include "kind/audio/frame.h"

#include <libavutil/samplefmt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void bl_frame_drop_first(AVFrame *frame, int samples)
{
    enum AVSampleFormat format = (enum AVSampleFormat)frame->format;
    bool planar = av_sample_fmt_is_planar(format);
    int channels = frame->ch_layout.nb_channels, planes = planar ? channels : 1;
    size_t bytes = (size_t)samples * (size_t)av_get_bytes_per_sample(format) * (size_t)(planar ? 1 : channels);
    for (int p = 0; p < planes; p++) {
        frame->extended_data[p] += bytes;
        if (p < AV_NUM_DATA_POINTERS && frame->extended_data != frame->data)
            frame->data[p] += bytes;
    }
    frame->nb_samples -= samples;
}

int bl_frame_silence(AVFrame *frame, const AVFrame *like, int samples, struct bl_error *e)
{
    frame->format = like->format;
    frame->sample_rate = like->sample_rate;
    frame->nb_samples = samples;
    if (av_channel_layout_copy(&frame->ch_layout, &like->ch_layout) < 0 || av_frame_get_buffer(frame, 0) < 0)
        return bl_error_memory(e);
    av_samples_set_silence(frame->extended_data, 0, samples, like->ch_layout.nb_channels,
                           (enum AVSampleFormat)like->format);
    return BL_OK;
}
