/* Parses the headers of H.265: parameter sets and slice headers, up to the colours and the references of a picture
 * (ITU-T H.265 7.3.2.2, 7.3.2.3, 7.3.6, 7.3.7, 8.3.1, 8.3.2).
 *
 * A slice header lists the pictures that may still be referred to. So the headers alone show whether a reference is
 * missing, and which packet is the earliest that a picture needs. The references of streams with long-term references
 * are not followed. */
#ifndef BL_HEVC_HEADERS_H
#define BL_HEVC_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/video/bitstream.h"

#define BL_HEVC_REFERENCES 16 /* the largest number of references of a picture */

/* A short-term reference picture set: distances in picture order count, negative ones first, each from near to far. */
struct bl_hevc_references {
    uint8_t before, count; /* the references that are shown before the picture; all of them */
    uint16_t used;         /* bit i: the picture itself may use reference i; otherwise only later pictures do */
    int16_t distance[BL_HEVC_REFERENCES];
};

struct bl_hevc_sequence {
    bool known;
    bool decodable;     /* FFmpeg's decoder supports its bit depth and chroma format */
    bool separate;      /* separate_colour_plane_flag */
    bool long_term;     /* it allows long-term references */
    uint8_t order_bits; /* the size of slice_pic_order_cnt_lsb, in bits */
    uint8_t sets;       /* the number of reference picture sets in the header */
    struct bl_picture_tags tags;
    struct bl_hevc_references set[65]; /* the sets of the header; behind them the one that a slice may bring itself */
};

struct bl_hevc_picture_set {
    uint8_t sequence; /* the id of its sequence parameter set, plus 1; 0: not seen */
    bool hides;       /* output_flag_present_flag: a slice may say that its picture is not shown */
    uint8_t extra;    /* num_extra_slice_header_bits */
};

/* A picture that later pictures may refer to. */
struct bl_hevc_held {
    int32_t order; /* its picture order count: the order in which pictures are shown */
    int64_t needs; /* see struct bl_hevc_picture */
};

/* The parameter sets and reference pictures so far. Initialize it with zeros. */
struct bl_hevc_headers {
    struct bl_hevc_sequence sequence[16];   /* by the id of the sequence parameter set */
    struct bl_hevc_picture_set picture[64]; /* by the id of the picture parameter set */
    bool hides;                             /* one of the picture parameter sets has output_flag_present_flag */
    bool begun;                             /* a picture that needs no other was seen */
    int32_t order; /* picture order count of prevTid0Pic (8.3.1), from which the next one is derived */
    int64_t base;  /* the number of the last picture that restarts the order */
    struct bl_hevc_held held[BL_HEVC_REFERENCES + 1];
    int count; /* of held */
};

struct bl_hevc_picture {
    bool known;    /* its parameter sets were seen, and FFmpeg can decode such pictures */
    bool gap;      /* pictures that it refers to are missing */
    bool traced;   /* its references are known, and so is needs */
    int64_t needs; /* the number of the earliest picture that it needs, directly or through other references */
    struct bl_picture_tags tags;
};

/* Stores a parameter set (a unit of type 33 or 34), and ignores any other unit. Units have at least two bytes. */
void bl_hevc_take(struct bl_hevc_headers *headers, const struct bl_nal *nal);

/* Parses the header of a picture's first slice, a unit of at least three bytes, and updates the reference pictures.
 * number is the picture's number in decoding order. restarts: the picture order count begins anew, and no later picture
 * refers to an earlier one. */
struct bl_hevc_picture bl_hevc_begin(struct bl_hevc_headers *headers, const struct bl_nal *nal, int64_t number,
                                     bool restarts);

#endif
