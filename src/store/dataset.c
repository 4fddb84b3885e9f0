/* Reading a finished dataset.
 *
 * The manifest determines every byte of the header of a shard except the sizes of encoded fields. So the header is
 * compared with the expected one, and a shard that differs is rejected before any offset is used. */
#include "store/dataset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "store/block.h"

#define SUM_CHUNK ((int64_t)1 << 20) /* bytes that are read at a time for a checksum */

int bl_dataset_open(struct bl_dataset *dataset, const char *dir, struct bl_error *e)
{
    *dataset = (struct bl_dataset){.shard = -1, .index.fd = -1, .file.fd = -1};
    dataset->dir = strdup(dir);
    if (!dataset->dir)
        return bl_error_memory(e);
    const struct bl_format *format = &dataset->manifest.format;
    int code = bl_manifest_read(&dataset->manifest, dir, e);
    if (!code && bl_manifest_is_view(&dataset->manifest))
        code = bl_error_set(e, BL_EUSAGE, "%s is a view, which has no blocks of its own", dir);
    if (!code)
        code = bl_index_open(&dataset->index, dir, format->blocks, format->fields.count, e);
    if (!code)
        code = bl_index_check_plan(&dataset->index, format->plan_digest, e);
    if (!code)
        code = bl_index_check_own(&dataset->index, &format->fields, e);
    if (!code)
        code = bl_block_make(&dataset->block, 1, format, false, e);
    dataset->index.overlap = dataset->manifest.plan_info.overlap;
    if (code)
        bl_dataset_close(dataset);
    return code;
}

/* Frees a layout that was allocated. NULL is allowed. */
static void layout_free(struct bl_layout *layout)
{
    if (layout)
        bl_layout_free(layout);
    free(layout);
}

/* Closes the current shard, if there is one, and frees its layout and the tables that were read from it. */
static void dataset_close_shard(struct bl_dataset *dataset)
{
    for (int t = 0; t < BL_TABLES_ALL; t++) {
        free(dataset->table[t]);
        dataset->table[t] = NULL;
    }
    layout_free(dataset->layout);
    dataset->layout = NULL;
    bl_shard_reader_close(&dataset->file);
    dataset->shard = -1;
}

/* Closes a kept shard and marks its place as free. */
static void kept_close(struct bl_dataset_shard *kept)
{
    layout_free(kept->layout);
    bl_shard_reader_close(&kept->file);
    *kept = (struct bl_dataset_shard){.number = -1, .file.fd = -1};
}

void bl_dataset_close(struct bl_dataset *dataset)
{
    dataset_close_shard(dataset);
    for (int64_t i = 0; i < dataset->keeps; i++)
        kept_close(&dataset->kept[i]);
    free(dataset->kept);
    for (int64_t i = 0; dataset->map && i < bl_format_shards(&dataset->manifest.format); i++) {
        if (dataset->map[i].address)
            munmap(dataset->map[i].address, dataset->map[i].length);
    }
    free(dataset->map);
    bl_index_close(&dataset->index);
    bl_manifest_free(&dataset->manifest);
    bl_block_free(&dataset->block);
    if (dataset->has_sequences && !dataset->has_lent)
        bl_sequences_close(&dataset->sequences);
    bl_row_reader_free(&dataset->row);
    bl_jpeg_decoder_close(dataset->decoder);
    free(dataset->offsets);
    free(dataset->bytes);
    free(dataset->dir);
    *dataset = (struct bl_dataset){.shard = -1, .index.fd = -1, .file.fd = -1};
}

/* --- shards ------------------------------------------------------------------------------------------------------- */

/* A shard has one place, at its number modulo `shards`: finding it takes no search. */
int bl_dataset_keep(struct bl_dataset *dataset, int64_t shards, struct bl_error *e)
{
    dataset->kept = calloc((size_t)shards, sizeof *dataset->kept);
    if (!dataset->kept)
        return bl_error_memory(e);
    for (int64_t i = 0; i < shards; i++)
        dataset->kept[i] = (struct bl_dataset_shard){.number = -1, .file.fd = -1};
    dataset->keeps = shards;
    return BL_OK;
}

/* Makes a shard the current one. The shard that was current moves to `kept`, where it replaces the one at its index; it
 * is closed if no shards are kept. A kept shard becomes current as it is, and any other is opened, and its size and
 * header are compared with its layout: BL_EDATA if they differ. On error no shard is current. */
