/* Finds how many frames a decoder will output for a packet, without decoding, and what the packet's picture refers to.
 *
 * In most codecs a packet is a frame. The exceptions are VP8, VP9 and AV1 frames that are never shown, and packets with
 * broken headers. Whatever is uncertain (fields, packed B-frames, leading pictures whose references are missing,
 * unknown codecs) makes the stream *suspicious*: its frames can only be counted by decoding. */
#ifndef BL_PEEK_H
#define BL_PEEK_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "kind/video/bitstream.h"
#include "kind/video/hevc_headers.h"

#define BL_PEEK_GROUP 1024 /* the values of MPEG's temporal_reference, a picture's number in its group */

struct bl_peek {
    const struct bl_peek_codec *codec; /* NULL: an unknown codec */
    enum AVCodecID id;
    int nal_length;     /* H.264, H.265: the size of a NAL unit's length field in bytes; 0: start codes */
    bool suspicious;    /* some packet so far was uncertain; never reset */
    bool restarts;      /* the last packet resets the decoder: no later packet needs an earlier one */
    bool opens;         /* decoding can begin with the last packet; leading pictures behind it may need earlier ones */
    bool traced;        /* H.265, MPEG-1, MPEG-2: the references of the last packet's picture are known */
    int64_t needs;      /* the earliest packet that the picture needs; if not traced, the last packet that restarts */
    bool disposable;    /* H.264, H.265, MPEG-1, MPEG-2: no picture of the same temporal layer refers to this one */
    int layer;          /* H.265: the temporal layer of the picture */
    bool loose_headers; /* H.264, H.265: parameter sets come in the packets */
    int64_t min_bytes;  /* the least size of a complete packet: see bl_peek_min_bytes */
    int64_t packets;    /* packets so far */
    int64_t keys;       /* packets so far that the container marks as keyframes */
    bool midway;        /* the stream begins between keyframes */
    bool joined;        /* headers of another stream occurred between the packets */
    bool unsure;        /* midway, and the decoder may output garbage until the first keyframe */
    int references;     /* MPEG: reference pictures so far, at most 2 */
    int64_t reference_needs[2]; /* MPEG: `needs` of the last two reference pictures, the last one first */
    bool header;                /* MPEG-1, MPEG-2: the packet has a sequence header before its picture */
    bool ended;                 /* H.265: an end of sequence came before this picture */
    bool leading_broken;        /* H.265: the references of leading pictures are missing */

    struct bl_picture_tags tags;        /* colours of the last packet's picture, from the stream's own headers */
    uint8_t preferred_transfer;         /* H.264, H.265: bl_nal_preferred_transfer of an SEI message, or 0 */
    struct bl_picture_tags av1;         /* AV1: colours of the last sequence header */
    uint64_t mpeg_header;               /* MPEG: bits or a hash of the last sequence header; 0: none yet */
    uint64_t mpeg_extension;            /* MPEG-2: the progressive and chroma bits of its extension; 0: none yet */
    uint64_t group[BL_PEEK_GROUP / 64]; /* MPEG-1, MPEG-2: a bit for each picture of this group, by its number */
    bool in_group;                      /* MPEG-1, MPEG-2: a group header was seen */
    int64_t gaps;                       /* H.264, H.265, MPEG-1, MPEG-2: places where pictures are missing */
    int64_t resets;                     /* H.264: places where frame_num begins anew without an IDR picture */
    union {                             /* the last member: only the codec's own part is cleared */
        struct bl_h264_headers h264;
        struct bl_hevc_headers hevc;
    };
};

/* Prepares for the packets of a stream. codec holds the container's parameters and headers. */
void bl_peek_init(struct bl_peek *peek, const AVCodecParameters *codec);

/* Returns the least size of a complete packet in bytes, for raw pictures of up to 8 bits a pixel; 0 for other streams.
 * FFmpeg's decoder of such pictures accepts shorter packets, and leaves the rest of the picture uninitialised. */
int64_t bl_peek_min_bytes(const AVCodecParameters *codec);

/* Examines the next packet, and returns how many frames it shows. The members of *peek then describe this packet. */
int bl_peek_packet(struct bl_peek *peek, const AVPacket *packet);

#endif
