/* Seek tables: frames that are accepted lie within the file, and none is larger than a frame may be. */
#include "fuzz.h"
#include "store/shard_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_seekable table = {0};
    struct bl_error e = {0};
    int64_t file = (int64_t)size + 100000, bytes;
    if (size >= BL_SEEKABLE_FOOTER)
        (void)bl_seekable_footer(data + size - BL_SEEKABLE_FOOTER, file, &bytes, &e);
    bl_error_clear(&e);
    if (bl_seekable_parse(data, size, file, &table, &e) == BL_OK) {
        for (size_t i = 0; i < table.frames; i++) {
            never(table.frame[i + 1].offset < table.frame[i].offset || table.frame[i + 1].offset > file);
        }
        bl_seekable_free(&table);
    } else if (!e.text[0]) {
        abort();
    }
    return 0;
}