static int dataset_open_shard(struct bl_dataset *dataset, int64_t shard, struct bl_error *e)
{
    const struct bl_format *format = &dataset->manifest.format;
    struct bl_shard_reader *file = &dataset->file;
    /* The open reader moves to its place among the kept ones. */
    if (dataset->shard >= 0 && dataset->keeps) {
        struct bl_dataset_shard *left = &dataset->kept[dataset->shard % dataset->keeps];
        kept_close(left);
        *left = (struct bl_dataset_shard){dataset->shard, *file, dataset->layout};
        *file = (struct bl_shard_reader){.fd = -1};
        dataset->layout = NULL;
    }
    dataset_close_shard(dataset);
    struct bl_dataset_shard *kept = dataset->keeps ? &dataset->kept[shard % dataset->keeps] : NULL;
    if (kept && kept->number == shard) {
        *file = kept->file;
        dataset->layout = kept->layout;
        dataset->shard = shard;
        *kept = (struct bl_dataset_shard){.number = -1, .file.fd = -1};
        return BL_OK;
    }
    char name[BL_SHARD_NAME_MAX], *path = bl_path_join(dataset->dir, bl_format_shard_name(format, shard, name));
    bool same = false;
    int code = path ? bl_shard_reader_open(file, path, format->compressed, e) : bl_error_memory(e);
    if (!code && !(dataset->layout = calloc(1, sizeof *dataset->layout)))
        code = bl_error_memory(e);
    if (!code)
        code = bl_shard_reader_layout(file, format, shard, dataset->layout, e);
    if (!code && file->size != dataset->layout->file_size)
        code = bl_error_set(e, BL_EDATA, "%s has %" PRId64 " bytes, expected %" PRId64, file->path, file->size,
                            dataset->layout->file_size);
    if (!code)
        code = bl_shard_reader_compare_header(file, dataset->layout, &same, e);
    if (!code && !same)
        code = bl_error_set(e, BL_EDATA, "%s: its header does not match the manifest", file->path);
    free(path);
    if (code)
        dataset_close_shard(dataset);
    else
        dataset->shard = shard;
    return code;
}

/* Makes the shard of block b the current one. *row: the number of the block within its shard. */
static int dataset_seek_block(struct bl_dataset *dataset, int64_t b, int64_t *row, struct bl_error *e)
{
    const struct bl_format *format = &dataset->manifest.format;
    if (b < 0 || b >= format->blocks)
        return bl_error_set(e, BL_EUSAGE, "no block %" PRId64 ": %s has %" PRId64, b, dataset->dir, format->blocks);
    int64_t shard = b / format->blocks_per_shard;
    int code = shard == dataset->shard ? BL_OK : dataset_open_shard(dataset, shard, e);
    *row = b % format->blocks_per_shard;
    return code;
}

/* Makes the shard of block b the current one, and returns the block of field f as *offset in the uncompressed file and
 * *size in bytes. Both are meaningless for JPEG fields, whose blocks have no fixed place. */
static int dataset_seek_field(struct bl_dataset *dataset, int64_t b, int f, int64_t *offset, int64_t *size,
                              struct bl_error *e)
{
    const struct bl_fields *fields = &dataset->manifest.format.fields;
    int64_t row = 0;
    if (f < 0 || f >= fields->count)
        return bl_error_set(e, BL_EUSAGE, "no field %d: %s has %d", f, dataset->dir, fields->count);
    BL_TRY(dataset_seek_block(dataset, b, &row, e));
    const struct bl_shard_tensor *tensor = bl_layout_field(dataset->layout, f);
    *size = bl_layout_block_bytes(dataset->layout, tensor, row);
    *offset = bl_layout_offset(dataset->layout, tensor, row);
    return BL_OK;
}

/* --- JPEG --------------------------------------------------------------------------------------------------------- */

/* Reads the offsets of the steps of block b of a JPEG field, whose shard is the current one, into dataset->offsets.
 * BL_EDATA: the offsets decrease, or exceed the tensor that holds the files. */
static int dataset_read_offsets(struct bl_dataset *dataset, int64_t b, int f, struct bl_error *e)
{
    const struct bl_shard_tensor *tensor = bl_layout_offsets(dataset->layout, f);
    const struct bl_tensor *files = &bl_layout_field(dataset->layout, f)->tensor;
    if (!dataset->offsets)
        dataset->offsets = calloc((size_t)dataset->manifest.format.T + 1, sizeof *dataset->offsets);
    if (!dataset->offsets)
        return bl_error_memory(e);
    BL_TRY(bl_shard_reader_read(&dataset->file,
                                bl_layout_offset(dataset->layout, tensor, b - dataset->layout->first_block),
                                tensor->row_bytes, dataset->offsets, e));
    if (bl_codec_check_offsets(&dataset->manifest.format, dataset->offsets, files->end - files->begin) >= 0)
        return bl_error_set(e, BL_EDATA, "%s: %s of block %" PRId64 " is damaged", dataset->file.path,
                            tensor->tensor.name, b);
    return BL_OK;
}

