/* WebDataset, and Megatron-Energon, which reads the same tar files with an index beside each. A block is a sample: the
 * members that share a key, "00000012.frames.npy", "00000012.cu_seqlens.npy" and so on. Keys are the numbers of blocks,
 * so that they are unique over all shards.
 *
 * Energon: X.tar.idx has the offset of each sample as u64, and where the last one ends; .nv-meta describes the whole
 * (megatron/energon/flavors/webdataset). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/path.h"
#include "export/job.h"
#include "export/tar.h"

#define SHARD_NAME "blocks-%06" PRId64 ".tar"
#define KEY "%08" PRId64

static void member_name(const struct bl_export_array *array, int64_t b, char out[BL_TAR_NAME_MAX])
{
    snprintf(out, BL_TAR_NAME_MAX, KEY ".%s.%s", b, array->name, array->is_ids ? "json" : "npy");
}

/* What comes before the bytes of an array in its member. */
static size_t member_header(char out[BL_NPY_HEADER_MAX], const struct bl_export_array *array)
{
    return array->is_ids ? 0 : bl_npy_header(out, array);
}

/* Bytes of the members of one block, with their headers. */
static int64_t sample_bytes(const struct bl_export_arrays *arrays)
{
    char header[BL_NPY_HEADER_MAX];
    int64_t bytes = 0;
    for (int a = 0; a < arrays->count; a++) {
        int64_t size = (int64_t)(member_header(header, &arrays->array[a]) + arrays->array[a].bytes);
        bytes += BL_TAR_UNIT + size + (int64_t)bl_tar_padding(size);
    }
    return bytes;
}

static int webdataset_check(const struct bl_export_job *job, struct bl_error *e)
{
    const struct bl_export_arrays *arrays = &job->arrays;
    char name[BL_TAR_NAME_MAX];
    for (int a = 0; a < arrays->count; a++) {
        const struct bl_export_array *array = &arrays->array[a];
        member_name(array, arrays->format.blocks, name);
        if (strpbrk(array->name, "/.") || strlen(name) + 1 == BL_TAR_NAME_MAX)
            return bl_error_set(e, BL_EUSAGE,
                                "\"%s\" cannot be the name of a file in a tar: it has a \".\" or \"/\", or "
                                "is too long",
                                array->name);
        if ((int64_t)array->bytes > BL_TAR_BYTES_MAX - BL_NPY_HEADER_MAX)
            return bl_error_set(e, BL_EUSAGE, "%s has %zu bytes a block, more than a file in a tar can have: 8 GiB",
                                array->name, array->bytes);
    }
    return BL_OK;
}

static int64_t webdataset_bytes(const struct bl_export_job *job, int64_t blocks)
{
    return blocks * sample_bytes(&job->arrays) + 2 * BL_TAR_UNIT;
}

static void webdataset_name_part(const struct bl_export_job *job, int64_t part, char out[BL_EXPORT_NAME_MAX])
{
    (void)job;
    snprintf(out, BL_EXPORT_NAME_MAX, SHARD_NAME, part);
}

static int webdataset_block(const struct bl_export_job *job, int64_t b, const struct bl_export_block *block,
                            struct bl_export_part *part, struct bl_error *e)
{
    static const char zeros[BL_TAR_UNIT];
    char header[BL_TAR_UNIT], npy[BL_NPY_HEADER_MAX], name[BL_TAR_NAME_MAX];
    int code = BL_OK;
    for (int a = 0; a < job->arrays.count && !code; a++) {
        const struct bl_export_array *array = &job->arrays.array[a];
        size_t begin = member_header(npy, array);
        int64_t size = (int64_t)(begin + array->bytes);
        member_name(array, b, name);
        bl_tar_header(header, name, size);
        code = bl_export_part_put(part, header, sizeof header, e);
        if (!code)
            code = bl_export_part_put(part, npy, begin, e);
        if (!code)
            code = bl_export_part_put(part, block->data[a], array->bytes, e);
        if (!code)
            code = bl_export_part_put(part, zeros, bl_tar_padding(size), e);
    }
    return code;
}

