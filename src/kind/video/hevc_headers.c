/* Follows the references of H.265 pictures by their headers alone; see hevc_headers.h.
 *
 * Each slice header lists the pictures that stay in the decoder's buffer, as distances in display order. So the list of
 * held pictures is replaced with each picture (headers_refer), exactly as a decoder's buffer is. A picture that is
 * listed as used and not held is missing from the stream. */
#include "kind/video/hevc_headers.h"

#include <string.h>

/* Types of NAL units (H.265 table 7-1). */
enum {
    LEADING_LAST = 9, /* the last type of leading pictures */
    INTRA_FIRST = 16, /* to INTRA_LAST: decoding can begin with them */
    INSTANT = 19,     /* to INSTANT_LAST: they have no references at all */
    INSTANT_LAST = 20,
    INTRA_LAST = 23,
    SEQUENCE = 33,
    PICTURE = 34
};

/* Skips the scaling lists (7.3.4). */
static void scaling_lists_skip(struct bl_bits *b)
{
    for (int size = 0; size < 4; size++) {
        for (int matrix = 0; matrix < 6; matrix += size == 3 ? 3 : 1) {
            int count = size == 0 ? 16 : 64;
            if (!bl_bits_get(b, 1)) {
                (void)bl_bits_unsigned(b);
                continue;
            }
            if (size > 1)
                (void)bl_bits_signed(b);
            for (int i = 0; i < count && !bl_bits_ended(b); i++)
                (void)bl_bits_signed(b);
        }
    }
}

/* Adds a reference; false if there are too many, or the distance is out of bounds. */
static bool references_add(struct bl_hevc_references *r, int32_t distance, bool used)
{
    if (r->count >= BL_HEVC_REFERENCES || distance < INT16_MIN || distance > INT16_MAX)
        return false;
    r->used |= (uint16_t)(used << r->count);
    r->distance[r->count++] = (int16_t)distance;
    return true;
}

/* Reads a set that is written out, (7-63) and (7-64): distances from one reference to the next, less 1. */
static bool references_read_plain(struct bl_hevc_references *r, struct bl_bits *b)
{
    uint32_t before = bl_bits_unsigned(b), after = bl_bits_unsigned(b);
    if (before > BL_HEVC_REFERENCES || after > BL_HEVC_REFERENCES - before)
        return false;
    for (int side = 0; side < 2; side++) {
        int32_t distance = 0;
        for (uint32_t i = 0; i < (side ? after : before); i++) {
            uint32_t step = bl_bits_unsigned(b);
            if (step > INT16_MAX)
                return false;
            distance += (int32_t)(step + 1) * (side ? 1 : -1);
            if (!references_add(r, distance, bl_bits_get(b, 1)))
                return false;
        }
    }
    r->before = (uint8_t)before;
    return true;
}

/* Derives the references on one side of the picture (-1: shown before it, 1: after it) from another set, whose
 * distances all change by `move`. kept has a bit for each of the other set's references, and behind them one for the
 * picture of that set itself; used, likewise, those that this picture itself may use. */
static bool references_move(struct bl_hevc_references *r, const struct bl_hevc_references *from, int32_t move,
                            uint32_t used, uint32_t kept, int side)
{
    int near = from->before, count = from->count;
    int first_begin = side < 0 ? near : 0, first_end = side < 0 ? count : near;
    int last_begin = side < 0 ? 0 : near, last_end = side < 0 ? near : count;
    for (int i = first_end - 1; i >= first_begin; i--) {
        int32_t distance = from->distance[i] + move;
        if (distance * side > 0 && kept >> i & 1 && !references_add(r, distance, used >> i & 1))
            return false;
    }
    if (move * side > 0 && kept >> count & 1 && !references_add(r, move, used >> count & 1))
        return false;
    for (int i = last_begin; i < last_end; i++) {
        int32_t distance = from->distance[i] + move;
        if (distance * side > 0 && kept >> i & 1 && !references_add(r, distance, used >> i & 1))
            return false;
    }
    return true;
}

/* Reads a set that is derived from an earlier one: (7-59) to (7-62). */
static bool references_read_derived(struct bl_hevc_references *r, const struct bl_hevc_sequence *s, unsigned number,
                                    struct bl_bits *b)
{
    uint32_t back = number == s->sets ? bl_bits_unsigned(b) + 1 : 1;
    bool negative = bl_bits_get(b, 1);
    uint32_t size = bl_bits_unsigned(b);
    if (back == 0 || back > number || size >= INT16_MAX)
        return false;
    const struct bl_hevc_references *from = &s->set[number - back];
    int32_t move = (int32_t)(size + 1) * (negative ? -1 : 1);
    uint32_t used = 0, kept = 0;
    for (int i = 0; i <= from->count; i++) {
        uint32_t is_used = bl_bits_get(b, 1), is_kept = is_used || bl_bits_get(b, 1);
        used |= is_used << i;
        kept |= is_kept << i;
    }
    if (!references_move(r, from, move, used, kept, -1))
        return false;
    r->before = r->count;
    return references_move(r, from, move, used, kept, 1);
}