/* Reads the JPEG files of steps first to end - 1 into dataset->bytes, and the offsets of the block into
 * dataset->offsets. */
static int dataset_read_files(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end,
                              struct bl_error *e)
{
    BL_TRY(dataset_read_offsets(dataset, b, f, e));
    int64_t begin = dataset->offsets[first], size = dataset->offsets[end] - begin;
    BL_TRY(BL_ARRAY_RESERVE(dataset->bytes, dataset->bytes_capacity, (size_t)size, e));
    int64_t tensor = bl_layout_offset(dataset->layout, bl_layout_field(dataset->layout, f), 0);
    return bl_shard_reader_read(&dataset->file, tensor + begin, size, dataset->bytes, e);
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Makes the shard of block b the current one. *offset: the place of step `first` in the uncompressed file. BL_EUSAGE:
 * the steps do not exist. */
static int dataset_seek_steps(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end, int64_t *offset,
                              struct bl_error *e)
{
    const struct bl_format *format = &dataset->manifest.format;
    int64_t size = 0;
    BL_TRY(dataset_seek_field(dataset, b, f, offset, &size, e));
    const struct bl_field *field = &format->fields.field[f];
    int64_t steps = field->flat ? size / (int64_t)bl_field_step_bytes(field) : bl_format_steps(format, f);
    if (first < 0 || first > end || end > steps)
        return bl_error_set(e, BL_EUSAGE, "no steps %" PRId64 " to %" PRId64 ": a block of %s has %" PRId64, first, end,
                            dataset->dir, steps);
    *offset += first * (int64_t)bl_field_step_bytes(&format->fields.field[f]);
    return BL_OK;
}

int bl_dataset_copy_steps(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end, void *out,
                          struct bl_error *e)
{
    int64_t offset = 0;
    BL_TRY(dataset_seek_steps(dataset, b, f, first, end, &offset, e));
    int64_t step = (int64_t)bl_field_step_bytes(&dataset->manifest.format.fields.field[f]);
    return bl_shard_reader_read(&dataset->file, offset, (end - first) * step, out, e);
}

int bl_dataset_copy_files(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end,
                          const int64_t **offsets, const uint8_t **bytes, struct bl_error *e)
{
    int64_t offset = 0;
    BL_TRY(dataset_seek_steps(dataset, b, f, first, end, &offset, e));
    BL_TRY(dataset_read_files(dataset, b, f, first, end, e));
    *offsets = dataset->offsets + first;
    *bytes = dataset->bytes;
    return BL_OK;
}

/* A JPEG step without bytes becomes zeros. */
int bl_dataset_read_steps(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end, void *out,
                          struct bl_error *e)
{
    int64_t offset = 0;
    BL_TRY(dataset_seek_steps(dataset, b, f, first, end, &offset, e)); /* refuses fields that are not there */
    const struct bl_field *field = &dataset->manifest.format.fields.field[f];
    enum bl_encoding_kind kind = dataset->manifest.format.encoding[f].kind;
    if (kind != BL_ENCODING_JPEG) {
        BL_TRY(bl_dataset_copy_steps(dataset, b, f, first, end, out, e));
        if (kind == BL_ENCODING_DELTA)
            bl_delta_decode(out, (size_t)(end - first), field->shape);
        return BL_OK;
    }
    BL_TRY(dataset->decoder ? BL_OK : bl_jpeg_decoder_open(&dataset->decoder, e));
    BL_TRY(dataset_read_files(dataset, b, f, first, end, e));
    const uint8_t *file = dataset->bytes;
    uint8_t *picture = out;
    int code = BL_OK;
    for (int64_t t = first; t < end && !code; t++, picture += bl_field_step_bytes(field)) {
        size_t size = (size_t)(dataset->offsets[t + 1] - dataset->offsets[t]);
        if (size) {
            code = bl_jpeg_decode(dataset->decoder, file, size, field->shape, picture, e);
            file += size; /* without any bytes of files it is NULL */
        } else {
            memset(picture, 0, bl_field_step_bytes(field));
        }
        if (code)
            bl_error_prefix(e, "%s: block %" PRId64 " of %s, step %" PRId64, dataset->file.path, b, field->name, t);
    }
    return code;
}

int bl_dataset_read(struct bl_dataset *dataset, int64_t b, int f, void *out, struct bl_error *e)
{
    const struct bl_format *format = &dataset->manifest.format;
    const struct bl_field *field = f >= 0 && f < format->fields.count ? &format->fields.field[f] : NULL;
    if (!field || !field->flat)
        return bl_dataset_read_steps(dataset, b, f, 0, field ? bl_format_steps(format, f) : 0, out, e);
    /* A flat field is stored without its padding. */
    int64_t offset = 0, size = 0, step = (int64_t)bl_field_step_bytes(field);
    BL_TRY(dataset_seek_field(dataset, b, f, &offset, &size, e));
    BL_TRY(bl_dataset_read_steps(dataset, b, f, 0, size / step, out, e));
    bl_field_pad_between(field, out, (size_t)(size / step), (size_t)field->capacity, false);
    return BL_OK;
}

/* The checksum covers the bytes as they are stored in the uncompressed file: of a JPEG field, the files of the block.
 */
int bl_dataset_check_block(struct bl_dataset *dataset, int64_t b, int f, struct bl_error *e)
{
    const struct bl_format *format = &dataset->manifest.format;
    struct bl_checksum_state sum;
    int64_t offset = 0, size = 0, listed = 0;
    BL_TRY(dataset_seek_field(dataset, b, f, &offset, &size, e));
    if (format->encoding[f].kind == BL_ENCODING_JPEG) {
        BL_TRY(dataset_read_offsets(dataset, b, f, e));
        offset = bl_layout_offset(dataset->layout, bl_layout_field(dataset->layout, f), 0) + dataset->offsets[0];
        size = dataset->offsets[format->T] - dataset->offsets[0];
    }
    /* A block may have gigabytes, so that it is read in chunks. */
    uint8_t *chunk = malloc(SUM_CHUNK);
    int code = chunk ? BL_OK : bl_error_memory(e);
    bl_checksum_begin(&sum);
    for (int64_t at = 0; at < size && !code; at += SUM_CHUNK) {
        int64_t part = size - at < SUM_CHUNK ? size - at : SUM_CHUNK;
        code = bl_shard_reader_read(&dataset->file, offset + at, part, chunk, e);
        if (!code)
            bl_checksum_add(&sum, chunk, (size_t)part);
    }
    uint64_t checksum = bl_checksum_end(&sum);
    free(chunk);
    BL_TRY(code);
    BL_TRY(bl_index_read(&dataset->index, BL_INDEX_BLOCK_CHECKSUM, b * format->fields.count + f, 1, &listed, e));
    if ((uint64_t)listed != checksum)
        return bl_error_set(e, BL_EDATA,
                            "%s is damaged: block %" PRId64 " of %s has the checksum %016" PRIx64
                            ", the index says %016" PRIx64,
                            dataset->file.path, b, format->fields.field[f].name, checksum, (uint64_t)listed);
    return BL_OK;
}

/* A whole shard is mapped, and stays mapped until the dataset is closed: a mapping for each block would look up its
 * pages again each time, which takes twice as long as copying them. */
int bl_dataset_map(struct bl_dataset *dataset, int64_t b, int f, const void **data, struct bl_error *e)
{
    const struct bl_format *format = &dataset->manifest.format;
    int64_t offset = 0, size = 0;
    char name[BL_ENCODING_NAME_MAX];
    BL_TRY(dataset_seek_field(dataset, b, f, &offset, &size, e));
    if (format->encoding[f].kind != BL_ENCODING_RAW)
        return bl_error_set(e, BL_EUSAGE, "%s: %s is encoded (%s): its blocks can only be read, not mapped",
                            dataset->dir, format->fields.field[f].name, bl_encoding_name(&format->encoding[f], name));
    if (format->fields.field[f].flat)
        return bl_error_set(e, BL_EUSAGE,
                            "%s: %s is stored flat, without padding: its blocks can only be read, not mapped",
                            dataset->dir, format->fields.field[f].name);
    if (dataset->file.object)
        return bl_error_set(e, BL_EUSAGE, "%s is a URL: its blocks can only be read, not mapped", dataset->dir);
    if (dataset->file.compressed)
        return bl_error_set(e, BL_EUSAGE, "%s is compressed: its blocks can only be read, not mapped", dataset->dir);
    if (!dataset->map && !(dataset->map = calloc((size_t)bl_format_shards(format), sizeof *dataset->map)))
        return bl_error_memory(e);
    struct bl_dataset_map *map = &dataset->map[dataset->shard];
    if (!map->address) {
        /* The size of the file was compared with the manifest when the shard was opened. */
        void *address = mmap(NULL, (size_t)dataset->file.bytes, PROT_READ, MAP_SHARED, dataset->file.fd, 0);
        if (address == MAP_FAILED)
            return bl_error_errno(e, BL_EFAIL, "cannot map %s", dataset->file.path);
        *map = (struct bl_dataset_map){address, (size_t)dataset->file.bytes};
    }
    *data = (const char *)map->address + offset;
    return BL_OK;
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* Copies the row of one block of a table or attribute to out. A table of a compressed shard is
 * compressed as one piece, so that reading it row by row would decompress it for every block: the
 * first call reads the entire table into dataset->table. */
static int dataset_read_table_row(struct bl_dataset *dataset, int table, int64_t row, void *out, struct bl_error *e)
{
    const struct bl_shard_tensor *tensor = bl_layout_table(dataset->layout, table);
    if (!dataset->file.compressed)
        return bl_shard_reader_read(&dataset->file, bl_layout_offset(dataset->layout, tensor, row), tensor->row_bytes,
                                    out, e);
    if (!dataset->table[table]) {
        int64_t size = tensor->tensor.end - tensor->tensor.begin;
        uint8_t *all = malloc((size_t)size);
        int code =
            all ? bl_shard_reader_read(&dataset->file, bl_layout_offset(dataset->layout, tensor, 0), size, all, e)
                : bl_error_memory(e);
        if (code) {
            free(all);
            return code;
        }
        dataset->table[table] = all;
    }
    memcpy(out, dataset->table[table] + row * tensor->row_bytes, (size_t)tensor->row_bytes);
    return BL_OK;
}

int bl_dataset_tables(struct bl_dataset *dataset, int64_t b, const struct bl_block **out, struct bl_error *e)
{
    struct bl_block *block = &dataset->block;
    const struct bl_format *format = &dataset->manifest.format;
    const struct {
        enum bl_table table;
        void *out;
    } rows[] = {
        {BL_TABLE_NUM_SEQUENCES, &block->num_sequences},
        {BL_TABLE_CU_SEQLENS, block->cu_seqlens},
        {BL_TABLE_SEQUENCE, block->sequence},
        {BL_TABLE_LENGTH, block->length},
        {BL_TABLE_SOURCE_START, block->source_start},
    };
    int64_t row = 0;
    int code = dataset_seek_block(dataset, b, &row, e);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !code; i++) {
        if (bl_format_has_table(format, (int)rows[i].table))
            code = dataset_read_table_row(dataset, (int)rows[i].table, row, rows[i].out, e);
    }
    for (int f = 0; f < format->fields.count && !code; f++) {
        if (!format->fields.field[f].own)
            continue;
        code = dataset_read_table_row(dataset, BL_TABLE_OWN + f, row, block->own[f], e);
        const int64_t *steps = dataset->layout->steps[f];
        if (!code && steps && block->own[f][format->S] != steps[row + 1] - steps[row])
            code = bl_error_set(e, BL_EDATA, "%s: %s_offsets of block %" PRId64 " differs from its places",
                                dataset->file.path, format->fields.field[f].name, b);
    }
    if (!code && !bl_block_tables_are_sound(block, format))
        code = bl_error_set(e, BL_EDATA, "%s: the tables of block %" PRId64 " are damaged", dataset->file.path, b);
    block->index = b;
    *out = code ? NULL : block;
    return code;
}

int bl_dataset_attribute(struct bl_dataset *dataset, int64_t b, int a, void *out, struct bl_error *e)
{
    int64_t row = 0;
    if (a < 0 || a >= dataset->manifest.format.attributes)
        return bl_error_set(e, BL_EUSAGE, "no attribute %d: %s has %d", a, dataset->dir,
                            dataset->manifest.format.attributes);
    BL_TRY(dataset_seek_block(dataset, b, &row, e));
    return dataset_read_table_row(dataset, BL_TABLES + a, row, out, e);
}

int bl_dataset_sequences(struct bl_dataset *dataset, const struct bl_sequences **sequences, struct bl_error *e)
{
    *sequences = &dataset->sequences;
    if (dataset->has_sequences)
        return BL_OK;
    int code = bl_sequences_open_dataset(&dataset->sequences, dataset->dir, NULL, e);
    dataset->has_sequences = !code;
    return code;
}

void bl_dataset_lend_sequences(const struct bl_dataset *from, struct bl_dataset *to)
{
    to->sequences = from->sequences;
    to->has_sequences = to->has_lent = from->has_sequences;
}
