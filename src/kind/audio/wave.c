#include "kind/audio/wave.h"

#include <string.h>
#include <unistd.h>

#define CHUNKS_MAX 1000

static uint32_t read_le32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

bool bl_wave_read(const struct bl_demux *d, struct bl_wave *wave)
{
    int64_t at = 12;
    uint8_t chunk[8];
    if (memcmp(d->file.head, "RIFF", 4) != 0 || memcmp(d->file.head + 8, "WAVE", 4) != 0)
        return false;
    for (int i = 0; i < CHUNKS_MAX && bl_media_file_read(&d->file, chunk, sizeof chunk, at) == sizeof chunk; i++) {
        int64_t size = read_le32(chunk + 4);
        at += (int64_t)sizeof chunk;
        if (memcmp(chunk, "data", 4) == 0) {
            *wave = (struct bl_wave){size, d->file.bytes - at};
            return size > 0;
        }
        at += size + (size & 1);
    }
    return false;
}
