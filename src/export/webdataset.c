/* WebDataset and Energon: tar files whose members are NPY files, and the files that Energon reads beside them.
 *
 * A block is a sample, and an array of it a member. With the arrays tokens and sequence_ids, block 12 has the members
 * 00000012.sequence_ids.npy and 00000012.tokens.npy. All samples have the same size, which makes the offsets of
 * Energon's index multiples of it. */
#include "export/webdataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "export/export.h"
#include "kind/npy.h"

/* --- tar files ---------------------------------------------------------------------------------------------------- */

/* Members of tar files (POSIX ustar) whose contents are NPY files. */

/* Fields of the header, by offset. */
enum { NAME = 0, MODE = 100, UID = 108, GID = 116, SIZE = 124, MTIME = 136, SUM = 148, TYPE = 156, MAGIC = 257 };

/* Formats the header of a regular file that anybody may read. Nothing else in it depends on time or user, so that the
 * same export has the same bytes. Numbers are octal digits. The sum is that of all bytes of the header, with spaces in
 * the place of the sum itself. name: shorter than BL_TAR_NAME_MAX. */
static void tar_header(char out[BL_TAR_UNIT], const char *name, int64_t bytes)
{
    unsigned sum = 0;
    memset(out, 0, BL_TAR_UNIT);
    snprintf(out + NAME, BL_TAR_NAME_MAX, "%s", name);
    memcpy(out + MODE, "0000644", 8);
    memcpy(out + UID, "0000000", 8);
    memcpy(out + GID, "0000000", 8);
    snprintf(out + SIZE, 12, "%011" PRIo64, bytes);
    memcpy(out + MTIME, "00000000000", 12);
    memset(out + SUM, ' ', 8);
    out[TYPE] = '0';
    memcpy(out + MAGIC, "ustar\00000", 8);
    for (int i = 0; i < BL_TAR_UNIT; i++)
        sum += (unsigned char)out[i];
    snprintf(out + SUM, 7, "%06o", sum); /* then a NUL and a space */
}

/* Bytes that follow a member, up to the next header. */
static size_t tar_padding(int64_t bytes)
{
    return (size_t)((BL_TAR_UNIT - bytes % BL_TAR_UNIT) % BL_TAR_UNIT);
}

size_t bl_npy_header(char out[BL_NPY_HEADER_MAX], const struct bl_export_array *array)
{
    /* The descr of NPY. BF16, which numpy does not have, is stored as U16. */
    static const char *const names[] = {
        [BL_U8] = "|u1",  [BL_I8] = "|i1",   [BL_BOOL] = "|b1", [BL_I16] = "<i2", [BL_U16] = "<u2",
        [BL_F16] = "<f2", [BL_BF16] = "<u2", [BL_I32] = "<i4",  [BL_U32] = "<u4", [BL_F32] = "<f4",
        [BL_I64] = "<i8", [BL_U64] = "<u8",  [BL_F64] = "<f8"};
    enum { BEGIN = BL_NPY_MAGIC_SIZE + 4 };
    size_t at = BEGIN, left = BL_NPY_HEADER_MAX - BEGIN;
    at += (size_t)snprintf(out + at, left, "{'descr': '%s', 'fortran_order': False, 'shape': (", names[array->dtype]);
    for (int i = 0; i < array->rank; i++)
        at += (size_t)snprintf(out + at, BL_NPY_HEADER_MAX - at, "%s%" PRId64 "%s", i ? " " : "", array->shape[i],
                               i + 1 < array->rank || array->rank == 1 ? "," : "");
    at += (size_t)snprintf(out + at, BL_NPY_HEADER_MAX - at, "), }");
    size_t end = (at + 1 + 63) / 64 * 64;
    memset(out + at, ' ', end - at);
    out[end - 1] = '\n';
    memcpy(out, BL_NPY_MAGIC "\1\0", BL_NPY_MAGIC_SIZE + 2);
    out[BL_NPY_MAGIC_SIZE + 2] = (char)((end - BEGIN) & 0xff);
    out[BL_NPY_MAGIC_SIZE + 3] = (char)((end - BEGIN) >> 8);
    return end;
}

