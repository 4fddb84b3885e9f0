/* See peek_nal.h. */
#include "kind/video/peek_nal.h"

#include <libavutil/pixfmt.h>

#include "kind/video/nal.h"

/* What the units of a packet have. */
struct unit_kinds {
    bool instant;           /* an instant refresh (IDR) */
    bool open;              /* another picture at which decoding may begin (CRA, BLA) */
    bool sequence, picture; /* parameter sets */
    bool referred;          /* a slice of a picture that others may refer to, or what is no slice and no message */
};

/* Looks at a NAL unit of at least two bytes; returns how many pictures begin in it. */
typedef int nal_peek(struct bl_peek *peek, const struct bl_nal *nal, struct unit_kinds *kinds);

/* Every access unit should have one picture. An instant refresh resets the decoder; if parameter sets may come with any
 * picture, it must bring its own. */
static int access_unit_peek(struct bl_peek *peek, const uint8_t *data, size_t size, struct unit_kinds *kinds,
                            nal_peek *peek_nal)
{
    struct bl_access_unit unit = {.at = data, .end = data + size};
    struct bl_nal nal;
    int pictures = 0;
    while (bl_access_unit_next(&unit, peek->nal_length, &nal)) {
        if (nal.size < 2)
            continue;
        peek->suspicious = peek->suspicious || nal.data[0] & 0x80; /* forbidden_zero_bit */
        pictures += peek_nal(peek, &nal, kinds);
    }
    peek->suspicious = peek->suspicious || unit.broken || pictures != 1;
    peek->disposable = pictures == 1 && !kinds->referred;
    peek->loose_headers = peek->loose_headers || kinds->sequence || kinds->picture;
    bool headed = !peek->loose_headers || (kinds->sequence && kinds->picture);
    peek->restarts = kinds->instant && headed;
    peek->opens = (kinds->instant || kinds->open) && headed;
    if (peek->preferred_transfer)
        peek->tags.transfer = peek->preferred_transfer;
    return pictures > 0 ? pictures : 1;
}

/* FFmpeg ignores a message that does not say which curve it prefers. */
static void peek_prefer(struct bl_peek *peek, const struct bl_nal *nal, size_t head)
{
    uint8_t transfer = bl_nal_preferred_transfer(nal, head);
    if (transfer && transfer != AVCOL_TRC_UNSPECIFIED && transfer < AVCOL_TRC_NB)
        peek->preferred_transfer = transfer;
}

enum {
    H264_SLICE = 1,
    H264_PARTITION = 2,
    H264_IDR = 5,
    H264_MESSAGE = 6,
    H264_SPS = 7,
    H264_PPS = 8,
    H264_DELIMITER = 9,
    H264_FILLER = 12
};

static int h264_peek_nal(struct bl_peek *peek, const struct bl_nal *nal, struct unit_kinds *kinds)
{
    unsigned type = nal->data[0] & 31;
    peek->suspicious = peek->suspicious || type == 0;
    kinds->instant = kinds->instant || type == H264_IDR;
    kinds->sequence = kinds->sequence || type == H264_SPS;
    kinds->picture = kinds->picture || type == H264_PPS;
    bool apart = type == H264_MESSAGE || type == H264_DELIMITER || type == H264_FILLER;
    kinds->referred = kinds->referred || !(apart || (type == H264_SLICE && !(nal->data[0] & 0x60)));
    if (type == H264_MESSAGE)
        peek_prefer(peek, nal, 1);
    bl_h264_take(&peek->h264, nal);
    if ((type != H264_SLICE && type != H264_PARTITION && type != H264_IDR) || !(nal->data[1] >> 7))
        return 0; /* first_mb_in_slice is not 0 */
    struct bl_h264_picture picture = bl_h264_begin(&peek->h264, nal);
    peek->suspicious = peek->suspicious || !picture.known || picture.gap || picture.reset;
    peek->gaps += picture.gap;
    peek->resets += picture.reset;
    peek->tags = picture.tags;
    return 1;
}

int bl_peek_h264(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    struct unit_kinds kinds = {0};
    int pictures = access_unit_peek(peek, data, size, &kinds, h264_peek_nal);
    peek->suspicious = peek->suspicious || (peek->packets == 0 && !kinds.instant);
    return pictures;
}

