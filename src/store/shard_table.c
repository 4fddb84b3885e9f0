/* Sizes and checksums of finished shards: records, which exist until the dataset is finished, and shards.tsv.
 *
 * A record is a text: a line of numbers, one line per block of each field, the user data, and a last line with the
 * checksum of all lines before it. For example, of a shard with two blocks of one field:
 *
 *   bload shard record 1
 *   plan 0123456789abcdef
 *   shard 0 blocks 2 from 0 fields 1
 *   12288 89abcdef01234567 0
 *   1111111111111111
 *   2222222222222222
 *   end fedcba9876543210
 *
 * The first three lines follow from the format: a record that begins otherwise belongs to another dataset. */
#include "store/shard_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/io.h"
#include "store/dataset_file.h"
#include "base/text.h"

/* --- records of shards -------------------------------------------------------------------------------------------- */

#define RECORD_MAX ((size_t)1 << 32) /* bytes: a limit in case another file has the name of a record */
#define END_SIZE (sizeof "end 0123456789abcdef\n" - 1)

void bl_shard_record_free(struct bl_shard_record *record)
{
    free(record->block_checksum);
    free(record->user_data);
    *record = (struct bl_shard_record){0};
}

/* Appends the lines that follow from the format. */
static void record_append_head(const struct bl_shard_record *record, const struct bl_format *format,
                               struct bl_buffer *out)
{
    bl_buffer_printf(out,
                     "bload shard record 1\nplan %s\nshard %" PRId64 " blocks %" PRId64 " from %" PRId64 " fields %d\n",
                     format->plan_digest, record->shard, record->blocks, record->first_block, format->fields.count);
}

/* Appends the path of the record of a shard. */
static int record_path(const char *dir, int64_t shard, struct bl_buffer *path, struct bl_error *e)
{
    bl_buffer_printf(path, "%s/" BL_WORK_FOLDER "/shard-%08" PRId64 ".record", dir, shard);
    return bl_buffer_check(path, e);
}

int bl_shard_record_write(const struct bl_shard_record *record, const struct bl_format *format, const char *dir,
                          struct bl_error *e)
{
    struct bl_buffer text = {0}, path = {0};
    record_append_head(record, format, &text);
    bl_buffer_printf(&text, "%" PRId64 " %016" PRIx64 " %zu\n", record->bytes, record->checksum,
                     record->user_data_size);
    int64_t count = record->blocks * format->fields.count;
    for (int64_t i = 0; i < count; i++) {
        /* printf would take longer than the rest of the record, which has a line per block. */
        char line[BL_DIGEST_SIZE];
        bl_checksum_format(record->block_checksum[i], line);
        line[BL_DIGEST_SIZE - 1] = '\n';
        bl_buffer_append(&text, line, sizeof line);
    }
    bl_buffer_append(&text, record->user_data, record->user_data_size);
    int code = bl_buffer_check(&text, e);
    if (!code)
        bl_buffer_printf(&text, "end %016" PRIx64 "\n", bl_checksum(text.data, text.size));
    if (!code)
        code = bl_buffer_check(&text, e);
    if (!code)
        code = record_path(dir, record->shard, &path, e);
    if (!code)
        code = bl_output_replace(path.data, text.data, text.size, e);
    bl_buffer_free(&text);
    bl_buffer_free(&path);
    return code;
}

/* Parses a record. *found stays false if the record is damaged, so that its last line does not hold the checksum of the
 * lines before it, or if it belongs to another format. */
static int record_parse(struct bl_shard_record *record, const struct bl_format *format, const struct bl_buffer *text,
                        bool *found, struct bl_error *e)
{
    char end[END_SIZE + 1];
    if (text->size < END_SIZE)
        return BL_OK;
    snprintf(end, sizeof end, "end %016" PRIx64 "\n", bl_checksum(text->data, text->size - END_SIZE));
    if (memcmp(end, text->data + text->size - END_SIZE, END_SIZE) != 0)
        return BL_OK;
    struct bl_buffer head = {0};
    record_append_head(record, format, &head);
    bool same = text->size > head.size && head.data && memcmp(text->data, head.data, head.size) == 0;
    size_t at = head.size;
    bl_buffer_free(&head);
    int used = 0;
    if (!same || sscanf(text->data + at, "%" SCNd64 " %" SCNx64 " %zu%n", &record->bytes, &record->checksum,
                        &record->user_data_size, &used) != 3)
        return BL_OK;
    at += (size_t)used + 1;
    size_t count = (size_t)(record->blocks * format->fields.count), line = BL_DIGEST_SIZE;
    if (text->size - END_SIZE < at || (text->size - END_SIZE - at) / line < count ||
        text->size - END_SIZE - at - count * line != record->user_data_size)
        return BL_OK;
    record->block_checksum = calloc(count, sizeof *record->block_checksum);
    record->user_data = strndup(text->data + at + count * line, record->user_data_size);
    if (!record->block_checksum || !record->user_data)
        return bl_error_memory(e);
    for (size_t i = 0; i < count; i++) {
        const char *digits = text->data + at + i * line;
        for (int d = 0; d < BL_DIGEST_SIZE - 1; d++)
            record->block_checksum[i] = record->block_checksum[i] << 4 | (uint64_t)(bl_text_hex_digit(digits[d]) & 15);
    }
    *found = true;
    return BL_OK;
}

