/* Peeking into packets: how many frames a decoder will put out for each, without decoding.
 *
 * For most codecs a packet is a frame. The exceptions are looked at here: VP8, VP9 and AV1 frames that are never shown,
 * and packets whose headers are broken. Whatever is not certain (fields, packed B-frames, leading pictures without
 * reference, codecs not known here) makes a stream *suspicious*: it has to be decoded to be counted. */
#ifndef BL_PEEK_H
#define BL_PEEK_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

struct bl_peek {
    enum AVCodecID codec;
    int nal_length;      /* bytes of a NAL unit's length; 0: start codes */
    bool suspicious;     /* set once, for good */
    bool restarts;       /* the packet at hand resets the decoder: what follows needs nothing from before it */
    bool loose_headers;  /* H.264, H.265: parameter sets lie among the pictures */
    int64_t min_bytes;   /* bytes of a packet that is all there: see bl_peek_min_bytes */
    int64_t packets;     /* so far */
    int references;      /* MPEG: pictures so far that others may refer to (counted to 2) */
    bool ended;          /* HEVC: an end of sequence came before this picture */
    bool leading_broken; /* HEVC: leading pictures refer to what is not there */
};

/* codec: as the container has it. */
void bl_peek_init(struct bl_peek *peek, const AVCodecParameters *codec);

/* Bytes that every packet has to hold: of raw pictures with a palette or less, else 0. FFmpeg's decoder takes shorter
 * ones, and leaves the rest of the picture as it found the memory. */
int64_t bl_peek_min_bytes(const AVCodecParameters *codec);

/* Frames shown by this packet; may set suspicious. */
int bl_peek_packet(struct bl_peek *peek, const AVPacket *packet);

#endif
