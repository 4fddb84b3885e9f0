/* Pictures made of nothing but a number: slopes that go up and down, gentle enough that scaled ones can be compared;
 * and copies of frames. */
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <string.h>

#include "fake.h"

uint64_t fake_picture_hash(uint64_t begin, const uint8_t *bytes, size_t count)
{
    uint64_t hash = begin ^ 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* A plane's value at x, y: 0...4095, by a byte and a half of the hash for each plane. */
static unsigned level(uint64_t hash, int plane, int x, int y)
{
    unsigned seed = (unsigned)(hash >> (plane * 20)) & 0xfffff;
    unsigned across = 8 + seed % 32, down = 8 + seed / 32 % 32, phase = seed / 1024 * 8;
    unsigned at = ((unsigned)x * across + (unsigned)y * down + phase) % 8192;
    return at < 4096 ? at : 8191 - at;
}

static void put(uint8_t *to, unsigned value, int depth)
{
    if (depth == 8) {
        *to = (uint8_t)(value >> 4);
        return;
    }
    uint16_t word = (uint16_t)(value << 4 & 0xffffu << (16 - depth)); /* what lies below the depth is zero */
    memcpy(to, &word, sizeof word);
}

void fake_picture_draw(uint64_t hash, uint8_t *surface, size_t pitch, int width, int height, int depth)
{
    size_t bytes = depth > 8 ? 2 : 1;
    uint8_t *chroma = surface + pitch * (size_t)((height + 1) / 2 * 2);
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++)
            put(surface + (size_t)y * pitch + (size_t)x * bytes, level(hash, 0, x, y), depth);
    }
    for (int y = 0; y < (height + 1) / 2; y++) {
        for (int x = 0; x < (width + 1) / 2 * 2; x++)
            put(chroma + (size_t)y * pitch + (size_t)x * bytes, level(hash, 1 + x % 2, x / 2, y), depth);
    }
}

/* A plane's sample, 16 bits with the value high. */
static unsigned sample(const AVFrame *frame, int plane, int x, int y, int depth)
{
    const uint8_t *row = frame->data[plane] + (ptrdiff_t)y * frame->linesize[plane];
    uint16_t word;
    if (depth == 8)
        return (unsigned)row[x] << 8;
    memcpy(&word, row + 2 * x, sizeof word);
    return (unsigned)word << (16 - depth);
}

static void store(uint8_t *to, unsigned value, int depth)
{
    uint16_t word = (uint16_t)value;
    if (depth == 8)
        *to = (uint8_t)(value >> 8);
    else
        memcpy(to, &word, sizeof word);
}

/* Copies a plane of `step` bytes from sample to sample. */
static void copy_plane(const AVFrame *frame, int plane, uint8_t *to, size_t pitch, size_t step, int width, int height)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);
    int depth = desc->comp[0].depth;
    int across = plane ? AV_CEIL_RSHIFT(frame->width, desc->log2_chroma_w) : frame->width;
    int down = plane ? AV_CEIL_RSHIFT(frame->height, desc->log2_chroma_h) : frame->height;
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++)
            store(to + (size_t)y * pitch + (size_t)x * step,
                  sample(frame, plane, x < across ? x : across - 1, y < down ? y : down - 1, depth), depth);
    }
}

void fake_picture_copy(const AVFrame *frame, uint8_t *surface, size_t pitch, int width, int height)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);
    size_t bytes = desc->comp[0].depth > 8 ? 2 : 1;
    bool planar = desc->log2_chroma_w == 0;
    size_t rows = (size_t)((height + 1) / 2 * 2);
    copy_plane(frame, 0, surface, pitch, bytes, width, height);
    for (int plane = 1; plane < 3; plane++) {
        if (planar)
            copy_plane(frame, plane, surface + pitch * rows * (size_t)plane, pitch, bytes, width, height);
        else
            copy_plane(frame, plane, surface + pitch * rows + (size_t)(plane - 1) * bytes, pitch, 2 * bytes,
                       (width + 1) / 2, (height + 1) / 2);
    }
}
