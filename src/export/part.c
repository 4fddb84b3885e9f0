/* The pieces of an export, and the files that hold them. A file of a format goes through bl_export_part_put in pieces,
 * which writes it, compresses and writes it, or compares it with an existing file; formats do not know which. */
#include "export/part.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "store/plan_info.h"

/* --- ids ---------------------------------------------------------------------------------------------------------- */

#define BL_EXPORT_IDS_NAME "ids"

/* Returns the id as a JSON string. NULL: out of memory. */
static json_t *id_value(const char *id)
{
    size_t size = strlen(id);
    return bl_utf8_valid(id, size) == size ? json_stringn(id, size) : bl_jansson_escaped(id);
}

/* Sets size[row] to the bytes of each id as a JSON string, with its quotes. */
static int ids_measure(struct bl_blocks *blocks, int64_t rows, struct bl_cancel *cancel, uint32_t *size,
                       struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = BL_OK;
    for (int64_t i = 0; i < rows && !code; i++) {
        const struct bl_row *row;
        json_t *list = json_array();
        code = bl_cancelled(cancel) ? BL_ECANCEL : bl_blocks_row(blocks, i, &row, e);
        if (!code)
            bl_jansson_push(&list, id_value(row->id));
        bl_buffer_clear(&text);
        if (code)
            json_decref(list);
        else
            code = bl_jansson_append_compact(list, &text, e);
        size[i] = (uint32_t)text.size - 2;
    }
    bl_buffer_free(&text);
    return code;
}

/* Computes the maximum bytes of the list of ids over all blocks of a plan. Each of the S places has two quotes, and a
 * comma or a bracket after it. */
static int blocks_measure(const struct bl_plan *plan, int64_t rows, int64_t S, const uint32_t *size, size_t *most,
                          struct bl_error *e)
{
    *most = 0;
    for (size_t b = 0; b < plan->blocks; b++) {
        size_t bytes = 1 + 3 * (size_t)S;
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++) {
            if (plan->sequence[p] >= rows)
                return bl_error_set(e, BL_EDATA, "block %zu has sequence %u of a table of %" PRId64 " rows", b,
                                    plan->sequence[p], rows);
            bytes += size[plan->sequence[p]] - 2;
        }
        *most = bytes > *most ? bytes : *most;
    }
    return BL_OK;
}

int bl_export_ids_size(struct bl_blocks *blocks, struct bl_cancel *cancel, size_t *bytes, struct bl_error *e)
{
    struct bl_plan plan = {0};
    uint32_t *size = NULL;
    int64_t rows;
    BL_TRY(bl_blocks_rows(blocks, &rows, e));
    size = malloc((size_t)rows * sizeof *size + 1);
    int code = size ? ids_measure(blocks, rows, cancel, size, e) : bl_error_memory(e);
    if (!code)
        code = bl_index_read_members(bl_blocks_index(blocks), false, &plan, e);
    if (!code)
        code = blocks_measure(&plan, rows, bl_blocks_format(blocks)->S, size, bytes, e);
    bl_plan_free(&plan);
    free(size);
    return code;
}

/* Writes the ids of a block to out, padded with spaces to `bytes` bytes. tables: those of the block. text: a buffer for
 * the list. BL_EDATA: the list is too long, so that the tables contradict the plan. */