/* Reads set `number` of the sequence; number s->sets is a slice's own, which is stored behind all others. */
static bool references_read(struct bl_hevc_sequence *s, unsigned number, struct bl_bits *b)
{
    struct bl_hevc_references r = {0};
    bool derived = number > 0 && bl_bits_get(b, 1);
    bool good = derived ? references_read_derived(&r, s, number, b) : references_read_plain(&r, b);
    s->set[number == s->sets ? 64 : number] = r;
    return good && !bl_bits_ended(b);
}

/* Skips the fields from the sizes of the picture buffer to those of PCM samples. */
static void sequence_skip_tools(struct bl_bits *b, unsigned layers)
{
    for (unsigned i = bl_bits_get(b, 1) ? 0 : layers; i <= layers; i++) {
        for (int k = 0; k < 3; k++)
            (void)bl_bits_unsigned(b);
    }
    for (int i = 0; i < 6; i++)
        (void)bl_bits_unsigned(b);
    if (bl_bits_get(b, 1) && bl_bits_get(b, 1))
        scaling_lists_skip(b);
    bl_bits_skip(b, 2);
    if (!bl_bits_get(b, 1)) /* pcm_enabled_flag */
        return;
    bl_bits_skip(b, 8);
    (void)bl_bits_unsigned(b);
    (void)bl_bits_unsigned(b);
    bl_bits_skip(b, 1);
}

/* Reads the reference picture sets, and skips the long-term references. False: they are not valid. */
static bool sequence_read_references(struct bl_hevc_sequence *s, struct bl_bits *b)
{
    uint32_t sets = bl_bits_unsigned(b);
    if (sets > 64)
        return false;
    s->sets = 255; /* no set is a slice's own */
    for (unsigned i = 0; i < sets; i++) {
        if (!references_read(s, i, b))
            return false;
    }
    s->sets = (uint8_t)sets;
    s->long_term = bl_bits_get(b, 1);
    uint32_t count = s->long_term ? bl_bits_unsigned(b) : 0;
    if (count > 32)
        return false;
    bl_bits_skip(b, count * (s->order_bits + 1u));
    return true;
}

/* Stores a sequence parameter set; one that is not valid stays unknown, and hides an earlier one of its number. */
static void hevc_take_sequence(struct bl_hevc_headers *headers, const struct bl_nal *nal)
{
    struct bl_bits b = bl_nal_bits(nal, 2);
    bl_bits_skip(&b, 4);
    unsigned layers = bl_bits_get(&b, 3), present[8] = {0}; /* sub-layers, less 1 */
    bl_bits_skip(&b, 1 + 96);
    for (unsigned i = 0; i < layers; i++)
        present[i] = bl_bits_get(&b, 2);
    if (layers > 0)
        bl_bits_skip(&b, 2 * (8 - layers));
    for (unsigned i = 0; i < layers; i++)
        bl_bits_skip(&b, (present[i] & 2 ? 88 : 0) + (present[i] & 1 ? 8 : 0));
    uint32_t number = bl_bits_unsigned(&b);
    if (number >= 16 || layers > 6)
        return;
    struct bl_hevc_sequence *s = &headers->sequence[number];
    *s = (struct bl_hevc_sequence){.tags = BL_PICTURE_UNTAGGED};
    uint32_t chroma = bl_bits_unsigned(&b);
    s->separate = chroma == 3 && bl_bits_get(&b, 1);
    (void)bl_bits_unsigned(&b);
    (void)bl_bits_unsigned(&b);
    for (int i = bl_bits_get(&b, 1) ? 4 : 0; i > 0; i--) /* conformance_window_flag */
        (void)bl_bits_unsigned(&b);
    uint32_t luma = bl_bits_unsigned(&b), other = bl_bits_unsigned(&b); /* depths, less 8 bits */
    s->decodable = chroma <= 3 && (chroma == 0 || luma == other) && luma <= 4 && luma != 3;
    uint32_t bits = bl_bits_unsigned(&b); /* of slice_pic_order_cnt_lsb, less 4 */
    s->order_bits = (uint8_t)((bits & 15) + 4);
    sequence_skip_tools(&b, layers);
    if (bits > 12 || !sequence_read_references(s, &b))
        return;
    bl_bits_skip(&b, 2);
    if (bl_bits_get(&b, 1)) /* vui_parameters_present_flag */
        s->tags = bl_picture_tags_read(&b);
    s->known = !bl_bits_ended(&b);
}

void bl_hevc_take(struct bl_hevc_headers *headers, const struct bl_nal *nal)
{
    unsigned type = nal->data[0] >> 1 & 63;
    if (type == SEQUENCE)
        hevc_take_sequence(headers, nal);
    if (type != PICTURE)
        return;
    struct bl_bits b = bl_nal_bits(nal, 2);
    uint32_t number = bl_bits_unsigned(&b), sequence = bl_bits_unsigned(&b);
    bl_bits_skip(&b, 1);
    struct bl_hevc_picture_set set = {.sequence = (uint8_t)(sequence + 1)};
    set.hides = bl_bits_get(&b, 1);
    set.extra = (uint8_t)bl_bits_get(&b, 3);
    if (number >= 64 || sequence >= 16 || bl_bits_ended(&b))
        return;
    headers->picture[number] = set;
    headers->hides = headers->hides || set.hides;
}

