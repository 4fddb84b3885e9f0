#include "kind/media/png_notes.h"

#include <libavutil/intreadwrite.h>
#include <stdbool.h>
#include <string.h>

#define SIGNATURE 8 /* bytes; packets of APNG have none */
#define AROUND 12   /* bytes of a chunk beside its data: length, name, checksum */

static bool chunk_is_note(const uint8_t *name)
{
    static const char notes[][5] = {"tEXt", "zTXt", "iTXt", "iCCP", "eXIf"};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        if (memcmp(name, notes[i], 4) == 0)
            return true;
    }
    return false;
}

size_t bl_png_drop_notes(uint8_t *data, size_t size)
{
    size_t at = size >= SIGNATURE && memcmp(data, "\x89PNG\r\n\x1a\n", SIGNATURE) == 0 ? SIGNATURE : 0, kept = at;
    while (size - at >= AROUND && AV_RB32(data + at) <= size - at - AROUND) {
        size_t chunk = AV_RB32(data + at) + AROUND;
        if (!chunk_is_note(data + at + 4)) {
            memmove(data + kept, data + at, chunk);
            kept += chunk;
        }
        at += chunk;
    }
    memmove(data + kept, data + at, size - at);
    return kept + size - at;
}
