#include "store/shard_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/regular.h"
#include "base/lines.h"
#include "base/path.h"
#include "base/text.h"

#define HEADER "file\tfirst_block\tblocks\tbytes\tchecksum"

int bl_shard_table_open(struct bl_output *out, const char *dir, struct bl_error *e)
{
    char *path = bl_path_join(dir, BL_SHARDS_FILE);
    int code = path ? bl_output_own(out, path, e) : bl_error_memory(e);
    free(path);
    return code ? code : bl_output_write(out, HEADER "\n", sizeof HEADER, e);
}

#define LINE_MAX_SIZE (BL_SHARD_NAME_MAX + 96)

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

/* The beginning of a row, "name<tab>first<tab>blocks<tab>", follows from the format. */
static bool shard_table_parse_row(char *line, const struct bl_format *format, int64_t shard, struct bl_shard_row *row)
{
    char expected[BL_SHARD_NAME_MAX + 64];
    bl_format_shard_name(format, shard, row->file);
    row->first_block = bl_format_first_block(format, shard);
    row->blocks = bl_format_blocks_of(format, shard);
    int size =
        snprintf(expected, sizeof expected, "%s\t%" PRId64 "\t%" PRId64 "\t", row->file, row->first_block, row->blocks);
    char *bytes = line + size, *tab = strncmp(line, expected, (size_t)size) == 0 ? strchr(bytes, '\t') : NULL;
    return tab && bl_text_to_int(bytes, (size_t)(tab - bytes), 0, INT64_MAX, &row->bytes) &&
           bl_checksum_parse(tab + 1, &row->checksum);
}

static int shard_table_read_rows(struct bl_lines *lines, const struct bl_format *format, struct bl_shard_row *rows,
                                 struct bl_error *e)
{
    int64_t shards = bl_format_shards(format);
    char *line = NULL;
    size_t size;
    bool ended;
    for (int64_t i = -1; i <= shards; i++) {
        int code = bl_lines_next(lines, &line, &size, &ended, e);
        if (code)
            return code;
        if ((line != NULL) != (i < shards))
            return bl_error_set(e, BL_EDATA, "%s: %s rows than the dataset's %" PRId64 " shards", lines->path,
                                line ? "more" : "fewer", shards);
        bool good =
            !line || (ended && (i < 0 ? strcmp(line, HEADER) == 0 : shard_table_parse_row(line, format, i, &rows[i])));
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
        code = bl_lines_open(&lines, path, e);
    if (code)
        goto out;
    *rows = calloc((size_t)bl_format_shards(format), sizeof **rows);
    code = *rows ? shard_table_read_rows(&lines, format, *rows, e) : bl_error_memory(e);
out:
    bl_lines_close(&lines);
    free(path);
    if (code) {
        free(*rows);
        *rows = NULL;
    }
    return code;
}
