#include "kind/audio/frame.h"

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