enum {
    HEVC_RASL_N = 8,
    HEVC_UNREFERRED_LAST = 14, /* the even ones up to it */
    HEVC_RASL_R = 9,
    HEVC_BLA = 16,
    HEVC_IDR = 19,
    HEVC_CRA = 21,
    HEVC_PICTURES = 32, /* are below */
    HEVC_SPS = 33,
    HEVC_PPS = 34,
    HEVC_DELIMITER = 35,
    HEVC_EOS = 36,
    HEVC_EOB = 37,
    HEVC_MESSAGE = 39,
    HEVC_MESSAGE_BEHIND = 40
};

/* Looks at a picture of the base layer. */
static void hevc_peek_picture(struct bl_peek *peek, const struct bl_nal *nal, unsigned type)
{
    bool restarts = false;
    if (peek->packets == 0 && (type < HEVC_BLA || type > HEVC_CRA))
        peek->suspicious = true;
    if (type >= HEVC_BLA && type <= HEVC_CRA) {
        bool drops_previous = nal->data[2] & 0x40;
        peek->suspicious = peek->suspicious || (drops_previous && peek->packets > 0);
        peek->leading_broken =
            type < HEVC_IDR || (type == HEVC_CRA && (peek->packets == 0 || peek->ended || !peek->hevc.begun));
        restarts = type != HEVC_CRA || peek->leading_broken;
        peek->ended = false;
    }
    bool lost = (type == HEVC_RASL_N || type == HEVC_RASL_R) && peek->leading_broken;
    peek->suspicious = peek->suspicious || lost;
    if (lost)
        return;
    struct bl_hevc_picture picture = bl_hevc_begin(&peek->hevc, nal, peek->packets, restarts);
    peek->suspicious = peek->suspicious || !picture.known || picture.gap;
    peek->gaps += picture.gap;
    peek->traced = picture.traced;
    peek->needs = picture.needs;
    peek->tags = picture.tags;
}

static int hevc_peek_nal(struct bl_peek *peek, const struct bl_nal *nal, struct unit_kinds *kinds)
{
    unsigned type = nal->data[0] >> 1 & 63, layer = (nal->data[0] & 1u) << 5 | nal->data[1] >> 3;
    kinds->instant = kinds->instant || type == HEVC_IDR || type == HEVC_IDR + 1;
    kinds->open = kinds->open || (type >= HEVC_BLA && type <= HEVC_CRA);
    kinds->sequence = kinds->sequence || type == HEVC_SPS;
    kinds->picture = kinds->picture || type == HEVC_PPS;
    bool apart = type >= HEVC_DELIMITER && type <= HEVC_MESSAGE_BEHIND && type != HEVC_EOS && type != HEVC_EOB;
    kinds->referred = kinds->referred || !(apart || (type <= HEVC_UNREFERRED_LAST && type % 2 == 0));
    if (layer > 0)
        return 0;
    if (type < HEVC_PICTURES)
        peek->layer = (nal->data[1] & 7) - 1;
    if (type == HEVC_MESSAGE)
        peek_prefer(peek, nal, 2);
    peek->ended = peek->ended || type == HEVC_EOS || type == HEVC_EOB;
    bl_hevc_take(&peek->hevc, nal);
    if (type >= HEVC_PICTURES || nal->size < 3 || !(nal->data[2] & 0x80))
        return 0;
    hevc_peek_picture(peek, nal, type);
    return 1;
}

int bl_peek_hevc(struct bl_peek *peek, const uint8_t *data, size_t size)
{
    struct unit_kinds kinds = {0};
    int pictures = access_unit_peek(peek, data, size, &kinds, hevc_peek_nal);
    peek->opens = peek->opens && peek->traced && peek->needs == peek->packets;
    peek->suspicious = peek->suspicious || peek->hevc.hides;
    return pictures;
}

/* A parameter set of the container. */
static void peek_take(void *to, const struct bl_nal *nal)
{
    struct bl_peek *peek = to;
    if (peek->id == AV_CODEC_ID_H264)
        bl_h264_take(&peek->h264, nal);
    else if (((nal->data[0] & 1u) << 5 | nal->data[1] >> 3) == 0)
        bl_hevc_take(&peek->hevc, nal);
}

void bl_peek_nal_headers(struct bl_peek *peek, const uint8_t *record, size_t size)
{
    peek->nal_length = bl_nal_length(peek->id, record, size);
    bl_nal_headers(peek->id, record, size, peek_take, peek);
}
