#include "kind/frames/tiff.h"

#include <stdbool.h>
#include <string.h>

#define ENTRY 12              /* bytes: tag, type, count, value or offset */
#define ARRAY_MAX 64          /* numbers of an entry that are compared: one for each sample of a pixel */
#define COLOURS_MAX (3 << 16) /* numbers of a palette of 16 bits */

enum { TIFF_BYTE = 1, TIFF_SHORT = 3, TIFF_LONG = 4 };
enum { TIFF_PHOTOMETRIC = 262, TIFF_ORIENTATION = 274, TIFF_COLOUR_MAP = 320, TIFF_SAMPLE_FORMAT = 339 };
enum { TIFF_WHITE_IS_ZERO, TIFF_BLACK_IS_ZERO };

static uint32_t tiff_read(const uint8_t *data, int bytes, bool big_endian)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | data[big_endian ? i : bytes - 1 - i];
    return value;
}

/* Whether the tag is an array of this number alone, which is what decoders assume without the tag. */
static bool tiff_entry_is(const uint8_t *entry, const uint8_t *data, size_t size, bool big_endian, uint32_t usual)
{
    uint32_t type = tiff_read(entry + 2, 2, big_endian), count = tiff_read(entry + 4, 4, big_endian);
    size_t offset = count <= 2 ? (size_t)(entry + 8 - data) : tiff_read(entry + 8, 4, big_endian);
    if (type != TIFF_SHORT || offset > size || count > (size - offset) / 2 || count > ARRAY_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (tiff_read(data + offset + 2 * (size_t)i, 2, big_endian) != usual)
            return false;
    }
    return true;
}

/* Also of tags that FFmpeg does not know, but without which a picture would be another: its tables for JPEG, camera
 * raw. */
static bool tiff_entry_matters(const uint8_t *entry, const uint8_t *data, size_t size, bool big_endian)
{
    static const uint16_t pixels[] = {254, 256, 257, 258, 259, 262, 266, 273, 277,   278,   279,   282,
                                      283, 284, 292, 293, 317, 320, 322, 323, 324,   325,   330,   347,
                                      512, 513, 519, 520, 521, 529, 530, 532, 33421, 33422, 50706, 50712};
    uint32_t tag = tiff_read(entry, 2, big_endian);
    if (tag == TIFF_SAMPLE_FORMAT)
        return !tiff_entry_is(entry, data, size, big_endian, 1);
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) {
        if (pixels[i] == tag)
            return true;
    }
    return false;
}

/* Finds the entries of the first directory; false: there is no whole one. */
static bool tiff_find_entries(const uint8_t *data, size_t size, bool big_endian, size_t *entries, size_t *count)
{
    size_t directory = size < 8 ? size : tiff_read(data + 4, 4, big_endian);
    if (directory > size || size - directory < 2)
        return false;
    *count = tiff_read(data + directory, 2, big_endian);
    *entries = directory + 2;
    return size - *entries >= *count * ENTRY;
}

void bl_tiff_drop_notes(uint8_t *data, size_t size)
{
    bool big_endian = size > 0 && data[0] == 'M';
    size_t at, count, kept = 0;
    if (!tiff_find_entries(data, size, big_endian, &at, &count) || size - at - count * ENTRY < 4)
        return;
    uint8_t *entries = data + at, *header = entries - 2;
    for (size_t i = 0; i < count; i++) {
        if (tiff_entry_matters(entries + i * ENTRY, data, size, big_endian))
            memmove(entries + kept++ * ENTRY, entries + i * ENTRY, ENTRY);
    }
    memmove(entries + kept * ENTRY, entries + count * ENTRY, 4); /* where the next directory is */
    header[!big_endian] = (uint8_t)(kept >> 8);
    header[big_endian] = (uint8_t)kept;
}

void bl_tiff_keep_numbers(uint8_t *data, size_t size)
{
    bool big_endian = size > 0 && data[0] == 'M';
    size_t at, count;
    if (!tiff_find_entries(data, size, big_endian, &at, &count))
        return;
    for (uint8_t *entry = data + at; count > 0; count--, entry += ENTRY) {
        if (tiff_read(entry, 2, big_endian) == TIFF_PHOTOMETRIC && tiff_read(entry + 4, 4, big_endian) == 1 &&
            tiff_entry_is(entry, data, size, big_endian, TIFF_WHITE_IS_ZERO))
            entry[8 + big_endian] = TIFF_BLACK_IS_ZERO;
    }
}

void bl_tiff_widen_palette(uint8_t *data, size_t size)
{
    bool big_endian = size > 0 && data[0] == 'M';
    size_t at, count;
    if (!tiff_find_entries(data, size, big_endian, &at, &count))
        return;
    for (const uint8_t *entry = data + at; count > 0; count--, entry += ENTRY) {
        size_t colours = tiff_read(entry + 4, 4, big_endian), map = tiff_read(entry + 8, 4, big_endian);
        if (tiff_read(entry, 2, big_endian) != TIFF_COLOUR_MAP)
            continue;
        /* The first palette alone: a file may name many, each as large as itself. */
        if (colours < 3 || colours > COLOURS_MAX || map > size || colours > (size - map) / 2)
            return;
        uint8_t high = 0;
        for (size_t i = 0; i < colours; i++)
            high |= data[map + 2 * i + !big_endian];
        for (size_t i = 0; i < colours && !high; i++)
            data[map + 2 * i + !big_endian] = data[map + 2 * i + big_endian];
        return;
    }
}

/* The number of an entry that has one; 0: it has none, or several. */
static uint32_t tiff_entry_number(const uint8_t *entry, bool big_endian)
{
    uint32_t type = tiff_read(entry + 2, 2, big_endian), count = tiff_read(entry + 4, 4, big_endian);
    int bytes = type == TIFF_BYTE ? 1 : type == TIFF_SHORT ? 2 : type == TIFF_LONG ? 4 : 0;
    return count == 1 && bytes ? tiff_read(entry + 8, bytes, big_endian) : 0;
}

int bl_tiff_orientation(const uint8_t *data, size_t size)
{
    bool big_endian = size > 0 && data[0] == 'M';
    size_t at, count;
    if (!tiff_find_entries(data, size, big_endian, &at, &count))
        return 1;
    for (const uint8_t *entry = data + at; count > 0; count--, entry += ENTRY) {
        uint32_t number =
            tiff_read(entry, 2, big_endian) == TIFF_ORIENTATION ? tiff_entry_number(entry, big_endian) : 0;
        if (number >= 2 && number <= 8)
            return (int)number;
    }
    return 1;
}