/* Two empty headers end a tar file. */
static int webdataset_end(const struct bl_export_job *job, struct bl_export_part *part, struct bl_error *e)
{
    static const char zeros[2 * BL_TAR_UNIT];
    (void)job;
    return bl_export_part_put(part, zeros, sizeof zeros, e);
}

/* --- Energon ---------------------------------------------------------------------------------------------------- */

static int energon_write_offsets(const struct bl_export_job *job, int64_t part, struct bl_error *e)
{
    struct bl_buffer offsets = {0};
    char name[BL_EXPORT_NAME_MAX];
    uint64_t sample = (uint64_t)sample_bytes(&job->arrays);
    for (uint64_t i = 0; i <= (uint64_t)bl_export_blocks_of(job, part); i++) {
        uint64_t offset = i * sample;
        bl_buffer_append(&offsets, (const char *)&offset, sizeof offset);
    }
    snprintf(name, sizeof name, SHARD_NAME ".idx", part);
    int code = bl_export_write_file(job, name, &offsets, e);
    bl_buffer_free(&offsets);
    return code;
}

static int energon_write_info(const struct bl_export_job *job, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bl_buffer_text(&text, "{\"shard_counts\": {");
    for (int64_t part = 0; part < job->parts; part++)
        bl_buffer_printf(&text, "%s\n  \"" SHARD_NAME "\": %" PRId64, part ? "," : "", part,
                         bl_export_blocks_of(job, part));
    bl_buffer_text(&text, "\n}}\n");
    int code = bl_export_write_file(job, ".nv-meta/.info.json", &text, e);
    bl_buffer_free(&text);
    return code;
}

static int energon_write_split(const struct bl_export_job *job, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bl_buffer_text(&text, "split_parts:\n  train:\n");
    for (int64_t part = 0; part < job->parts; part++)
        bl_buffer_printf(&text, "  - " SHARD_NAME "\n", part);
    bl_buffer_text(&text, "  val: []\n  test: []\n");
    int code = bl_export_write_file(job, ".nv-meta/split.yaml", &text, e);
    bl_buffer_free(&text);
    return code;
}

static int energon_write_description(const struct bl_export_job *job, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bl_buffer_text(&text, "__module__: megatron.energon\n__class__: CrudeWebdataset\n");
    int code = bl_export_write_file(job, ".nv-meta/dataset.yaml", &text, e);
    bl_buffer_free(&text);
    return code;
}

static int energon_finish(const struct bl_export_job *job, struct bl_error *e)
{
    char *meta = bl_path_join(job->output, ".nv-meta");
    int code = meta ? BL_OK : bl_error_memory(e);
    if (!code && !job->compares)
        code = bl_fs_mkdirs(meta, e);
    for (int64_t part = 0; part < job->parts && !code; part++)
        code = energon_write_offsets(job, part, e);
    if (!code)
        code = energon_write_info(job, e);
    if (!code)
        code = energon_write_split(job, e);
    if (!code)
        code = energon_write_description(job, e);
    free(meta);
    return code;
}

#define COMMON                                                                                                         \
    .shard_size = (int64_t)256 << 20, .most = INT64_MAX, .has_ids = true, .check = webdataset_check,                   \
    .bytes = webdataset_bytes, .name_part = webdataset_name_part, .block = webdataset_block, .end = webdataset_end

const struct bl_export_format bl_export_webdataset = {
    .name = "webdataset", .reader = "WebDataset: webdataset.WebDataset", COMMON};
const struct bl_export_format bl_export_energon = {
    .name = "energon",
    .reader = "Megatron-Energon: megatron.energon.get_train_dataset, bload.energon.BlockEncoder",
    .finish = energon_finish,
    COMMON};