/* --- webdataset --------------------------------------------------------------------------------------------------- */

#define SHARD_NAME "blocks-%06" PRId64 ".tar"
#define KEY "%08" PRId64

/* Formats the name of the file of an array: "00000012.video.npy". What is before the first dot is the key of the
 * sample. */
static void member_name(const struct bl_export_array *array, int64_t b, char out[BL_TAR_NAME_MAX])
{
    snprintf(out, BL_TAR_NAME_MAX, KEY ".%s.%s", b, array->name, array->is_ids ? "json" : "npy");
}

/* Formats the bytes before the data of an array in its tar member: the NPY header, or nothing
 * for the ids, which are JSON. Returns their number. */
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
        bytes += BL_TAR_UNIT + size + (int64_t)tar_padding(size);
    }
    return bytes;
}

/* Checks that names and sizes fit a tar file. A dot in the name of an array would belong to its extension. */
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

/* All samples have the same size; two empty headers end the file. */
static int64_t webdataset_bytes(const struct bl_export_job *job, int64_t blocks)
{
    return blocks * sample_bytes(&job->arrays) + 2 * BL_TAR_UNIT;
}

/* Formats "blocks-000003.tar". */
static void webdataset_name_part(const struct bl_export_job *job, int64_t part, char out[BL_EXPORT_NAME_MAX])
{
    (void)job;
    snprintf(out, BL_EXPORT_NAME_MAX, SHARD_NAME, part);
}

/* Puts the members of a sample: a tar header, the NPY header, the data, and zeros up to the next unit. */
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
        tar_header(header, name, size);
        code = bl_export_part_put(part, header, sizeof header, e);
        if (!code)
            code = bl_export_part_put(part, npy, begin, e);
        if (!code)
            code = bl_export_part_put(part, block->data[a], array->bytes, e);
        if (!code)
            code = bl_export_part_put(part, zeros, tar_padding(size), e);
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

/* Writes X.tar.idx of a part: the offset of each sample and the end, all multiples of the constant size of a sample. */
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
    return bl_export_write_file(job, name, &offsets, e);
}

/* Writes the number of samples of each shard. */
static int energon_write_info(const struct bl_export_job *job, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bl_buffer_text(&text, "{\"shard_counts\": {");
    for (int64_t part = 0; part < job->parts; part++)
        bl_buffer_printf(&text, "%s\n  \"" SHARD_NAME "\": %" PRId64, part ? "," : "", part,
                         bl_export_blocks_of(job, part));
    bl_buffer_text(&text, "\n}}\n");
    return bl_export_write_file(job, ".nv-meta/.info.json", &text, e);
}

/* Writes which shards are for training: all. */
static int energon_write_split(const struct bl_export_job *job, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bl_buffer_text(&text, "split_parts:\n  train:\n");
    for (int64_t part = 0; part < job->parts; part++)
        bl_buffer_printf(&text, "  - " SHARD_NAME "\n", part);
    bl_buffer_text(&text, "  val: []\n  test: []\n");
    return bl_export_write_file(job, ".nv-meta/split.yaml", &text, e);
}

/* Writes the files that Energon needs beside the tar files. A comparison makes no folder. */
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
    struct bl_buffer text = {0};
    bl_buffer_text(&text, "__module__: megatron.energon\n__class__: CrudeWebdataset\n");
    if (!code)
        code = bl_export_write_file(job, ".nv-meta/dataset.yaml", &text, e);
    bl_buffer_free(&text);
    free(meta);
    return code;
}

#define COMMON                                                                                                         \
    .shard_size = (int64_t)256 << 20, .most = INT64_MAX, .has_ids = true, .check = webdataset_check,                   \
    .bytes = webdataset_bytes, .name_part = webdataset_name_part, .block = webdataset_block, .end = webdataset_end

const struct bl_export_format bl_export_webdataset = {
    .name = "webdataset", .reader = "WebDataset: webdataset.WebDataset", .has_own = true, COMMON};

const struct bl_export_format bl_export_energon = {
    .name = "energon",
    .reader = "Megatron-Energon: megatron.energon.get_train_dataset, bload.energon.BlockEncoder",
    .finish = energon_finish,
    COMMON};
