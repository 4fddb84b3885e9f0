/* Headers of images: sizes, depths and the memory of decoding, read through a small window, and repairs of TIFF tags.
 *
 * A scan checks the header of each image without decoding it. The figures must be at least those of the decoder, since
 * they bound its memory. Example of a PNG: bytes 16..19 are the width, 20..23 the height (big-endian), byte 24 the
 * depth and byte 25 the colour type:
 *
 *     89 50 4e 47 0d 0a 1a 0a  00 00 00 0d 49 48 44 52  00 00 02 80  00 00 01 e0  08 02      640 x 480, 8 bits, RGB */
#include "kind/frames/image_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/input_file.h"

/* --- TIFF tags ---------------------------------------------------------------------------------------------------- */

/* A directory of a TIFF file is a number of entries in 2 bytes, the entries, and the offset of the next directory in 4.
 * An entry has 12 bytes: tag (2), type (2), count (4), and the value, or its offset if it has more than 4 bytes. */

#define ENTRY 12              /* bytes: tag, type, count, value or offset */
#define ARRAY_MAX 64          /* numbers of an entry that are compared: one for each sample of a pixel */
#define COLOURS_MAX (3 << 16) /* numbers of a palette of 16 bits */

enum { TIFF_BYTE = 1, TIFF_SHORT = 3, TIFF_LONG = 4 };
enum { TIFF_PHOTOMETRIC = 262, TIFF_ORIENTATION = 274, TIFF_COLOUR_MAP = 320, TIFF_SAMPLE_FORMAT = 339 };
enum { TIFF_WHITE_IS_ZERO, TIFF_BLACK_IS_ZERO };

/* Reads a number of 1 to 4 bytes. A TIFF file begins with II (little-endian) or MM (big-endian). */
static uint32_t tiff_read(const uint8_t *data, int bytes, bool big_endian)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | data[big_endian ? i : bytes - 1 - i];
    return value;
}

/* Returns whether the tag is an array of this number alone, which decoders assume where the tag is absent. Two shorts
 * lie in the entry itself. */
static bool tiff_entry_is(const uint8_t *entry, const uint8_t *data, size_t size, bool big_endian, uint32_t usual)
{
    uint32_t type = tiff_read(entry + 2, 2, big_endian), count = tiff_read(entry + 4, 4, big_endian);
    /* Up to two shorts lie in the entry; more of them at the offset that the entry has. */
    size_t offset = count <= 2 ? (size_t)(entry + 8 - data) : tiff_read(entry + 8, 4, big_endian);
    if (type != TIFF_SHORT || offset > size || count > (size - offset) / 2 || count > ARRAY_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (tiff_read(data + offset + 2 * (size_t)i, 2, big_endian) != usual)
            return false;
    }
    return true;
}

/* Returns whether the pixels depend on the tag. The list also has tags that FFmpeg does not know, and without which a
 * picture would be another one: the tables for JPEG, and those of raw images of cameras. */
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

/* Finds the entries of the first directory. Returns false if the file does not contain all of them. */
static bool tiff_find_entries(const uint8_t *data, size_t size, bool big_endian, size_t *entries, size_t *count)
{
    /* Bytes 4 to 7 of the file are the offset of the first directory. */
    size_t directory = size < 8 ? size : tiff_read(data + 4, 4, big_endian);
    if (directory > size || size - directory < 2)
        return false;
    *count = tiff_read(data + directory, 2, big_endian);
    *entries = directory + 2;
    return size - *entries >= *count * ENTRY;
}

/* Moves the entries that matter to the front, and the offset of the next directory behind them. */
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

