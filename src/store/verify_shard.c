/* A shard is read in file order: the header, which follows from the manifest to the byte; tables, row by row against
 * the plan; fields, block by block against the checksums of the index. The checksum of the whole shard is computed on
 * the way; it is compared only if no other fault was found. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "store/codec.h"
#include "store/shard_check.h"
#include "store/verify.h"

#define CHUNK ((int64_t)1 << 20)

static int check_read_block(struct bl_shard_check *w, int64_t offset, int64_t size, const char *what,
                            uint64_t *checksum, struct bl_error *e)
{
    struct bl_checksum_state sum;
    int code = BL_OK;
    bl_checksum_begin(&sum);
    for (int64_t at = 0; at < size && !code; at += w->chunk_size) {
        int64_t part = size - at < w->chunk_size ? size - at : w->chunk_size;
        code = bl_shard_check_read(w, offset + at, part, w->chunk, what, e);
        if (!code)
            bl_checksum_add(&sum, w->chunk, (size_t)part);
    }
    *checksum = bl_checksum_end(&sum);
    return code;
}

static int check_block(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row, struct bl_error *e)
{
    const struct bl_verify *v = w->verify;
    int64_t b = w->layout.first_block + row;
    char what[BL_FIELD_NAME_MAX + 32];
    uint64_t checksum = 0;
    int64_t listed = 0;
    snprintf(what, sizeof what, "block %" PRId64 " of %s", b, tensor->tensor.name);
    int code = tensor->varies ? bl_shard_check_read_steps(w, tensor, row, what, &checksum, e)
                              : check_read_block(w, bl_layout_offset(&w->layout, tensor, row), tensor->row_bytes, what,
                                                 &checksum, e);
    if (code)
        return code == BL_EDATA ? BL_OK : code;
    bl_shard_check_add_region(w, checksum);
    if (v->has_index)
        code = bl_index_read(&v->index, BL_INDEX_BLOCK_CHECKSUM, b * w->format->fields.count + tensor->field, 1,
                             &listed, e);
    if (code)
        return code;
    if (v->has_index && (uint64_t)listed != checksum)
        bl_shard_check_report(w, "%s: checksum %016" PRIx64 ", the index says %016" PRIx64, what, checksum,
                              (uint64_t)listed);
    return BL_OK;
}

static int check_header(struct bl_shard_check *w, struct bl_error *e)
{
    const struct bl_buffer *header = &w->layout.header;
    char *head = malloc(header->size);
    if (!head)
        return bl_error_memory(e);
    int code = bl_shard_check_read(w, 0, (int64_t)header->size, head, "the header", e);
    if (code)
        goto out;
    if (memcmp(head, header->data, header->size) != 0)
        bl_shard_check_report(w, "its header does not match the manifest");
    bl_shard_check_add_region(w, bl_checksum(head, header->size));
out:
    free(head);
    return code == BL_EDATA ? BL_OK : code;
}

/* Frames must begin where header, tables and blocks begin, and each time the format's frame size is full within these.
 */
static bool check_frames_are_aligned(const struct bl_shard_check *w)
{
    const struct bl_seekable *s = &w->file.seekable;
    size_t i = 0;
    int64_t at = 0, most = (int64_t)bl_format_frame_size(w->format);
    for (int t = -1; t < w->layout.tensors; t++) {
        const struct bl_shard_tensor *tensor = t < 0 ? NULL : &w->layout.tensor[t];
        int64_t regions = tensor && tensor->field >= 0 ? w->layout.blocks : 1;
        int64_t size = !tensor              ? (int64_t)w->layout.header.size
                       : tensor->field >= 0 ? tensor->row_bytes
                                            : tensor->row_bytes * w->layout.blocks;
        for (int64_t n = 0; n < regions; n++, at += size) {
            for (int64_t part = 0; part < size; part += most, i++) {
                if (i >= s->frames || s->frame[i].content != at + part)
                    return false;
            }
        }
    }
    return i == s->frames;
}

/* Checks size and frames. BL_EDATA: the file cannot be read further. */
static int check_file(struct bl_shard_check *w, const struct bl_shard_row *row)
{
    if (w->file.size != w->layout.file_size) {
        bl_shard_check_report(w, "has %" PRId64 " bytes%s, expected %" PRId64, w->file.size,
                              w->file.compressed ? " of content" : "", w->layout.file_size);
        return BL_EDATA;
    }
    if (row && w->file.bytes != row->bytes)
        bl_shard_check_report(w, "has %" PRId64 " bytes, " BL_SHARDS_FILE " says %" PRId64, w->file.bytes, row->bytes);
    if (w->file.compressed && !check_frames_are_aligned(w)) {
        bl_shard_check_report(w, "its frames do not match header, tables and blocks");
        return BL_EDATA;
    }
    return BL_OK;
}