/* Replaces the held pictures by those that the picture's references name, and the picture itself. Finds whether one
 * that it uses is missing, and the earliest picture that it needs. */
static void headers_refer(struct bl_hevc_headers *headers, const struct bl_hevc_references *r, int32_t order,
                          struct bl_hevc_picture *picture)
{
    struct bl_hevc_held held[BL_HEVC_REFERENCES + 1];
    int count = 0;
    for (int i = 0; i < r->count; i++) {
        int32_t other = (int32_t)((uint32_t)order + (uint32_t)r->distance[i]);
        bool used = r->used >> i & 1;
        const struct bl_hevc_held *there = NULL;
        for (int k = 0; k < headers->count && !there; k++)
            there = headers->held[k].order == other ? &headers->held[k] : NULL;
        picture->gap = picture->gap || (used && !there);
        if (used && there && there->needs < picture->needs)
            picture->needs = there->needs;
        if (used || there)
            held[count++] = there ? *there : (struct bl_hevc_held){other, headers->base};
    }
    held[count++] = (struct bl_hevc_held){order, picture->needs};
    memcpy(headers->held, held, (size_t)count * sizeof *held);
    headers->count = count;
}

/* Returns the picture order count, whose lower bits the slice has: the value nearest to the previous one (8-1). */
static int32_t headers_order(const struct bl_hevc_headers *headers, unsigned low, unsigned bits)
{
    uint32_t whole = UINT32_C(1) << bits, last = (uint32_t)headers->order, last_low = last & (whole - 1);
    uint32_t high = last - last_low;
    if (low < last_low && last_low - low >= whole / 2)
        high += whole;
    else if (low > last_low && low - last_low > whole / 2)
        high -= whole;
    return (int32_t)(high + low);
}

/* Reads the references of a slice, and the order of its picture into *order. False if they are not valid. */
static bool slice_read(const struct bl_hevc_headers *headers, struct bl_hevc_sequence *s, struct bl_bits *b,
                       bool restarts, int32_t *order, const struct bl_hevc_references **references)
{
    unsigned low = bl_bits_get(b, s->order_bits);
    *order = restarts ? (int32_t)low : headers_order(headers, low, s->order_bits);
    if (!bl_bits_get(b, 1)) { /* short_term_ref_pic_set_sps_flag */
        *references = &s->set[64];
        return references_read(s, s->sets, b);
    }
    int bits = 0;
    while (1 << bits < s->sets) /* short_term_ref_pic_set_idx has as many bits as the largest number needs */
        bits++;
    unsigned set = bl_bits_get(b, bits);
    *references = &s->set[set];
    return set < s->sets;
}

struct bl_hevc_picture bl_hevc_begin(struct bl_hevc_headers *headers, const struct bl_nal *nal, int64_t number,
                                     bool restarts)
{
    static const struct bl_hevc_references none = {0};
    unsigned type = nal->data[0] >> 1 & 63, layer = nal->data[1] & 7;
    headers->base = restarts ? number : headers->base;
    struct bl_hevc_picture picture = {.tags = BL_PICTURE_UNTAGGED, .needs = headers->base};
    struct bl_bits b = bl_nal_bits(nal, 2);
    bl_bits_skip(&b, type >= INTRA_FIRST && type <= INTRA_LAST ? 2 : 1);
    uint32_t id = bl_bits_unsigned(&b);
    const struct bl_hevc_picture_set *set = &headers->picture[id & 63];
    struct bl_hevc_sequence *s = set->sequence ? &headers->sequence[set->sequence - 1] : NULL;
    if (id >= 64 || !s || !s->known)
        return picture;
    picture.known = s->decodable && !s->separate;
    picture.tags = s->tags;
    headers->begun = headers->begun || restarts;
    bl_bits_skip(&b, set->extra);
    (void)bl_bits_unsigned(&b); /* slice_type */
    bl_bits_skip(&b, set->hides ? 1 : 0);
    if (!headers->begun || s->long_term || s->separate)
        return picture;
    int32_t order = 0;
    const struct bl_hevc_references *references = &none;
    if (restarts)
        headers->count = 0;
    if (type < INSTANT || type > INSTANT_LAST)
        picture.known = slice_read(headers, s, &b, restarts, &order, &references) && picture.known;
    picture.traced = true;
    picture.needs = number; /* headers_refer lowers it to that of a reference */
    headers_refer(headers, restarts ? &none : references, order, &picture);
    if (layer == 1 && (type > LEADING_LAST || (type < 6 && type & 1))) /* 8.3.1: neither leading nor unreferenced */
        headers->order = order;
    return picture;
}