/* 0 as white would make the decoder invert the numbers of a depth map. */
void bl_tiff_keep_numbers(uint8_t *data, size_t size)
{
    bool big_endian = size > 0 && data[0] == 'M';
    size_t at, count;
    if (!tiff_find_entries(data, size, big_endian, &at, &count))
        return;
    for (uint8_t *entry = data + at; count > 0; count--, entry += ENTRY) {
        /* The low byte of the number. */
        if (tiff_read(entry, 2, big_endian) == TIFF_PHOTOMETRIC && tiff_read(entry + 4, 4, big_endian) == 1 &&
            tiff_entry_is(entry, data, size, big_endian, TIFF_WHITE_IS_ZERO))
            entry[8 + big_endian] = TIFF_BLACK_IS_ZERO;
    }
}

/* Some writers fill palettes with 8 bits where 16 are specified: then all high bytes are 0, and the picture black. */
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
        /* The high byte of each number of the palette. */
        for (size_t i = 0; i < colours; i++)
            high |= data[map + 2 * i + !big_endian];
        for (size_t i = 0; i < colours && !high; i++)
            data[map + 2 * i + !big_endian] = data[map + 2 * i + big_endian];
        return;
    }
}

int bl_tiff_orientation(const uint8_t *data, size_t size)
{
    bool big_endian = size > 0 && data[0] == 'M';
    size_t at, count;
    if (!tiff_find_entries(data, size, big_endian, &at, &count))
        return 1;
    for (const uint8_t *entry = data + at; count > 0; count--, entry += ENTRY) {
        uint32_t type = tiff_read(entry + 2, 2, big_endian);
        int bytes = type == TIFF_BYTE ? 1 : type == TIFF_SHORT ? 2 : type == TIFF_LONG ? 4 : 0;
        bool is_number = bytes && tiff_read(entry + 4, 4, big_endian) == 1; /* the tag has one value */
        if (tiff_read(entry, 2, big_endian) != TIFF_ORIENTATION || !is_number)
            continue;
        uint32_t number = tiff_read(entry + 8, bytes, big_endian);
        if (number >= 2 && number <= 8)
            return (int)number;
    }
    return 1;
}

/* --- header ------------------------------------------------------------------------------------------------------- */

#define SEGMENTS_MAX 65536          /* segments of a JPEG, or chunks of a WebP, before the picture */
#define TAGS_MAX 65535              /* of a TIFF: the count has 16 bits */
#define PAGES_MAX 1000              /* of a TIFF that are counted */
#define ALIGNED 64                  /* pixels that decoders may add to the right and below */
#define BASE ((int64_t)4 << 20)     /* bytes: contexts, lines */
#define DEPTH_MAX 64                /* bits: larger depths are refused anyway */
#define SIDE_MAX ((int64_t)1 << 24) /* pixels: keeps products within 64 bits */

/* Records why the image is not supported. The first reason counts. */
static void header_refuse(struct bl_image_header *h, const char *what)
{
    if (!h->unsupported[0])
        snprintf(h->unsupported, sizeof h->unsupported, "%s", what);
}

/* Returns whether the file has these bytes at an offset; they are the digits of the number big_endian. */
static bool bytes_are(struct bl_window *b, int64_t at, int size, uint64_t big_endian)
{
    return bl_window_number(b, at, size, true) == big_endian && !b->ended;
}

/* --- PNG and BMP ------------------------------------------------------------------------------------------------ */

/* IDAT, acTL, cICP, tRNS */
enum { PNG_IDAT = 0x49444154, PNG_ANIMATION = 0x6163544c, PNG_COLOURS = 0x63494350, PNG_TRANSPARENT = 0x74524e53 };
enum { TRANSFER_PQ = 16, TRANSFER_HLG = 18 }; /* of H.273 */

/* Refuses animations (chunk acTL) and HDR (chunk cICP), by the chunks before the pixels. An animation's pixels are its
 * first image, or none of its images. */
