/* Only what decides the size is read: a few bytes at known places, segment by segment. */
#include "kind/frames/image_header.h"

#include "base/window.h"

#define SEGMENTS_MAX 65536          /* of a JPEG, or chunks of a WebP, before its picture */
#define TAGS_MAX 65535              /* of a TIFF */
#define ALIGNED 64                  /* pixels that decoders may add to the right and below */
#define BASE ((int64_t)4 << 20)     /* bytes: contexts, lines */
#define DEPTH_MAX 64                /* bits: of larger ones it does not matter how many they are */
#define SIDE_MAX ((int64_t)1 << 24) /* pixels: keeps products within 64 bits */

static bool bytes_are(struct bl_window *b, int64_t at, int size, uint64_t big_endian)
{
    return bl_window_number(b, at, size, true) == big_endian && !b->ended;
}

/* --- PNG and BMP ------------------------------------------------------------------------------------------------ */

/* Transparency in a chunk of its own makes another channel. */
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
}

static void bmp_read(struct bl_window *b, struct bl_image_header *h)
{
    bool old = bl_window_number(b, 14, 4, false) == 12;
    int depth = (int)bl_window_number(b, old ? 24 : 28, 2, false);
    int32_t height = (int32_t)(uint32_t)bl_window_number(b, 22, 4, false);
    h->width = (int64_t)bl_window_number(b, 18, old ? 2 : 4, false);
    h->height = old ? (int64_t)bl_window_number(b, 20, 2, false) : height < 0 ? -(int64_t)height : height;
    h->bits = depth <= 8 ? 8 : 32;
}

/* --- JPEG ------------------------------------------------------------------------------------------------------- */

/* The frame's header at a marker: precision, height, width, components. Progressive ones keep all coefficients. */
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
    h->beside = 4 + ((marker & 3) == 2 ? 3 * h->bits : 0);
}

static bool marker_begins_frame(int marker)
{
    return (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) || marker == 0xf7;
}

static void jpeg_read(struct bl_window *b, struct bl_image_header *h)
{
    int64_t at = 2;
    for (int i = 0; i < SEGMENTS_MAX && !b->ended && !b->code; i++) {
        int marker = (int)bl_window_number(b, at + 1, 1, true);
        if (bl_window_number(b, at, 1, true) != 0xff || marker == 0xff) {
            at++; /* filled up, or lost: the next marker is looked for */
            continue;
        }
        if (marker_begins_frame(marker)) {
            jpeg_read_frame(b, at, marker, h);
            return;
        }
        bool bare = marker <= 1 || (marker >= 0xd0 && marker <= 0xd8);
        at += 2 + (bare ? 0 : (int64_t)bl_window_number(b, at + 2, 2, true));
    }
}

/* --- WebP ------------------------------------------------------------------------------------------------------- */

enum { WEBP_CANVAS = 0x56503858, WEBP_LOSSY = 0x56503820, WEBP_LOSSLESS = 0x5650384c }; /* VP8X, VP8, VP8L */

static void webp_read_chunk(struct bl_window *b, int64_t at, uint64_t name, struct bl_image_header *h)
{
    if (name == WEBP_CANVAS) {
        h->bits = bl_window_number(b, at, 1, true) & 0x10 ? 20 : 12; /* with transparency */
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
    h->beside = lossless ? 16 : h->bits > 12 ? 48 : 8; /* a plane of transparency is an image without loss */
}

static void webp_read(struct bl_window *b, struct bl_image_header *h)
{
    int64_t at = 12;
    for (int i = 0; i < SEGMENTS_MAX && !b->ended && !b->code; i++) {
        uint64_t name = bl_window_number(b, at, 4, true);
        int64_t size = (int64_t)bl_window_number(b, at + 4, 4, false);
        bool picture = name == WEBP_LOSSY || name == WEBP_LOSSLESS;
        if (picture || name == WEBP_CANVAS)
            webp_read_chunk(b, at + 8, name, h);
        if (picture)
            return;
        at += 8 + size + (size & 1);
    }
}

/* --- TIFF ------------------------------------------------------------------------------------------------------- */

enum { TIFF_WIDTH = 256, TIFF_HEIGHT = 257, TIFF_BITS = 258, TIFF_PHOTOMETRIC = 262, TIFF_SAMPLES = 277 };

/* The first value of a tag: a byte, a short or a long. */
static int64_t tiff_tag_value(struct bl_window *b, int64_t entry, bool big_endian)
{
    int type = (int)bl_window_number(b, entry + 2, 2, big_endian), size = type == 1 ? 1 : type == 3 ? 2 : 4;
    uint64_t count = bl_window_number(b, entry + 4, 4, big_endian);
    bool here = count <= (uint64_t)(4 / size);
    return (int64_t)bl_window_number(b, here ? entry + 8 : (int64_t)bl_window_number(b, entry + 8, 4, big_endian), size,
                                     big_endian);
}

/* Of a tag that is there twice the larger value counts: decoders differ. A strip is inflated as a whole. */
static void tiff_header_read(struct bl_window *b, struct bl_image_header *h)
{
    bool big_endian = bl_window_number(b, 0, 1, true) == 'M';
    int64_t directory = (int64_t)bl_window_number(b, 4, 4, big_endian), depth = 1, samples = 1;
    int64_t photometric = 0;
    int64_t tags = (int64_t)bl_window_number(b, directory, 2, big_endian);
    for (int64_t i = 0; i < tags && i < TAGS_MAX && !b->ended && !b->code; i++) {
        int64_t entry = directory + 2 + 12 * i;
        int tag = (int)bl_window_number(b, entry, 2, big_endian);
        int64_t *at = tag == TIFF_WIDTH         ? &h->width
                      : tag == TIFF_HEIGHT      ? &h->height
                      : tag == TIFF_BITS        ? &depth
                      : tag == TIFF_PHOTOMETRIC ? &photometric
                      : tag == TIFF_SAMPLES     ? &samples
                                                : NULL;
        int64_t value = at ? tiff_tag_value(b, entry, big_endian) : 0;
        if (at && value > *at)
            *at = value;
    }
    h->depth = (int)(depth < DEPTH_MAX ? depth : DEPTH_MAX);
    h->grey = photometric <= 1 && samples <= 2;
    h->exact = h->grey && depth > 8 && depth <= 16;
    depth = depth > 32 ? 32 : depth > 16 ? 32 : depth > 8 ? 16 : 8;
    h->bits = (int)(depth * (samples > 4 ? 4 : samples));
    h->beside = h->bits;
}

/* --- the file --------------------------------------------------------------------------------------------------- */

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
}

int bl_image_header_read(int fd, int64_t bytes, const char *path, struct bl_image_header *header, bool *found,
                         struct bl_error *e)
{
    struct bl_window b = {.fd = fd, .path = path, .size = bytes, .e = e};
    *header = (struct bl_image_header){.depth = 8};
    header_read(&b, header);
    *found = !b.code && !b.ended && header->width > 0 && header->height > 0;
    return b.code;
}

static int64_t side_limit(int64_t side)
{
    return (side < SIDE_MAX ? side : SIDE_MAX) + ALIGNED;
}

int64_t bl_image_header_memory(const struct bl_image_header *header, int64_t bytes)
{
    return BASE + bytes + side_limit(header->width) * side_limit(header->height) / 8 * (header->bits + header->beside);
}
