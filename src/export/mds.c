/* MDS version 2, of MosaicML Streaming (streaming/base/format/mds/writer.py). A shard, with little-endian numbers:
 *
 *     u32 N | u32 offset[N + 1] | configuration, as JSON | N samples
 *
 * A sample is the columns of a block one after the other, in the order of their names; all have a fixed size, so that
 * no sizes are stored, and stock collation works. Offsets count from the beginning of the file, and the last is its
 * end. index.json lists the shards with their sizes and hashes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/export.h"
#include "store/plan_info.h"

#define HASH "xxh3_64" /* Streaming's name of XXH3 with 64 bits */

/* Returns the encoding of a column: "ndarray:uint8:94,224,224,3", or "int32" for a number. NULL: out of memory. */
static json_t *encoding_of(const struct bl_export_array *array)
{
    /* The names of numpy. BF16 and BOOL are stored by their bytes. */
    static const char *const names[] = {
        [BL_U8] = "uint8",    [BL_I8] = "int8",     [BL_BOOL] = "uint8", [BL_I16] = "int16",  [BL_U16] = "uint16",
        [BL_F16] = "float16", [BL_BF16] = "uint16", [BL_I32] = "int32",  [BL_U32] = "uint32", [BL_F32] = "float32",
        [BL_I64] = "int64",   [BL_U64] = "uint64",  [BL_F64] = "float64"};
    struct bl_buffer text = {0};
    if (array->rank)
        bl_buffer_text(&text, "ndarray:");
    bl_buffer_text(&text, names[array->dtype]);
    for (int i = 0; i < array->rank; i++)
        bl_buffer_printf(&text, "%c%" PRId64, i ? ',' : ':', array->shape[i]);
    json_t *value = text.failed ? NULL : json_string(text.data);
    bl_buffer_free(&text);
    return value;
}

/* Returns the members that the configuration in a shard and its entry in index.json have in common. NULL: out of
 * memory. */
static json_t *configuration(const struct bl_export_job *job)
{
    json_t *names = json_array(), *encodings = json_array(), *sizes = json_array(), *hashes = json_array();
    for (int a = 0; a < job->arrays.count; a++) {
        const struct bl_export_array *array = &job->arrays.array[a];
        bl_jansson_push(&names, bl_jansson_escaped(array->name));
        bl_jansson_push(&encodings, array->is_ids ? json_string("json") : encoding_of(array));
        bl_jansson_push(&sizes, json_integer((json_int_t)array->bytes));
    }
    bl_jansson_push(&hashes, json_string(HASH));
    char zstd[16] = "";
    snprintf(zstd, sizeof zstd, "zstd:%d", job->compress.level);
    json_t *object = json_object();
    bl_jansson_set(&object, "version", json_integer(2));
    bl_jansson_set(&object, "format", json_string("mds"));
    bl_jansson_set(&object, "compression", job->compress.on ? json_string(zstd) : json_null());
    bl_jansson_set(&object, "hashes", hashes);
    bl_jansson_set(&object, "size_limit", json_integer(job->shard_size));
    bl_jansson_set(&object, "column_names", names);
    bl_jansson_set(&object, "column_encodings", encodings);
    bl_jansson_set(&object, "column_sizes", sizes);
    return object;
}

/* Appends the configuration as it stands in a shard. */
static int configuration_append(const struct bl_export_job *job, struct bl_buffer *out, struct bl_error *e)
{
    return bl_jansson_append_compact(configuration(job), out, e);
}

/* Returns the bytes of a shard of so many blocks. Out of memory makes it too small; then mds_begin fails as well. */
static int64_t mds_bytes(const struct bl_export_job *job, int64_t blocks)
{
    struct bl_buffer text = {0};
    struct bl_error e = {0};
    int64_t size = configuration_append(job, &text, &e) ? 0 : (int64_t)text.size;
    bl_buffer_free(&text);
    return 4 + 4 * (blocks + 1) + size + blocks * (int64_t)job->arrays.bytes;
}