static void png_check(struct bl_window *b, struct bl_image_header *h)
{
    int64_t at = 8;
    /* The search may run beyond the end of a file whose picture is sound. */
    bool ended = b->ended;
    for (int i = 0; i < SEGMENTS_MAX && !b->ended && !b->code; i++) {
        uint64_t name = bl_window_number(b, at + 4, 4, true);
        if (name == PNG_IDAT)
            break;
        if (name == PNG_ANIMATION && bl_window_number(b, at + 8, 4, true) > 1)
            header_refuse(h, "an animated PNG: write each of its images to a file of its own");
        if (name == PNG_TRANSPARENT && h->grey && h->depth == 1)
            h->alpha_unread = true;
        int transfer = name == PNG_COLOURS ? (int)bl_window_number(b, at + 9, 1, true) : 0;
        if (transfer == TRANSFER_PQ || transfer == TRANSFER_HLG)
            header_refuse(h, "an HDR PNG (PQ or HLG by its chunk cICP): map it to sRGB");
        at += 12 + (int64_t)bl_window_number(b, at, 4, true);
    }
    b->ended = ended;
}

/* Reads the chunk IHDR, which is always first. channels: by the colour type (0 grey, 2 RGB, 3 palette, 4 and 6 with
 * transparency), as decoders may return them: a separate chunk of transparency makes another channel. */
static void png_read(struct bl_window *b, struct bl_image_header *h)
{
    static const int channels[8] = {2, 1, 4, 1, 2, 1, 4, 1};
    int depth = (int)bl_window_number(b, 24, 1, true), colour = (int)bl_window_number(b, 25, 1, true);
    h->width = (int64_t)bl_window_number(b, 16, 4, true);
    h->height = (int64_t)bl_window_number(b, 20, 4, true);
    h->bits = channels[colour & 7] * (depth > 8 ? 16 : 8);
    h->depth = depth;
    h->grey = colour == 0 || colour == 4;
    h->exact = h->grey && depth == 16;
    h->exact_rgb = (colour == 2 || colour == 6) && depth == 16;
    h->indexed = colour == 3 || (h->grey && depth <= 8);
    png_check(b, h);
}

/* Reads the header of a BMP. The oldest one has 12 bytes and sides of 16 bits. In later ones a negative height says
 * that the first line is the uppermost. */
static void bmp_read(struct bl_window *b, struct bl_image_header *h)
{
    /* The size of the header stands at its beginning and tells the versions apart. */
    bool old = bl_window_number(b, 14, 4, false) == 12;
    int depth = (int)bl_window_number(b, old ? 24 : 28, 2, false);
    int32_t height = (int32_t)(uint32_t)bl_window_number(b, 22, 4, false);
    h->width = (int64_t)bl_window_number(b, 18, old ? 2 : 4, false);
    h->height = old ? (int64_t)bl_window_number(b, 20, 2, false) : height < 0 ? -(int64_t)height : height;
    h->bits = depth <= 8 ? 8 : 32;
    h->depth = depth <= 8 ? depth : 8;
    h->indexed = depth >= 1 && depth <= 8;
}

/* --- JPEG ------------------------------------------------------------------------------------------------------- */

/* Reads the header of a frame (ITU T.81, B.2.2) at its marker: the length in 2 bytes, precision in 1, height in 2,
 * width in 2, the number of components in 1, and 3 bytes for each of them, of which the second has the horizontal and
 * vertical sampling. Decoders of progressive frames keep all coefficients. */
static void jpeg_read_frame(struct bl_window *b, int64_t at, int marker, struct bl_image_header *h)
{
    int components = (int)bl_window_number(b, at + 9, 1, true), largest = 1, sum = 0;
    for (int c = 0; c < components && c < 4; c++) {
        int sampling = (int)bl_window_number(b, at + 11 + 3 * c, 1, true), area = (sampling >> 4) * (sampling & 15);
        largest = area > largest ? area : largest;
        sum += area;
    }
    int whole = components < 4 ? components : 4, samples = (8 * sum + largest - 1) / largest;
    if (components == 3 && samples > 12)
        samples = samples > 16 ? 24 : 16;
    h->height = (int64_t)bl_window_number(b, at + 5, 2, true);
    h->width = (int64_t)bl_window_number(b, at + 7, 2, true);
    h->depth = (int)bl_window_number(b, at + 4, 1, true);
    h->grey = components == 1;
    h->bits = components == 3 ? samples : 8 * whole;
    h->bits *= h->depth > 8 ? 2 : 1;
    /* SOF2, SOF6, SOF10 and SOF14 are progressive: decoders keep their coefficients, too. */
    h->beside = 4 + ((marker & 3) == 2 ? 3 * h->bits : 0);
}

