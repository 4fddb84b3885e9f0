/* Lines of manifests of speech: whatever comes out is an entry whose numbers are numbers, with a path that can be
 * opened, or a reason. */
#include <string.h>

#include "fuzz.h"
#include "kind/audio/manifest_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_entry entry = {0};
    struct bl_error e = {0};
    char *line = malloc(size ? size : 1); /* of just its size, so that a read past its end is seen */
    never(!line);
    memcpy(line, data, size);
    for (int again = 0; again < 2; again++) {
        int code = bl_entry_parse(&entry, line, size, &e);
        struct bl_row row = {.start = entry.start, .duration = entry.duration, .channel = entry.channel};
        struct bl_cut cut;
        int64_t begin, end;
        never(code ? code != BL_EDATA || !e.text[0] : !entry.path.size || strlen(entry.path.data) != entry.path.size);
        never(!code && entry.text.size > BL_ENTRY_TEXT_MAX);
        if (code || !bl_cut_parse(&cut, &row))
            continue;
        bl_cut_range(&cut, 192000, &begin, &end);
        never(begin < 0 || end < begin || cut.channels.count < 0 || cut.channels.count > BL_CHANNEL_LIST_MAX);
    }
    bl_entry_free(&entry);
    free(line);
    return 0;
}
