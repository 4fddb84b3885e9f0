#include "kind/frames/orientation.h"

#include <libavutil/intreadwrite.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/instream.h"
#include "kind/frames/image_header.h"

#define PREFIX "Exif\0" /* and another zero byte: what stands before the TIFF data in JPEG */
#define PREFIX_SIZE 6
#define TEXT_MAX ((size_t)256 << 10) /* bytes of a text that are looked at: EXIF data in hexadecimal has 128 KiB */

enum { MARKER_SOS = 0xda, MARKER_APP1 = 0xe1, MARKER_FILL = 0xff };

/* A part of a file in memory. */
struct span {
    const uint8_t *data;
    size_t size;
};

static bool span_begins(struct span s, const char *bytes, size_t size)
{
    return s.size >= size && memcmp(s.data, bytes, size) == 0;
}

static struct span span_skip(struct span s, size_t size)
{
    size = size < s.size ? size : s.size;
    return (struct span){s.data + size, s.size - size};
}

/* Takes the bytes up to a zero byte, and leaves what follows it. */
static struct span span_take_string(struct span *s)
{
    const uint8_t *end = s->size ? memchr(s->data, 0, s->size) : NULL;
    struct span string = {s->data, end ? (size_t)(end - s->data) : s->size};
    *s = span_skip(*s, string.size + 1);
    return string;
}

static int exif_orientation(struct span exif)
{
    if (span_begins(exif, PREFIX, PREFIX_SIZE))
        exif = span_skip(exif, PREFIX_SIZE);
    return span_begins(exif, "II*\0", 4) || span_begins(exif, "MM\0*", 4) ? bl_tiff_orientation(exif.data, exif.size)
                                                                          : 1;
}

/* --- JPEG and WebP ---------------------------------------------------------------------------------------------- */

static int jpeg_orientation(struct span file)
{
    for (size_t at = 2; file.size >= 4 && at <= file.size - 4 && file.data[at] == 0xff;) {
        int marker = file.data[at + 1];
        if (marker == MARKER_FILL) {
            at++;
            continue;
        }
        size_t length = AV_RB16(file.data + at + 2);
        struct span segment = {file.data + at + 4, length - 2};
        if (marker == MARKER_SOS || length < 2 || length > file.size - at - 2)
            break;
        if (marker == MARKER_APP1 && span_begins(segment, PREFIX, PREFIX_SIZE))
            return exif_orientation(segment);
        at += 2 + length;
    }
    return 1;
}

/* As libwebp, the chunk counts only if the header of the extended format announces it. */
static int webp_orientation(struct span file)
{
    const uint8_t exif_flag = 0x08;
    bool announced = false;
    for (struct span s = span_skip(file, 12); s.size >= 8;) {
        size_t size = AV_RL32(s.data + 4);
        struct span chunk = span_skip(s, 8);
        if (size < chunk.size)
            chunk.size = size;
        if (span_begins(s, "VP8X", 4))
            announced = chunk.size && chunk.data[0] & exif_flag;
        if (span_begins(s, "EXIF", 4))
            return announced ? exif_orientation(chunk) : 1;
        s = span_skip(s, 8 + size + (size & 1));
    }
    return 1;
}

/* --- PNG -------------------------------------------------------------------------------------------------------- */

