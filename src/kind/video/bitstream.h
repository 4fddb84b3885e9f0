/* Reads the headers that a coded video stream has: their bits, NAL units, the headers of AV1 and H.264, and the types
 * of pictures. The headers of H.265 are in hevc_headers.h. */
#ifndef BL_BITSTREAM_H
#define BL_BITSTREAM_H

#include <libavcodec/codec_par.h>
#include <libavcodec/packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- bits --------------------------------------------------------------------------------------------------------- */

/* The bits of a header, the most significant first; past the end they are zero. */

struct bl_bits {
    const uint8_t *data;
    size_t size;  /* bytes */
    size_t at;    /* bits */
    bool escaped; /* a 3 after two zeros is not part of the content (H.264 and H.265, 7.4.1) */
};

/* count: at most 32. */
uint32_t bl_bits_get(struct bl_bits *b, int count);
void bl_bits_skip(struct bl_bits *b, unsigned count);

/* An Exp-Golomb code (H.264 9.1), unsigned or signed. Codes of more than 32 bits are UINT32_MAX, INT32_MIN. */
uint32_t bl_bits_unsigned(struct bl_bits *b);
int32_t bl_bits_signed(struct bl_bits *b);

/* Whether more was read than there is. */
bool bl_bits_ended(const struct bl_bits *b);

/* --- colour tags -------------------------------------------------------------------------------------------------- */

/* What a stream's own headers say of a picture's colours. */

/* Numbers of H.273; 2: not said. */
struct bl_picture_tags {
    uint8_t transfer, matrix;
};

#define BL_PICTURE_UNTAGGED ((struct bl_picture_tags){2, 2})

/* Reads the beginning of the usability information (VUI), which H.264 and H.265 share (annex E). */
struct bl_picture_tags bl_picture_tags_read(struct bl_bits *b);

/* --- NAL units ---------------------------------------------------------------------------------------------------- */

/* In H.264 and H.265 a packet is an access unit, a chain of units, each behind its length or a start code.
 */

struct bl_nal {
    const uint8_t *data;
    size_t size;
};

struct bl_access_unit {
    const uint8_t *at, *end;
    bool broken; /* a unit reaches beyond the packet */
};

/* The byte after the next start code that begins at data or later, or NULL. */
const uint8_t *bl_start_code_find(const uint8_t *data, const uint8_t *end);

/* Gives the next unit; false at the end, or where the chain of lengths is broken. length: bytes of a unit's length; 0:
 * start codes. */
bool bl_access_unit_next(struct bl_access_unit *unit, int length, struct bl_nal *nal);

/* The bits behind a unit's head of so many bytes. */
struct bl_bits bl_nal_bits(const struct bl_nal *nal, size_t head);

/* The bytes of a unit's length in packets, by the headers that the container has; 0: start codes. */
int bl_nal_length(enum AVCodecID codec, const uint8_t *record, size_t size);

/* Calls take(to, nal) for the parameter sets that a container has before the first packet: avcC, hvcC (ISO 14496-15
 * 5.3.3, 8.3.3) or start codes. */
void bl_nal_headers(enum AVCodecID codec, const uint8_t *record, size_t size,
                    void (*take)(void *to, const struct bl_nal *nal), void *to);

/* The transfer curve that a message prefers to the header's (H.264, H.265: payload type 147), or 0. */
uint8_t bl_nal_preferred_transfer(const struct bl_nal *nal, size_t head);

/* --- AV1 sequence header ------------------------------------------------------------------------------------------ */

/* The sequence header of AV1, as far as it tells which colours pictures have (AV1 specification 5.5.1, 5.5.2). */

/* data: the payload of the OBU. False if it ends too early. */
bool bl_av1_sequence_read(const uint8_t *data, size_t size, struct bl_picture_tags *tags);

/* --- H.264 headers ------------------------------------------------------------------------------------------------ */

/* The headers of H.264: parameter sets, and the beginnings of pictures, as far as they tell which colours pictures have
 * and whether pictures are missing (ITU-T H.264 7.3.2.1, 7.3.2.2, 7.3.3, E.1). */

struct bl_h264_sequence {
    bool known;
    bool decodable;     /* FFmpeg's decoder has its bit depth */
    bool separate;      /* colour planes */
    bool numbers_skip;  /* gaps in frame_num are no loss */
    uint8_t frame_bits; /* of frame_num */
    struct bl_picture_tags tags;
};

struct bl_h264_headers {
    struct bl_h264_sequence sequence[32];
    uint8_t picture[256]; /* the sequence that a picture parameter set belongs to, plus 1; 0: not known */
    int64_t frame;        /* frame_num of the last picture that others refer to, plus 1; 0: there is none */
};

struct bl_h264_picture {
    bool known; /* its parameter sets are there, and FFmpeg can decode what they say */
    bool gap;   /* frame_num shows that pictures before it are missing */
    bool reset; /* the same, unless the picture before has reset the numbers */
    struct bl_picture_tags tags;
};

/* Takes a unit of type 7 or 8, or any other, which changes nothing. Units have at least two bytes. */
void bl_h264_take(struct bl_h264_headers *headers, const struct bl_nal *nal);

/* Takes the first slice of a picture. */
struct bl_h264_picture bl_h264_begin(struct bl_h264_headers *headers, const struct bl_nal *nal);

/* --- entry points ------------------------------------------------------------------------------------------------- */

/* Where decoding can begin. Some decoders output pictures although they lack what these refer to: of their codecs,
 * packets say themselves whether they need others. */

enum bl_entry {
    BL_ENTRY_NO,      /* the decoder would output garbage */
    BL_ENTRY_YES,     /* or the decoder itself outputs nothing that lacks its references */
    BL_ENTRY_UNKNOWN, /* only the container tells */
};

/* nal_length: H.265: as of bl_nal_headers. */
enum bl_entry bl_entry_find(enum AVCodecID codec, int nal_length, const AVPacket *packet);

#endif
