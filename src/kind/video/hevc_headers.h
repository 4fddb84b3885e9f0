/* The headers of H.265: parameter sets, and the beginnings of pictures, as far as they tell which colours pictures
 * have, and whether pictures are missing that others refer to (ITU-T
 * H.265 7.3.2.2, 7.3.2.3, 7.3.6, 7.3.7, 8.3.1, 8.3.2). Of streams with long-term references only the former. */
#ifndef BL_HEVC_HEADERS_H
#define BL_HEVC_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/video/bitstream.h"

#define BL_HEVC_REFERENCES 16 /* the most that a picture has */

/* The references of a picture: distances in display order, those before it first, from near to far. */
struct bl_hevc_references {
    uint8_t before, count;
    uint16_t used; /* bits: by the picture itself, not only by later ones */
    int16_t distance[BL_HEVC_REFERENCES];
};

struct bl_hevc_sequence {
    bool known;
    bool decodable;     /* FFmpeg's decoder has its bit depth and chroma format */
    bool separate;      /* colour planes */
    bool long_term;     /* references */
    uint8_t order_bits; /* of slice_pic_order_cnt_lsb */
    uint8_t sets;
    struct bl_picture_tags tags;
    struct bl_hevc_references set[65]; /* the last one: a slice's own */
};

struct bl_hevc_picture_set {
    uint8_t sequence; /* plus 1; 0: not known */
    bool hides;       /* pictures may be marked as not to be shown */
    uint8_t extra;    /* bits at the beginning of slices */
};

/* A picture that may be referred to. */
struct bl_hevc_held {
    int32_t order; /* in which pictures are shown */
    int64_t needs; /* as below */
};

struct bl_hevc_headers {
    struct bl_hevc_sequence sequence[16];
    struct bl_hevc_picture_set picture[64];
    bool hides;    /* one of these sets does */
    bool begun;    /* a picture that needs no other has come */
    int32_t order; /* of the last picture that all layers in time have */
    int64_t base;  /* the number of the last one that restarts */
    struct bl_hevc_held held[BL_HEVC_REFERENCES + 1];
    int count;
};

struct bl_hevc_picture {
    bool known;    /* its parameter sets are there, and FFmpeg can decode what they say */
    bool gap;      /* pictures that it refers to are missing */
    bool traced;   /* its references are known, */
    int64_t needs; /* and so the number of the earliest picture that it needs, through them and theirs; or its own */
    struct bl_picture_tags tags;
};

/* Takes a unit of type 33 or 34, or any other, which changes nothing. Units have at least two bytes. */
void bl_hevc_take(struct bl_hevc_headers *headers, const struct bl_nal *nal);

/* Takes the first slice of a picture, of at least three bytes. number: of the picture, in decoding order. restarts: the
 * order of pictures begins anew, and nothing before it is referred to. */
struct bl_hevc_picture bl_hevc_begin(struct bl_hevc_headers *headers, const struct bl_nal *nal, int64_t number,
                                     bool restarts);

#endif