int bl_shard_record_read(struct bl_shard_record *record, const struct bl_format *format, const char *dir, int64_t shard,
                         bool *found, struct bl_error *e)
{
    *record = (struct bl_shard_record){.shard = shard,
                                       .first_block = bl_format_first_block(format, shard),
                                       .blocks = bl_format_blocks_of(format, shard)};
    *found = false;
    struct bl_buffer text = {0}, path = {0};
    struct stat status;
    int code = record_path(dir, shard, &path, e);
    bool exists = !code && stat(path.data, &status) == 0;
    if (!code && !exists && errno != ENOENT)
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path.data);
    if (exists)
        code = bl_regular_check(path.data, e);
    if (exists && !code)
        code = bl_io_read_file(path.data, RECORD_MAX, &text, e);
    if (exists && !code)
        code = record_parse(record, format, &text, found, e);
    bl_buffer_free(&text);
    bl_buffer_free(&path);
    if (!*found)
        bl_shard_record_free(record);
    return code;
}

/* --- table of shards ---------------------------------------------------------------------------------------------- */

#define HEADER "file\tfirst_block\tblocks\tbytes\tchecksum"

int bl_shard_table_open(struct bl_output *out, const char *dir, struct bl_error *e)
{
    char *path = bl_path_join(dir, BL_SHARDS_FILE);
    int code = path ? bl_output_own(out, path, e) : bl_error_memory(e);
    free(path);
    return code ? code : bl_output_write(out, HEADER "\n", sizeof HEADER, e);
}

#define LINE_MAX_SIZE (BL_SHARD_NAME_MAX + 96) /* four numbers, tabs and the line's end */

/* Formats the row of a shard, and returns its size in bytes. */
static int shard_table_line(const struct bl_format *format, const struct bl_shard_record *record,
                            char line[LINE_MAX_SIZE])
{
    char name[BL_SHARD_NAME_MAX];
    return snprintf(line, LINE_MAX_SIZE, "%s\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%016" PRIx64 "\n",
                    bl_format_shard_name(format, record->shard, name), record->first_block, record->blocks,
                    record->bytes, record->checksum);
}

int bl_shard_table_add(struct bl_output *out, const struct bl_format *format, const struct bl_shard_record *record,
                       struct bl_error *e)
{
    char line[LINE_MAX_SIZE];
    int size = shard_table_line(format, record, line);
    return bl_output_write(out, line, (size_t)size, e);
}

/* Rows differ by the digits of their numbers, so that each is formatted. */
int64_t bl_shard_table_bytes(const struct bl_format *format, int64_t shard_bytes)
{
    char line[LINE_MAX_SIZE];
    int64_t bytes = (int64_t)sizeof HEADER;
    for (int64_t i = 0; i < bl_format_shards(format); i++) {
        const struct bl_shard_record record = {.shard = i,
                                               .first_block = bl_format_first_block(format, i),
                                               .blocks = bl_format_blocks_of(format, i),
                                               .bytes = shard_bytes};
        bytes += shard_table_line(format, &record, line);
    }
    return bytes;
}

/* Reads the header line and one row for each shard. A row must begin with the text that follows from the format:
 * "name<tab>first<tab>blocks<tab>". The size and the checksum after it are read. */
static int shard_table_read_rows(struct bl_lines *lines, const struct bl_format *format, struct bl_shard_row *rows,
                                 struct bl_error *e)
{
    int64_t shards = bl_format_shards(format);
    char *line = NULL;
    size_t size;
    bool ended;
    for (int64_t i = -1; i <= shards; i++) {
        BL_TRY(bl_lines_next(lines, &line, &size, &ended, e));
        if ((line != NULL) != (i < shards))
            return bl_error_set(e, BL_EDATA, "%s: %s rows than the dataset's %" PRId64 " shards", lines->path,
                                line ? "more" : "fewer", shards);
        bool good = !line || (ended && strcmp(line, HEADER) == 0);
        if (line && i >= 0) {
            struct bl_shard_row *row = &rows[i];
            char begin[BL_SHARD_NAME_MAX + 64];
            bl_format_shard_name(format, i, row->file);
            row->first_block = bl_format_first_block(format, i);
            row->blocks = bl_format_blocks_of(format, i);
            int length = snprintf(begin, sizeof begin, "%s\t%" PRId64 "\t%" PRId64 "\t", row->file, row->first_block,
                                  row->blocks);
            char *bytes = line + length, *tab = strncmp(line, begin, (size_t)length) == 0 ? strchr(bytes, '\t') : NULL;
            good = ended && tab && bl_text_to_int(bytes, (size_t)(tab - bytes), 0, INT64_MAX, &row->bytes) &&
                   bl_checksum_parse(tab + 1, &row->checksum);
        }
        if (!good)
            return bl_error_set(e, BL_EDATA, "%s:%" PRId64 ": invalid row", lines->path, lines->number);
    }
    return BL_OK;
}

int bl_shard_table_read(const char *dir, const struct bl_format *format, struct bl_shard_row **rows, struct bl_error *e)
{
    struct bl_lines lines = {.fd = -1};
    char *path = bl_path_join(dir, BL_SHARDS_FILE);
    *rows = NULL;
    int code = path ? bl_regular_check(path, e) : bl_error_memory(e);
    if (!code)
        code = bl_dataset_file_lines(&lines, path, e);
    if (!code && !(*rows = calloc((size_t)bl_format_shards(format), sizeof **rows)))
        code = bl_error_memory(e);
    if (!code)
        code = shard_table_read_rows(&lines, format, *rows, e);
    bl_lines_close(&lines);
    free(path);
    if (code) {
        free(*rows);
        *rows = NULL;
    }
    return code;
}
