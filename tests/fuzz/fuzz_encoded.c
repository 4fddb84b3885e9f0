/* Shards with JPEG: whatever header, offsets and files say, nothing outside them is read, and what is refused is told.
 * The first byte says whether the rest is a whole shard, or the tensors behind a header that is right. */
#include <string.h>

#include "fuzz.h"
#include "store/dataset.h"
#include "store/format.h"

#define STEPS 3
#define HEIGHT 6
#define WIDTH 9

static const struct bl_format format = {
    .T = STEPS,
    .S = 1,
    .blocks = 2,
    .blocks_per_shard = 2,
    .plan_digest = "0123456789abcdef",
    .fields = {.count = 1,
               .field = {{.name = "frames", .kind = "video", .dtype = BL_U8, .rank = 3, .shape = {HEIGHT, WIDTH, 3}}}},
    .encoding = {{.kind = BL_ENCODING_JPEG, .quality = 90}}};

/* The header that goes with so many bytes of tensors, and those. */
static void whole(const uint8_t *data, size_t size, struct bl_buffer *out)
{
    struct bl_layout layout;
    struct bl_error e = {0};
    never(bl_layout_make(&layout, &format, 0, &e));
    int64_t fixed = layout.file_size - (int64_t)layout.header.size;
    const int64_t bytes[BL_FIELDS_MAX] = {(int64_t)size > fixed ? (int64_t)size - fixed : 0};
    never(bl_layout_resolve(&layout, &format, bytes, &e));
    bl_buffer_append(out, layout.header.data, layout.header.size);
    bl_buffer_append(out, data, size);
    bl_layout_free(&layout);
}

static void read_blocks(const char *path)
{
    struct bl_dataset dataset = {.shard = 0, .index.fd = -1, .file.fd = -1, .manifest.format = format};
    uint8_t out[STEPS * HEIGHT * WIDTH * 3];
    struct bl_error e = {0};
    dataset.dir = strdup("fuzz");
    dataset.layout = calloc(1, sizeof *dataset.layout);
    int code = dataset.dir && dataset.layout ? bl_shard_reader_open(&dataset.file, path, false, &e) : BL_EFAIL;
    if (!code)
        code = bl_shard_reader_layout(&dataset.file, &format, 0, dataset.layout, &e);
    for (int64_t b = 0; b < format.blocks && !code; b++) {
        bl_error_clear(&e);
        never(bl_dataset_read(&dataset, b, 0, out, &e) && !e.text[0]);
    }
    never(code && !e.text[0]);
    bl_dataset_close(&dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_buffer shard = {0};
    char path[64];
    if (!size)
        return 0;
    if (data[0] & 1)
        bl_buffer_append(&shard, data + 1, size - 1);
    else
        whole(data + 1, size - 1, &shard);
    int fd = fuzz_file((const uint8_t *)shard.data, shard.size, path);
    read_blocks(path);
    close(fd);
    bl_buffer_free(&shard);
    return 0;
}
