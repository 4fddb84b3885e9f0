#include "kind/video/nal.h"

#include <string.h>

const uint8_t *bl_start_code_find(const uint8_t *data, const uint8_t *end)
{
    for (const uint8_t *at = data; end - at >= 3; at++) {
        at = memchr(at, 1, (size_t)(end - at));
        if (!at)
            return NULL;
        if (at - data >= 2 && at[-1] == 0 && at[-2] == 0)
            return at + 1;
    }
    return NULL;
}

static size_t length_read(const uint8_t *data, int bytes)
{
    size_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | data[i];
    return value;
}

bool bl_access_unit_next(struct bl_access_unit *unit, int length, struct bl_nal *nal)
{
    if (unit->at >= unit->end)
        return false;
    if (!length) {
        const uint8_t *begin = bl_start_code_find(unit->at, unit->end);
        if (!begin)
            return false;
        const uint8_t *next = bl_start_code_find(begin, unit->end);
        unit->at = next ? next - 3 : unit->end;
        *nal = (struct bl_nal){begin, (size_t)(unit->at - begin)};
        return true;
    }
    size_t left = (size_t)(unit->end - unit->at), size = 0;
    unit->broken = left < (size_t)length;
    if (unit->broken)
        return false;
    size = length_read(unit->at, length);
    unit->broken = size > left - (size_t)length;
    if (unit->broken)
        return false;
    *nal = (struct bl_nal){unit->at + length, size};
    unit->at += (size_t)length + size;
    return true;
}

struct bl_bits bl_nal_bits(const struct bl_nal *nal, size_t head)
{
    return (struct bl_bits){nal->data, nal->size, head * 8, true};
}

/* Takes units, each behind its length of two bytes; returns where they end, or NULL if there are fewer. */
static const uint8_t *units_take(const uint8_t *at, const uint8_t *end, int units,
                                 void (*take)(void *to, const struct bl_nal *nal), void *to)
{
    struct bl_access_unit unit = {.at = at, .end = end};
    struct bl_nal nal;
    for (; units > 0; units--) {
        if (!bl_access_unit_next(&unit, 2, &nal))
            return NULL;
        if (nal.size >= 2)
            take(to, &nal);
    }
    return unit.at;
}

static void avcc_take(const uint8_t *record, size_t size, void (*take)(void *to, const struct bl_nal *nal), void *to)
{
    const uint8_t *end = record + size, *at = units_take(record + 6, end, record[5] & 31, take, to);
    if (at && at < end)
        (void)units_take(at + 1, end, *at, take, to);
}

static void hvcc_take(const uint8_t *record, size_t size, void (*take)(void *to, const struct bl_nal *nal), void *to)
{
    const uint8_t *end = record + size, *at = record + 23;
    for (int arrays = record[22]; arrays > 0 && at && end - at >= 3; arrays--)
        at = units_take(at + 3, end, (int)length_read(at + 1, 2), take, to);
}

int bl_nal_length(enum AVCodecID codec, const uint8_t *record, size_t size)
{
    if (codec == AV_CODEC_ID_H264 && size >= 7 && record[0] == 1)
        return (record[4] & 3) + 1;
    if (codec == AV_CODEC_ID_HEVC && size >= 23 && (record[0] || record[1] || record[2] > 1))
        return (record[21] & 3) + 1;
    return 0;
}

void bl_nal_headers(enum AVCodecID codec, const uint8_t *record, size_t size,
                    void (*take)(void *to, const struct bl_nal *nal), void *to)
{
    struct bl_access_unit unit = {.at = record, .end = record ? record + size : NULL};
    struct bl_nal nal;
    if (bl_nal_length(codec, record, size) && codec == AV_CODEC_ID_H264) {
        avcc_take(record, size, take, to);
        return;
    }
    if (bl_nal_length(codec, record, size)) {
        hvcc_take(record, size, take, to);
        return;
    }
    while (bl_access_unit_next(&unit, 0, &nal)) {
        if (nal.size >= 2)
            take(to, &nal);
    }
}

/* A number in bytes: each 255 is followed by another. */
static uint32_t message_number(struct bl_bits *b)
{
    uint32_t value = 0, byte;
    do {
        byte = bl_bits_get(b, 8);
        value += byte;
    } while (byte == 255 && !bl_bits_ended(b));
    return value;
}

uint8_t bl_nal_preferred_transfer(const struct bl_nal *nal, size_t head)
{
    struct bl_bits b = bl_nal_bits(nal, head);
    while (b.at / 8 + 2 < b.size) {
        uint32_t type = message_number(&b), bytes = message_number(&b);
        if (type == 147 && bytes >= 1)
            return (uint8_t)bl_bits_get(&b, 8);
        if (bytes > b.size)
            break;
        bl_bits_skip(&b, bytes * 8);
    }
    return 0;
}