/* Finds the frame. Its markers are SOF0 to SOF15 (c0 to cf), among which DHT (c4), JPG (c8) and DAC (cc) lie, and that
 * of JPEG-LS (f7). Markers without a length are TEM (01), RST0 to RST7 (d0 to d7) and SOI (d8). */
static void jpeg_read(struct bl_window *b, struct bl_image_header *h)
{
    int64_t at = 2;
    for (int i = 0; i < SEGMENTS_MAX && !b->ended && !b->code; i++) {
        int marker = (int)bl_window_number(b, at + 1, 1, true);
        if (bl_window_number(b, at, 1, true) != 0xff || marker == 0xff) {
            at++; /* padding, or a lost place: the search goes on to the next marker */
            continue;
        }
        if ((marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) ||
            marker == 0xf7) {
            jpeg_read_frame(b, at, marker, h);
            return;
        }
        bool bare = marker <= 1 || (marker >= 0xd0 && marker <= 0xd8);
        at += 2 + (bare ? 0 : (int64_t)bl_window_number(b, at + 2, 2, true));
    }
}

/* --- WebP ------------------------------------------------------------------------------------------------------- */

enum { WEBP_CANVAS = 0x56503858, WEBP_LOSSY = 0x56503820, WEBP_LOSSLESS = 0x5650384c }; /* VP8X, VP8, VP8L */

/* Reads the size of a picture or of the canvas. A lossless picture has width - 1 and height - 1 in 14 bits each, a
 * lossy one both sides in 14 bits, and the canvas both sides minus 1 in 24 bits. */
static void webp_read_chunk(struct bl_window *b, int64_t at, uint64_t name, struct bl_image_header *h)
{
    if (name == WEBP_CANVAS) {
        uint64_t flags = bl_window_number(b, at, 1, true);
        h->bits = flags & 0x10 ? 20 : 12; /* with transparency */
        if (flags & 0x02)
            header_refuse(h, "an animated WebP: write each of its images to a file of its own");
        h->width = 1 + (int64_t)bl_window_number(b, at + 4, 3, false);
        h->height = 1 + (int64_t)bl_window_number(b, at + 7, 3, false);
        return;
    }
    bool lossless = name == WEBP_LOSSLESS;
    uint64_t packed = lossless ? bl_window_number(b, at + 1, 4, false) : 0;
    int64_t width = lossless ? 1 + (int64_t)(packed & 0x3fff) : (int64_t)bl_window_number(b, at + 6, 2, false) & 0x3fff;
    int64_t height =
        lossless ? 1 + (int64_t)(packed >> 14 & 0x3fff) : (int64_t)bl_window_number(b, at + 8, 2, false) & 0x3fff;
    h->width = width > h->width ? width : h->width;
    h->height = height > h->height ? height : h->height;
    h->bits = lossless ? 32 : h->bits ? h->bits : 12;
    h->beside = lossless ? 16 : h->bits > 12 ? 48 : 8; /* a plane of transparency is a lossless image */
    h->beside += lossless ? 0 : 24;                    /* chroma in the size of luma (webp_upsample) */
}

static void webp_read(struct bl_window *b, struct bl_image_header *h)
{
    int64_t at = 12;
    for (int i = 0; i < SEGMENTS_MAX && !b->ended && !b->code; i++) {
        uint64_t name = bl_window_number(b, at, 4, true);
        int64_t size = (int64_t)bl_window_number(b, at + 4, 4, false);
        bool picture = name == WEBP_LOSSY || name == WEBP_LOSSLESS;
        /* The content of a chunk follows its name and size. */
        if (picture || name == WEBP_CANVAS)
            webp_read_chunk(b, at + 8, name, h);
        if (picture)
            return;
        at += 8 + size + (size & 1);
    }
}

