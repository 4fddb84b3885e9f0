/* Chunks of the spool: rows and steps of any bytes, with a right checksum of the rows, or a wrong one. */
#include <string.h>

#include "base/checksum.h"
#include "fuzz.h"
#include "kind/text/spool.h"
#include "kind/text/text.h"

#define INPUTS 3
#define HEAD 56 /* bytes before the rows */
#define KEY 1

static char folder[] = "/tmp/bload-fuzz-XXXXXX";
static char rows[64], steps[64];

static void clean(void)
{
    unlink(rows);
    unlink(steps);
    rmdir(folder);
}

static void put(const char *path, const void *a, size_t size_a, const void *b, size_t size_b)
{
    FILE *file = fopen(path, "wb");
    never(!file || fwrite(a, 1, size_a, file) != size_a || fwrite(b, 1, size_b, file) != size_b || fclose(file));
}

/* The first byte says how much of the input is rows, and whether their checksum is right; the rest is the steps. */
static void put_chunk(const uint8_t *data, size_t size)
{
    uint64_t word[HEAD / 8] = {0, KEY, 5, 0, 0, 0, 0};
    size_t part = size * (data[0] >> 1) / 128;
    uint64_t sum = bl_checksum(data + 1, part ? part - 1 : 0);
    part = part ? part - 1 : 0;
    memcpy(word, "blspool6", 8);
    word[4] = part;
    word[5] = size - 1 - part;
    word[6] = data[0] & 1 ? sum : sum + 1;
    uint8_t head[HEAD + 8] = {0};
    memcpy(head, word, HEAD);
    memcpy(head + HEAD, &(uint64_t){1}, 8); /* synced */
    FILE *file = fopen(rows, "wb");
    never(!file || fwrite(head, 1, sizeof head, file) != sizeof head || fwrite(data + 1, 1, part, file) != part ||
          fclose(file));
    put(steps, data + 1 + part, size - 1 - part, "", 0);
}

/* Reads every document that the index has, which may not be what was written, but lies in the file. */
static void read_all(const struct bl_spool_index *index, int64_t size)
{
    static struct bl_spool_window window;
    static uint8_t out[1 << 16];
    struct bl_error e = {0};
    bool is_copy;
    int fd = bl_spool_open(folder, NULL, KEY, &is_copy, &e);
    window.size = 0;
    for (size_t i = 0; fd >= 0 && i < index->documents; i++) {
        struct bl_spool_location place;
        if (!bl_spool_index_find(index, "a", index->document[i].offset, &place))
            continue;
        never(place.start < 0 || place.bytes < 0 || place.start + bl_spool_stored(place.bytes) > size);
        const struct bl_spool_steps at = {folder, KEY, fd, place.start, place.bytes};
        size_t some = place.bytes < (int64_t)sizeof out ? (size_t)place.bytes : sizeof out;
        (void)bl_spool_read(&window, &at, place.bytes - (int64_t)some, out, some, &e);
    }
    if (fd >= 0)
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_input input[INPUTS] = {{.path = "a"}, {.path = "b"}, {.path = "c"}};
    struct bl_chunk chunk = {.input = input, .inputs = INPUTS, .end = INT64_MAX, .receipt = KEY};
    struct bl_spool_index index = {0};
    struct bl_error e = {0};
    bool found, changed;
    never(!*rows && (!mkdtemp(folder) || snprintf(rows, sizeof rows, "%s/%016x.rows", folder, KEY) < 0 ||
                     snprintf(steps, sizeof steps, "%s/%016x.steps", folder, KEY) < 0 || atexit(clean)));
    if (!size)
        return 0;
    put_chunk(data, size);
    if (bl_spool_find(folder, NULL, KEY, INPUTS, (struct bl_spool_stamp){5, 0}, &found, &changed, &e) && !e.text[0])
        abort();
    if (bl_spool_index_add(&index, folder, &chunk, &e) == BL_OK)
        read_all(&index, (int64_t)size);
    else if (!e.text[0])
        abort();
    bl_spool_index_free(&index);
    return 0;
}