static int export_ids_read(struct bl_blocks *blocks, const struct bl_block *tables, struct bl_buffer *text, void *out,
                           size_t bytes, struct bl_error *e)
{
    json_t *list = json_array();
    int code = BL_OK;
    for (int64_t i = 0; i < bl_blocks_format(blocks)->S && !code; i++) {
        const struct bl_row *row = NULL;
        if (tables->sequence[i] >= 0)
            code = bl_blocks_row(blocks, tables->sequence[i], &row, e);
        if (!code)
            bl_jansson_push(&list, id_value(row ? row->id : ""));
    }
    bl_buffer_clear(text);
    if (code)
        json_decref(list);
    else
        code = bl_jansson_append_compact(list, text, e);
    if (!code && text->size > bytes)
        code = bl_error_set(e, BL_EDATA, "block %" PRId64 ": its tables have other sequences than the plan",
                            tables->index);
    if (code)
        return code;
    memcpy(out, text->data, text->size);
    memset((char *)out + text->size, ' ', bytes - text->size);
    return BL_OK;
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */

/* For qsort: by name. */
static int array_compare(const void *a, const void *b)
{
    return strcmp(((const struct bl_export_array *)a)->name, ((const struct bl_export_array *)b)->name);
}

/* Adds an array, and computes its size in bytes. */
static void arrays_add(struct bl_export_arrays *arrays, const struct bl_export_array *array)
{
    struct bl_export_array *added = &arrays->array[arrays->count++];
    *added = *array;
    added->bytes = bl_dtype_size(array->dtype);
    for (int i = 0; i < array->rank; i++)
        added->bytes *= (size_t)array->shape[i];
    arrays->bytes += added->bytes;
}

/* Adds the array of ids. BL_EUSAGE: another array has its name. */
static int arrays_add_ids(struct bl_export_arrays *arrays, size_t bytes, struct bl_error *e)
{
    for (int a = 0; a < arrays->count; a++) {
        if (strcmp(arrays->array[a].name, BL_EXPORT_IDS_NAME) == 0)
            return bl_error_set(
                e, BL_EUSAGE, "--ids: the dataset has a field or attribute of the name " BL_EXPORT_IDS_NAME " already");
    }
    arrays_add(arrays, &(struct bl_export_array){.name = BL_EXPORT_IDS_NAME,
                                                 .dtype = BL_U8,
                                                 .rank = 1,
                                                 .shape = {(int64_t)bytes},
                                                 .field = -1,
                                                 .table = -1,
                                                 .is_ids = true});
    return BL_OK;
}

int bl_export_arrays_set(struct bl_export_arrays *arrays, const struct bl_blocks *blocks, size_t ids_bytes,
                         struct bl_error *e)
{
    *arrays = (struct bl_export_arrays){.format = *bl_blocks_format(blocks),
                                        .overlap = bl_blocks_manifest(blocks)->plan_info.overlap};
    for (int f = 0; f < arrays->format.fields.count; f++) {
        const struct bl_field *field = &arrays->format.fields.field[f];
        struct bl_export_array array = {.name = field->name,
                                        .dtype = field->dtype,
                                        .rank = field->rank + 1,
                                        .shape = {bl_format_steps(&arrays->format, f)},
                                        .field = f,
                                        .table = -1};
        memcpy(array.shape + 1, field->shape, (size_t)field->rank * sizeof *field->shape);
        arrays_add(arrays, &array);
    }
    for (int t = 0; t < BL_TABLES_ALL; t++) {
        const struct bl_format *format = &arrays->format;
        if (!bl_format_has_table(format, t))
            continue;
        char *name = arrays->own_name[t < BL_TABLE_OWN ? 0 : t - BL_TABLE_OWN];
        struct bl_export_array array = {.name = bl_format_table_name(format, t, name),
                                        .dtype = bl_format_table_dtype(format, t),
                                        .rank = t != BL_TABLE_NUM_SEQUENCES,
                                        .shape = {bl_format_table_width(format, t)},
                                        .field = -1,
                                        .table = t};
        arrays_add(arrays, &array);
    }
    if (arrays->overlap)
        arrays_add(arrays, &(struct bl_export_array){.name = BL_REPEATED_NAME,
                                                     .dtype = BL_I32,
                                                     .rank = 1,
                                                     .shape = {arrays->format.S},
                                                     .field = -1,
                                                     .table = -1,
                                                     .is_repeated = true});
    int code = ids_bytes ? arrays_add_ids(arrays, ids_bytes, e) : BL_OK;
    qsort(arrays->array, (size_t)arrays->count, sizeof *arrays->array, array_compare);
    return code;
}

#define ALIGNMENT ((size_t)64) /* bytes: arrays of a block begin at cache lines */

int bl_export_block_make(struct bl_export_block *block, const struct bl_export_arrays *arrays, struct bl_error *e)
{
    *block = (struct bl_export_block){.memory = malloc(arrays->bytes + (size_t)arrays->count * ALIGNMENT)};
    if (!block->memory)
        return bl_error_memory(e);
    uint8_t *at = block->memory;
    for (int a = 0; a < arrays->count; a++) {
        block->data[a] = at;
        at += (arrays->array[a].bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return BL_OK;
}

void bl_export_block_free(struct bl_export_block *block)
{
    free(block->memory);
    bl_buffer_free(&block->text);
    *block = (struct bl_export_block){.memory = NULL};
}

int bl_export_block_read(struct bl_export_block *block, const struct bl_export_arrays *arrays, struct bl_blocks *blocks,
                         int64_t b, struct bl_error *e)
{
    const struct bl_block *tables;
    int code = bl_blocks_tables(blocks, b, &tables, e);
    for (int a = 0; a < arrays->count && !code; a++) {
        const struct bl_export_array *array = &arrays->array[a];
        if (array->table >= 0 && (array->table < BL_TABLES || array->table >= BL_TABLE_OWN))
            bl_block_copy_table(tables, &arrays->format, array->table, block->data[a]);
        for (int64_t i = 0; array->is_repeated && i < arrays->format.S; i++)
            ((int32_t *)(void *)block->data[a])[i] = tables->source_start[i] > 0 ? (int32_t)arrays->overlap : 0;
        if (array->is_ids)
            code = export_ids_read(blocks, tables, &block->text, block->data[a], array->bytes, e);
    }
    for (int a = 0; a < arrays->count && !code; a++) {
        const struct bl_export_array *array = &arrays->array[a];
        if (array->field >= 0)
            code = bl_blocks_read(blocks, b, array->field, block->data[a], e);
        else if (array->table >= BL_TABLES && array->table < BL_TABLE_OWN)
            code = bl_blocks_attribute(blocks, b, array->table - BL_TABLES, block->data[a], e);
    }
    return code;
}

/* --- formats ------------------------------------------------------------------------------------------------------ */

const struct bl_export_format *const bl_export_formats[] = {&bl_export_mds, &bl_export_webdataset, &bl_export_energon,
                                                            &bl_export_megatron};
const char *const bl_export_format_names[] = {"mds", "webdataset", "energon", "megatron", NULL};

/* --- parts -------------------------------------------------------------------------------------------------------- */

#define OUT_SIZE ((size_t)1 << 17) /* bytes of compressed data that are written at a time */

/* One frame with its content size, as readers of other formats expect it. */
struct zstd {
    ZSTD_CCtx *context;
    uint8_t out[OUT_SIZE];
};

/* Turns an error code of zstd into BL_EFAIL with its text. */
static int zstd_check(size_t result, struct bl_error *e)
{
    return ZSTD_isError(result) ? bl_error_set(e, BL_EFAIL, "zstd: %s", ZSTD_getErrorName(result)) : BL_OK;
}

/* Makes a compressor for a file of so many bytes. *out is to be freed also after an error. */
static int zstd_open(struct zstd **out, int level, int64_t bytes, struct bl_error *e)
{
    struct zstd *zstd = malloc(sizeof *zstd);
    *out = zstd;
    if (!zstd)
        return bl_error_memory(e);
    zstd->context = ZSTD_createCCtx();
    if (!zstd->context)
        return bl_error_memory(e);
    BL_TRY(zstd_check(ZSTD_CCtx_setParameter(zstd->context, ZSTD_c_compressionLevel, level), e));
    BL_TRY(zstd_check(ZSTD_CCtx_setParameter(zstd->context, ZSTD_c_checksumFlag, 1), e));
    return zstd_check(ZSTD_CCtx_setPledgedSrcSize(zstd->context, (unsigned long long)bytes), e);
}

/* Compresses data, and writes the output of the compressor as it comes. end: these are the last bytes of the file, so
 * that the compressor must give out all that it holds. The size and the checksum of the compressed file grow with each
 * write. */
static int part_put_compressed(struct bl_export_part *part, const void *data, size_t size, bool end, struct bl_error *e)
{
    struct zstd *zstd = part->zstd;
    ZSTD_inBuffer in = {data, size, 0};
    size_t left;
    do {
        ZSTD_outBuffer out = {zstd->out, OUT_SIZE, 0};
        left = ZSTD_compressStream2(zstd->context, &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
        int code = zstd_check(left, e);
        if (!code)
            code = bl_output_write(&part->out, zstd->out, out.pos, e);
        if (code)
            return code;
        bl_checksum_add(&part->zip_sum, zstd->out, out.pos);
        part->record.zip_bytes += (int64_t)out.pos;
    } while (end ? left > 0 : in.pos < size);
    return BL_OK;
}

/* Starts a part that is neither written nor compared yet. */
static void part_begin(struct bl_export_part *part)
{
    *part = (struct bl_export_part)BL_EXPORT_PART_NONE;
    bl_checksum_begin(&part->sum);
    bl_checksum_begin(&part->zip_sum);
}

int bl_export_part_open(struct bl_export_part *part, const char *path, const struct bl_compress *compress,
                        int64_t bytes, struct bl_error *e)
{
    part_begin(part);
    int code = bl_output_own(&part->out, path, e);
    if (!code && compress->on)
        code = zstd_open(&part->zstd, compress->level, bytes, e);
    if (code)
        bl_export_part_abort(part);
    return code;
}

int bl_export_part_compare(struct bl_export_part *part, const char *path, struct bl_error *e)
{
    part_begin(part);
    part->path = strdup(path);
    return part->path ? bl_instream_open(&part->in, part->path, 0, NULL, e) : bl_error_memory(e);
}

/* Compares the next bytes of the file. part->record.bytes says how far the comparison came. */
static int part_compare(struct bl_export_part *part, const uint8_t *data, size_t size, struct bl_error *e)
{
    uint8_t there[8192];
    while (size) {
        size_t most = size < sizeof there ? size : sizeof there, got = 0;
        BL_TRY(bl_instream_read(part->in, there, most, &got, e));
        if (!got)
            return bl_error_set(e, BL_EDATA, "it ends after %" PRId64 " bytes of content", part->record.bytes);
        if (memcmp(there, data, got) != 0)
            return bl_error_set(e, BL_EDATA, "it differs from the dataset after %" PRId64 " bytes of content",
                                part->record.bytes);
        part->record.bytes += (int64_t)got;
        data += got;
        size -= got;
    }
    return BL_OK;
}

int bl_export_part_put(struct bl_export_part *part, const void *data, size_t size, struct bl_error *e)
{
    bl_checksum_add(&part->sum, data, size);
    if (part->in)
        return part_compare(part, data, size, e);
    part->record.bytes += (int64_t)size;
    return part->zstd ? part_put_compressed(part, data, size, false, e) : bl_output_write(&part->out, data, size, e);
}

/* A part that is compared must end where the export ends, and a compressed one gets the rest of its frame. The part is
 * closed, also after an error. */
int bl_export_part_commit(struct bl_export_part *part, struct bl_error *e)
{
    uint8_t more;
    size_t got = 0;
    int code = part->in ? bl_instream_read(part->in, &more, 1, &got, e) : BL_OK;
    if (!code && got)
        code = bl_error_set(e, BL_EDATA, "it goes on after its end");
    if (!code && part->zstd)
        code = part_put_compressed(part, NULL, 0, true, e);
    if (!code && !part->in)
        code = bl_output_commit(&part->out, e);
    part->record.checksum = bl_checksum_end(&part->sum);
    part->record.zip_checksum = part->zstd ? bl_checksum_end(&part->zip_sum) : 0;
    bl_export_part_abort(part);
    return code;
}

void bl_export_part_abort(struct bl_export_part *part)
{
    if (part->zstd)
        ZSTD_freeCCtx(part->zstd->context);
    free(part->zstd);
    part->zstd = NULL;
    if (part->in)
        bl_instream_close(part->in);
    part->in = NULL;
    free(part->path);
    part->path = NULL;
    bl_output_abort(&part->out);
}

void bl_export_record_format(const struct bl_export_record *record, struct bl_buffer *out)
{
    bl_buffer_printf(out, "%" PRId64 " %016" PRIx64 " %" PRId64 " %016" PRIx64 "\n", record->bytes, record->checksum,
                     record->zip_bytes, record->zip_checksum);
}

bool bl_export_record_parse(struct bl_export_record *record, const char *text)
{
    int end = 0;
    return sscanf(text, "%" SCNd64 " %16" SCNx64 " %" SCNd64 " %16" SCNx64 "\n%n", &record->bytes, &record->checksum,
                  &record->zip_bytes, &record->zip_checksum, &end) == 4 &&
           end > 0 && !text[end];
}

/* --- files beside the parts --------------------------------------------------------------------------------------- */

/* Compares a file with the text that would be written. Every error is a fault of the export: BL_EDATA. */
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

/* The text is freed in any case. An error of the comparison is BL_EDATA, with the name of the file before it. */
int bl_export_write_file(const struct bl_export_job *job, const char *name, struct bl_buffer *text, struct bl_error *e)
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
    bl_buffer_free(text);
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

/* --- description -------------------------------------------------------------------------------------------------- */

#define DESCRIPTION_MAX ((size_t)1 << 30) /* bytes: a line for each part */

int64_t bl_export_file_bytes(const struct bl_export_record *record)
{
    return record->zip_bytes ? record->zip_bytes : record->bytes;
}

uint64_t bl_export_file_checksum(const struct bl_export_record *record)
{
    return record->zip_bytes ? record->zip_checksum : record->checksum;
}

/* Returns the 16 hexadecimal digits of a checksum. NULL: out of memory. */
static json_t *checksum_text(uint64_t checksum)
{
    char digest[BL_DIGEST_SIZE];
    bl_checksum_format(checksum, digest);
    return json_string(digest);
}

/* Returns the object of a part in export.json. NULL: out of memory. */
static json_t *part_entry(const struct bl_export_job *job, int64_t part)
{
    const struct bl_export_record *record = &job->record[part];
    char name[BL_EXPORT_NAME_MAX];
    json_t *entry = json_object();
    job->format->name_part(job, part, name);
    bl_jansson_set(&entry, "name", json_string(name));
    bl_jansson_set(&entry, "bytes", json_integer(record->bytes));
    bl_jansson_set(&entry, "checksum", checksum_text(record->checksum));
    if (record->zip_bytes) {
        bl_jansson_set(&entry, "compressed_bytes", json_integer(record->zip_bytes));
        bl_jansson_set(&entry, "compressed_checksum", checksum_text(record->zip_checksum));
    }
    return entry;
}

int bl_export_description_write(const struct bl_export_job *job, const char *configuration, const char *dataset,
                                const char *tool, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char *path;
    BL_TRY(bl_view_source_make_path(job->output, dataset, &path, e));
    json_t *object = json_object(), *parts = json_array();
    for (int64_t part = 0; part < job->parts; part++)
        bl_jansson_push(&parts, part_entry(job, part));
    bl_jansson_set(&object, "bload", json_string(tool));
    bl_jansson_set(&object, "dataset", bl_jansson_escaped(path));
    bl_jansson_set(&object, "configuration", bl_jansson_escaped(configuration));
    bl_jansson_set(&object, "blocks", json_integer(job->arrays.format.blocks));
    bl_jansson_set(&object, "files", parts);
    int code = bl_jansson_append(object, &text, e);
    if (!code)
        code = bl_export_write_file(job, BL_EXPORT_FILE, &text, e);
    bl_buffer_free(&text);
    free(path);
    return code;
}

/* Reads the object of a part. Its name must be that of a file in the directory itself, and of a size that formats use.
 */
static int part_read(struct bl_export_description *d, int64_t part, const json_t *entry, struct bl_error *e)
{
    struct bl_export_record *record = &d->record[part];
    const char *name;
    int code = bl_jansson_get_text(entry, "name", &name, e);
    if (!code && (!*name || *name == '.' || strchr(name, '/') || strlen(name) >= BL_EXPORT_NAME_MAX))
        code = bl_error_set(e, BL_EDATA, "the name of a file is invalid");
    if (!code)
        snprintf(d->name[part], BL_EXPORT_NAME_MAX, "%s", name);
    if (!code)
        code = bl_jansson_get_integer(entry, "bytes", 1, INT64_MAX, &record->bytes, e);
    if (!code)
        code = bl_jansson_get_checksum(entry, "checksum", &record->checksum, e);
    if (code || !json_object_get(entry, "compressed_bytes"))
        return code;
    BL_TRY(bl_jansson_get_integer(entry, "compressed_bytes", 1, INT64_MAX, &record->zip_bytes, e));
    return bl_jansson_get_checksum(entry, "compressed_checksum", &record->zip_checksum, e);
}

/* Reads the members that are not about a file. */
static int description_read_words(struct bl_export_description *d, const json_t *object, struct bl_error *e)
{
    const json_t *configuration = json_object_get(object, "configuration"),
                 *dataset = json_object_get(object, "dataset");
    const char *tool;
    if (!json_is_string(configuration) || !json_is_string(dataset))
        return bl_error_set(e, BL_EDATA, "it has no configuration, or no dataset");
    BL_TRY(bl_jansson_unescaped(configuration, &d->configuration, e));
    BL_TRY(bl_jansson_unescaped(dataset, &d->dataset, e));
    BL_TRY(bl_jansson_get_integer(object, "blocks", 1, INT64_MAX, &d->blocks, e));
    BL_TRY(bl_jansson_get_text(object, "bload", &tool, e));
    d->tool = strdup(tool);
    return d->tool ? BL_OK : bl_error_memory(e);
}

/* Reads the list of the files, and sums their bytes. */
static int description_read_parts(struct bl_export_description *d, const json_t *files, struct bl_error *e)
{
    int code = BL_OK;
    if (!json_array_size(files))
        return bl_error_set(e, BL_EDATA, "it has no files");
    d->parts = (int64_t)json_array_size(files);
    d->name = calloc((size_t)d->parts, sizeof *d->name);
    d->record = calloc((size_t)d->parts, sizeof *d->record);
    if (!d->name || !d->record)
        return bl_error_memory(e);
    for (int64_t part = 0; part < d->parts && !code; part++) {
        code = part_read(d, part, json_array_get(files, (size_t)part), e);
        if (!code && (__builtin_add_overflow(d->bytes, d->record[part].bytes, &d->bytes) ||
                      __builtin_add_overflow(d->file_bytes, bl_export_file_bytes(&d->record[part]), &d->file_bytes)))
            code = bl_error_set(e, BL_EDATA, "its files have more bytes than there can be");
    }
    return code;
}

int bl_export_description_parse(struct bl_export_description *d, const char *text, size_t size, struct bl_error *e)
{
    json_t *object;
    *d = (struct bl_export_description){.parts = 0};
    int code = bl_jansson_parse(text, size, 0, &object, e);
    if (!code)
        code = description_read_words(d, object, e);
    if (!code)
        code = description_read_parts(d, json_object_get(object, "files"), e);
    if (code)
        bl_export_description_free(d);
    json_decref(object);
    return code;
}

int bl_export_description_read(struct bl_export_description *d, const char *dir, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char *path = bl_path_join(dir, BL_EXPORT_FILE);
    *d = (struct bl_export_description){.parts = 0};
    int code = path ? bl_regular_check(path, e) : bl_error_memory(e);
    if (!code)
        code = bl_io_read_file(path, DESCRIPTION_MAX, &text, e);
    if (!code)
        code = bl_buffer_check(&text, e);
    if (!code && (code = bl_export_description_parse(d, text.data ? text.data : "", text.size, e)))
        bl_error_prefix(e, "%s", path);
    bl_buffer_free(&text);
    free(path);
    return code;
}

void bl_export_description_free(struct bl_export_description *d)
{
    free(d->configuration);
    free(d->dataset);
    free(d->tool);
    free(d->name);
    free(d->record);
    *d = (struct bl_export_description){.parts = 0};
}