/* --- TIFF ------------------------------------------------------------------------------------------------------- */

enum {
    TIFF_NEW_SUBFILE = 254,
    TIFF_SUBFILE = 255,
    TIFF_WIDTH = 256,
    TIFF_HEIGHT = 257,
    TIFF_BITS = 258,
    TIFF_COMPRESSION = 259,
    TIFF_FILL_ORDER = 266,
    TIFF_SAMPLES = 277,
    TIFF_PLANES = 284,
    TIFF_TILE_WIDTH = 322,
    TIFF_EXTRA_SAMPLES = 338,
};

/* The tags of a directory that are needed here. If a tag is repeated, the larger value counts, since decoders differ.
 */
struct tiff_tags {
    int64_t width, height, depth, samples, photometric, compression, tile, planes, format, fill;
    int64_t new_subfile, subfile;
    int64_t extra; /* what the number beside colours is: 0 nothing, 1 and 2 opacity; -1: not stated */
    int64_t next;  /* where the next directory is; 0: there is none */
};

/* Returns the first value of a tag: a byte, a short or a long. Values of up to 4 bytes lie in the entry itself. */
static int64_t tiff_tag_value(struct bl_window *b, int64_t entry, bool big_endian)
{
    int type = (int)bl_window_number(b, entry + 2, 2, big_endian), size = type == 1 ? 1 : type == 3 ? 2 : 4;
    uint64_t count = bl_window_number(b, entry + 4, 4, big_endian);
    bool here = count <= (uint64_t)(4 / size);
    return (int64_t)bl_window_number(b, here ? entry + 8 : (int64_t)bl_window_number(b, entry + 8, 4, big_endian), size,
                                     big_endian);
}

/* Reads the tags of the directory at an offset. A tag that is missing has the default of the format. */
static void tiff_read_tags(struct bl_window *b, int64_t directory, bool big_endian, struct tiff_tags *t)
{
    *t = (struct tiff_tags){.depth = 1, .samples = 1, .compression = 1, .format = 1, .extra = -1};
    const struct {
        int tag;
        int64_t *value;
    } wanted[] = {{TIFF_WIDTH, &t->width},         {TIFF_HEIGHT, &t->height},
                  {TIFF_BITS, &t->depth},          {TIFF_PHOTOMETRIC, &t->photometric},
                  {TIFF_SAMPLES, &t->samples},     {TIFF_COMPRESSION, &t->compression},
                  {TIFF_TILE_WIDTH, &t->tile},     {TIFF_PLANES, &t->planes},
                  {TIFF_FILL_ORDER, &t->fill},     {TIFF_SAMPLE_FORMAT, &t->format},
                  {TIFF_EXTRA_SAMPLES, &t->extra}, {TIFF_NEW_SUBFILE, &t->new_subfile},
                  {TIFF_SUBFILE, &t->subfile}};
    int64_t tags = (int64_t)bl_window_number(b, directory, 2, big_endian);
    for (int64_t i = 0; i < tags && i < TAGS_MAX && !b->ended && !b->code; i++) {
        int64_t entry = directory + 2 + 12 * i;
        int tag = (int)bl_window_number(b, entry, 2, big_endian);
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++) {
            if (wanted[k].tag != tag)
                continue;
            int64_t value = tiff_tag_value(b, entry, big_endian);
            if (value > *wanted[k].value)
                *wanted[k].value = value;
        }
    }
    bool ended = b->ended;
    t->next = (int64_t)bl_window_number(b, directory + 2 + 12 * tags, 4, big_endian);
    b->ended = ended; /* files that end with the last tag have no next directory */
}

