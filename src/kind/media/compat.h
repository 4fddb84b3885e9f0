/* Hides the differences between the interfaces of FFmpeg 5.1 to 8. No other file checks FFmpeg's version. */
#ifndef BL_COMPAT_H
#define BL_COMPAT_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/intreadwrite.h>
#include <stdbool.h>
#include <stdint.h>

#define BL_COMPAT_6_0 (LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 0, 100))
#define BL_COMPAT_6_1 (LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 100))
#define BL_COMPAT_7_0 (LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(61, 3, 100))

/* The constant of an H.264 profile, such as BL_COMPAT_H264(HIGH_10). */
#if BL_COMPAT_6_1
#define BL_COMPAT_H264(profile) AV_PROFILE_H264_##profile
#else
#define BL_COMPAT_H264(profile) FF_PROFILE_H264_##profile
#endif

/* Return and set the duration of a frame in ticks of its stream; 0: unknown. Only tests set it. */
static inline int64_t bl_compat_duration(const AVFrame *frame)
{
#if BL_COMPAT_6_0
    return frame->duration;
#else
    return frame->pkt_duration;
#endif
}

static inline void bl_compat_set_duration(AVFrame *frame, int64_t duration)
{
#if BL_COMPAT_6_0
    frame->duration = duration;
#else
    frame->pkt_duration = duration;
#endif
}

static inline bool bl_compat_is_interlaced(const AVFrame *frame)
{
#if BL_COMPAT_6_1
    return frame->flags & AV_FRAME_FLAG_INTERLACED;
#else
    return frame->interlaced_frame;
#endif
}

/* Returns the stream's side data of this type and sets *size, or returns NULL. The stream owns the data. */
static inline const uint8_t *bl_compat_side_data(const AVStream *stream, enum AVPacketSideDataType type, size_t *size)
{
#if BL_COMPAT_6_1
    const AVPacketSideData *data =
        av_packet_side_data_get(stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, type);
    *size = data ? data->size : 0;
    return data ? data->data : NULL;
#else
    return av_stream_get_side_data(stream, type, size);
#endif
}

#if BL_COMPAT_6_1
#define bl_compat_add_side_data(stream, type, data, size)                                                              \
    (av_packet_side_data_add(&(stream)->codecpar->coded_side_data, &(stream)->codecpar->nb_coded_side_data, type,      \
                             data, size, 0)                                                                            \
         ? 0                                                                                                           \
         : AVERROR(ENOMEM))
#else
#define bl_compat_add_side_data av_stream_add_side_data
#endif

/* Returns whether the frame lies before the first sample of a Vorbis stream. The first packet of Vorbis has no previous
 * window to overlap with. FFmpeg 6.1 and older output no frame for it; newer versions output a frame that the caller
 * must skip if it skips samples itself (AV_CODEC_FLAG2_SKIP_MANUAL). */
static inline bool bl_compat_is_lead_in(const AVCodecContext *codec, const AVFrame *frame)
{
#if BL_COMPAT_7_0
    if (codec->codec_id != AV_CODEC_ID_VORBIS || !(codec->flags2 & AV_CODEC_FLAG2_SKIP_MANUAL))
        return false;
    const AVFrameSideData *skip = av_frame_get_side_data(frame, AV_FRAME_DATA_SKIP_SAMPLES);
    return skip && skip->size >= 4 && AV_RL32(skip->data) == (uint32_t)frame->nb_samples;
#else
    (void)codec, (void)frame;
    return false;
#endif
}

/* These two make bl_compat_position work: call the first before the decoder is opened, and the second for each packet
 * before it is sent. */
static inline void bl_compat_keep_positions(AVCodecContext *codec)
{
#if BL_COMPAT_6_1
    codec->flags |= AV_CODEC_FLAG_COPY_OPAQUE;
#else
    (void)codec;
#endif
}

static inline void bl_compat_tell_position(AVPacket *packet)
{
#if BL_COMPAT_6_1
    packet->opaque = (void *)(intptr_t)(packet->pos + 1); /* NULL, so position -1, for a frame without a packet */
#else
    (void)packet;
#endif
}

/* Return and set the byte offset in the file of a frame's packet; -1: unknown. Only tests set it. */
static inline int64_t bl_compat_position(const AVFrame *frame)
{
#if BL_COMPAT_6_1
    return (int64_t)(intptr_t)frame->opaque - 1;
#else
    return frame->pkt_pos;
#endif
}

static inline void bl_compat_set_position(AVFrame *frame, int64_t position)
{
#if BL_COMPAT_6_1
    frame->opaque = (void *)(intptr_t)(position + 1);
#else
    frame->pkt_pos = position;
#endif
}

#endif