static int digit_value(uint8_t digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* A profile is a line with its name, one with its length, and lines of hexadecimal digits, which are replaced by their
 * bytes. */
static int profile_orientation(uint8_t *text, size_t size)
{
    size_t at = 0, digits = 0, lines = 0;
    while (at < size && text[at] == '\n')
        at++;
    while (at < size && lines < 2)
        lines += text[at++] == '\n';
    for (int high = 0; at < size; at++) {
        int value = digit_value(text[at]);
        if (value < 0)
            continue;
        if (digits % 2)
            text[digits / 2] = (uint8_t)(high << 4 | value);
        high = value;
        digits++;
    }
    return exif_orientation((struct span){text, digits / 2});
}

/* Finds the content of a text, which may be compressed; false: it is no profile of EXIF. */
static bool text_find_profile(struct span name, struct span chunk, struct span *content, bool *deflated)
{
    struct span keyword = span_take_string(&chunk);
    bool international = span_begins(name, "iTXt", 4);
    if (!(keyword.size == 21 && memcmp(keyword.data, "Raw profile type exif", 21) == 0) &&
        !(keyword.size == 21 && memcmp(keyword.data, "Raw profile type APP1", 21) == 0))
        return false;
    *deflated = span_begins(name, "zTXt", 4) || (international && chunk.size && chunk.data[0]);
    if (*deflated || international)
        chunk = span_skip(chunk, international ? 2 : 1);
    if (international) {
        (void)span_take_string(&chunk); /* its language */
        (void)span_take_string(&chunk); /* its keyword in that language */
    }
    *content = chunk;
    return true;
}

static int text_orientation(struct span name, struct span chunk, int *orientation, struct bl_error *e)
{
    struct span content;
    bool deflated;
    if (!text_find_profile(name, chunk, &content, &deflated))
        return BL_OK;
    uint8_t *text = malloc(TEXT_MAX);
    if (!text)
        return bl_error_memory(e);
    size_t size = content.size < TEXT_MAX ? content.size : TEXT_MAX;
    int code = BL_OK;
    if (deflated)
        code = bl_inflate_prefix(content.data, content.size, text, TEXT_MAX, &size, e);
    else
        memcpy(text, content.data, size);
    if (!code)
        *orientation = profile_orientation(text, size);
    free(text);
    return code;
}

static int png_orientation(struct span file, int *orientation, struct bl_error *e)
{
    int code = BL_OK;
    for (struct span s = span_skip(file, 8); s.size >= 12 && AV_RB32(s.data) <= s.size - 12 && !code;) {
        struct span chunk = {s.data + 8, AV_RB32(s.data)}, name = span_skip(s, 4);
        bool is_text = span_begins(name, "tEXt", 4) || span_begins(name, "zTXt", 4) || span_begins(name, "iTXt", 4);
        if (span_begins(name, "eXIf", 4)) {
            *orientation = exif_orientation(chunk);
            break;
        }
        if (is_text && *orientation == 1)
            code = text_orientation(name, chunk, orientation, e);
        s = span_skip(s, 12 + chunk.size);
    }
    return code;
}

int bl_image_orientation(const uint8_t *data, size_t size, int *orientation, struct bl_error *e)
{
    struct span file = {data, size};
    *orientation = 1;
    if (span_begins(file, "\x89PNG", 4))
        return png_orientation(file, orientation, e);
    if (span_begins(file, "\xff\xd8", 2))
        *orientation = jpeg_orientation(file);
    else if (span_begins(span_skip(file, 8), "WEBP", 4))
        *orientation = webp_orientation(file);
    else
        *orientation = exif_orientation(file); /* TIFF has the tag itself */
    return BL_OK;
}

/* A display matrix for each orientation: the columns are where rows and columns of the picture go. */
int bl_image_set_orientation(AVFrame *frame, int orientation, struct bl_error *e)
{
    static const int8_t turns[9][4] = {{1, 0, 0, 1}, {1, 0, 0, 1},  {-1, 0, 0, 1},  {-1, 0, 0, -1}, {1, 0, 0, -1},
                                       {0, 1, 1, 0}, {0, 1, -1, 0}, {0, -1, -1, 0}, {0, -1, 1, 0}};
    const int8_t *turn = turns[orientation];
    const int32_t one = 1 << 16;
    const int32_t matrix[9] = {turn[0] * one, turn[1] * one, 0, turn[2] * one, turn[3] * one, 0, 0, 0, 1 << 30};
    av_frame_remove_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX);
    if (orientation <= 1)
        return BL_OK;
    AVFrameSideData *side = av_frame_new_side_data(frame, AV_FRAME_DATA_DISPLAYMATRIX, sizeof matrix);
    if (!side)
        return bl_error_memory(e);
    memcpy(side->data, matrix, sizeof matrix);
    return BL_OK;
}
