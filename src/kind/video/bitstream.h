/* Parses the headers of coded video streams without decoding: a bit reader, NAL units, the headers of AV1 and H.264,
 * and the types of pictures. hevc_headers.h parses those of H.265.
 *
 * The scan needs three answers from these headers: which colours the pictures have, whether pictures are missing, and
 * at which packets decoding can begin. */
#ifndef BL_BITSTREAM_H
#define BL_BITSTREAM_H

#include <libavcodec/codec_par.h>
#include <libavcodec/packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- bits --------------------------------------------------------------------------------------------------------- */

/* A reader of a header's bits, the most significant bit first. It returns zeros past the end of the data. */

struct bl_bits {
    const uint8_t *data;
    size_t size;  /* bytes */
    size_t at;    /* position of the next bit; more than 8 * size once a read has passed the end */
    bool escaped; /* skip emulation prevention bytes: a 3 after two zeros (H.264 and H.265, 7.4.1) */
};

/* Returns the next count bits as a number; count is at most 32. */
uint32_t bl_bits_get(struct bl_bits *b, int count);
void bl_bits_skip(struct bl_bits *b, unsigned count);

/* Read an unsigned or a signed Exp-Golomb code (H.264 9.1). They return UINT32_MAX or INT32_MIN for a code of more than
 * 32 bits. */
uint32_t bl_bits_unsigned(struct bl_bits *b);
int32_t bl_bits_signed(struct bl_bits *b);

/* Returns whether a read has passed the end of the data, which makes all values since then meaningless. */
bool bl_bits_ended(const struct bl_bits *b);

/* --- colour tags -------------------------------------------------------------------------------------------------- */

/* The colours of a picture as the stream's own headers describe them: code points of H.273, where 2 means
 * unspecified. */
struct bl_picture_tags {
    uint8_t transfer, matrix;
};

#define BL_PICTURE_UNTAGGED ((struct bl_picture_tags){2, 2})

/* Parses the video usability information (VUI) up to the colours. H.264 and H.265 have the same syntax up to there
 * (annex E of both). */
struct bl_picture_tags bl_picture_tags_read(struct bl_bits *b);

/* --- NAL units ---------------------------------------------------------------------------------------------------- */

/* In H.264 and H.265 a packet is an access unit: a series of NAL units. MP4 and Matroska put the length of each unit
 * before it, transport streams and raw streams a start code (00 00 01). */

struct bl_nal {
    const uint8_t *data;
    size_t size;
};

struct bl_access_unit {
    const uint8_t *at, *end; /* the next unit's length or start code; the end of the packet */
    bool broken;             /* a unit claims more bytes than the packet has left */
};

/* Returns the byte after the first start code in [data, end), or NULL. */
const uint8_t *bl_start_code_find(const uint8_t *data, const uint8_t *end);

/* Sets *nal to the next unit. Returns false at the end, or if a length is wrong; unit->broken tells the two apart.
 * length is the size of a unit's length field in bytes; 0 means that start codes separate the units. */
bool bl_access_unit_next(struct bl_access_unit *unit, int length, struct bl_nal *nal);

/* Returns a reader of the unit's bits after its header of `head` bytes (1 in H.264, 2 in H.265). */
struct bl_bits bl_nal_bits(const struct bl_nal *nal, size_t head);

/* Returns the size in bytes of the length fields in the packets, or 0 if the packets have start codes. record is the
 * codec's configuration record in the container (avcC, hvcC). */
int bl_nal_length(enum AVCodecID codec, const uint8_t *record, size_t size);

/* Calls take(to, nal) for each parameter set in the configuration record. The record is an avcC or hvcC box (ISO
 * 14496-15 5.3.3, 8.3.3), or a series of units with start codes. Units of less than two bytes are skipped. */
void bl_nal_headers(enum AVCodecID codec, const uint8_t *record, size_t size,
                    void (*take)(void *to, const struct bl_nal *nal), void *to);

/* Returns the transfer curve that an SEI message recommends instead of the one in the header (payload type 147, the
 * alternative transfer characteristics), or 0 if the unit has no such message. HLG streams use it: their header names
 * a curve that old televisions understand. */
uint8_t bl_nal_preferred_transfer(const struct bl_nal *nal, size_t head);

/* --- AV1 sequence header ------------------------------------------------------------------------------------------ */

/* Parses the sequence header of AV1 up to the colours (AV1 specification 5.5.1, 5.5.2). data is the payload of the OBU.
 * Returns false if the payload ends too early. */
bool bl_av1_sequence_read(const uint8_t *data, size_t size, struct bl_picture_tags *tags);

/* --- H.264 headers ------------------------------------------------------------------------------------------------ */

/* The parameter sets and slice headers of H.264, parsed up to the colours and to frame_num (ITU-T H.264 7.3.2.1,
 * 7.3.2.2, 7.3.3, E.1). frame_num counts reference pictures, so a jump in it shows that pictures are missing. */

struct bl_h264_sequence {
    bool known;
    bool decodable;     /* FFmpeg's decoder supports its bit depth and chroma format */
    bool separate;      /* separate_colour_plane_flag: slices then begin with the number of their plane */
    bool numbers_skip;  /* gaps_in_frame_num_allowed_flag: a jump in frame_num is no loss */
    uint8_t frame_bits; /* the size of frame_num, in bits */
    struct bl_picture_tags tags;
};

/* The parameter sets that were seen so far. Initialize it with zeros. */
struct bl_h264_headers {
    struct bl_h264_sequence sequence[32]; /* by seq_parameter_set_id */
    uint8_t picture[256]; /* by pic_parameter_set_id: the sequence parameter set that it uses, plus 1; 0: not seen */
    int64_t frame;        /* frame_num of the last reference picture, plus 1; 0: none since the last IDR picture */
};

struct bl_h264_picture {
    bool known; /* its parameter sets were seen, and FFmpeg can decode such pictures */
    bool gap;   /* frame_num jumps, so pictures before it are missing */
    bool reset; /* frame_num falls to 0 or 1: pictures are missing, or the picture before has reset the count */
    struct bl_picture_tags tags;
};

/* Stores a parameter set (a unit of type 7 or 8), and ignores any other unit. Units have at least two bytes. */
void bl_h264_take(struct bl_h264_headers *headers, const struct bl_nal *nal);

/* Parses the header of a picture's first slice, and compares its frame_num with that of the picture before. */
struct bl_h264_picture bl_h264_begin(struct bl_h264_headers *headers, const struct bl_nal *nal);

/* --- entry points ------------------------------------------------------------------------------------------------- */

/* An entry point is a packet at which decoding can begin. Some decoders output pictures whose references are missing,
 * as garbage; for their codecs bl_entry_find reads the picture's type from the packet itself. */

enum bl_entry {
    BL_ENTRY_NO,      /* the picture needs others: the decoder would output garbage */
    BL_ENTRY_YES,     /* the picture needs no others, or the decoder drops pictures whose references are missing */
    BL_ENTRY_UNKNOWN, /* the packet does not show it; only the container's keyframe flag does */
};

/* Returns whether decoding can begin at the packet. nal_length matters for H.265 only: see bl_nal_length. */
enum bl_entry bl_entry_find(enum AVCodecID codec, int nal_length, const AVPacket *packet);

#endif
