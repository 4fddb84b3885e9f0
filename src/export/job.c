#include "export/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/output.h"
#include "base/path.h"
#include "export/ids.h"

int64_t bl_export_first_block(const struct bl_export_job *job, int64_t part)
{
    return part * job->blocks_per_part;
}

int64_t bl_export_blocks_of(const struct bl_export_job *job, int64_t part)
{
    int64_t left = job->arrays.format.blocks - bl_export_first_block(job, part);
    return left < job->blocks_per_part ? left : job->blocks_per_part;
}

int bl_export_part_path(const struct bl_export_job *job, int64_t part, struct bl_buffer *path, struct bl_error *e)
{
    char name[BL_EXPORT_NAME_MAX];
    job->format->name_part(job, part, name);
    bl_buffer_clear(path);
    bl_buffer_printf(path, "%s/%s", job->output, name);
    return bl_buffer_check(path, e);
}

/* Divides the blocks into parts, as large as is allowed. */
static int job_divide(struct bl_export_job *job, struct bl_error *e)
{
    int64_t blocks = job->arrays.format.blocks, low = 1, high = blocks;
    int64_t most = job->shard_size < job->format->most ? job->shard_size : job->format->most;
    if (job->format->bytes(job, 1) > job->format->most)
        return bl_error_set(e, BL_EUSAGE, "a block has %zu bytes, and a file of %s at most %" PRId64, job->arrays.bytes,
                            job->format->name, job->format->most);
    if (high > most / (int64_t)job->arrays.bytes + 1)
        high = most / (int64_t)job->arrays.bytes + 1; /* no size of more blocks can overflow */
    while (low < high) {
        int64_t middle = high - (high - low) / 2;
        if (job->format->bytes(job, middle) <= most)
            low = middle;
        else
            high = middle - 1;
    }
    job->blocks_per_part = low;
    job->parts = (blocks + low - 1) / low;
    job->record = calloc((size_t)job->parts, sizeof *job->record);
    return job->record ? BL_OK : bl_error_memory(e);
}

int bl_export_job_set(struct bl_export_job *job, struct bl_blocks *blocks, struct bl_error *e)
{
    const struct bl_export_format *format = job->format;
    job->blocks = blocks;
    job->shard_size = job->shard_size ? job->shard_size : format->shard_size;
    if (job->compress.on && !format->compresses)
        return bl_error_set(e, BL_EUSAGE, "--compress: readers of %s take plain files only", format->name);
    if (job->field && format != &bl_export_megatron)
        return bl_error_set(e, BL_EUSAGE, "--field is for --to megatron; %s has all fields", format->name);
    if (job->ids && !format->has_ids)
        return bl_error_set(e, BL_EUSAGE, "--ids: files of %s have tokens alone, and no place for ids", format->name);
    size_t ids = 0;
    int code = job->ids ? bl_export_ids_size(blocks, job->cancel, &ids, e) : BL_OK;
    if (!code)
        code = bl_export_arrays_set(&job->arrays, blocks, ids, e);
    if (!code && format->check)
        code = format->check(job, e);
    return code ? code : job_divide(job, e);
}

void bl_export_job_free(struct bl_export_job *job)
{
    free(job->record);
    job->record = NULL;
}

static int job_compare_file(const char *path, const struct bl_buffer *text, struct bl_error *e)
{
    struct bl_buffer there = {0};
    int code = bl_io_check_path(path, e);
    if (!code)
        code = bl_io_read_file(path, text->size + 1, &there, e);
    if (!code)
        code = bl_buffer_check(&there, e);
    if (!code && (there.size != text->size || memcmp(there.data, text->data, text->size) != 0))
        code = bl_error_set(e, BL_EDATA, "it differs from what the export had");
    bl_buffer_free(&there);
    return code ? BL_EDATA : BL_OK;
}

int bl_export_write_file(const struct bl_export_job *job, const char *name, const struct bl_buffer *text,
                         struct bl_error *e)
{
    int code = bl_buffer_check(text, e);
    char *path = code ? NULL : bl_path_join(job->output, name);
    if (!code && !path)
        code = bl_error_memory(e);
    if (!code)
        code = job->compares ? job_compare_file(path, text, e) : bl_output_replace(path, text->data, text->size, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", name);
    free(path);
    return code;
}

int bl_export_open_file(const struct bl_export_job *job, const char *name, struct bl_export_part *file,
                        struct bl_error *e)
{
    const struct bl_compress plain = {0};
    char *path = bl_path_join(job->output, name);
    if (!path)
        return bl_error_memory(e);
    int code = !job->compares                          ? bl_export_part_open(file, path, &plain, 0, e)
               : bl_export_part_compare(file, path, e) ? BL_EDATA
                                                       : BL_OK;
    free(path);
    return code;
}
