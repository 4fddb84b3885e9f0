/* Heartbeats: what is accepted tells whose it is, and comes back from its own text; else a message. */
#include <string.h>

#include "fuzz.h"
#include "run/heartbeat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_beat beat, again;
    struct bl_error e = {0};
    struct bl_buffer text = {0}, more = {0};
    int code = bl_beat_parse(&beat, (const char *)data, size, &e);
    never(code ? code != BL_EDATA || !e.text[0] : beat.task < 0 || beat.task >= beat.tasks);
    if (!code) {
        bl_beat_format(&beat, &text);
        never(bl_beat_parse(&again, text.data, text.size, &e));
        bl_beat_format(&again, &more);
        never(strcmp(text.data, more.data) != 0);
    }
    bl_buffer_free(&text);
    bl_buffer_free(&more);
    return 0;
}