static int check_shard_checksum(struct bl_shard_check *w, const struct bl_shard_row *row, struct bl_error *e)
{
    uint64_t checksum = bl_checksum_end(&w->sum), table = 0;
    if (!row || w->faults)
        return BL_OK;
    if (w->file.compressed) {
        int code = bl_shard_reader_table_checksum(&w->file, &table, e);
        if (code)
            return code;
        struct bl_checksum_state sum;
        bl_checksum_begin(&sum);
        bl_checksum_add(&sum, w->file.frame_checksum, w->file.seekable.frames * sizeof *w->file.frame_checksum);
        bl_checksum_add(&sum, &table, sizeof table);
        checksum = bl_checksum_end(&sum);
    }
    if (checksum != row->checksum)
        bl_shard_check_report(w, "checksum %016" PRIx64 ", " BL_SHARDS_FILE " says %016" PRIx64, checksum,
                              row->checksum);
    return BL_OK;
}

static int check_contents(struct bl_shard_check *w, struct bl_error *e)
{
    int code = check_header(w, e);
    for (int t = 0; t < w->layout.tensors && !code; t++) {
        const struct bl_shard_tensor *tensor = &w->layout.tensor[t];
        if (tensor->table >= 0)
            code = bl_shard_check_table(w, tensor, e);
        else if (tensor->offsets)
            code = bl_shard_check_offsets(w, tensor, e);
        for (int64_t row = 0; tensor->field >= 0 && !tensor->offsets && row < w->layout.blocks && !code; row++)
            code = check_block(w, tensor, row, e);
    }
    return code;
}

/* The size of the buffer: for a row of a table, the JPEG file of a step, or part of a block. */
static int64_t check_chunk_size(const struct bl_shard_check *w)
{
    int64_t size = CHUNK;
    for (int t = 0; t < w->layout.tensors; t++) {
        const struct bl_shard_tensor *tensor = &w->layout.tensor[t];
        int64_t needed = 0;
        if (tensor->table >= 0)
            needed = tensor->row_bytes;
        else if (tensor->varies)
            needed = (int64_t)(bl_codec_max_size(w->format, tensor->field) / (size_t)w->format->T);
        size = needed > size ? needed : size;
    }
    return size;
}

static int check_prepare(struct bl_shard_check *w, struct bl_error *e)
{
    w->chunk_size = check_chunk_size(w);
    w->chunk = malloc((size_t)w->chunk_size);
    if (!w->chunk)
        return bl_error_memory(e);
    if (w->format->has_segment_ids && !(w->segment_ids = calloc((size_t)w->format->T, sizeof *w->segment_ids)))
        return bl_error_memory(e);
    w->attribute = calloc((size_t)w->format->S, sizeof *w->attribute);
    if (!w->attribute)
        return bl_error_memory(e);
    int code = bl_block_make(&w->expected, w->format, false, e);
    w->expected.values = &w->verify->values;
    if (code)
        goto out;
    code = bl_shard_check_open_jpeg(w, e);
    if (code)
        goto out;
    if (w->file.compressed)
        code = bl_shard_reader_keep_checksums(&w->file, e);
out:
    bl_checksum_begin(&w->sum);
    return code;
}

/* BL_EDATA: there is nothing to read, which is reported. */
static int check_open_file(struct bl_shard_check *w, struct bl_error *e)
{
    struct bl_error why = {0};
    char *path = bl_path_join(w->verify->dir, w->name);
    if (!path)
        return bl_error_memory(e);
    int code = BL_EDATA;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        bl_shard_check_report(w, "is missing");
    else if (bl_shard_reader_open(&w->file, path, w->format->compressed, &why))
        bl_shard_check_report(w, "%s", why.text);
    else
        code = BL_OK;
    free(path);
    return code;
}

/* BL_EDATA: the file's header does not give the layout, which is reported. */
static int check_read_layout(struct bl_shard_check *w, int64_t shard, struct bl_error *e)
{
    struct bl_error why = {0};
    int code = bl_shard_reader_layout(&w->file, w->format, shard, &w->layout, &why);
    if (code != BL_EDATA)
        return code ? bl_error_set(e, code, "%s", why.text) : BL_OK;
    bl_shard_check_report(w, "%s", why.text);
    return BL_EDATA;
}

int bl_verify_shard(const struct bl_verify *verify, int64_t shard, bl_fault *fault, void *context,
                    int64_t *failed_steps, struct bl_error *e)
{
    const struct bl_format *format = &verify->manifest.format;
    const struct bl_shard_row *row = verify->shards ? &verify->shards[shard] : NULL;
    struct bl_shard_check w = {.verify = verify, .format = format, .file.fd = -1, .fault = fault, .context = context};
    bl_format_shard_name(format, shard, w.name);
    int code = check_open_file(&w, e);
    if (code)
        goto out;
    code = check_read_layout(&w, shard, e);
    if (code)
        goto out;
    code = check_file(&w, row);
    if (code)
        goto out;
    code = check_prepare(&w, e);
    if (code)
        goto out;
    code = check_contents(&w, e);
    if (code)
        goto out;
    code = check_shard_checksum(&w, row, e);
out:
    *failed_steps = w.failed_steps;
    bl_shard_reader_close(&w.file);
    bl_layout_free(&w.layout);
    bl_block_free(&w.expected);
    bl_jpeg_decoder_close(w.decoder);
    free(w.step);
    free(w.offsets);
    free(w.segment_ids);
    free(w.attribute);
    free(w.lost);
    free(w.chunk);
    return code == BL_EDATA ? BL_OK : code;
}
