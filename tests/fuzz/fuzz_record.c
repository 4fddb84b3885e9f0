/* Records of shards, the texts that end with their checksum, and the plans of tasks. */
#include <string.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "fuzz.h"
#include "store/index.h"
#include "store/plan_info.h"
#include "store/shard_table.h"

static char folder[] = "/tmp/bload-fuzz-XXXXXX";
static char work[64], path[96];

static void clean(void)
{
    unlink(path);
    rmdir(work);
    rmdir(folder);
}

static void put(const struct bl_buffer *text)
{
    FILE *file = fopen(path, "wb");
    never(!file || fwrite(text->data, 1, text->size, file) != text->size || fclose(file));
}

static void try_record(struct bl_buffer *text)
{
    struct bl_format format = {.T = 4, .blocks = 6, .blocks_per_shard = 2, .fields = {.count = 1}};
    struct bl_shard_record record;
    struct bl_error e = {0};
    bool found;
    memset(format.plan_digest, 'a', BL_DIGEST_SIZE - 1);
    never(bl_sealed_close(text, &e));
    put(text);
    if (bl_shard_record_read(&record, &format, folder, 1, &found, &e) == BL_OK && found)
        bl_shard_record_free(&record);
}

static void try_plan(const uint8_t *data, size_t size)
{
    static const int64_t length[] = {3, 2, 4, 1};
    struct bl_plan_info info = {0};
    struct bl_plan plan = {0};
    struct bl_error e = {0};
    (void)bl_plan_info_read(&info, path, &e);
    char name[64];
    int fd = fuzz_file(data, size, name);
    if (bl_index_load(&plan, name, 4, 0, length, 4, NULL, &info, &e) == BL_OK)
        bl_plan_free(&plan);
    else if (!e.text[0])
        abort();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_buffer text = {0};
    never(!*path && (!mkdtemp(folder) || snprintf(work, sizeof work, "%s/.bload", folder) < 0 || mkdir(work, 0777) ||
                     snprintf(path, sizeof path, "%s/shard-00000001.record", work) < 0 || atexit(clean)));
    /* The first lines are the same always, and the checksum right: what is between is of interest. */
    bl_buffer_text(&text, "bload shard record 1\nplan aaaaaaaaaaaaaaaa\nshard 1 blocks 2 from 2 fields 1\n");
    bl_buffer_append(&text, data, size);
    try_record(&text);
    bl_buffer_clear(&text);
    bl_buffer_append(&text, data, size);
    struct bl_error e = {0};
    never(bl_sealed_close(&text, &e));
    put(&text);
    try_plan(data, size);
    bl_buffer_free(&text);
    return 0;
}