/* Refuses a file of several pages. A next directory that lies beyond the end, or has no size, does not count. Smaller
 * copies of a picture (bit 0 of NewSubfileType, or SubfileType 2), and masks (bit 2), are no pages. */
static void tiff_count_pages(struct bl_window *b, int64_t first, bool big_endian, int64_t next,
                             struct bl_image_header *h)
{
    int pages = 1;
    while (next >= 8 && next != first && next < b->size - 2 && pages < PAGES_MAX && !b->code) {
        struct tiff_tags t;
        tiff_read_tags(b, next, big_endian, &t);
        if (b->ended || !t.width || !t.height)
            break;
        pages += !(t.new_subfile & 5) && t.subfile != 2;
        next = t.next;
    }
    b->ended = false;
    if (pages > 1)
        snprintf(h->unsupported, sizeof h->unsupported, "a TIFF of %d pages: write each to a file of its own", pages);
}

/* Refuses what FFmpeg does not decode, or decodes wrongly: it decodes strips of unsigned numbers, and ignores the range
 * of YCbCr. */
static void tiff_check(const struct tiff_tags *t, struct bl_image_header *h)
{
    if (t->format == 3)
        header_refuse(h, "a TIFF of floating point: write PNG or TIFF of 8 or 16 bits, or arrays (--kind array)");
    if (t->format == 2 || t->format > 4)
        header_refuse(h, "a TIFF of signed or complex numbers: write PNG, or arrays (--kind array)");
    if (t->depth > 16)
        header_refuse(h, "a TIFF of more than 16 bits: write PNG or TIFF of 16, or arrays (--kind array)");
    if (t->samples > 4)
        header_refuse(h, "a TIFF of more than 4 numbers a pixel: write 3, or arrays (--kind array)");
    if (t->planes == 2 && t->samples < 3)
        header_refuse(h, "a TIFF of grey in planes: write it with PlanarConfiguration 1, or PNG");
    if (t->fill == 2 && t->depth < 8 && (t->depth > 1 || t->photometric == 3))
        header_refuse(h, "a TIFF with the last pixel in the high bits of a byte: write it with FillOrder 1, or PNG");
    if (t->tile)
        header_refuse(h, "a TIFF in tiles: write it in strips, or PNG");
    if (t->compression == 6 || t->compression == 7)
        header_refuse(h, "a TIFF that is compressed by JPEG: write it with deflate, or PNG");
    /* Every version of FFmpeg decodes none (1), CCITT (2 to 4), LZW (5), deflate (8, 32946), PackBits and LZMA. */
    const int64_t method = t->compression;
    if (!((method >= 1 && method <= 5) || method == 8 || method == 32773 || method == 32946 || method == 34925))
        header_refuse(h, "a TIFF of a rare compression: write it with deflate, or PNG");
    if (t->photometric == 6)
        header_refuse(h, "a TIFF in YCbCr: write it as RGB");
    if (t->photometric >= 8 && t->photometric <= 10)
        header_refuse(h, "a TIFF in Lab: write it as RGB");
}

/* Reads the header of a TIFF. A strip is inflated at once and may be the entire picture, so that the decoder needs the
 * picture's memory twice. */
static void tiff_header_read(struct bl_window *b, struct bl_image_header *h)
{
    bool big_endian = bl_window_number(b, 0, 1, true) == 'M';
    int64_t directory = (int64_t)bl_window_number(b, 4, 4, big_endian);
    struct tiff_tags t;
    tiff_read_tags(b, directory, big_endian, &t);
    h->width = t.width;
    h->height = t.height;
    h->depth = (int)(t.depth < DEPTH_MAX ? t.depth : DEPTH_MAX);
    h->grey = t.photometric <= 1 && t.samples <= 2;
    h->exact = h->grey && t.depth > 8 && t.depth <= 16;
    h->exact_rgb = t.photometric == 2 && t.samples >= 3 && t.depth == 16;
    h->indexed = t.depth <= 8 && t.samples == 1 && (t.photometric <= 1 || t.photometric == 3);
    h->alpha_unread = t.samples == (h->grey ? 2 : 4) && t.extra >= 0 && t.extra != 2;
    int64_t depth = t.depth > 16 ? 32 : t.depth > 8 ? 16 : 8;
    h->bits = (int)(depth * (t.samples > 4 ? 4 : t.samples));
    h->beside = h->bits;
    if (b->ended)
        return;
    tiff_count_pages(b, directory, big_endian, t.next, h);
    tiff_check(&t, h);
}

