/* Peeks into packets: how many frames a decoder will output for each, without decoding.
 *
 * For most codecs a packet is a frame. The exceptions are examined here: VP8, VP9 and AV1 frames that are never shown,
 * and packets with broken headers. Whatever is uncertain (fields, packed B-frames, leading pictures without a
 * reference, codecs that are not known here) makes a stream *suspicious*: it must be decoded to be counted. */
#ifndef BL_PEEK_H
#define BL_PEEK_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "kind/video/bitstream.h"
#include "kind/video/hevc_headers.h"

#define BL_PEEK_GROUP 1024 /* MPEG: numbers of pictures */

struct bl_peek {
    const struct bl_peek_codec *codec; /* NULL: one that is not known here */
    enum AVCodecID id;
    int nal_length;     /* bytes of a NAL unit's length; 0: start codes */
    bool suspicious;    /* never reset */
    bool restarts;      /* the last packet resets the decoder: the following ones need nothing before it */
    bool opens;         /* decoding may begin with it, though later pictures may need earlier packets, too */
    bool traced;        /* H.265, MPEG-1, MPEG-2: the references of its picture are known, */
    int64_t needs;      /* and so the number of the earliest packet that it needs; else that of the last restart */
    bool disposable;    /* H.264, H.265, MPEG-1, 2: nothing of the same layer refers to the last packet's picture */
    int layer;          /* H.265: its temporal layer */
    bool loose_headers; /* H.264, H.265: parameter sets come with the pictures */
    int64_t min_bytes;  /* of a complete packet, see bl_peek_min_bytes */
    int64_t packets;    /* so far */
    int64_t keys;       /* of these, as the container has it */
    bool midway;        /* the first packet is not one */
    bool joined;        /* headers of another stream came in its midst */
    bool unsure;        /* and the decoder may output garbage until the next one comes */
    int references;     /* MPEG: reference pictures so far, at most 2; what the last two need, */
    int64_t reference_needs[2]; /* the last one first */
    bool header;                /* MPEG-1, MPEG-2: a sequence header came before this picture */
    bool ended;                 /* HEVC: an end of sequence came before this picture */
    bool leading_broken;        /* HEVC: leading pictures lack their references */

    struct bl_picture_tags tags;        /* of the last packet's picture, by the stream's own headers */
    uint8_t preferred_transfer;         /* H.264, H.265: what a message puts in its place, or 0 */
    struct bl_picture_tags av1;         /* of the last sequence header */
    uint64_t mpeg_header;               /* of the last sequence, as a number, or 0; */
    uint64_t mpeg_extension;            /* MPEG-2: whether it is progressive, and its chroma, in the same way */
    uint64_t group[BL_PEEK_GROUP / 64]; /* MPEG-1, MPEG-2: the numbers of the pictures of this group, */
    bool in_group;                      /* whose header was seen */
    int64_t gaps;                       /* H.264, H.265, MPEG-1, MPEG-2: places where pictures are missing */
    int64_t resets;                     /* H.264: places where their numbers begin anew without an instant refresh */
    union {                             /* the last member: only what the codec has is cleared */
        struct bl_h264_headers h264;
        struct bl_hevc_headers hevc;
    };
};

/* codec: as the container has it. */
void bl_peek_init(struct bl_peek *peek, const AVCodecParameters *codec);

/* The bytes that every packet must have: for raw pictures of up to 8 bits a pixel; otherwise 0. FFmpeg's decoder
 * accepts shorter packets, and leaves the rest of the picture uninitialised. */
int64_t bl_peek_min_bytes(const AVCodecParameters *codec);

/* How many frames the packet shows; may set suspicious, restarts and disposable. */
int bl_peek_packet(struct bl_peek *peek, const AVPacket *packet);

#endif
