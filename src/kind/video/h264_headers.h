/* The headers of H.264: parameter sets, and the beginnings of pictures, as far as they tell which colours pictures have
 * and whether pictures are missing (ITU-T H.264 7.3.2.1, 7.3.2.2, 7.3.3, E.1). */
#ifndef BL_H264_HEADERS_H
#define BL_H264_HEADERS_H

#include <stdbool.h>
#include <stdint.h>

#include "kind/video/nal.h"
#include "kind/video/picture_tags.h"

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

#endif
