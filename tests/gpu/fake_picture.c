/* Pictures made of nothing but a number: slopes that go up and down, gentle enough that scaled ones can be compared. */
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
