#include "kind/audio/wave.h"

#include <string.h>
#include <unistd.h>

#define CHUNKS_MAX 1000

/* What programs write in the place of a size that they do not know: FFmpeg and libsndfile, SoX and eSpeak, ALSA,
 * opus-tools, Python's writers of streams. */
static bool size_is_open(uint32_t size)
{
    static const uint32_t sizes[] = {0, UINT32_MAX, 0x7ffff000, 0x7fffff00, INT32_MAX, 2000000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i] == size)
            return true;
    }
    return false;
}

static uint32_t read_size(const uint8_t *at, bool big)
{
    uint32_t little = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return big ? __builtin_bswap32(little) : little;
}

bool bl_wave_read(const struct bl_demux *d, struct bl_wave *wave)
{
    int64_t at = 12;
    uint8_t chunk[8];
    bool big = memcmp(d->file.head, "RIFX", 4) == 0;
    if ((!big && memcmp(d->file.head, "RIFF", 4) != 0) || memcmp(d->file.head + 8, "WAVE", 4) != 0)
        return false;
    for (int i = 0; i < CHUNKS_MAX && bl_media_file_read(&d->file, chunk, sizeof chunk, at) == sizeof chunk; i++) {
        uint32_t size = read_size(chunk + 4, big);
        at += (int64_t)sizeof chunk;
        if (memcmp(chunk, "data", 4) == 0) {
            *wave = (struct bl_wave){.claimed = size, .present = d->file.bytes - at};
            wave->open = size_is_open(size) && wave->claimed != wave->present;
            return true;
        }
        at += (int64_t)size + (size & 1);
    }
    return false;
}