/* --- all formats -------------------------------------------------------------------------------------------------- */

/* Refuses formats that are recognized and not decoded, with advice. */
static void header_read_other(struct bl_window *b, struct bl_image_header *h)
{
    static const struct {
        int64_t at;
        int size;
        uint64_t bytes;
        const char *what;
    } known[] = {{0, 4, 0x49492b00, "BigTIFF: write TIFF or PNG"},
                 {0, 4, 0x4d4d002b, "BigTIFF: write TIFF or PNG"},
                 {0, 4, 0x47494638, "GIF: write each of its images to a PNG file"},
                 {0, 4, 0x50494548, "optical flow (.flo): --pixels flow takes it"},
                 {4, 8, 0x6674797061766966, "AVIF: convert it to PNG"},
                 {4, 8, 0x6674797061766973, "AVIF: convert it to PNG"},
                 {4, 7, 0x66747970686569, "HEIC: convert it to PNG or JPEG"}, /* heic, heix, heim, heis */
                 {4, 7, 0x66747970686576, "HEIC: convert it to PNG or JPEG"}, /* hevc, hevx */
                 {4, 8, 0x667479706d696631, "HEIF: convert it to PNG or JPEG"},
                 {4, 8, 0x667479706d736631, "HEIF: convert it to PNG or JPEG"},
                 {0, 8, 0x0000000c4a584c20, "JPEG XL: convert it to PNG"},
                 {0, 2, 0xff0a, "JPEG XL: convert it to PNG"},
                 {0, 8, 0x0000000c6a502020, "JPEG 2000: convert it to PNG"}};
    /* A file that is shorter than a mark is no fault here. */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (bytes_are(b, known[i].at, known[i].size, known[i].bytes))
            header_refuse(h, known[i].what);
        b->ended = false;
    }
}

/* Reads the header in the format that the first bytes show. */
static void header_read(struct bl_window *b, struct bl_image_header *h)
{
    if (bytes_are(b, 0, 3, 0xffd8ff))
        jpeg_read(b, h);
    else if (bytes_are(b, 0, 8, 0x89504e470d0a1a0a) && bytes_are(b, 12, 4, 0x49484452))
        png_read(b, h);
    else if (bytes_are(b, 8, 4, 0x57454250))
        webp_read(b, h);
    else if (bytes_are(b, 0, 4, 0x49492a00) || bytes_are(b, 0, 4, 0x4d4d002a))
        tiff_header_read(b, h);
    else if (bytes_are(b, 0, 2, 0x424d))
        bmp_read(b, h);
    else
        header_read_other(b, h);
}

int bl_image_header_read(const struct bl_input_file *file, int64_t bytes, const char *path,
                         struct bl_image_header *header, bool *found, struct bl_error *e)
{
    struct bl_window b = {.file = file, .path = path, .size = bytes, .e = e};
    *header = (struct bl_image_header){.depth = 8};
    header_read(&b, header);
    *found = !b.code && !b.ended && header->width > 0 && header->height > 0;
    return b.code;
}

int64_t bl_image_header_memory(const struct bl_image_header *header, int64_t bytes)
{
    int64_t width = (header->width < SIDE_MAX ? header->width : SIDE_MAX) + ALIGNED;
    int64_t height = (header->height < SIDE_MAX ? header->height : SIDE_MAX) + ALIGNED;
    return BASE + bytes + width * height / 8 * (header->bits + header->beside);
}
