/* Tables of sequences: whatever is read can be read back row by row. */
#include "fuzz.h"
#include "store/row_reader.h"
#include "store/sequences.h"

static void read_back(const struct bl_sequences *t)
{
    struct bl_row_reader text = {0};
    struct bl_buffer line = {0};
    for (size_t i = 0; i < t->count; i++) {
        struct bl_error e = {0};
        if (bl_row_reader_read(t, i, &text, &e) == BL_OK)
            bl_row_format(&text.row, &line);
        else if (!e.text[0])
            abort();
    }
    bl_buffer_free(&line);
    bl_row_reader_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = fuzz_file(data, size, path);
    const char *paths = path;
    struct bl_sequences t;
    struct bl_error e = {0};
    if (bl_sequences_open(&t, &paths, 1, false, &e) == BL_OK) {
        read_back(&t);
        bl_sequences_close(&t);
    } else if (!e.text[0]) {
        abort();
    }
    close(fd);
    return 0;
}