/* Formats "shard.00003.mds", or "shard.00003.mds.zstd" for a compressed file; index.json has both names. */
static void mds_name_part(const struct bl_export_job *job, int64_t part, char out[BL_EXPORT_NAME_MAX])
{
    snprintf(out, BL_EXPORT_NAME_MAX, "shard.%05" PRId64 ".mds%s", part, job->compress.on ? ".zstd" : "");
}

/* Puts the head of the shard: the number of samples, their offsets, and the configuration. */
static int mds_begin(const struct bl_export_job *job, int64_t blocks, struct bl_export_part *part, struct bl_error *e)
{
    struct bl_buffer text = {0};
    uint32_t count = (uint32_t)blocks;
    int code = configuration_append(job, &text, e);
    if (!code)
        code = bl_export_part_put(part, &count, sizeof count, e);
    for (int64_t b = 0; b <= blocks && !code; b++) {
        uint32_t offset = (uint32_t)(4 + 4 * (blocks + 1) + (int64_t)text.size + b * (int64_t)job->arrays.bytes);
        code = bl_export_part_put(part, &offset, sizeof offset, e);
    }
    if (!code)
        code = bl_export_part_put(part, text.data, text.size, e);
    bl_buffer_free(&text);
    return code;
}

/* Puts a sample. */
static int mds_block(const struct bl_export_job *job, int64_t b, const struct bl_export_block *block,
                     struct bl_export_part *part, struct bl_error *e)
{
    int code = BL_OK;
    (void)b;
    for (int a = 0; a < job->arrays.count && !code; a++)
        code = bl_export_part_put(part, block->data[a], job->arrays.array[a].bytes, e);
    return code;
}

/* Returns the object of a file, with its size and hash. NULL: out of memory. */
static json_t *file_entry(const char *name, int64_t bytes, uint64_t checksum)
{
    char digest[BL_DIGEST_SIZE];
    json_t *file = json_object(), *hashes = json_object();
    bl_checksum_format(checksum, digest);
    bl_jansson_set(&hashes, HASH, json_string(digest));
    bl_jansson_set(&file, "basename", json_string(name));
    bl_jansson_set(&file, "bytes", json_integer(bytes));
    bl_jansson_set(&file, "hashes", hashes);
    return file;
}

/* Returns the entry of a shard in index.json. The reader checks the raw data and, if there is one, the compressed file.
 * NULL: out of memory. */
static json_t *shard_entry(const struct bl_export_job *job, int64_t part)
{
    const struct bl_export_record *record = &job->record[part];
    char name[BL_EXPORT_NAME_MAX], raw[BL_EXPORT_NAME_MAX];
    mds_name_part(job, part, name);
    snprintf(raw, sizeof raw, "shard.%05" PRId64 ".mds", part);
    json_t *entry = configuration(job);
    bl_jansson_set(&entry, "samples", json_integer(bl_export_blocks_of(job, part)));
    bl_jansson_set(&entry, "raw_data", file_entry(raw, record->bytes, record->checksum));
    bl_jansson_set(&entry, "zip_data",
                   job->compress.on ? file_entry(name, record->zip_bytes, record->zip_checksum) : json_null());
    return entry;
}

/* Writes index.json. */
static int mds_finish(const struct bl_export_job *job, struct bl_error *e)
{
    struct bl_buffer text = {0};
    json_t *shards = json_array(), *index = json_object();
    for (int64_t part = 0; part < job->parts; part++)
        bl_jansson_push(&shards, shard_entry(job, part));
    bl_jansson_set(&index, "version", json_integer(2));
    bl_jansson_set(&index, "shards", shards);
    int code = bl_jansson_append_compact(index, &text, e);
    if (!code)
        code = bl_export_write_file(job, "index.json", &text, e);
    bl_buffer_free(&text);
    return code;
}

const struct bl_export_format bl_export_mds = {
    .name = "mds",
    .reader = "MosaicML Streaming: streaming.StreamingDataset",
    .shard_size = (int64_t)64 << 20,
    .most = UINT32_MAX,
    .compresses = true,
    .has_ids = true,
    .has_own = true,
    .bytes = mds_bytes,
    .name_part = mds_name_part,
    .begin = mds_begin,
    .block = mds_block,
    .finish = mds_finish,
};
