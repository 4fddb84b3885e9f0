#include "run/table_checksum.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/fs.h"
#include "base/output.h"
#include "base/checksum.h"

#define LINE_MAX_SIZE ((size_t)64)

static int table_report_change(const char *path, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "%s was edited or damaged since it was written (restore it, or use another -o)",
                        path);
}

int bl_table_checksum_compare(const struct bl_sequences *table, uint64_t checksum, struct bl_error *e)
{
    return table->file[0].checksum == checksum ? BL_OK : table_report_change(table->file[0].path, e);
}

static void sum_format(uint64_t checksum, char line[BL_DIGEST_SIZE + 1])
{
    bl_checksum_format(checksum, line);
    strcat(line, "\n");
}

int bl_table_checksum_keep(const struct bl_state *s, uint64_t checksum, struct bl_error *e)
{
    struct bl_buffer path = {0};
    char line[BL_DIGEST_SIZE + 1];
    sum_format(checksum, line);
    int code = bl_state_path(s, BL_STATE_SEQUENCES_SUM, &path, e);
    if (!code)
        code = bl_output_replace(path.data, line, strlen(line), e);
    bl_buffer_free(&path);
    return code;
}

int bl_table_checksum_verify(const struct bl_state *s, uint64_t *checksum, struct bl_error *e)
{
    struct bl_buffer path = {0}, there = {0};
    char line[BL_DIGEST_SIZE + 1] = "";
    int64_t bytes;
    bool exists;
    int code = bl_state_path(s, BL_STATE_SEQUENCES_SUM, &path, e);
    if (code)
        goto out;
    code = bl_checksum_file(s->sequences, &bytes, checksum, e);
    if (code)
        goto out;
    sum_format(*checksum, line);
    code = bl_fs_exists(path.data, &exists, e);
    if (code)
        goto out;
    if (!exists) {
        code = bl_output_replace(path.data, line, strlen(line), e);
        goto out;
    }
    code = bl_io_read_file(path.data, LINE_MAX_SIZE, &there, e);
    if (!code && (!there.data || strcmp(there.data, line) != 0))
        code = table_report_change(s->sequences, e);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&there);
    return code;
}

int bl_table_checksum_forget(const struct bl_state *s, struct bl_error *e)
{
    struct bl_buffer path = {0};
    int code = bl_state_path(s, BL_STATE_SEQUENCES_SUM, &path, e);
    if (code)
        goto out;
    code = bl_fs_remove(path.data, e);
out:
    bl_buffer_free(&path);
    return code;
}
